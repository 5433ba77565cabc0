#include "cc/core/element_ops.h"

#include "tensorflow/core/platform/logging.h"

namespace tensor_array_grad {

using tensorflow::DataType;
using tensorflow::Tensor;
using tensorflow::TensorShape;

bool CanAdd(DataType dtype) {
  switch (dtype) {
    case tensorflow::DT_HALF:
    case tensorflow::DT_BFLOAT16:
    case tensorflow::DT_FLOAT:
    case tensorflow::DT_DOUBLE:
    case tensorflow::DT_INT8:
    case tensorflow::DT_INT16:
    case tensorflow::DT_INT32:
    case tensorflow::DT_INT64:
    case tensorflow::DT_UINT8:
    case tensorflow::DT_UINT16:
    case tensorflow::DT_UINT32:
    case tensorflow::DT_UINT64:
    case tensorflow::DT_COMPLEX64:
    case tensorflow::DT_COMPLEX128:
      return true;
    default:
      return false;
  }
}

bool CanZero(DataType dtype) { return CanAdd(dtype) || dtype == tensorflow::DT_BOOL; }

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

}  // namespace tensor_array_grad
