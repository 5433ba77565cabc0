#ifndef CC_REWRITE_RECOMPUTABLE_VALUE_H_
#define CC_REWRITE_RECOMPUTABLE_VALUE_H_

#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "cc/flow/graph_names.h"
#include "cc/flow/loop_count.h"
#include "cc/flow/loop_variable.h"
#include "cc/flow/node_util.h"

namespace tensor_array_grad {

// A forward loop and its backward loop, if both count their iterations.
//
// The backward loop runs at most as many iterations as the forward loop ran. If the forward loop
// ran n iterations, backward iteration k belongs to forward iteration n - 1 - k, both counted from
// 0. Let e be the final value of a count of the forward loop. In that forward iteration, the count
// was e - (k + 1) if it grows by one per iteration, and e + (k + 1) if it falls by one. Example:
// after three forward iterations with i = 0, 1, 2, i ends as 3, and backward iteration 0 gets
// i = 3 - (0 + 1) = 2.
struct LoopPair {
  LoopCount ahead;                // counts the forward loop's iterations; has an Exit
  LoopCount back;                 // counts the backward loop's iterations
  std::vector<LoopCount> counts;  // scalars of the forward loop that change by one per iteration

  // Nothing if the loops are no such pair, or if their counts are on different devices.
  static std::optional<LoopPair> Of(const Node& forward, const Node& backward);

  // The LoopConds.
  const Node& forward() const { return *ahead.variable.loop_cond(); }
  const Node& backward() const { return *back.variable.loop_cond(); }

  // The one of `counts` whose value in the body is `value`; null if there is none.
  const LoopCount* CountAt(Source value) const;
};

// The values of a forward iteration that the backward loop can recompute.
//
// They follow from the number of the iteration and from constants of the loop, by cheap functions
// of scalars that have no state, never fail, and wait only for nodes that are live in every
// iteration whose condition is true. The length and the element shape of a list that never changes
// in the loop are such values too. The graph must not change while an object of this class is used.
// Not thread-safe.
class RecomputableValues {
 public:
  using Shape = std::vector<int64_t>;

  // `loops` must outlive it.
  explicit RecomputableValues(const LoopPair& loops) : loops_(loops) {}

  // The shape of `value` if it can be recomputed; else nothing.
  std::optional<Shape> ShapeOf(Source value) { return ShapeOf(value, 0); }

  // Whether `value` depends on the number of the iteration. If it does, the recomputed value is
  // dead in the last iteration, whose condition is false. Requires: ShapeOf(value) exists.
  bool FollowsFromCount(Source value) const;

  // How many nodes a backward iteration needs to recompute `values`. Requires: ShapeOf exists for
  // each of them.
  int NodesPerIteration(const std::vector<Source>& values) const;

 private:
  // `values` and the values from which they are computed in an iteration, each once.
  std::vector<Source> PartsOf(const std::vector<Source>& values) const;
  std::optional<Shape> ShapeOf(Source value, int depth);
  std::optional<Shape> FindShape(Source value, int depth);
  // Whether `node` is live in every iteration whose condition is true.
  bool IsLiveInEveryIteration(Node* node, int depth);

  const LoopPair& loops_;
  std::map<std::pair<int, int>, std::optional<Shape>> shapes_;  // by Node::id() and slot
};

// Adds nodes to the backward loop that recompute values of the forward loop, each value once.
class ValueRecomputer {
 public:
  // `loops` and `graph` must outlive it.
  ValueRecomputer(const LoopPair& loops, Graph* graph) : loops_(loops), graph_(graph) {}

  // Returns the output in the backward loop that recomputes `value`, a value of the forward loop.
  // Adds nodes at the first call. Requires: RecomputableValues has a shape for `value`.
  absl::StatusOr<Source> Recompute(Source value);

  // Returns a copy of `constant`, a constant of the backward loop, that is live only in iterations
  // whose condition is true.
  absl::StatusOr<Source> LiveInTakenIterations(Source constant);

 private:
  absl::StatusOr<Source> Build(Source value);
  absl::StatusOr<Source> CountBack(const LoopCount& count);
  absl::StatusOr<Source> Copy(const Node& node, const std::vector<Source>& inputs);
  absl::StatusOr<Source> BringIn(Source outside);

  const LoopPair& loops_;
  Graph* const graph_;
  std::map<std::pair<int, int>, Source> built_;  // by Node::id() and slot
};

// Whether `node` reads the length of a list or the shape of its elements.
bool ReadsListMetadata(const Node& node);

// Removes those nodes of `values` that no node uses, then the nodes that were only used to compute
// them. Requires: RecomputableValues has a shape for each. A node may be listed several times. A
// constant of the loop that has lost its readers but cannot be removed is anchored at `next`, a
// NextIteration of the loop that is not removed (AnchorConstant).
void RemoveUnusedValues(const std::vector<Node*>& values, Node* next, Graph* graph);

}  // namespace tensor_array_grad

#endif  // CC_REWRITE_RECOMPUTABLE_VALUE_H_
