#ifndef CC_SMALL_OPS_SMALL_OP_H_
#define CC_SMALL_OPS_SMALL_OP_H_

#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "absl/types/span.h"
#include "cc/base/tensorflow_names.h"
#include "cc/flow/graph_names.h"
#include "cc/slices/basic_slice.h"
#include "cc/slices/slice_adder.h"
#include "cc/small_ops/value.h"
#include "tensorflow/core/framework/allocator.h"

namespace tensor_array_grad {

// An operand of a small op.
struct Operand {
  Value* value;
  bool last;  // the last read: the buffer may be written if nothing else shares it
};

using Operands = absl::Span<const Operand>;
using Results = absl::Span<Value* const>;

// Computes an op on small values with the same result as its kernel, bit for bit.
//
// A call returns false, and has changed no value, if it cannot compute the result: for shapes that
// it does not support, for more elements than kMostSmallElements, and for inputs for which the
// kernel reports an error. The caller then runs the kernel. Thread-safe for different values: a
// call does not change the SmallOp.
struct SmallOp {
  using Function = bool (*)(Operands operands, const SmallOp& op, Value* result);
  // For an op of several results. The pointer to a result that no instruction reads is null.
  using FunctionOfMany = bool (*)(Operands operands, const SmallOp& op, Results results);

  SmallOp() = default;
  explicit SmallOp(Function function) : compute(function) {}
  explicit SmallOp(FunctionOfMany function) : compute_many(function) {}

  bool exists() const { return compute != nullptr || compute_many != nullptr; }

  // Requires: exists(); `results` has an entry for each output.
  bool operator()(Operands operands, Results results) const {
    if (compute_many != nullptr) return compute_many(operands, *this, results);
    return results[0] != nullptr && compute(operands, *this, results[0]);
  }
  bool operator()(Operands operands, Value* result) const {
    return (*this)(operands, {&result, 1});
  }

  Function compute = nullptr;  // at most one of these two is set
  FunctionOfMany compute_many = nullptr;
  tensorflow::Allocator* allocator = nullptr;  // for tensors too large for the block pool
  DataType dtype = DT_INVALID;                 // of list elements
  bool may_grow = false;                       // of TensorListSetItem
  std::vector<int32_t> axes;                   // of Squeeze and Pack
  SliceMasks masks;                            // of StridedSlice
  std::shared_ptr<const SliceAdder> adder;     // of AddSlices
  tensorflow::DataTypeVector output_types;
};

// Makes the small op of a node. If the node has a form that the small op does not support, exists()
// of the result is false.
using SmallOpMaker = SmallOp (*)(const Node& node);
// The makers, by the type of the node.
using SmallOpTable = std::unordered_map<std::string, SmallOpMaker>;

// The most operands, and the most results, of one op.
inline constexpr int kMostSmallOperands = 12;

// The most elements that a small op computes or copies. Adding this many numbers costs about as
// much as calling a kernel.
inline constexpr int64_t kMostSmallElements = 1024;

// Returns the small op for `node`, from the tables of small_tables.h, which have each op once. If
// none of them has it, exists() of the result is false. `allocator` makes the tensors that are too
// large for the block pool; it must outlive the result.
SmallOp SmallOpFor(const Node& node, tensorflow::Allocator* allocator);

// Makes an uninitialised tensor in host memory. Requires: `dtype` is plain data. If memory runs
// out, the tensor has no buffer; the small op then returns false and the kernel reports the error.
Tensor MakeSmallTensor(const SmallOp& op, DataType dtype, const TensorShape& shape);

}  // namespace tensor_array_grad

#endif  // CC_SMALL_OPS_SMALL_OP_H_
