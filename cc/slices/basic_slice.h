#ifndef CC_SLICES_BASIC_SLICE_H_
#define CC_SLICES_BASIC_SLICE_H_

#include <cstdint>

#include "cc/base/slice_gradient_op.h"
#include "cc/base/tensorflow_names.h"

namespace tensor_array_grad {

// A slice such as x[2:5, i, ..., newaxis, -1]: indices, ranges with stride one, dimensions that
// `...` stands for, and new dimensions of size one.
//
// Nearly all slices in loops have this form. TensorFlow's ValidateStridedSliceOp reads them too,
// but takes several hundred nanoseconds. Read takes about twenty.
struct BasicSlice {
  static constexpr int kMostDims = 8;
  static constexpr int8_t kNewAxis = -1;

  int dims = 0;                               // number of dimensions of the tensor
  int64_t begin[kMostDims], size[kMostDims];  // of the slice, by dimension of the tensor
  int64_t elements = 1;                       // number of elements of the slice
  int rank = 0;                               // number of dimensions of the result
  int8_t axes[kMostDims];  // by dimension of the result: that of the tensor, or kNewAxis

  // Reads the inputs of a StridedSlice of a tensor of `shape`. Returns false if the slice has
  // another form or StridedSlice might report an error; the fields then have no meaning. The other
  // methods require that Read returned true.
  bool Read(const TensorShape& shape, const Tensor& begins, const Tensor& ends,
            const Tensor& strides, const SliceMasks& masks);

  // Whether the slice contains dimension `d` of the tensor, which has `shape`, completely.
  bool IsWhole(int d, const TensorShape& shape) const { return size[d] == shape.dim_size(d); }
  // Whether the slice is x[i]: the result has all dimensions except the first, in their order, and
  // no new one. Requires: all dimensions except the first are whole.
  bool IsRow() const {
    bool is_row = rank == dims - 1;
    for (int i = 0; i < rank; ++i) is_row = is_row && axes[i] == i + 1;
    return is_row;
  }
  TensorShape ShapeOfResult() const;
};

}  // namespace tensor_array_grad

#endif  // CC_SLICES_BASIC_SLICE_H_
