#include "cc/flow/frame.h"

#include <algorithm>
#include <map>
#include <unordered_map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "cc/flow/node_util.h"
#include "cc/flow/op_facts.h"
#include "tensorflow/core/graph/control_flow.h"

namespace tensor_array_grad {
namespace {

using tensorflow::ControlFlowInfo;

// Code that visits frames is recursive. Python cannot build loops as deep as this.
constexpr int kMostDepth = 200;

// Whether an edge from `from` to `to` leads from one iteration to the next.
bool IsBackEdge(const Node& from, const Node& to) { return from.IsNextIteration() && to.IsMerge(); }

// Sorts the items of one frame by Kahn's algorithm: an item is *ready* when all items that it reads
// or waits for have been emitted, and the ready items are emitted one by one.
//
// Besides the ready items there are *deferred* ones: list updates that are ready, but whose list
// has another reader that has not been emitted. They are emitted if nothing else is ready. To find
// them, the sorter counts for each value how many of its readers have not been emitted yet.
// Identity and Switch are not readers: a reader of their output counts as a reader of their input,
// because both have the same buffer.
class Sorter {
  using Key = std::pair<const Node*, int>;  // a node and an output slot

 public:
  explicit Sorter(const Frame& frame) : frame_(frame) {
    for (Node* node : frame.nodes) {
      if (!node->IsEnter()) item_of_[node] = Add({node, nullptr});
    }
    for (const Frame* child : frame.children) {
      const int item = Add({nullptr, child});
      for (const Node* enter : child->enters) item_of_[enter] = item;
      for (const Node* node : child->nodes) {
        if (node->IsExit()) item_of_[node] = item;
      }
    }
    for (Node* node : frame.nodes) CountInputs(*node);
  }

  absl::StatusOr<std::vector<Item>> Sort() {
    for (int i = static_cast<int>(items_.size()) - 1; i >= 0; --i) {
      if (waits_for_[i] == 0) MakeReady(i);
    }
    std::vector<int> sorted;
    while (!ready_.empty() || !deferred_.empty()) {
      std::vector<int>& from = ready_.empty() ? deferred_ : ready_;
      const int item = from.back();
      from.pop_back();
      sorted.push_back(item);
      NoteRead(item);
      for (int reader : readers_[item]) {
        if (--waits_for_[reader] == 0) MakeReady(reader);
      }
    }
    if (sorted.size() != items_.size()) {
      return absl::FailedPreconditionError(
          absl::StrCat("nodes of frame '", frame_.name, "' wait for each other"));
    }
    FindCondition(sorted);
    std::vector<Item> order;
    for (int item : sorted) order.push_back(items_[item]);
    return order;
  }

 private:
  // Whether the outputs of `node` are its first input, so that its readers read that value.
  static bool PassesOn(const Node& node) { return node.IsIdentity() || node.IsSwitch(); }

  // The value that `value` is a copy of, found by following Identity and Switch backwards.
  static Key ValueBehind(Key value) {
    const Edge* edge;
    while (PassesOn(*value.first) && value.first->input_edge(0, &edge).ok()) {
      value = {edge->src(), edge->src_output()};
    }
    return value;
  }

  // Sets Item::in_condition, from the readers of an item to the item.
  void FindCondition(const std::vector<int>& sorted) {
    for (auto i = sorted.rbegin(); i != sorted.rend(); ++i) {
      Item& item = items_[*i];
      item.in_condition = item.node != nullptr && item.node->IsLoopCond();
      for (int reader : readers_[*i]) item.in_condition |= items_[reader].in_condition;
    }
  }

  int Add(Item item) {
    items_.push_back(item);
    waits_for_.push_back(0);
    readers_.emplace_back();
    sources_.emplace_back();
    return static_cast<int>(items_.size()) - 1;
  }

  void MakeReady(int item) { (IsDeferred(item) ? deferred_ : ready_).push_back(item); }

  // Whether `item` makes a new version of a list that another item has not read yet.
  bool IsDeferred(int item) const {
    const Node* const node = items_[item].node;
    if (node == nullptr || !HasFact(*node, kMakesListVersion)) return false;
    const auto list =
        sources_[item].empty() ? readers_left_.end() : readers_left_.find(sources_[item].front());
    return list != readers_left_.end() && list->second > 1;
  }

