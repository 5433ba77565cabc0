#ifndef CC_LOOP_BROADCAST_H_
#define CC_LOOP_BROADCAST_H_

#include <cstdint>
#include <initializer_list>

#include "tensorflow/core/framework/tensor_shape.h"

namespace tensor_array_grad {

// Which element of each operand an element of the result is computed from, where shapes are
// stretched to each other as NumPy does: a dimension of size one repeats its only element.
//
// Neighbouring dimensions in which the same operands are stretched count as one, and the elements
// of the last one are a run. [5, 4, 8] and [5, 1, 1] have five runs of 32: each takes 32 elements
// that follow each other from the first operand, and one of the second operand 32 times.
class Broadcast {
 public:
  static constexpr int kMostOperands = 3, kMostDims = 8;

  // False if the shapes do not go together, a shape has no elements or more than kMostDims
  // dimensions. Requires: one to kMostOperands shapes.
  bool Read(std::initializer_list<const tensorflow::TensorShape*> operands);

  // Of the result. Requires, as all below: Read.
  const tensorflow::TensorShape& shape() const { return shape_; }
  int64_t elements() const { return elements_; }

  // Elements of a run of the result.
  int64_t run() const { return sizes_[dims_ - 1]; }
  // Whether `operand` has one element for a whole run.
  bool repeats(int operand) const { return steps_[operand][dims_ - 1] == 0; }

  // Calls use(at) for each run of the result, in order; it begins with element at[i] of operand i.
  template <typename Use>
  void ForEachRun(Use use) const {
    int64_t at[kMostOperands] = {}, index[kMostDims] = {};
    for (int d = 0; d >= 0;) {
      use(static_cast<const int64_t*>(at));
      for (d = dims_ - 2; d >= 0; --d) {
        const bool within = ++index[d] < sizes_[d];
        for (int i = 0; i < operands_; ++i) {
          at[i] += within ? steps_[i][d] : -steps_[i][d] * (sizes_[d] - 1);
        }
        if (within) break;
        index[d] = 0;
      }
    }
  }

 private:
  void AddDim(int64_t size, uint32_t stretched);

  tensorflow::TensorShape shape_;
  int64_t elements_ = 1;
  int operands_ = 0;
  int dims_ = 0;
  int64_t sizes_[kMostDims];
  int64_t steps_[kMostOperands][kMostDims];  // in elements of the operand; 0 where it is stretched
  uint32_t stretched_[kMostDims];            // bit i: operand i
};

}  // namespace tensor_array_grad

#endif  // CC_LOOP_BROADCAST_H_
