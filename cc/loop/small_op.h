#ifndef CC_LOOP_SMALL_OP_H_
#define CC_LOOP_SMALL_OP_H_

#include <memory>
#include <vector>

#include "absl/types/span.h"
#include "cc/loop/value.h"
#include "cc/slices/basic_slice.h"
#include "cc/slices/slice_adder.h"
#include "tensorflow/core/framework/allocator.h"
#include "tensorflow/core/framework/types.h"

namespace tensor_array_grad {

// An operand of a small op.
struct Operand {
  Value* value;
  bool last;  // the buffer may be written if nothing else holds it
};

using Operands = absl::Span<const Operand>;
using Results = absl::Span<Value* const>;

// Computes an op on small values as its kernel would, bit for bit. Returns false, and has changed
// no value, where it does not: shapes it does not know, more elements than kMostSmallElements, what
// the kernel reports as an error. The kernel is to be called then.
struct SmallOp {
  using Run = bool (*)(Operands operands, const SmallOp& op, Value* result);
  // Of an op of several results. A result that nothing reads is null.
  using RunMany = bool (*)(Operands operands, const SmallOp& op, Results results);

  bool exists() const { return run != nullptr || run_many != nullptr; }

  // Requires: exists(); a place for each result.
  bool operator()(Operands operands, Results results) const {
    if (run_many != nullptr) return run_many(operands, *this, results);
    return results[0] != nullptr && run(operands, *this, results[0]);
  }
  bool operator()(Operands operands, Value* result) const {
    return (*this)(operands, {&result, 1});
  }

  Run run = nullptr;  // at most one of these two is set
  RunMany run_many = nullptr;
  tensorflow::Allocator* allocator = nullptr;  // for what the pool of blocks is too small for
  tensorflow::DataType dtype = tensorflow::DT_INVALID;  // of a list's elements, or gathered rows
  std::vector<int32_t> axes;                            // of Squeeze and Pack
  SliceMasks masks;                                     // of StridedSlice
  std::shared_ptr<const SliceAdder> adder;              // of AddSlices
  tensorflow::DataTypeVector dtypes;                    // of PopAccumulators' values
};

// Operands, and results, of one op.
inline constexpr int kMostSmallOperands = 12;

// Calling a kernel costs about as much as adding so many numbers.
inline constexpr int64_t kMostSmallElements = 1024;

// A tensor in host memory, uninitialised, of `dtype`, which is plain data. Its buffer is null if
// there is no memory; the kernel has the words for that.
tensorflow::Tensor MakeSmallTensor(const SmallOp& op, tensorflow::DataType dtype,
                                   const tensorflow::TensorShape& shape);

}  // namespace tensor_array_grad

#endif  // CC_LOOP_SMALL_OP_H_
