#include "cc/lists/persistent_list.h"

#include <algorithm>
#include <vector>

#include "cc/core/counters.h"

namespace tensor_array_grad {
namespace {

using tensorflow::Tensor;

Counter nodes_copied("lists.nodes_copied");
Counter elements_visited("lists.elements_visited");

int SlotOf(int64_t index, int level) {
  return static_cast<int>(index >> (Node::kBits * level)) & (Node::kFanout - 1);
}

// Whether a tree whose root is at `level` has a place for `index`.
bool Covers(int level, int64_t index) { return index >> (Node::kBits * (level + 1)) == 0; }

int LevelFor(int64_t index) {
  int level = 0;
  while (!Covers(level, index)) ++level;
  return level;
}

// Calls use(slot) for each child that `node` has, in order.
template <typename Use>
void ForEachSlot(uint32_t present, Use use) {
  for (; present != 0; present &= present - 1) use(__builtin_ctz(present));
}

// The functions below take over the caller's reference to `node` and return one to their result.

// Puts nodes above `node` until the tree is `level` tall.
Node* Lift(Node* node, int level) {
  while (node->level() < level) {
    Node* const above = Node::New(node->level() + 1, 1);
    above->Insert(0, node);
    node = above;
  }
  return node;
}

// A node that may be changed: `node` itself where nobody else sees it, else a copy.
Node* Own(Node* node, int room) {
  if (node->IsUnique()) return node;
  Node* const copy = Node::CopyOf(*node, node->count() + room);
  nodes_copied.Add();
  node->Unref();
  return copy;
}

// The same, with room for a child in `slot`.
Node* OwnWithRoom(Node* node, int slot) {
  const bool lacks = !node->has(slot);
  node = Own(node, lacks ? 1 : 0);
  return lacks && node->full() ? Node::Grow(node) : node;
}

int64_t HighestIndex(const Node* node) {
  int64_t index = 0;
  for (;; node = node->node(SlotOf(index, 0))) {
    index = (index << Node::kBits) | (31 - __builtin_clz(node->present()));
    if (node->level() == 0) return index;
  }
}

// Drops the elements from `keep` on; nullptr when none is left. Requires: 0 < keep, within the
// node's span.
Node* Cut(Node* node, int64_t keep) {
  node = Own(node, 0);
  const int last = SlotOf(keep - 1, node->level());
  node->Truncate(last + 1);
  if (node->level() > 0 && node->has(last)) {
    const int64_t below = int64_t{last} << (Node::kBits * node->level());
    // Taken out while it is cut, so that a child nobody else sees counts as unique.
    Shareable*& link = node->link(last);
    Node* const child = Cut(static_cast<Node*>(link), keep - below);
    if (child != nullptr) {
      link = child;
    } else {
      node->Forget(last);
    }
  }
  if (node->present() != 0) return node;
  node->Unref();
  return nullptr;
}

int64_t Visit(const Node& node, int64_t base, PersistentList::Visitor visit, absl::Status* status) {
  int64_t visited = 0;
  ForEachSlot(node.present(), [&](int slot) {
    if (!status->ok()) return;
    const int64_t index = base + (int64_t{slot} << (Node::kBits * node.level()));
    if (node.level() > 0) {
      visited += Visit(*node.node(slot), index, visit, status);
    } else {
      ++visited;
      *status = visit(index, node.element(slot)->value);
    }
  });
  return visited;
}

// Maps what `status` lets it; the result has no meaning unless `status` is still ok.
Node* MapNode(const Node& node, PersistentList::Changer change, absl::Status* status) {
  Node* const mapped = Node::New(node.level(), node.count());
  ForEachSlot(node.present(), [&](int slot) {
    if (!status->ok()) return;
    if (node.level() > 0) {
      mapped->Insert(slot, MapNode(*node.node(slot), change, status));
      return;
    }
    SharedElement* const changed = new SharedElement(Tensor());
    mapped->Insert(slot, changed);
    *status = change(node.element(slot)->value, &changed->value);
    elements_visited.Add();
  });
  return mapped;
}

// The union of two nodes of one level. As MapNode in errors; borrows its arguments.
Node* MergeNodes(const Node& a, const Node& b, PersistentList::Combiner combine,
                 absl::Status* status) {
  Node* const merged = Node::New(a.level(), __builtin_popcount(a.present() | b.present()));
  nodes_copied.Add();
  ForEachSlot(a.present() | b.present(), [&](int slot) {
    if (!status->ok()) return;
    if (!a.has(slot) || !b.has(slot)) {
      Shareable* const shared = const_cast<Node&>(a.has(slot) ? a : b).link(slot);
      shared->Ref();
      merged->Insert(slot, shared);
    } else if (a.level() > 0) {
      merged->Insert(slot, MergeNodes(*a.node(slot), *b.node(slot), combine, status));
    } else {
      Tensor sum;
      *status = combine(a.element(slot)->value, b.element(slot)->value, &sum);
      merged->Insert(slot, new SharedElement(std::move(sum)));
      elements_visited.Add();
    }
  });
  return merged;
}

// Nodes of one level on their way into the level above; frees those that never get there.
class Row {
 public:
  ~Row() {
    for (Node* node : nodes_) node->Unref();
  }
  void Add(Node* node) { nodes_.push_back(node); }
  // Replaces the nodes by the level above them until one is left, and hands that out.
  Node* TakeRoot() {
    while (nodes_.size() > 1) Raise();
    Node* const root = nodes_.front();
    nodes_.clear();
    return root;
  }

