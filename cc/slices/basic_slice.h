#ifndef CC_SLICES_BASIC_SLICE_H_
#define CC_SLICES_BASIC_SLICE_H_

#include <cstdint>

#include "tensorflow/core/framework/node_def_util.h"
#include "tensorflow/core/framework/tensor.h"
#include "tensorflow/core/framework/tensor_shape.h"

namespace tensor_array_grad {

// The masks of StridedSlice: bit i is about entry i of `begin`, `end` and `strides`.
struct SliceMasks {
  int32_t begin = 0, end = 0, ellipsis = 0, new_axis = 0, shrink_axis = 0;

  // Those of a node with these attributes; 0 for an attribute that is missing.
  static SliceMasks Of(const tensorflow::AttrSlice& attributes);
};

// The values of a tensor that an index such as x[2:5, i, ..., newaxis, -1] names: indices and
// ranges with stride one, the dimensions that `...` stands for, and new ones of size one.
//
// Nearly all slices in loops are of this form. TensorFlow's ValidateStridedSliceOp reads them too,
// in several hundred nanoseconds; this takes about twenty.
struct BasicSlice {
  static constexpr int kMostDims = 8;
  static constexpr int8_t kNewAxis = -1;

  int dims = 0;                               // of the tensor
  int64_t begin[kMostDims], size[kMostDims];  // of the slice in each of them
  int64_t elements = 1;                       // of the slice
  int rank = 0;                               // of the result
  int8_t axes[kMostDims];                     // of the result: a dimension of the tensor, kNewAxis

  // Reads the inputs of a StridedSlice of a tensor of `shape`. False, and nothing is known of the
  // slice, if it has another form or StridedSlice might report an error.
  bool Read(const tensorflow::TensorShape& shape, const tensorflow::Tensor& begins,
            const tensorflow::Tensor& ends, const tensorflow::Tensor& strides,
            const SliceMasks& masks);

  bool IsWhole(int d, const tensorflow::TensorShape& shape) const {
    return size[d] == shape.dim_size(d);
  }
  // Whether it is x[i]: the result has all dimensions but the first, and no new one. Requires:
  // those dimensions are whole.
  bool IsRow() const {
    bool is_row = rank == dims - 1;
    for (int i = 0; i < rank; ++i) is_row = is_row && axes[i] == i + 1;
    return is_row;
  }
  tensorflow::TensorShape ShapeOfResult() const;
};

}  // namespace tensor_array_grad

#endif  // CC_SLICES_BASIC_SLICE_H_
