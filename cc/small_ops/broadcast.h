#ifndef CC_SMALL_OPS_BROADCAST_H_
#define CC_SMALL_OPS_BROADCAST_H_

#include <cstdint>
#include <initializer_list>

#include "cc/base/tensorflow_names.h"

namespace tensor_array_grad {

// Maps the elements of a broadcast result to the elements of the operands. Shapes are broadcast as
// in NumPy: a dimension of size one repeats its only element. An operand is *stretched* in a
// dimension if its size there is one and the result's is not.
//
// Neighbouring dimensions in which the same operands are stretched are merged into one. A *run* is
// the elements of the result along the last merged dimension. [5, 4, 8] and [5, 1, 1] give five
// runs of 32 elements: each run reads 32 consecutive elements of the first operand and one element
// of the second operand 32 times.
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

  // The number of elements in a run.
  int64_t run() const { return sizes_[dims_ - 1]; }
  // True if a run reads a single element of `operand`.
  bool repeats(int operand) const { return steps_[operand][dims_ - 1] == 0; }

  // Calls use(at) for each run of the result, in order. The run reads operand i from element at[i]
  // on.
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
