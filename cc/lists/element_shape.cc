#include "cc/lists/element_shape.h"

#include "cc/base/pooled_tensor.h"
#include "cc/base/tensor_data.h"
#include "cc/lists/list_checks.h"

namespace tensor_array_grad {

absl::Status ShapeFromTensor(const Tensor& tensor, PartialTensorShape* shape) {
  const bool narrow = tensor.dtype() == DT_INT32;
  if (!narrow && tensor.dtype() != DT_INT64) {
    return Invalid("Expected an int32 or int64 shape tensor; found ",
                   DataTypeString(tensor.dtype()));
  }
  if (tensor.dims() == 0) {
    if (IntAt(tensor, 0) != -1) {
      return Invalid(
          "The only valid scalar shape tensor is the fully unknown shape specified as -1.");
    }
    *shape = PartialTensorShape();
    return absl::OkStatus();
  }
  if (tensor.dims() != 1) {
    return Invalid("Shape must be at most rank 1 but is rank ", tensor.dims());
  }
  const auto make = [&](const auto* sizes) {
    return PartialTensorShape::MakePartialShape(sizes, static_cast<int>(tensor.NumElements()),
                                                shape);
  };
  return narrow ? make(DataOf<int32_t>(tensor)) : make(DataOf<int64_t>(tensor));
}

Tensor ShapeToTensor(const PartialTensorShape& shape, DataType dtype) {
  const TensorShape sizes = shape.unknown_rank() ? TensorShape({}) : TensorShape({shape.dims()});
  Tensor tensor;
  if (!MakePooledTensor(dtype, sizes, &tensor)) tensor = Tensor(dtype, sizes);
  for (int d = 0; d < tensor.NumElements(); ++d) {
    SetIntAt(d, shape.unknown_rank() ? -1 : shape.dim_size(d), &tensor);
  }
  return tensor;
}

absl::Status ReservedSize(const Tensor& num_elements, int64_t* size) {
  if (num_elements.dims() != 0) {
    return Invalid("The num_elements to reserve must be a tensor size 1, but got ",
                   num_elements.shape().DebugString());
  }
  *size = *DataOf<int32_t>(num_elements);
  if (*size >= 0) return absl::OkStatus();
  return Invalid("The num_elements to reserve must be a non negative number, but got ", *size);
}

absl::Status MergedElementShape(const ListVariant& list, const Tensor& element_shape,
                                PartialTensorShape* shape) {
  PartialTensorShape wanted;
  TF_RETURN_IF_ERROR(ShapeFromTensor(element_shape, &wanted));
  return wanted.MergeWith(list.shape(), shape);
}

absl::Status RowShape(const Tensor& tensor, TensorShape* row) {
  if (tensor.dims() == 0) {
    return Invalid("Tensor must be at least a vector, but saw shape: ",
                   tensor.shape().DebugString());
  }
  *row = tensor.shape();
  return row->RemoveDimWithStatus(0);
}

absl::Status StackedShape(const TensorShape& element, int64_t count, TensorShape* out) {
  *out = element;
  if (out->InsertDimWithStatus(0, count).ok()) return absl::OkStatus();
  return Invalid("The result would have too many dimensions, or more than 2**63 - 1 values: ",
                 count, " elements of shape ", element.DebugString());
}

absl::Status ShapeMerger::Add(const TensorShape& element) {
  if (any_ && element == last_) return absl::OkStatus();
  const PartialTensorShape before = shape_;
  TF_RETURN_IF_ERROR(before.MergeWith(element, &shape_));
  last_ = element;
  any_ = true;
  return absl::OkStatus();
}

absl::Status ShapeMerger::AddAll(const ListVariant& list) {
  return list.ForEach([&](int64_t, const Tensor& value) { return Add(value.shape()); });
}

}  // namespace tensor_array_grad