 private:
  void Raise() {
    std::vector<Node*> above;
    for (size_t begin = 0; begin < nodes_.size(); begin += Node::kFanout) {
      const size_t end = std::min(begin + Node::kFanout, nodes_.size());
      Node* const node = Node::New(nodes_[begin]->level() + 1, static_cast<int>(end - begin));
      for (size_t i = begin; i < end; ++i) node->Insert(static_cast<int>(i - begin), nodes_[i]);
      above.push_back(node);
    }
    nodes_.swap(above);
  }

  std::vector<Node*> nodes_;
};

}  // namespace

absl::Status PersistentList::Build(int64_t size, Maker make, PersistentList* out) {
  PersistentList built(size);
  Row row;
  for (int64_t begin = 0; begin < size; begin += Node::kFanout) {
    const int64_t end = std::min(begin + Node::kFanout, size);
    Node* const leaf = Node::New(0, static_cast<int>(end - begin));
    row.Add(leaf);
    for (int64_t i = begin; i < end; ++i) {
      Tensor value;
      if (absl::Status status = make(i, &value); !status.ok()) return status;
      leaf->Insert(static_cast<int>(i - begin), new SharedElement(std::move(value)));
    }
  }
  if (size > 0) built.root_ = row.TakeRoot();
  elements_visited.Add(size);
  *out = std::move(built);
  return absl::OkStatus();
}

const SharedElement* PersistentList::FindElement(int64_t index) const {
  const Node* node = root_;
  if (node == nullptr || !Covers(node->level(), index)) return nullptr;
  for (int level = node->level(); level > 0; --level) {
    node = node->node(SlotOf(index, level));
    if (node == nullptr) return nullptr;
  }
  return node->element(SlotOf(index, 0));
}

void PersistentList::Set(int64_t index, Tensor value) {
  SharedElement* const element = new SharedElement(std::move(value));
  const int height = LevelFor(index);
  root_ = root_ == nullptr ? Node::New(height, 1) : Lift(root_, height);
  root_ = OwnWithRoom(root_, SlotOf(index, root_->level()));
  Node* node = root_;
  for (int level = node->level(); level > 0; --level) {
    const int slot = SlotOf(index, level);
    if (!node->has(slot)) node->Insert(slot, Node::New(level - 1, 1));
    Shareable*& link = node->link(slot);
    node = OwnWithRoom(static_cast<Node*>(link), SlotOf(index, level - 1));
    link = node;
  }
  const int slot = SlotOf(index, 0);
  if (node->has(slot)) {
    node->element(slot)->Unref();
    node->link(slot) = element;
  } else {
    node->Insert(slot, element);
  }
}

void PersistentList::Resize(int64_t size) {
  const bool shrinks = size < size_;
  size_ = size;
  if (root_ == nullptr || !shrinks) return;
  if (size == 0) {
    std::exchange(root_, nullptr)->Unref();
  } else if (HighestIndex(root_) >= size) {
    root_ = Cut(root_, size);
  }
}

void PersistentList::Append(const PersistentList& tail) {
  if (size_ == 0) {
    *this = tail;
    return;
  }
  const int64_t offset = size_;
  const PersistentList held = tail;  // `tail` may be this list
  size_ += held.size_;
  absl::Status status;
  if (held.root_ == nullptr) return;
  elements_visited.Add(Visit(
      *held.root_, 0,
      [&](int64_t index, const Tensor& value) {
        Set(offset + index, value);
        return absl::OkStatus();
      },
      &status));
}

absl::Status PersistentList::ForEach(Visitor visit) const {
  absl::Status status;
  if (root_ != nullptr) elements_visited.Add(Visit(*root_, 0, visit, &status));
  return status;
}

absl::Status PersistentList::Map(Changer change, PersistentList* out) const {
  PersistentList mapped(size_);
  absl::Status status;
  if (root_ != nullptr) mapped.root_ = MapNode(*root_, change, &status);
  if (status.ok()) *out = std::move(mapped);
  return status;
}

absl::Status PersistentList::Merge(const PersistentList& a, const PersistentList& b,
                                   Combiner combine, PersistentList* out) {
  if (b.all_unset()) {
    *out = a;
    return absl::OkStatus();
  }
  if (a.all_unset()) {
    *out = b;
    return absl::OkStatus();
  }
  PersistentList merged(a.size_), tall_a(a), tall_b(b);
  const int level = std::max(a.root_->level(), b.root_->level());
  tall_a.root_ = Lift(tall_a.root_, level);
  tall_b.root_ = Lift(tall_b.root_, level);
  absl::Status status;
  merged.root_ = MergeNodes(*tall_a.root_, *tall_b.root_, combine, &status);
  if (status.ok()) *out = std::move(merged);
  return status;
}

}  // namespace tensor_array_grad
