#include "cc/lists/list_write.h"

#include <algorithm>
#include <utility>

#include "cc/base/op_names.h"
#include "cc/lists/element_shape.h"
#include "cc/lists/list_checks.h"
#include "cc/lists/row_cutter.h"

namespace tensor_array_grad {
namespace {

// Sets `spec` to that of a list of rows of `tensor`. `op` is for the message.
absl::Status SpecOfRows(absl::string_view op, const Tensor& tensor, const Tensor& element_shape,
                        ListSpec* spec, TensorShape* row) {
  if (element_shape.dims() > 1) {
    return Invalid(op, ": element_shape must be at most rank 1 but has the shape of ",
                   element_shape.shape().DebugString());
  }
  TF_RETURN_IF_ERROR(ShapeFromTensor(element_shape, &spec->shape));
  spec->dtype = tensor.dtype();
  TF_RETURN_IF_ERROR(RowShape(tensor, row));
  if (spec->shape.IsCompatibleWith(*row)) return absl::OkStatus();
  return Invalid("Specified a list with shape ", spec->shape.DebugString(),
                 " from a tensor with shape ", row->DebugString());
}

// Sets `spec` to that of a list of parts of `tensor`.
absl::Status SpecOfParts(const Tensor& tensor, const Tensor& element_shape, ListSpec* spec) {
  TF_RETURN_IF_ERROR(ShapeFromTensor(element_shape, &spec->shape));
  const bool known = !spec->shape.unknown_rank();
  if (known && spec->shape.dims() == 0) {
    return Invalid("TensorListSplit requires element_shape to be at least of rank 1, but saw: ",
                   spec->shape.DebugString());
  }
  spec->dtype = tensor.dtype();
  TensorShape row;
  TF_RETURN_IF_ERROR(RowShape(tensor, &row));
  PartialTensorShape rest = spec->shape;
  if (known) TF_RETURN_IF_ERROR(rest.RemoveDimWithStatus(0));
  if (rest.IsCompatibleWith(row)) return absl::OkStatus();
  return Invalid("tensor shape ", tensor.shape().DebugString(),
                 " is not compatible with element_shape ", spec->shape.DebugString());
}

// Checks that `lengths` cut `total` rows into parts without a remainder.
absl::Status CheckLengths(absl::Span<const int64_t> lengths, int64_t total) {
  int64_t start = 0;
  for (const int64_t length : lengths) {
    if (length < 0) return Invalid("Invalid value in lengths: ", length);
    if (length > total - start) {
      return Invalid("Attempting to slice [", start, ", ",
                     static_cast<uint64_t>(start) + static_cast<uint64_t>(length),
                     "] from tensor with length ", total);
    }
    start += length;
  }
  if (start == total) return absl::OkStatus();
  return Invalid("Unused values in tensor. Length of tensor: ", total, " Values used: ", start);
}

// Checks the indices of a scatter to a list of `size` elements (-1: as many as the indices need),
// and sets `needed` to the length that the indices need.
absl::Status CheckIndices(const Tensor& indices, int64_t size, int64_t* needed) {
  *needed = 0;
  const auto flat = indices.flat<int32_t>();
  for (int64_t i = 0; i < flat.size(); ++i) {
    const int64_t index = flat(i);
    if (index < 0) return Invalid("Indices in TensorListScatter must all be non-negative.");
    if (size != -1 && index >= size) {
      return Invalid("TensorListScatter: Trying to scatter at index ", index, " in list with size ",
                     size);
    }
    *needed = std::max(*needed, index + 1);
  }
  return CheckSize(*needed);
}

// Sets element indices[i] of `list` to row i of `tensor`. Requires: checked indices.
absl::Status SetRows(const Tensor& tensor, const Tensor& indices, const TensorShape& row,
                     ElementOps& ops, ListVariant* list) {
  RowCutter rows(ops);
  TF_RETURN_IF_ERROR(rows.Start(tensor));
  const auto flat = indices.flat<int32_t>();
  for (int64_t i = 0; i < flat.size(); ++i) {
    Tensor value;
    TF_RETURN_IF_ERROR(rows.Next(row, &value));
    list->Set(flat(i), std::move(value));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status FromTensor(const Tensor& tensor, const Tensor& element_shape, ElementOps& ops,
                        ListVariant* list) {
  ListSpec spec;
  TensorShape row;
  TF_RETURN_IF_ERROR(SpecOfRows(ops::kTensorListFromTensor, tensor, element_shape, &spec, &row));
  TF_RETURN_IF_ERROR(CheckSize(tensor.dim_size(0)));
  RowCutter rows(ops);
  TF_RETURN_IF_ERROR(rows.Start(tensor));
  PersistentList items;
  TF_RETURN_IF_ERROR(PersistentList::Build(
      tensor.dim_size(0), [&](int64_t, Tensor* out) { return rows.Next(row, out); }, &items));
  *list = ListVariant(std::move(spec), std::move(items));
  return absl::OkStatus();
}

absl::Status Split(const Tensor& tensor, const Tensor& element_shape, const Tensor& lengths,
                   ElementOps& ops, ListVariant* list) {
  ListSpec spec;
  TF_RETURN_IF_ERROR(SpecOfParts(tensor, element_shape, &spec));
  if (lengths.dims() != 1) {
    return Invalid("Expected lengths to be a vector, received shape: ",
                   lengths.shape().DebugString());
  }
  const auto counts = lengths.vec<int64_t>();
  const absl::Span<const int64_t> all(counts.data(), counts.size());
  TF_RETURN_IF_ERROR(CheckLengths(all, tensor.dim_size(0)));
  TF_RETURN_IF_ERROR(CheckSize(lengths.NumElements()));
  RowCutter parts(ops);
  TF_RETURN_IF_ERROR(parts.Start(tensor, all));
  TensorShape shape = tensor.shape();
  const auto next = [&](int64_t i, Tensor* out) {
    shape.set_dim(0, all[i]);
    return parts.Next(shape, out);
  };
  PersistentList items;
  TF_RETURN_IF_ERROR(PersistentList::Build(lengths.NumElements(), next, &items));
  *list = ListVariant(std::move(spec), std::move(items));
  return absl::OkStatus();
}

absl::Status Scatter(const Tensor& tensor, const Tensor& indices, const Tensor& element_shape,
                     int64_t size, ElementOps& ops, ListVariant* list) {
  if (size < -1) return Invalid("TensorListScatter expects num_elements >= -1, found: ", size);
  ListSpec spec;
  TensorShape row;
  TF_RETURN_IF_ERROR(SpecOfRows(ops::kTensorListScatter, tensor, element_shape, &spec, &row));
  if (indices.NumElements() != tensor.dim_size(0)) {
    return Invalid("Invalid number of rows in input tensor. Expected: ", indices.NumElements(),
                   " Actual: ", tensor.dim_size(0));
  }
  int64_t needed;
  TF_RETURN_IF_ERROR(CheckIndices(indices, size, &needed));
  *list = ListVariant(std::move(spec), std::max(needed, size));
  return SetRows(tensor, indices, row, ops, list);
}

absl::Status ScatterInto(const ListVariant& list, const Tensor& tensor, const Tensor& indices,
                         ElementOps& ops,
                         absl::FunctionRef<absl::Status(ListVariant** out)> change) {
  if (tensor.dtype() != list.dtype()) {
    return Invalid("Invalid data types; input tensor type: ", DataTypeString(tensor.dtype()),
                   " list element_type: ", DataTypeString(list.dtype()));
  }
  TensorShape row;
  TF_RETURN_IF_ERROR(RowShape(tensor, &row));
  if (indices.dims() != 1) {
    return Invalid("Expected indices to be a vector, but received shape: ",
                   indices.shape().DebugString());
  }
  if (indices.NumElements() != tensor.dim_size(0)) {
    return Invalid("Expected len(indices) == tensor.shape[0], but saw: ", indices.NumElements(),
                   " vs. ", tensor.dim_size(0));
  }
  int64_t needed;
  TF_RETURN_IF_ERROR(CheckIndices(indices, /*size=*/-1, &needed));
  ListVariant* out;
  TF_RETURN_IF_ERROR(change(&out));
  if (needed > out->size()) out->Resize(needed);
  return SetRows(tensor, indices, row, ops, out);
}

absl::Status CheckRow(int64_t i, const ListVariant& list, DataType dtype, const TensorShape& row) {
  if (!list.shape().IsCompatibleWith(row)) {
    return Invalid("Tried to append a tensor with incompatible shape to a list at index ", i,
                   ". Op element shape: ", row.DebugString(),
                   " list shape: ", list.shape().DebugString());
  }
  if (list.dtype() != dtype) {
    return Invalid("Invalid data type at index ", i, "; op elements ", DataTypeString(dtype),
                   " but list elements ", DataTypeString(list.dtype()));
  }
  return CheckSize(list.size() + 1);
}

absl::Status PushRows(const Tensor& tensor, ElementOps& ops, absl::Span<ListVariant> lists) {
  TensorShape row;
  TF_RETURN_IF_ERROR(RowShape(tensor, &row));
  RowCutter rows(ops);
  TF_RETURN_IF_ERROR(rows.Start(tensor));
  for (ListVariant& list : lists) {
    Tensor value;
    TF_RETURN_IF_ERROR(rows.Next(row, &value));
    const int64_t size = list.size();
    list.Resize(size + 1);
    list.Set(size, std::move(value));
  }
  return absl::OkStatus();
}

}  // namespace tensor_array_grad
