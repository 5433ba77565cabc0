#ifndef CC_GRAPH_LOOP_COUNT_H_
#define CC_GRAPH_LOOP_COUNT_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/functional/function_ref.h"
#include "cc/graph/loop_variable.h"
#include "cc/graph/node_util.h"
#include "tensorflow/core/graph/graph.h"

namespace tensor_array_grad {

// An integer variable of a loop to which every step adds the same, or from which it takes it. The
// sum and a constant step wait for nothing in the body, so who reads the sum may feed anything
// there.
struct LoopCount {
  LoopVariable variable;
  tensorflow::Node* sum;  // what it is in the next step: AddV2, or Sub, of the variable and `step`
  Source step;
  bool down;  // whether it is Sub

  // Whether it is known to grow by `n` in each step.
  bool GrowsBy(int n) const;

  Source now() const { return {variable.gate, 1}; }
};

// The count that `variable` of the loop of `loop_cond` is; nothing if it is none.
std::optional<LoopCount> LoopCountOf(const LoopVariable& variable,
                                     const tensorflow::Node& loop_cond);

// All counts among the variables of the loop, in the order in which their nodes were made.
std::vector<LoopCount> LoopCountsOf(const tensorflow::Node& loop_cond);

// Where the value of `source` comes from, past Identities and what FromOutside looks past.
Source Origin(Source source);

// The integer that `source` is: a scalar Const of int32 or int64, past what Origin looks past.
std::optional<int64_t> IntegerOf(Source source);

// The integers that `source` is: such a Const that is a vector.
std::optional<std::vector<int64_t>> IntegersOf(Source source);

// Whether `count` is the number of steps that were taken before.
bool CountsSteps(const LoopCount& count);

// Whether the loop goes on only while the number of steps that were taken is below a limit of
// which, or of the origin of which, `is_limit` is true.
bool StopsAt(const tensorflow::Node& loop_cond, absl::FunctionRef<bool(Source)> is_limit);

}  // namespace tensor_array_grad

#endif  // CC_GRAPH_LOOP_COUNT_H_
