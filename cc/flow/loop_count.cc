#include "cc/flow/loop_count.h"

#include <algorithm>

#include "cc/base/op_names.h"
#include "cc/base/tensor_data.h"
#include "cc/base/tensorflow_names.h"

namespace tensor_array_grad {
namespace {

// The input of the chain of Identities that ends in `source`. Only Identities without control
// inputs other than pivots of the body are skipped.
Source PastBodyIdentities(Source source, const Node& loop_cond) {
  while (source.node->IsIdentity() && WaitsForBodyAlone(*source.node, loop_cond)) {
    source = InputOf(*source.node, 0);
  }
  return source;
}

// The value of `source` if its Origin is a Const of int32 or int64; else nothing.
std::optional<Tensor> IntegerTensorOf(Source source) {
  const Node* const node = Origin(source).node;
  Tensor value;
  if (!ConstantOf(*node, &value)) return std::nullopt;
  const bool integer = value.dtype() == DT_INT32 || value.dtype() == DT_INT64;
  return integer ? std::optional<Tensor>(value) : std::nullopt;
}

std::vector<int64_t> IntegersIn(const Tensor& value) {
  std::vector<int64_t> integers;
  for (int64_t i = 0; i < value.NumElements(); ++i) integers.push_back(IntAt(value, i));
  return integers;
}

// The nodes that are all true while the loop continues: the input of `loop_cond`, and the operands
// of each LogicalAnd among them.
std::vector<const Node*> ConditionsOf(const Node& loop_cond) {
  std::vector<const Node*> found{SkipIdentities(InputOf(loop_cond, 0)).node};
  for (size_t i = 0; i < found.size(); ++i) {
    const Node& node = *found[i];
    if (node.type_string() != ops::kLogicalAnd) continue;
    for (int input = 0; input < 2; ++input) {
      const Node* const part = SkipIdentities(InputOf(node, input)).node;
      if (std::find(found.begin(), found.end(), part) == found.end()) found.push_back(part);
    }
  }
  return found;
}

}  // namespace

// The variable is a count if its update is AddV2(now, step), AddV2(step, now) or Sub(now, step),
// where `now` is the variable's value in the body, possibly behind Identities.
std::optional<LoopCount> LoopCountOf(const LoopVariable& variable) {
  const DataType type = variable.merge->output_type(0);
  if (type != DT_INT32 && type != DT_INT64) return std::nullopt;
  Node* const sum = variable.update().node;
  if (sum == nullptr) return std::nullopt;
  const bool down = sum->type_string() == ops::kSub;
  if (!down && sum->type_string() != ops::kAddV2) return std::nullopt;
  const Node& loop_cond = *variable.loop_cond();
  if (!WaitsForBodyAlone(*sum, loop_cond)) return std::nullopt;
  const Source now{variable.switch_node, 1};
  for (int i = 0; i < (down ? 1 : 2); ++i) {
    if (!(PastBodyIdentities(InputOf(*sum, i), loop_cond) == now)) continue;
    const Source step = PastBodyIdentities(InputOf(*sum, 1 - i), loop_cond);
    // The step may be an Identity or a Const that waits for other nodes of the body. A reader of
    // the sum could then not feed these nodes without making a cycle.
    const bool waits = step.node->IsIdentity() ||
                       (step.node->IsConstant() && !WaitsForBodyAlone(*step.node, loop_cond));
    if (!waits) return LoopCount{variable, sum, step, down};
  }
  return std::nullopt;
}

bool LoopCount::GrowsBy(int n) const { return IntegerOf(step) == (down ? -n : n); }

std::vector<LoopCount> LoopCountsOf(const Node& loop_cond) {
  std::vector<LoopCount> found;
  for (const LoopVariable& variable : LoopVariablesOf(loop_cond)) {
    if (const auto count = LoopCountOf(variable)) found.push_back(*count);
  }
  return found;
}

Source Origin(Source source) {
  for (;;) {
    source = SkipIdentities(source);
    const auto outside = FromOutside(source);
    if (!outside) return source;
    source = *outside;
  }
}

std::optional<int64_t> IntegerOf(Source source) {
  const auto value = IntegerTensorOf(source);
  if (!value || value->dims() != 0) return std::nullopt;
  return IntegersIn(*value).front();
}

std::optional<std::vector<int64_t>> IntegersOf(Source source) {
  const auto value = IntegerTensorOf(source);
  if (!value || value->dims() != 1) return std::nullopt;
  return IntegersIn(*value);
}

bool CountsIterations(const LoopCount& count) {
  return IntegerOf(count.variable.initial()) == 0 && count.GrowsBy(1);
}

// The loop continues only while all conditions of a conjunction are true (ConditionsOf). It is
// enough that one of them is Less(count, limit), where `count` counts the iterations.
bool StopsAt(const Node& loop_cond, absl::FunctionRef<bool(Source)> is_limit) {
  const std::vector<const Node*> conditions = ConditionsOf(loop_cond);
  for (const LoopCount& count : LoopCountsOf(loop_cond)) {
    if (!CountsIterations(count)) continue;
    for (const Node* condition : conditions) {
      if (condition->type_string() == ops::kLess &&
          SkipIdentities(InputOf(*condition, 0)) == Source{count.variable.merge, 0} &&
          is_limit(Origin(InputOf(*condition, 1)))) {
        return true;
      }
    }
  }
  return false;
}

}  // namespace tensor_array_grad