  // Records that `item` was emitted. If only one reader of a list is left, and that is a deferred
  // update, it becomes ready.
  void NoteRead(int item) {
    bool freed = false;
    for (const Key& source : sources_[item]) freed = --readers_left_[source] == 1 || freed;
    if (!freed) return;
    const auto still = std::stable_partition(deferred_.begin(), deferred_.end(),
                                             [this](int other) { return IsDeferred(other); });
    ready_.insert(ready_.end(), still, deferred_.end());
    deferred_.erase(still, deferred_.end());
  }

  // The item that computes the output of `node` in this frame; -1 if the output comes from another
  // frame.
  int ItemBehind(const Node& node) const {
    const auto found = item_of_.find(&node);
    return found == item_of_.end() ? -1 : found->second;
  }

  // Records what the item of `node` reads and waits for. Back edges do not count, because they lead
  // to the next iteration.
  void CountInputs(const Node& node) {
    const int reader = item_of_.at(&node);
    const std::vector<Source> inputs = PassesOn(node) ? std::vector<Source>() : InputsOf(node);
    for (const auto& [from, slot] : inputs) {
      if (from == nullptr || IsBackEdge(*from, node)) continue;
      sources_[reader].push_back(ValueBehind({from, slot}));
      ++readers_left_[sources_[reader].back()];
    }
    for (const Edge* edge : node.in_edges()) {
      const int source = IsBackEdge(*edge->src(), node) ? -1 : ItemBehind(*edge->src());
      if (source < 0) continue;
      readers_[source].push_back(reader);
      ++waits_for_[reader];
    }
  }

  const Frame& frame_;
  std::vector<Item> items_;
  std::unordered_map<const Node*, int> item_of_;  // Enters and Exits of a child have its item
  std::vector<std::vector<Key>> sources_;         // by item: the values that it reads, in order
  std::map<Key, int> readers_left_;               // by value: readers that have not been emitted
  std::vector<int> waits_for_;                    // by item: edges from items that were not emitted
  std::vector<std::vector<int>> readers_;         // by item: the items that read it or wait for it
  std::vector<int> ready_, deferred_;
};

}  // namespace

absl::StatusOr<FrameTree> FrameTree::Of(const Graph& graph) {
  std::vector<ControlFlowInfo> info;
  std::vector<std::string> unreachable;
  const absl::Status built = tensorflow::BuildControlFlowInfo(&graph, &info, &unreachable);
  if (!built.ok()) return absl::FailedPreconditionError(built.message());
  if (!unreachable.empty()) {
    return absl::FailedPreconditionError(
        absl::StrCat("node '", unreachable.front(), "' cannot be reached"));
  }
  // BuildControlFlowInfo records an Enter in the frame that it leads into, and an Exit in the frame
  // that it leads out of.
  FrameTree tree;
  std::unordered_map<std::string, Frame*> by_name;
  const auto frame_of = [&](const std::string& name) {
    Frame*& frame = by_name[name];
    if (frame == nullptr) {
      tree.frames_.push_back(std::make_unique<Frame>());
      frame = tree.frames_.back().get();
      frame->name = name;
    }
    return frame;
  };
  frame_of("");
  for (Node* node : graph.op_nodes()) {  // in the order of their ids
    const ControlFlowInfo& here = info[node->id()];
    Frame* const frame = frame_of(here.frame_name);
    if (!node->IsEnter()) {
      if (node->IsLoopCond()) frame->loop_conds.push_back(node);
      frame->nodes.push_back(node);
      continue;
    }
    Frame* const parent = frame_of(info[here.parent_frame->id()].frame_name);
    if (frame->parent == nullptr) {
      frame->parent = parent;
      parent->children.push_back(frame);
    }
    frame->enters.push_back(node);
    parent->nodes.push_back(node);
  }
  for (const auto& frame : tree.frames_) {
    int depth = 0;
    for (const Frame* around = frame->parent; around != nullptr; around = around->parent) {
      if (++depth > kMostDepth) {
        return absl::FailedPreconditionError(
            absl::StrCat("frame '", frame->name, "' is in more than ", kMostDepth, " others"));
      }
    }
  }
  return tree;
}

std::vector<Node*> NodesIn(const Frame& frame, std::vector<Node*> before) {
  before.insert(before.end(), frame.nodes.begin(), frame.nodes.end());
  for (const Frame* child : frame.children) before = NodesIn(*child, std::move(before));
  return before;
}

absl::StatusOr<std::vector<Item>> OrderOf(const Frame& frame) { return Sorter(frame).Sort(); }

}  // namespace tensor_array_grad
