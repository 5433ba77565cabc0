#ifndef CC_SMALL_OPS_SMALL_OP_H_
#define CC_SMALL_OPS_SMALL_OP_H_

#include <cstdint>
#include <functional>

#include "absl/types/span.h"
#include "cc/base/tensorflow_names.h"
#include "cc/flow/graph_names.h"
#include "cc/small_ops/value.h"
#include "tensorflow/core/framework/allocator.h"

namespace tensor_array_grad {

using tensorflow::Allocator;

// An operand of a small op.
struct Operand {
  Value* value;
  bool last;  // the last read: the buffer may be written if nothing else shares it
};

using Operands = absl::Span<const Operand>;
using Results = absl::Span<Value* const>;

// Computes an op on values with the same result as its kernel, bit for bit. Empty if the node has
// no small op. `results` has an entry for each output, null for one that no instruction reads.
//
// A call returns false, and has changed no value, if it cannot compute the results: for shapes that
// it does not support, if it would compute or copy more than kMostSmallElements, and for inputs for
// which the kernel reports an error. The caller then runs the kernel. Reshape, Squeeze, ExpandDims,
// a StridedSlice that shares its input, and list ops that add nothing copy no elements, and work at
// any size. Thread-safe for different values.
using SmallOp = std::function<bool(Operands operands, Results results)>;

// The most operands, and the most results, of one op.
inline constexpr int kMostSmallOperands = 12;

// The most elements that a small op computes or copies. Adding this many numbers costs about as
// much as calling a kernel.
inline constexpr int64_t kMostSmallElements = 1024;

// Returns the small op for `node`, from the tables of small_tables.h, which have each op once.
// `allocator` makes the tensors that are too large for the block pool; it must outlive the result.
SmallOp SmallOpFor(const Node& node, Allocator* allocator);

// Makes an uninitialised tensor in host memory. Requires: `dtype` is plain data. If memory runs
// out, the tensor has no buffer; the small op then returns false and the kernel reports the error.
Tensor MakeSmallTensor(Allocator* allocator, DataType dtype, const TensorShape& shape);

}  // namespace tensor_array_grad

#endif  // CC_SMALL_OPS_SMALL_OP_H_
