#ifndef CC_SLICES_BROADCAST_ADD_H_
#define CC_SLICES_BROADCAST_ADD_H_

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "cc/base/tensorflow_names.h"
#include "cc/device/functors.h"
#include "cc/slices/slice_gradient.h"

// What stock computes if an Add with a gradient of a slice broadcasts its operands. Gradients that
// TensorFlow makes have the shape of the running sum, so this is rare and need not be fast.
namespace tensor_array_grad {

// Sets `sum` to the sum of the terms from left to right, as full tensors, with the bits of stock.
// Returns ResourceExhausted if memory runs out. Requires: at least one term, of one dtype and
// shape.
absl::Status DenseSum(absl::Span<const SliceGradient> terms, cpu::ParallelFor parallel_for,
                      Tensor* sum);

// Sets `sum` to left + right, broadcast as Add broadcasts them. Returns the errors of Add: for
// shapes that cannot be broadcast, for too many dimensions, and ResourceExhausted.
// Requires: one dtype, CanAdd(dtype).
absl::Status BroadcastAdd(const Tensor& left, const Tensor& right, cpu::ParallelFor parallel_for,
                          Tensor* sum);

}  // namespace tensor_array_grad

#endif  // CC_SLICES_BROADCAST_ADD_H_
