#ifndef CC_GRAPH_STEP_VALUE_H_
#define CC_GRAPH_STEP_VALUE_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "cc/graph/loop_count.h"
#include "cc/graph/loop_variable.h"
#include "cc/graph/node_util.h"
#include "tensorflow/core/framework/node_def_builder.h"
#include "tensorflow/core/graph/graph.h"

namespace tensor_array_grad {

// A forward and a backward loop of which the number of a step is known in both.
//
// The backward loop takes at most as many steps as the forward loop took; its step k, from 0, is
// for the forward loop's last step but k. A count of the forward loop that grows by one and ended
// as e was e - (k + 1) then, one that falls by one e + (k + 1).
struct LoopPair {
  LoopCount ahead;                // the forward loop's steps, which it has an exit for
  LoopCount back;                 // the backward loop's steps
  std::vector<LoopCount> counts;  // of the forward loop: scalars that go by one

  // Nothing if the loops are not such a pair, or are not counted on one device.
  static std::optional<LoopPair> Of(const tensorflow::Node& forward,
                                    const tensorflow::Node& backward);

  // The LoopConds.
  const tensorflow::Node& forward() const { return *InputOf(*ahead.variable.gate, 1).node; }
  const tensorflow::Node& backward() const { return *InputOf(*back.variable.gate, 1).node; }

  // The one of `counts` that `value` is in a step; null if it is none.
  const LoopCount* CountAt(Source value) const;
};

// The values in a forward step that follow from the number of the step and from what is constant
// in the loop, by cheap functions of scalars that have no state, never fail and wait for nothing in
// the body: the backward loop can compute them again. Describes the graph as it was.
class StepValues {
 public:
  using Shape = std::vector<int64_t>;

  // `loops` must outlive it.
  explicit StepValues(const LoopPair& loops) : loops_(loops) {}

  // The shape of `value`, if `value` is one of those; else nothing.
  std::optional<Shape> ShapeOf(Source value) { return ShapeOf(value, 0); }

  // Whether `value`, one of those, follows from the number of the step. It is alive in the steps
  // that are taken then, and not in the last, whose condition is false.
  bool FollowsFromCount(Source value) const;

  // How many nodes a backward step needs for all of `values`, each one of those.
  int StepNodesOf(const std::vector<Source>& values) const;

 private:
  // What `values` are made of in a step, themselves included, each once.
  std::vector<Source> PartsOf(const std::vector<Source>& values) const;
  std::optional<Shape> ShapeOf(Source value, int depth);
  std::optional<Shape> FindShape(Source value, int depth);
  // Whether `node` is alive in each step that is taken.
  bool IsInAllSteps(tensorflow::Node* node, int depth);

  const LoopPair& loops_;
  std::map<std::pair<int, int>, std::optional<Shape>> shapes_;  // by Node::id() and slot
};

// Makes the backward loop compute values of the forward loop, each once.
class StepValueBuilder {
 public:
  // `loops` and `graph` must outlive it.
  StepValueBuilder(const LoopPair& loops, tensorflow::Graph* graph)
      : loops_(loops), graph_(graph) {}

  // What is in the backward loop what `value` was in the forward loop. Requires that StepValues has
  // a shape for it.
  absl::StatusOr<Source> Again(Source value);

  // `constant`, a constant of the backward loop, alive only in steps that are taken.
  absl::StatusOr<Source> InStepsTaken(Source constant);

 private:
  absl::StatusOr<Source> Build(Source value);
  absl::StatusOr<Source> CountBack(const LoopCount& count);
  absl::StatusOr<Source> Copy(const tensorflow::Node& node, const std::vector<Source>& inputs);
  absl::StatusOr<Source> BringIn(Source outside);
  absl::StatusOr<Source> Add(tensorflow::NodeDefBuilder builder, const std::vector<Source>& inputs,
                             const tensorflow::Node& place);
  absl::StatusOr<Source> Add(const tensorflow::NodeDef& def, const std::vector<Source>& inputs,
                             const tensorflow::Node& place);
  std::string NewName(const tensorflow::Node& of, const char* what) const;

  const LoopPair& loops_;
  tensorflow::Graph* const graph_;
  std::map<std::pair<int, int>, Source> built_;  // by Node::id() and slot
};

// Whether `node` says something of a list: its length, or the shape of its elements.
bool AsksAList(const tensorflow::Node& node);

// Removes those of `values`, which StepValues has shapes for or which ask a list, that nobody uses,
// and then what they alone were computed of. May name a node several times.
// `next` is a next step of the loop that stays, for constants that cannot go to be anchored by.
void RemoveUnusedValues(const std::vector<tensorflow::Node*>& values, tensorflow::Node* next,
                        tensorflow::Graph* graph);

}  // namespace tensor_array_grad

#endif  // CC_GRAPH_STEP_VALUE_H_
