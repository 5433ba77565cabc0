#include "cc/base/element_ops.h"

#include "cc/base/mutable_tensors.h"
#include "tensorflow/core/platform/logging.h"

namespace tensor_array_grad {

bool CanAdd(DataType dtype) {
  return tensorflow::kNumberTypes.Contains(dtype) && !tensorflow::DataTypeIsQuantized(dtype);
}

bool CanZero(DataType dtype) { return CanAdd(dtype) || dtype == DT_BOOL; }

Tensor ViewOf(const Piece& piece, const TensorShape& shape) {
  const bool whole = piece.begin == 0 && piece.count == piece.source.NumElements();
  Tensor view(piece.source.dtype());
  bool fits;
  if (whole) {
    fits = view.CopyFrom(piece.source, shape);
  } else {
    Tensor flat(piece.source.dtype());
    fits = flat.CopyFrom(piece.source, TensorShape({piece.source.NumElements()})) &&
           view.CopyFrom(flat.Slice(piece.begin, piece.begin + piece.count), shape);
  }
  DCHECK(fits) << "a piece of " << piece.count << " values as " << shape.DebugString();
  (void)fits;
  return view;
}

absl::Status Materialize(const Piece& piece, DataType dtype, const TensorShape& shape,
                         ElementOps& ops, Tensor* value) {
  if (shape.num_elements() == 0) {
    *value = Tensor(dtype, shape);
    return absl::OkStatus();
  }
  if (!piece.zeros()) {
    *value = ViewOf(piece, shape);
    if (value->IsAligned()) return absl::OkStatus();
  }
  TF_RETURN_IF_ERROR(ops.Allocate(dtype, shape, value));
  return piece.zeros() ? ops.Zero(value) : ops.Pack({piece}, value);
}

absl::Status KeepValues(const Tensor& value, ElementOps& ops, Tensor* kept) {
  // Values change in place only through another tensor that shares the buffer.
  if (!HasMutableTensors() || value.NumElements() == 0 || value.RefCountIsOne()) {
    *kept = value;
    return absl::OkStatus();
  }
  TF_RETURN_IF_ERROR(ops.Allocate(value.dtype(), value.shape(), kept));
  return ops.Pack({Piece{value, 0, value.NumElements()}}, kept);
}

}  // namespace tensor_array_grad
