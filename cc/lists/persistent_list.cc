#include "cc/lists/persistent_list.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "cc/base/counters.h"

namespace tensor_array_grad {
namespace {

Counter nodes_copied("lists.nodes_copied");
Counter elements_visited("lists.elements_visited");

int SlotOf(int64_t index, int level) {
  return static_cast<int>(index >> (TreeNode::kBits * level)) & (TreeNode::kFanout - 1);
}

// Whether a tree whose root is at `level` has a place for `index`.
bool Covers(int level, int64_t index) { return index >> (TreeNode::kBits * (level + 1)) == 0; }

int LevelFor(int64_t index) {
  int level = 0;
  while (!Covers(level, index)) ++level;
  return level;
}

// Calls use(slot) for each bit that is set in `present`, the lowest first.
template <typename Use>
void ForEachSlot(uint32_t present, Use use) {
  for (; present != 0; present &= present - 1) use(__builtin_ctz(present));
}

Reference<TreeNode> NewNode(int level, int capacity) {
  return Reference<TreeNode>(TreeNode::New(level, capacity));
}

// The functions below throw std::bad_alloc. The tree that they work on is then still valid, with
// the same elements: a link is changed only after the node that it will point to is complete.

// Puts nodes above `*root` until the root is at `level`.
void Lift(int level, TreeNode** root) {
  while ((*root)->level() < level) {
    TreeNode* const above = TreeNode::New((*root)->level() + 1, 1);
    above->Insert(0, *root);
    *root = above;
  }
}

// Makes `link`, a pointer to the root or a child link, point to a node that may be changed, and
// returns it: the same node if it is unique, else a copy with room for `room` more children.
template <typename Link>
TreeNode* Own(Link& link, int room) {
  TreeNode* const node = static_cast<TreeNode*>(link);
  if (node->IsUnique()) return node;
  TreeNode* const copy = TreeNode::CopyOf(*node, node->count() + room);
  nodes_copied.Add();
  link = copy;
  node->Unref();
  return copy;
}

// The same, with room for a child in `slot`.
template <typename Link>
TreeNode* OwnWithRoom(Link& link, int slot) {
  const bool lacks = !static_cast<TreeNode*>(link)->has(slot);
  TreeNode* node = Own(link, lacks ? 1 : 0);
  if (lacks && node->full()) link = node = TreeNode::Grow(node);
  return node;
}

// Calls Own for all nodes on the path to `index`, as far as it exists.
void OwnPath(int64_t index, TreeNode** root) {
  TreeNode* node = Own(*root, 0);
  for (int level = node->level(); level > 0; --level) {
    const int slot = SlotOf(index, level);
    if (!node->has(slot)) return;
    node = Own(node->link(slot), 0);
  }
}

// A tree of `level` in which only `index` is set. Made before it is linked into another tree, which
// must not contain an empty node: the tree of a list without set elements has no root.
Reference<TreeNode> TreeOf(int64_t index, int level, Reference<SharedElement> element) {
  Reference<TreeNode> tree = NewNode(0, 1);
  tree->Insert(SlotOf(index, 0), element.release());
  while (tree->level() < level) {
    Reference<TreeNode> above = NewNode(tree->level() + 1, 1);
    above->Insert(SlotOf(index, above->level()), tree.release());
    tree = std::move(above);
  }
  return tree;
}

int64_t HighestIndex(const TreeNode* node) {
  int64_t index = 0;
  for (;; node = node->node(SlotOf(index, 0))) {
    index = (index << TreeNode::kBits) | (31 - __builtin_clz(node->present()));
    if (node->level() == 0) return index;
  }
}

// Removes the elements from `keep` on; true if any is left. Allocates nothing.
// Requires: 0 < keep, within the node's span; the nodes on the path to keep - 1 are unique.
bool Cut(TreeNode* node, int64_t keep) {
  const int last = SlotOf(keep - 1, node->level());
  node->Truncate(last + 1);
  if (node->level() > 0 && node->has(last)) {
    const int64_t below = int64_t{last} << (TreeNode::kBits * node->level());
    if (!Cut(node->node(last), keep - below)) node->Truncate(last);
  }
  return node->present() != 0;
}

int64_t Visit(const TreeNode& node, int64_t base, PersistentList::Visitor visit,
              absl::Status* status) {
  int64_t visited = 0;
  ForEachSlot(node.present(), [&](int slot) {
    if (!status->ok()) return;
    const int64_t index = base + (int64_t{slot} << (TreeNode::kBits * node.level()));
    if (node.level() > 0) {
      visited += Visit(*node.node(slot), index, visit, status);
    } else {
      ++visited;
      *status = visit(index, node.element(slot)->value);
    }
  });
  return visited;
}

// Maps the elements until a call fails. The result is meaningful only if `status` is still ok.
Reference<TreeNode> MapNode(const TreeNode& node, PersistentList::Changer change,
                            absl::Status* status) {
  Reference<TreeNode> mapped = NewNode(node.level(), node.count());
  ForEachSlot(node.present(), [&](int slot) {
    if (!status->ok()) return;
    if (node.level() > 0) {
      mapped->Insert(slot, MapNode(*node.node(slot), change, status).release());
      return;
    }
    SharedElement* const changed = new SharedElement(Tensor());
    mapped->Insert(slot, changed);
    *status = change(node.element(slot)->value, &changed->value);
    elements_visited.Add();
  });
  return mapped;
}

// The union of two nodes of one level. Errors as in MapNode.
Reference<TreeNode> MergeNodes(const TreeNode& a, const TreeNode& b,
                               PersistentList::Combiner combine, absl::Status* status) {
  Reference<TreeNode> merged = NewNode(a.level(), __builtin_popcount(a.present() | b.present()));
  nodes_copied.Add();
  ForEachSlot(a.present() | b.present(), [&](int slot) {
    if (!status->ok()) return;
    if (!a.has(slot) || !b.has(slot)) {
      Shareable* const shared = const_cast<TreeNode&>(a.has(slot) ? a : b).link(slot);
      shared->Ref();
      merged->Insert(slot, shared);
    } else if (a.level() > 0) {
      merged->Insert(slot, MergeNodes(*a.node(slot), *b.node(slot), combine, status).release());
    } else {
      Tensor sum;
      *status = combine(a.element(slot)->value, b.element(slot)->value, &sum);
      merged->Insert(slot, new SharedElement(std::move(sum)));
      elements_visited.Add();
    }
  });
  return merged;
}

// The nodes of one level, not yet linked into the level above.
using Row = std::vector<Reference<TreeNode>>;

// The level above `row`.
Row Above(Row row) {
  Row above;
  for (size_t begin = 0; begin < row.size(); begin += TreeNode::kFanout) {
    const size_t end = std::min(begin + TreeNode::kFanout, row.size());
    above.push_back(NewNode(row[begin]->level() + 1, static_cast<int>(end - begin)));
    for (size_t i = begin; i < end; ++i) {
      above.back()->Insert(static_cast<int>(i - begin), row[i].release());
    }
  }
  return above;
}

}  // namespace

absl::Status PersistentList::Build(int64_t size, Maker make, PersistentList* out) {
  PersistentList built(size);
  Row row;
  for (int64_t begin = 0; begin < size; begin += TreeNode::kFanout) {
    const int64_t end = std::min(begin + TreeNode::kFanout, size);
    row.push_back(NewNode(0, static_cast<int>(end - begin)));
    TreeNode* const leaf = row.back().get();
    for (int64_t i = begin; i < end; ++i) {
      Tensor value;
      if (absl::Status status = make(i, &value); !status.ok()) return status;
      leaf->Insert(static_cast<int>(i - begin), new SharedElement(std::move(value)));
    }
  }
  while (row.size() > 1) row = Above(std::move(row));
  if (size > 0) built.root_ = row.front().release();
  elements_visited.Add(size);
  *out = std::move(built);
  return absl::OkStatus();
}

const Tensor* PersistentList::Find(int64_t index) const {
  const TreeNode* node = root_;
  if (node == nullptr || !Covers(node->level(), index)) return nullptr;
  for (int level = node->level(); level > 0; --level) {
    node = node->node(SlotOf(index, level));
    if (node == nullptr) return nullptr;
  }
  const SharedElement* const found = node->element(SlotOf(index, 0));
  return found == nullptr ? nullptr : &found->value;
}

void PersistentList::Set(int64_t index, Tensor value) {
  Reference<SharedElement> element(new SharedElement(std::move(value)));
  const int height = LevelFor(index);
  if (root_ == nullptr) {
    root_ = TreeOf(index, height, std::move(element)).release();
    return;
  }
  Lift(height, &root_);
  TreeNode* node = OwnWithRoom(root_, SlotOf(index, root_->level()));
  for (int level = node->level(); level > 0; --level) {
    const int slot = SlotOf(index, level);
    if (!node->has(slot)) {
      node->Insert(slot, TreeOf(index, level - 1, std::move(element)).release());
      return;
    }
    node = OwnWithRoom(node->link(slot), SlotOf(index, level - 1));
  }
  const int slot = SlotOf(index, 0);
  if (node->has(slot)) {
    SharedElement* const before = node->element(slot);
    node->link(slot) = element.release();
    before->Unref();
  } else {
    node->Insert(slot, element.release());
  }
}

void PersistentList::Resize(int64_t size) {
  if (root_ != nullptr && size == 0) {
    std::exchange(root_, nullptr)->Unref();
  } else if (root_ != nullptr && size < size_ && HighestIndex(root_) >= size) {
    OwnPath(size - 1, &root_);
    if (!Cut(root_, size)) std::exchange(root_, nullptr)->Unref();
  }
  size_ = size;
}

void PersistentList::Append(const PersistentList& tail) {
  if (size_ == 0) {
    *this = tail;
    return;
  }
  PersistentList joined = *this;  // memory may run out half way, and `tail` may be this list
  joined.size_ += tail.size_;
  const auto set = [&](int64_t index, const Tensor& value) {
    joined.Set(size_ + index, value);
    return absl::OkStatus();
  };
  tail.ForEach(set).IgnoreError();  // `set` returns none
  *this = std::move(joined);
}

absl::Status PersistentList::ForEach(Visitor visit) const {
  absl::Status status;
  if (root_ != nullptr) elements_visited.Add(Visit(*root_, 0, visit, &status));
  return status;
}

absl::Status PersistentList::Map(Changer change, PersistentList* out) const {
  PersistentList mapped(size_);
  absl::Status status;
  if (root_ != nullptr) mapped.root_ = MapNode(*root_, change, &status).release();
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
  Lift(level, &tall_a.root_);
  Lift(level, &tall_b.root_);
  absl::Status status;
  merged.root_ = MergeNodes(*tall_a.root_, *tall_b.root_, combine, &status).release();
  if (status.ok()) *out = std::move(merged);
  return status;
}

}  // namespace tensor_array_grad
