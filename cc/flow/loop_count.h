#ifndef CC_FLOW_LOOP_COUNT_H_
#define CC_FLOW_LOOP_COUNT_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/functional/function_ref.h"
#include "cc/flow/graph_names.h"
#include "cc/flow/loop_variable.h"
#include "cc/flow/node_util.h"

namespace tensor_array_grad {

// An integer variable of a loop to which each iteration adds `step`, or from which each iteration
// subtracts `step`. The step may differ between iterations unless it is a constant (GrowsBy). `sum`
// and a constant `step` have no control inputs from the body except its pivots, so a new reader of
// `sum` may feed any node of the body without making a cycle.
struct LoopCount {
  LoopVariable variable;
  Node* sum;  // the next value: AddV2, or Sub, of the variable and `step`
  Source step;
  bool down;  // whether `sum` is a Sub

  // Whether the variable is known to grow by `n` per iteration.
  bool GrowsBy(int n) const;
};

// Matches `variable` as a count. Nothing if it is not one.
std::optional<LoopCount> LoopCountOf(const LoopVariable& variable);

// All counts among the variables of the loop, in the order in which their nodes were made.
std::vector<LoopCount> LoopCountsOf(const Node& loop_cond);

// The output from which `source` gets its value, found by following Identities, constants of loops
// and variables that never change (FromOutside) backwards.
Source Origin(Source source);

// The value of `source` if its Origin is a scalar Const of int32 or int64; else nothing.
std::optional<int64_t> IntegerOf(Source source);

// The values of `source` if its Origin is a Const of int32 or int64 that is a vector; else nothing.
std::optional<std::vector<int64_t>> IntegersOf(Source source);

// Whether `count` is the number of iterations done so far: it begins with 0 and grows by 1.
bool CountsIterations(const LoopCount& count);

// Whether the loop continues only while the number of iterations done so far is below a limit for
// whose Origin `is_limit` is true.
bool StopsAt(const Node& loop_cond, absl::FunctionRef<bool(Source)> is_limit);

}  // namespace tensor_array_grad

#endif  // CC_FLOW_LOOP_COUNT_H_
