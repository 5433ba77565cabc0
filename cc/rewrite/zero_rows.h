#ifndef CC_REWRITE_ZERO_ROWS_H_
#define CC_REWRITE_ZERO_ROWS_H_

#include "absl/status/status.h"
#include "cc/flow/graph_names.h"

namespace tensor_array_grad {

// Shrinks the output of a branch of a conditional that feeds `sum`, an UnsortedSegmentSum, if the
// branch outputs one zero row for each row of a tensor. The branch then outputs only the last of
// these rows.
//
//   UnsortedSegmentSum(Merge(rows, ZerosLike(x)), Merge(ids, Range(0, n)), ..)
//     ->  UnsortedSegmentSum(Merge(rows, z), Merge(ids, i), ..)  of  z, i = LastRowOfZeros(x, n)
//
// TensorFlow makes such rows for a gather or an embedding lookup in one branch, because the
// gradient of the other branch must have the same structure. The sum does not change, and a row
// number out of range is still an error, since the last row has the largest number. Rows and
// numbers that are constants become smaller constants, also if the numbers are a Range of
// constants. The numbers may be cast to int64. If a branch outputs the result of another
// conditional, as `continue` in an `if` makes it do, the branches of that one shrink, too.
//
// The rewrite applies only if
//   - no other node reads the Merges or the Cast,
//   - rows, numbers, Cast, Merge of the rows and sum are on one device,
//   - rows and numbers are live under the same conditions,
//   - they are constants, or no other node reads the numbers and only Shape nodes read the rows.
// Otherwise the graph is not changed.
absl::Status ShrinkZeroRows(const Node& sum, Graph* graph);

}  // namespace tensor_array_grad

#endif  // CC_REWRITE_ZERO_ROWS_H_
