#ifndef CC_LISTS_LIST_WRITE_H_
#define CC_LISTS_LIST_WRITE_H_

#include <cstdint>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/types/span.h"
#include "cc/base/element_ops.h"
#include "cc/base/tensorflow_names.h"
#include "cc/lists/list_variant.h"

namespace tensor_array_grad {

// How list ops make elements of the rows of a tensor. An element is a view of the tensor if its
// rows are aligned, else a copy (RowCutter).
//
// Every function checks all its arguments before it makes a list or changes one. Errors have the
// messages of stock's kernels. `element_shape` is the op's input of that name.

// TensorListFromTensor: a list of the rows of `tensor`. O(rows).
absl::Status FromTensor(const Tensor& tensor, const Tensor& element_shape, ElementOps& ops,
                        ListVariant* list);

// TensorListSplit: element i has the next lengths[i] rows. O(lengths). `lengths` is a vector.
absl::Status Split(const Tensor& tensor, const Tensor& element_shape, const Tensor& lengths,
                   ElementOps& ops, ListVariant* list);

// TensorListScatter: a list whose element indices[i] is row i of `tensor`; of two equal indices the
// later one wins. The list has `size` elements, or as many as the indices need if `size` is -1.
absl::Status Scatter(const Tensor& tensor, const Tensor& indices, const Tensor& element_shape,
                     int64_t size, ElementOps& ops, ListVariant* list);

// TensorListScatterIntoExistingList: sets elements of `list`, which grows if an index is past its
// end. `change` returns the list to change, a copy of `list` or itself, and is called once all
// arguments have been checked.
absl::Status ScatterInto(const ListVariant& list, const Tensor& tensor, const Tensor& indices,
                         ElementOps& ops,
                         absl::FunctionRef<absl::Status(ListVariant** out)> change);

// TensorListPushBackBatch, in two halves: CheckRow checks that a row of shape `row` can be pushed
// to `list`, the one at index `i`, by an op for elements of `dtype`; PushRows then appends row i of
// `tensor` to list i.
absl::Status CheckRow(int64_t i, const ListVariant& list, DataType dtype, const TensorShape& row);
absl::Status PushRows(const Tensor& tensor, ElementOps& ops, absl::Span<ListVariant> lists);

}  // namespace tensor_array_grad

#endif  // CC_LISTS_LIST_WRITE_H_
