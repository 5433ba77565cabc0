#include "cc/flow/liveness.h"

#include <algorithm>
#include <iterator>

#include "cc/base/tensorflow_names.h"
#include "cc/flow/loop_variable.h"
#include "cc/flow/node_util.h"
#include "tensorflow/core/framework/node_def_util.h"

namespace tensor_array_grad {
namespace {

// The empty set, for outputs that are always live.
const Requirements& None() {
  static const auto* const none = new Requirements;
  return *none;
}

Requirements Common(const Requirements& a, const Requirements& b) {
  Requirements common;
  std::set_intersection(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(common));
  return common;
}

// The known value of `predicate`, or -1: that of a Const, or of a marked Enter. A constant of an
// outer loop is followed to the Enter of the outermost loop.
int KnownValueOf(Source predicate) {
  int value = -1;
  for (predicate = SkipIdentities(predicate); IsConstantEnter(*predicate.node);
       predicate = SkipIdentities(InputOf(*predicate.node, 0))) {
    if (!TryGetNodeAttr(predicate.node->attrs(), kKnownValue, &value)) continue;
    const bool is_bool = predicate.node->output_type(0) == DT_BOOL && (value == 0 || value == 1);
    return is_bool ? value : -1;
  }
  Tensor constant;
  const bool known =
      ConstantOf(*predicate.node, &constant) && constant.dtype() == DT_BOOL && constant.dims() == 0;
  return known ? static_cast<int>(constant.scalar<bool>()()) : -1;
}

// Whether the value of the variable that begins with `enter` reaches nothing but the input of its
// Switch by LoopCond. Then the loop cannot see that the value is live while LoopCond is dead: the
// Switch's outputs are dead either way.
bool IsReadByItsSwitchAlone(const Node& enter) {
  const auto reader_of = [](const Node& node) -> const Node* {
    if (node.out_edges().size() != 1) return nullptr;
    const Edge& edge = **node.out_edges().begin();
    return edge.src_output() == 0 && edge.dst_input() == 0 ? edge.dst() : nullptr;
  };
  const Node* const merge = reader_of(enter);
  if (merge == nullptr || !LoopMergeOf(*merge)) return false;
  const Node* const reader = reader_of(*merge);
  if (reader == nullptr || !reader->IsSwitch()) return false;
  const Node* const predicate = InputOf(*reader, 1).node;
  return predicate != nullptr && predicate->IsLoopCond();
}

// The union of two sets of requirements.
Requirements Both(const Requirements& a, const Requirements& b) {
  Requirements all;
  std::set_union(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(all));
  return all;
}

// Whether the LoopCond of `loop` reads a variable and is dead whenever one that it reads is dead:
// its condition has no node that is live although an input is dead. (The Merge of a variable is
// dead in the first iteration if the Enter is, and in every other one if the NextIteration is.)
// Only for loops of the root frame.
bool ConditionIsDeadWithItsVariables(const Frame& loop) {
  if (!loop.parent->is_root() || loop.loop_conds.size() != 1) return false;
  const absl::StatusOr<std::vector<Item>> order = OrderOf(loop);
  if (!order.ok()) return false;
  bool reads_variable = false;
  for (const auto& [node, inner, in_condition] : *order) {
    if (!in_condition) continue;
    if (inner != nullptr || node->IsControlTrigger()) return false;
    if (!node->IsMerge()) continue;
    if (!LoopMergeOf(*node)) return false;
    reads_variable = true;
  }
  return reads_variable;
}

}  // namespace

Requirements Without(const Requirements& from, int requirement) {
  Requirements rest = from;
  rest.erase(std::remove(rest.begin(), rest.end(), requirement), rest.end());
  return rest;
}

// Visits the items in their order, so that the requirements of all inputs of an item are known when
// the item is visited. Each kind of node has its own rule: a Switch adds a side, a Merge removes
// the sides that all its inputs together cover, and any other node has the union of what its inputs
// have.
Liveness::Liveness(const Frame& frame, const std::vector<Item>& order) {
  has_recv_ = std::any_of(frame.nodes.begin(), frame.nodes.end(),
                          [](const Node* node) { return node->IsRecv(); });
  for (const Item& item : order) {
    if (item.loop != nullptr) {
      AddLoop(*item.loop);
    } else if (item.node->IsSwitch()) {
      AddSwitch(*item.node);
    } else if (item.node->IsMerge()) {
      AddMerge(*item.node);
    } else {
      of_node_[item.node] = item.node->IsControlTrigger() ? Requirements{} : Inputs(*item.node);
    }
  }
}

const Requirements& Liveness::Of(Source source) const {
  const auto side = of_output_.find({source.node, source.slot});
  return side == of_output_.end() ? OfNode(*source.node) : side->second;
}

const Requirements& Liveness::OfNode(const Node& node) const {
  const auto found = of_node_.find(&node);
  return found == of_node_.end() ? None() : found->second;  // not found: the node is an Enter
}

bool Liveness::EntersAsOne(const Frame& loop) const { return of_loop_.count(&loop) != 0; }

const Requirements& Liveness::OfLoop(const Frame& loop) const { return of_loop_.at(&loop); }

void Liveness::NoteKnownValues(const Frame& loop) const {
  const Requirements& when = OfLoop(loop);
  for (Node* enter : loop.enters) {
    if (!IsConstantEnter(*enter) || enter->output_type(0) != DT_BOOL) continue;
    const Source predicate = InputOf(*enter, 0);
    int known = KnownValueOf(predicate);
    for (const int value : {0, 1}) {
      if (Has(when, Find(predicate, value))) known = value;
    }
    if (known >= 0) enter->AddAttr(kKnownValue, known);
  }
}

int Liveness::Find(Source predicate, int side, int sides) const {
  predicate = SkipIdentities(predicate);
  const auto found = sides_.find({predicate.node->id(), predicate.slot, side, sides});
  return found == sides_.end() ? -1 : found->second;
}

int Liveness::FindUnknown(const Node& merge) const {
  const auto found = unknown_.find(&merge);
  return found == unknown_.end() ? -1 : found->second;
}

Requirements Liveness::Minimal(const Requirements& requirements) const {
  Requirements implied;
  for (int id : requirements) implied = Both(implied, all_[id].implied);
  Requirements minimal;
  std::set_difference(requirements.begin(), requirements.end(), implied.begin(), implied.end(),
                      std::back_inserter(minimal));
  return minimal;
}

bool Liveness::Exclude(const Requirements& a, const Requirements& b) const {
  for (int x : a) {
    for (int y : b) {
      if (all_[x].predicate.node != nullptr && all_[x].predicate == all_[y].predicate &&
          all_[x].sides == all_[y].sides && all_[x].side != all_[y].side) {
        return true;
      }
    }
  }
  return false;
}

Requirements Liveness::Inputs(const Node& node) const {
  Requirements all;
  for (const Edge* edge : node.in_edges()) {
    const Node& from = *edge->src();
    if (from.IsSource()) continue;
    all = Both(all, edge->IsControlEdge() ? OfNode(from) : Of({edge->src(), edge->src_output()}));
  }
  return all;
}

// Each output has the requirements of the Switch, its own side, and what that side implies: a
// predicate that is dead selects no side, so a side implies the requirements of its predicate.
void Liveness::AddSwitch(const Node& node) {
  of_node_[&node] = Inputs(node);
  const Source predicate = SkipIdentities(InputOf(node, 1));
  const int known = KnownValueOf(predicate);
  if (known >= 0) return AddSwitchByKnown(node, known);
  const Requirements when = Of(predicate);
  const int sides = node.num_outputs();
  for (int side = 0; side < sides; ++side) {
    const auto [found, added] =
        sides_.insert({{predicate.node->id(), predicate.slot, side, sides}, size()});
    if (added) all_.push_back({predicate, side, sides, when});
    const int id = found->second;
    of_output_[{&node, side}] = Both(of_node_[&node], Both(all_[id].implied, {id}));
  }
}

void Liveness::AddSwitchByKnown(const Node& node, int known) {
  if (never_ < 0) {
    never_ = size();
    all_.push_back({});
  }
  of_output_[{&node, known}] = of_node_[&node];
  of_output_[{&node, 1 - known}] = Both(of_node_[&node], {never_});
}

// Inputs that are never live do not count. If the others cover all sides of a predicate, exactly
// one of them is live whenever their common requirements hold, and the Merge has these. Otherwise
// the Merge has what all inputs have in common, and an unknown requirement of its own, because
// possibly none of them is live.
void Liveness::AddMerge(const Node& node) {
  Requirements& requirements = of_node_[&node];
  if (LoopMergeOf(node)) return;
  std::vector<Requirements> inputs;
  for (int i = 0; i < node.num_inputs(); ++i) {
    const Requirements& input = Of(InputOf(node, i));
    if (!AreNeverLive(input)) inputs.push_back(input);
  }
  if (inputs.empty()) inputs.push_back(Of(InputOf(node, 0)));
  if (inputs.size() == 1) {
    requirements = inputs.front();
    return;
  }
  if (Completes(inputs, &requirements)) return;
  requirements = inputs.front();
  for (const Requirements& input : inputs) requirements = Common(requirements, input);
  all_.push_back({{nullptr, 0}, 0, 0, requirements});
  unknown_[&node] = size() - 1;
  requirements.push_back(size() - 1);
}

// Whether the inputs of a Merge have one side each of one predicate, all sides occur, and the other
// requirements of all inputs are the same. If so, sets *common to these other requirements.
bool Liveness::Completes(const std::vector<Requirements>& inputs, Requirements* common) const {
  const int sides = static_cast<int>(inputs.size());
  for (int candidate : inputs.front()) {
    const Requirement& first = all_[candidate];
    if (first.predicate.node == nullptr || first.sides != sides) continue;
    const Requirements rest = Without(inputs.front(), candidate);
    std::vector<bool> taken(sides, false);
    const bool complete = std::all_of(inputs.begin(), inputs.end(), [&](const Requirements& input) {
      return std::any_of(input.begin(), input.end(), [&](int id) {
        const Requirement& other = all_[id];
        if (!(other.predicate == first.predicate) || other.sides != sides) return false;
        if (taken[other.side]) return false;
        taken[other.side] = true;
        return Without(input, id) == rest;
      });
    });
    if (!complete) continue;
    *common = rest;
    return true;
  }
  return false;
}

// Compares the requirements of the loop's Enters. If they agree (EntersAsOne), the loop runs as a
// whole or not at all, and its Exits have the same requirements. If they do not, each Exit gets an
// unknown requirement.
//
// A variable whose value may be live while the others are dead counts as agreeing if nothing in the
// loop can tell: LoopCond is dead then, and only the variable's Switch reads the value. TensorFlow
// makes such a variable for a result that is not used: the zeros with which its gradient begins
// stand outside of the branch. That its requirements are fewer than those of the others says that
// it is live whenever they are, unless a _Recv brings it: a dead value may come from another
// device.
void Liveness::AddLoop(const Frame& loop) {
  Requirements all;
  for (const Node* enter : loop.enters) all = Both(all, Inputs(*enter));
  bool has_variable = false, alike = true;
  for (const Node* enter : loop.enters) {
    if (IsConstantEnter(*enter)) continue;
    has_variable = true;
    if (Inputs(*enter) == all) continue;
    alike = alike && !has_recv_ && IsReadByItsSwitchAlone(*enter) &&
            ConditionIsDeadWithItsVariables(loop);
  }
  if (has_variable && alike) of_loop_[&loop] = all;
  for (const Node* node : loop.nodes) {
    if (!node->IsExit()) continue;
    if (EntersAsOne(loop)) {
      of_node_[node] = OfLoop(loop);
    } else {
      all_.push_back({});
      of_node_[node] = {size() - 1};
    }
  }
}

void ForgetKnownValues(const Frame& loop) {
  for (Node* enter : loop.enters) enter->ClearAttr(kKnownValue);
  for (const Frame* inner : loop.children) ForgetKnownValues(*inner);
}

}  // namespace tensor_array_grad
