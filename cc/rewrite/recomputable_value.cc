#include "cc/rewrite/recomputable_value.h"

#include <algorithm>
#include <string>
#include <unordered_set>
#include <utility>

#include "cc/base/op_names.h"
#include "cc/flow/op_facts.h"
#include "tensorflow/core/framework/node_def_util.h"
#include "tensorflow/core/framework/tensor.h"
#include "tensorflow/core/platform/statusor.h"

namespace tensor_array_grad {
namespace {

using Shape = RecomputableValues::Shape;

// The deepest nesting of functions that is matched. Deeper expressions cost more than they save.
constexpr int kDeepestExpression = 8;

bool IsOf(const Node& node, const char* op) { return node.type_string() == op; }

bool Divides(const Node& node) { return IsOf(node, ops::kFloorDiv) || IsOf(node, ops::kFloorMod); }

// Whether `node`, applied to scalars, never fails and has a result that depends only on its inputs.
// Integer division fails only if the divisor is zero, so the divisor must be a constant that is not
// zero.
bool IsCheap(const Node& node) {
  if (IsOf(node, ops::kExpandDims)) {
    const auto axis = IntegerOf(InputOf(node, 1));
    return axis == 0 || axis == -1;
  }
  if (!HasFact(node, kCheapOnScalars)) return false;
  return !Divides(node) || IntegerOf(InputOf(node, 1)).value_or(0) != 0;
}

// The shape of the result of a cheap function of scalars: a vector (an index) or a scalar.
Shape ShapeOfResult(const Node& node) {
  if (IsOf(node, ops::kPack)) return {node.num_inputs()};
  if (IsOf(node, ops::kExpandDims)) return {1};
  return {};
}

// Whether `node` may be part of the computation of a recomputable value.
bool IsComputed(const Node& node) {
  return IsCheap(node) || ReadsListMetadata(node) || node.IsConstant();
}

// Which input of `list` is the shape of its elements; nothing if `list` does not make a list.
std::optional<int> ElementShapeInput(const Node& list) {
  if (IsOf(list, ops::kTensorListFromTensor)) return 1;
  if (IsOf(list, ops::kTensorListReserve) || IsOf(list, ops::kEmptyTensorList)) return 0;
  return std::nullopt;
}

// The list that `asking` (ReadsListMetadata) reads, as an output outside of the loop, if the list
// is the same in every iteration.
std::optional<Source> ListOutside(const Node& asking) {
  return FromOutside(SkipIdentities(InputOf(asking, 0)));
}

// The shape of the output of `asking`, if the list that it reads does not change in the loop. The
// shape of an element shape is known only if the op that made the list is.
std::optional<Shape> ShapeOfAnswer(const Node& asking) {
  const auto outside = ListOutside(asking);
  if (!outside || !OnSameDevice(*outside->node, asking)) return std::nullopt;
  const Node& list = *Origin(*outside).node;
  const auto input = ElementShapeInput(list);
  if (!input) return std::nullopt;
  if (IsOf(asking, ops::kTensorListLength)) return Shape{};
  const auto element_shape = IntegersOf(InputOf(list, *input));
  if (!element_shape) return std::nullopt;
  return Shape{static_cast<int64_t>(element_shape->size())};
}

bool IsScalarConstant(const Node& node) {
  Tensor value;
  return ConstantOf(node, &value) && value.dims() == 0;
}

// Whether `count` begins with a constant and has a constant step, which both are scalars.
bool IsScalar(const LoopCount& count) {
  return IntegerOf(count.variable.initial()) && IntegerOf(count.step);
}

// Whether `source` is the final value of a scalar count of a loop.
bool IsScalarCountAtEnd(Source source) {
  if (!source.node->IsExit()) return false;
  const auto variable = LoopVariableOf(InputOf(*source.node, 0).node);
  const auto count = variable ? LoopCountOf(*variable) : std::nullopt;
  return count && IsScalar(*count);
}

bool IsOnDeviceOf(const LoopCount& count, const Node& node) {
  return IsOnOneDevice(count.variable) && OnSameDevice(*count.variable.enter, node) &&
         OnSameDevice(*count.sum, node);
}

std::pair<int, int> KeyOf(Source source) { return {source.node->id(), source.slot}; }

}  // namespace

bool ReadsListMetadata(const Node& node) {
  return IsOf(node, ops::kTensorListLength) || IsOf(node, ops::kTensorListElementShape);
}

// The backward loop must have a count of its iterations, `behind`. The forward loop must have one
// whose Exit is the limit of the backward loop, `counter`: then the backward loop runs at most as
// many iterations as the forward loop.
std::optional<LoopPair> LoopPair::Of(const Node& forward, const Node& backward) {
  const std::vector<LoopCount> ahead = LoopCountsOf(forward), back = LoopCountsOf(backward);
  const auto behind = std::find_if(back.begin(), back.end(), CountsIterations);
  if (behind == back.end() || !IsOnDeviceOf(*behind, *behind->sum)) return std::nullopt;
  const auto counter = std::find_if(ahead.begin(), ahead.end(), [&](const LoopCount& count) {
    const Source end{count.variable.exit, 0};
    return CountsIterations(count) && IsOnDeviceOf(count, *behind->sum) &&
           StopsAt(backward, [&](Source limit) { return limit == end; });
  });
  if (counter == ahead.end()) return std::nullopt;
  LoopPair pair{*counter, *behind, {}};
  for (const LoopCount& count : ahead) {
    if (IsScalar(count) && (count.GrowsBy(1) || count.GrowsBy(-1)) &&
        IsOnDeviceOf(count, *behind->sum) &&
        count.sum->output_type(0) == behind->sum->output_type(0)) {
      pair.counts.push_back(count);
    }
  }
  return pair;
}

const LoopCount* LoopPair::CountAt(Source value) const {
  const auto found = std::find_if(counts.begin(), counts.end(), [&](const LoopCount& count) {
    return value == Source{count.variable.switch_node, 1};
  });
  return found == counts.end() ? nullptr : &*found;
}

std::optional<Shape> RecomputableValues::ShapeOf(Source value, int depth) {
  const auto known = shapes_.find(KeyOf(value));
  if (known != shapes_.end()) return known->second;
  return shapes_[KeyOf(value)] = FindShape(value, depth);
}

// Tries the kinds of recomputable values one after the other: a count of the forward loop, a
// constant of the loop, a Const, the length or element shape of a constant list, and a cheap
// function whose inputs are recomputable scalars. `depth` limits the recursion through the inputs.
std::optional<Shape> RecomputableValues::FindShape(Source value, int depth) {
  const Node& node = *value.node;
  if (depth > kDeepestExpression || !OnSameDevice(node, *loops_.back.sum)) return std::nullopt;
  if (loops_.CountAt(value) != nullptr) return Shape{};
  if (const auto outside = FromOutside(value)) {
    if (!OnSameDevice(*outside->node, node)) return std::nullopt;
    const bool scalar = IsScalarConstant(*Origin(*outside).node) || IsScalarCountAtEnd(*outside);
    return scalar ? std::optional<Shape>(Shape{}) : std::nullopt;
  }
  for (const Edge* edge : node.in_edges()) {
    if (edge->IsControlEdge() && !IsLiveInEveryIteration(edge->src(), depth)) return std::nullopt;
  }
  if (IsScalarConstant(node)) return Shape{};
  if (ReadsListMetadata(node)) return ShapeOfAnswer(node);
  if (!IsCheap(node)) return std::nullopt;
  for (const Source& input : InputsOf(node)) {
    if (ShapeOf(input, depth + 1) != Shape{}) return std::nullopt;
  }
  return ShapeOfResult(node);
}

bool RecomputableValues::IsLiveInEveryIteration(Node* node, int depth) {
  return IsBodyPivot(*node, loops_.forward()) || ShapeOf({node, 0}, depth + 1);
}

std::vector<Source> RecomputableValues::PartsOf(const std::vector<Source>& values) const {
  std::vector<Source> parts, open = values;
  std::unordered_set<int> seen;
  while (!open.empty()) {
    const Source value = open.back();
    open.pop_back();
    if (!seen.insert(value.node->id()).second) continue;
    parts.push_back(value);
    if (loops_.CountAt(value) != nullptr || !IsCheap(*value.node)) continue;
    for (const Source& input : InputsOf(*value.node)) open.push_back(input);
  }
  return parts;
}

bool RecomputableValues::FollowsFromCount(Source value) const {
  const std::vector<Source> parts = PartsOf({value});
  return std::any_of(parts.begin(), parts.end(),
                     [&](const Source& part) { return loops_.CountAt(part) != nullptr; });
}

int RecomputableValues::NodesPerIteration(const std::vector<Source>& values) const {
  const std::vector<Source> parts = PartsOf(values);
  return static_cast<int>(std::count_if(parts.begin(), parts.end(), [&](const Source& part) {
    return loops_.CountAt(part) != nullptr || (IsCheap(*part.node) && !part.node->IsIdentity());
  }));
}

absl::StatusOr<Source> ValueRecomputer::Recompute(Source value) {
  const auto known = built_.find(KeyOf(value));
  if (known != built_.end()) return known->second;
  TF_ASSIGN_OR_RETURN(const Source built, Build(value));
  built_.emplace(KeyOf(value), built);
  return built;
}

// The Identity waits for the update of the backward loop's count, which runs only in iterations
// whose condition is true.
absl::StatusOr<Source> ValueRecomputer::LiveInTakenIterations(Source constant) {
  auto builder = StartNode(NewName(*constant.node, "taken", graph_), ops::kIdentity, {constant});
  TF_ASSIGN_OR_RETURN(const Source identity,
                      AddReplacement(std::move(builder), {constant}, *constant.node, {}, graph_));
  graph_->AddControlEdge(loops_.back.sum, identity.node);
  return identity;
}

// Adds the nodes for `value`, by the kind of value as in FindShape: a count is counted back; a
// constant of the forward loop becomes a constant of the backward loop; length and element shape
// are read before the loops and become constants; a function is copied, with recomputed inputs.
absl::StatusOr<Source> ValueRecomputer::Build(Source value) {
  Node* const node = value.node;
  if (const LoopCount* const count = loops_.CountAt(value)) return CountBack(*count);
  if (const auto outside = FromOutside(value)) return BringIn(*outside);
  if (node->IsIdentity()) return Recompute(InputOf(*node, 0));
  if (ReadsListMetadata(*node)) {
    // NOLINTNEXTLINE: ReadsListMetadata says that there is one
    TF_ASSIGN_OR_RETURN(const Source before, Copy(*node, {*ListOutside(*node)}));
    return BringIn(before);
  }
  std::vector<Source> inputs;
  for (const Source& input : InputsOf(*node)) {
    TF_ASSIGN_OR_RETURN(inputs.emplace_back(), Recompute(input));
  }
  TF_ASSIGN_OR_RETURN(const Source copy, Copy(*node, inputs));
  // A Const has no data input. This control edge puts it into the frame of the backward loop.
  if (node->IsConstant()) graph_->AddControlEdge(loops_.back.variable.merge, copy.node);
  return copy;
}

// The value of `count` in the matching forward iteration, by the formula at LoopPair. `back.sum` is
// k + 1 in backward iteration k. If the count has no Exit, one is added to get its last value.
absl::StatusOr<Source> ValueRecomputer::CountBack(const LoopCount& count) {
  const LoopVariable& variable = count.variable;
  Source end{variable.exit, 0};
  if (end.node == nullptr) {
    const Source switch_node{variable.switch_node, 0};
    auto builder = StartNode(NewName(*switch_node.node, "exit", graph_), "Exit", {switch_node});
    TF_ASSIGN_OR_RETURN(
        end, AddReplacement(std::move(builder), {switch_node}, *switch_node.node, {}, graph_));
  }
  TF_ASSIGN_OR_RETURN(const Source in_loop, BringIn(end));
  const std::vector<Source> inputs{in_loop, {loops_.back.sum, 0}};
  const char* const op = count.GrowsBy(1) ? ops::kSub : ops::kAddV2;
  return AddReplacement(StartNode(NewName(*variable.switch_node, "recomputed", graph_), op, inputs),
                        inputs, *count.sum, {}, graph_);
}

absl::StatusOr<Source> ValueRecomputer::Copy(const Node& node, const std::vector<Source>& inputs) {
  NodeDef def = node.def();
  def.set_name(NewName(node, "recomputed", graph_));
  def.mutable_attr()->erase("_class");  // a constraint for the placer, which has run
  return AddReplacement(std::move(def), inputs, node, {}, graph_);
}

// Makes `outside`, an output outside of the loops, a constant of the backward loop. Uses an Enter
// that the loop has already, or adds one.
absl::StatusOr<Source> ValueRecomputer::BringIn(Source outside) {
  const LoopVariable& back = loops_.back.variable;
  std::string frame, other;
  int parallel;
  TF_RETURN_IF_ERROR(GetNodeAttr(back.enter->attrs(), "frame_name", &frame));
  TF_RETURN_IF_ERROR(GetNodeAttr(back.enter->attrs(), "parallel_iterations", &parallel));
  for (const Edge* edge : outside.node->out_edges()) {
    if (edge->src_output() == outside.slot && IsConstantEnter(*edge->dst()) &&
        OnSameDevice(*edge->dst(), *back.enter) &&
        TryGetNodeAttr(edge->dst()->attrs(), "frame_name", &other) && other == frame) {
      return Source{edge->dst(), 0};
    }
  }
  auto builder = StartNode(NewName(*outside.node, "enter", graph_), ops::kEnter, {outside});
  builder.Attr("frame_name", frame).Attr("is_constant", true).Attr("parallel_iterations", parallel);
  TF_ASSIGN_OR_RETURN(const Source enter,
                      AddReplacement(std::move(builder), {outside}, *back.enter, {}, graph_));
  AnchorConstant(enter.node, back.next, graph_);
  return enter;
}

void RemoveUnusedValues(const std::vector<Node*>& values, Node* next, Graph* graph) {
  // By id, because a node may be listed again after its removal.
  std::vector<int> open;
  for (const Node* value : values) open.push_back(value->id());
  while (!open.empty()) {
    Node* const node = graph->FindNodeId(open.back());
    open.pop_back();
    if (node == nullptr || IsUsed(*node)) continue;
    if (IsConstantEnter(*node) && !WaitsForNothing(*node)) {
      AnchorConstant(node, next, graph);
    } else if (IsConstantEnter(*node)) {
      graph->RemoveNode(node);
    } else if (IsComputed(*node)) {
      for (const Source& input : InputsOf(*node)) open.push_back(input.node->id());
      graph->RemoveNode(node);
    }
  }
}

}  // namespace tensor_array_grad
