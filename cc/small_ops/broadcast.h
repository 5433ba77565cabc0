#ifndef CC_SMALL_OPS_BROADCAST_H_
#define CC_SMALL_OPS_BROADCAST_H_

#include <cstddef>
#include <cstdint>
#include <initializer_list>

#include "cc/base/tensorflow_names.h"

namespace tensor_array_grad {

// Walks through `tensors` tensors at once, in row-major order of the first `dims` dimensions:
// sizes[d] places in dimension d, steps[i][d] apart in tensor i. Calls use(at) for each place;
// at[i] is the distance from the first place in tensor i. Requires: all sizes are positive.
template <size_t kMostTensors, size_t kMostDims, typename Use>
void ForEachPlace(const int64_t (&sizes)[kMostDims],
                  const int64_t (&steps)[kMostTensors][kMostDims], int tensors, int dims, Use use) {
  int64_t at[kMostTensors] = {}, index[kMostDims] = {};
  for (int d = 0; d >= 0;) {
    use(static_cast<const int64_t*>(at));
    for (d = dims - 1; d >= 0; --d) {
      for (int i = 0; i < tensors; ++i) at[i] += steps[i][d];
      if (++index[d] < sizes[d]) break;
      for (int i = 0; i < tensors; ++i) at[i] -= sizes[d] * steps[i][d];
      index[d] = 0;
    }
  }
}

// Maps the elements of a broadcast result to the elements of the operands. Shapes are broadcast as
// in NumPy: a dimension of size one repeats its only element. An operand is *stretched* in a
// dimension if its size there is one and the result's is not.
//
// Neighbouring dimensions in which the same operands are stretched are merged into one. A *line* is
// the elements of the result along the last merged dimension. [5, 4, 8] and [5, 1, 1] give five
// lines of 32 elements: each line reads 32 consecutive elements of the first operand and one
// element of the second operand 32 times.
class Broadcast {
 public:
  static constexpr int kMostOperands = 3, kMostDims = 8;

  // Computes the mapping for these shapes; may be called once per object. Returns false if they
  // cannot be broadcast together, or if a shape has no elements or more than kMostDims dimensions.
  // Requires: one to kMostOperands shapes.
  bool Read(std::initializer_list<const TensorShape*> operands);

  // Shape and number of elements of the result. Requires, as do all methods below: Read returned
  // true.
  const TensorShape& shape() const { return shape_; }
  int64_t elements() const { return elements_; }

  // The number of elements in a line.
  int64_t line() const { return sizes_[dims_ - 1]; }
  // True if a line reads a single element of `operand`.
  bool repeats(int operand) const { return steps_[operand][dims_ - 1] == 0; }

  // Calls use(at) for each line of the result, in order. The line reads operand i from element
  // at[i] on.
  template <typename Use>
  void ForEachLine(Use use) const {
    ForEachPlace(sizes_, steps_, operands_, dims_ - 1, use);
  }

 private:
  void AddDim(int64_t size, uint32_t stretched);

  TensorShape shape_;
  int64_t elements_ = 1;
  int operands_ = 0;
  int dims_ = 0;
  int64_t sizes_[kMostDims];
  int64_t steps_[kMostOperands][kMostDims];  // in elements of the operand; 0 where it is stretched
  uint32_t stretched_[kMostDims];            // bit i: operand i is stretched
};

}  // namespace tensor_array_grad

#endif  // CC_SMALL_OPS_BROADCAST_H_
