#ifndef CC_GRAPH_ACCUMULATOR_H_
#define CC_GRAPH_ACCUMULATOR_H_

#include <map>
#include <vector>

#include "cc/graph/loop_variable.h"
#include "cc/graph/node_util.h"
#include "tensorflow/core/graph/graph.h"

namespace tensor_array_grad {

// A list that a loop pushes to, and where there is one, the loop that pops from it, as while_v2
// makes them for an intermediate of a loop that its gradient needs:
//
//     EmptyTensorList -> variable of the forward loop:   TensorListPushBack(list, value) each step
//             `-> exit -> variable of the backward loop: TensorListPopBack(list) each step
//
// The ring of nodes from the empty list to the last pop has no other consumer, all sit on one
// device, the pops wait for nothing and ask for no shape.
struct Accumulator {
  LoopVariable pushed{};
  tensorflow::Node* push = nullptr;
  LoopVariable popped{};
  tensorflow::Node* pop = nullptr;
  std::vector<tensorflow::Node*> links;  // Identity nodes in the ring

  bool never_read() const { return pop == nullptr; }
  Source value() const { return InputOf(*push, 1); }
};

// The accumulators that one forward loop fills, in the order in which their nodes were made.
struct LoopAccumulators {
  std::vector<Accumulator> never_read;
  std::map<int, std::vector<Accumulator>> by_reader;  // by Node::id() of the reader's LoopCond
};

LoopAccumulators AccumulatorsOf(const tensorflow::Node& loop_cond);

// Gives `to`, of the same loop, what hangs on `from` besides its value: the next step waits for
// what that of `from` waits for, and who waits for its exit waits for that of `to`.
void HandOver(const LoopVariable& from, const LoopVariable& to, tensorflow::Graph* graph);

// Removes all of `gone` but what others may use too. Requires that nobody reads what is popped.
void RemoveAccumulator(const Accumulator& gone, tensorflow::Graph* graph);

}  // namespace tensor_array_grad

#endif  // CC_GRAPH_ACCUMULATOR_H_
