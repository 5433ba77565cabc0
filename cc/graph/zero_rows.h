#ifndef CC_GRAPH_ZERO_ROWS_H_
#define CC_GRAPH_ZERO_ROWS_H_

#include "absl/status/status.h"
#include "tensorflow/core/graph/graph.h"

namespace tensor_array_grad {

// Where `sum`, an UnsortedSegmentSum, gets its rows from a conditional of which a branch has all
// rows of a tensor, zero, makes that branch give the last of them alone.
//
//   UnsortedSegmentSum(Merge(rows, ZerosLike(x)), Merge(ids, Range(0, n)), ..)
//     ->  UnsortedSegmentSum(Merge(rows, z), Merge(ids, i), ..)  of  z, i = LastRowOfZeros(x, n)
//
// TensorFlow makes them for a gather or an embedding lookup in one branch: the gradient of the
// other is to have the same form. The values stay, and so does the error of an index that is out of
// range. Two constants become two smaller constants. Only where no other node reads the rows and
// their numbers, and where both are alive together.
absl::Status ShrinkZeroRows(const tensorflow::Node& sum, tensorflow::Graph* graph);

}  // namespace tensor_array_grad

#endif  // CC_GRAPH_ZERO_ROWS_H_
