#include "cc/small_ops/small_tables.h"

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "cc/base/tensorflow_names.h"
#include "cc/slices/slice_inputs.h"
#include "cc/small_ops/broadcast.h"
#include "cc/small_ops/small_operands.h"
#include "tensorflow/core/framework/node_def_util.h"
#include "tensorflow/core/util/overflow.h"

namespace tensor_array_grad {
namespace {

// Sets `result` to `input` with another shape and the same buffer. Returns false if the shape does
// not fit.
bool SetReshaped(const Tensor& input, const TensorShape& shape, Value* result) {
  Tensor target;
  if (!target.CopyFrom(input, shape)) return false;
  result->Set(std::move(target));
  return true;
}

// Reads an axis of a tensor of `rank` dimensions; a negative one counts from the end. Returns false
// if it is out of range.
bool GetAxis(const Value& value, int rank, int* axis) {
  int64_t number;
  if (!value.GetInteger(&number) || number < -rank || number >= rank) return false;
  *axis = static_cast<int>(number < 0 ? number + rank : number);
  return true;
}

// ---- Reshape, Squeeze, ExpandDims

// Reads the shape that `sizes` gives to `elements` values; one size may be -1. Returns false for
// sizes that do not fit, and for zeros, which are left to the kernel.
bool ReadShape(const Tensor& sizes, int64_t elements, TensorShape* shape) {
  int64_t known = 1;
  int unknown = -1;
  for (int d = 0; d < sizes.NumElements(); ++d) {
    const int64_t size = IntAt(sizes, d);
    if (size < -1 || size == 0 || (size == -1 && unknown >= 0)) return false;
    if (size == -1) {
      unknown = d;
    } else {
      known = tensorflow::MultiplyWithoutOverflow(known, size);
      if (known < 0) return false;
    }
    shape->AddDim(std::max<int64_t>(size, 1));
  }
  if (unknown < 0) return known == elements;
  shape->set_dim(unknown, elements / known);
  return elements % known == 0;
}

// Removes the dimensions in `axes` or, if there are none, all of size one. Here and in
// ExpandDims, variants are left to the kernel, which reports an error.
bool Squeeze(Operands operands, const std::vector<int32_t>& axes, Value* result) {
  const Tensor& input = *operands[0].value->tensor();
  const int rank = input.dims();
  if (rank > 63 || input.dtype() == DT_VARIANT) return false;
  uint64_t wanted = axes.empty() ? ~uint64_t{0} : 0;
  for (const int32_t axis : axes) {
    const int d = axis < 0 ? axis + rank : axis;
    if (d < 0 || d >= rank || input.dim_size(d) != 1) return false;
    wanted |= uint64_t{1} << d;
  }
  TensorShape shape;
  for (int d = 0; d < rank; ++d) {
    if ((wanted >> d & 1) == 0 || input.dim_size(d) != 1) shape.AddDim(input.dim_size(d));
  }
  return SetReshaped(input, shape, result);
}

// Makes a vector of scalar integers. Floats are excluded, because the kernels' result for a single
// float shares the operand's buffer.
template <typename T>
bool VectorOf(Operands numbers, Allocator* allocator, Value* result) {
  T values[kMostSmallOperands];
  for (size_t i = 0; i < numbers.size(); ++i) {
    if (!numbers[i].value->Get(&values[i])) return false;
  }
  const auto count = static_cast<int64_t>(numbers.size());
  constexpr DataType kType = tensorflow::DataTypeToEnum<T>::value;
  if (Tensor* const before = result->IndexToReuse(kType, count)) {
    std::copy_n(values, count, DataOf<T>(before));
    return true;
  }
  Tensor target = MakeSmallTensor(allocator, kType, TensorShape({count}));
  if (!target.IsInitialized()) return false;
  std::copy_n(values, count, DataOf<T>(&target));
  result->Set(std::move(target));
  return true;
}

bool VectorOfIntegers(Operands numbers, Allocator* allocator, Value* result) {
  switch (numbers[0].value->dtype()) {
    case DT_INT32:
      return VectorOf<int32_t>(numbers, allocator, result);
    case DT_INT64:
      return VectorOf<int64_t>(numbers, allocator, result);
    default:
      return false;
  }
}

bool Reshape(Operands operands, Allocator* allocator, Value* result) {
  const Tensor& sizes = *operands[1].value->tensor();
  if (sizes.dims() != 1 || sizes.NumElements() >= TensorShape::MaxDimensions()) return false;
  const bool scalar = operands[0].value->is_scalar();
  const int64_t elements = scalar ? 1 : operands[0].value->tensor()->NumElements();
  TensorShape shape;
  if (!ReadShape(sizes, elements, &shape)) return false;
  const bool to_vector = scalar && shape.dims() == 1;
  return (to_vector && VectorOfIntegers(operands.first(1), allocator, result)) ||
         SetReshaped(*operands[0].value->tensor(), shape, result);
}

bool ExpandDims(Operands operands, Allocator* allocator, Value* result) {
  const Value& value = *operands[0].value;
  int axis;
  if (value.dtype() == DT_VARIANT) return false;
  if (value.is_scalar()) {
    return GetAxis(*operands[1].value, 1, &axis) &&
           VectorOfIntegers(operands.first(1), allocator, result);
  }
  const Tensor& input = *operands[0].value->tensor();
  if (!GetAxis(*operands[1].value, input.dims() + 1, &axis)) return false;
  TensorShape shape = input.shape();
  shape.InsertDim(axis, 1);
  return SetReshaped(input, shape, result);
}

// ---- Pack, ConcatV2, Split

// One operand of an op that copies rows: its rows of `bytes` bytes begin at `data`. The number of
// rows is the product of the dimensions before the axis. A row of the result consists of one row of
// each operand. Split does the reverse.
struct Part {
  char* data;
  int64_t bytes;
};

// Whether elements of `tensor` may be copied by memcpy, and `parts` such tensors are small
// together.
bool AreCopiedByBytes(const Tensor& tensor, int64_t parts) {
  return tensorflow::DataTypeCanUseMemcpy(tensor.dtype()) && tensor.NumElements() > 0 &&
         tensor.NumElements() * parts <= kMostSmallElements;
}

int64_t ElementsBefore(const TensorShape& shape, int axis) {
  int64_t elements = 1;
  for (int d = 0; d < axis; ++d) elements *= shape.dim_size(d);
  return elements;
}

// Sets `result` to a tensor of `shape` whose rows are the operands' rows one after the other.
bool SetJoined(Operands operands, const TensorShape& shape, int64_t rows, Allocator* allocator,
               Value* result) {
  Tensor target = MakeSmallTensor(allocator, operands[0].value->dtype(), shape);
  if (!target.IsInitialized()) return false;
  Part parts[kMostSmallOperands];
  for (size_t i = 0; i < operands.size(); ++i) {
    const Tensor& tensor = *operands[i].value->tensor();
    parts[i] = {static_cast<char*>(tensor.data()),
                static_cast<int64_t>(tensor.TotalBytes()) / rows};
  }
  char* to = DataOf<char>(&target);
  for (int64_t row = 0; row < rows; ++row) {
    for (size_t i = 0; i < operands.size(); ++i) {
      std::memcpy(to, parts[i].data + row * parts[i].bytes, parts[i].bytes);
      to += parts[i].bytes;
    }
  }
  result->Set(std::move(target));
  return true;
}

// Stacks the operands along the new dimension `axis`.
bool Pack(Operands operands, int32_t axis, Allocator* allocator, Value* result) {
  const Tensor& first = *operands[0].value->tensor();
  const auto count = static_cast<int64_t>(operands.size());
  const int rank = first.dims() + 1;
  if (axis < 0) axis += rank;
  if (axis < 0 || axis >= rank) return false;
  if (first.dims() == 0 && VectorOfIntegers(operands, allocator, result)) return true;
  if (count == 1 || !AreCopiedByBytes(first, count)) return false;
  for (const Operand& operand : operands) {
    if (!operand.value->tensor()->IsSameSize(first)) return false;
  }
  TensorShape shape = first.shape();
  shape.InsertDim(axis, count);
  return SetJoined(operands, shape, ElementsBefore(shape, axis), allocator, result);
}

bool Concat(Operands operands, Allocator* allocator, Value* result) {
  const Operands parts = operands.first(operands.size() - 1);
  const Tensor& first = *parts[0].value->tensor();
  int axis;
  if (!GetAxis(*operands.back().value, first.dims(), &axis) || parts.size() < 2) return false;
  TensorShape shape = first.shape();
  shape.set_dim(axis, 0);
  for (const Operand& part : parts) {
    const Tensor& tensor = *part.value->tensor();
    if (tensor.dims() != shape.dims() || !AreCopiedByBytes(tensor, 1)) return false;
    for (int d = 0; d < shape.dims(); ++d) {
      if (d != axis && tensor.dim_size(d) != shape.dim_size(d)) return false;
    }
    shape.set_dim(axis, shape.dim_size(axis) + tensor.dim_size(axis));
  }
  return shape.num_elements() <= kMostSmallElements &&
         SetJoined(parts, shape, ElementsBefore(shape, axis), allocator, result);
}

// A split of dimension 0 is left to the kernel, whose results share the buffer if all are aligned.
bool Split(Operands operands, Allocator* allocator, Results results) {
  const Tensor& input = *operands[1].value->tensor();
  const auto count = static_cast<int64_t>(results.size());
  int axis;
  if (!GetAxis(*operands[0].value, input.dims(), &axis) || axis == 0 || count == 1 ||
      !AreCopiedByBytes(input, 1) || input.dim_size(axis) % count != 0) {
    return false;
  }
  TensorShape shape = input.shape();
  shape.set_dim(axis, shape.dim_size(axis) / count);
  const int64_t rows = ElementsBefore(shape, axis);
  const int64_t bytes = static_cast<int64_t>(input.TotalBytes()) / (rows * count);
  Tensor targets[kMostSmallOperands];
  for (int64_t i = 0; i < count; ++i) {
    targets[i] = MakeSmallTensor(allocator, input.dtype(), shape);
    if (!targets[i].IsInitialized()) return false;
    auto* to = DataOf<char>(&targets[i]);
    const auto* from = DataOf<char>(input) + i * bytes;
    for (int64_t row = 0; row < rows; ++row) {
      std::memcpy(to + row * bytes, from + row * count * bytes, bytes);
    }
  }
  for (int64_t i = 0; i < count; ++i) {
    if (results[i] != nullptr) results[i]->Set(std::move(targets[i]));
  }
  return true;
}

// ---- Tile, BroadcastTo

// Fills `target` with `input`, repeated along its dimensions of size one. Requires: Number has the
// size of an element.
template <typename Number>
void Repeat(const Broadcast& repeated, const Tensor& input, Tensor* target) {
  auto* to = DataOf<Number>(target);
  repeated.ForEachLine([&](const int64_t* at) {
    const auto* from = DataOf<Number>(input) + at[0];
    to = repeated.repeats(0) ? std::fill_n(to, repeated.line(), *from)
                             : std::copy_n(from, repeated.line(), to);
  });
}

// Requires: ReadSizes made `shape`.
bool SetRepeated(const Tensor& input, const TensorShape& shape, Allocator* allocator,
                 Value* result) {
  Broadcast repeated;
  const DataType dtype = input.dtype();
  if (shape.num_elements() <= input.NumElements() || !tensorflow::DataTypeCanUseMemcpy(dtype) ||
      tensorflow::DataTypeIsQuantized(dtype) || !repeated.Read({&input.shape(), &shape}) ||
      repeated.shape() != shape) {
    return false;
  }
  const int bytes = tensorflow::DataTypeSize(dtype);
  if (bytes != 4 && bytes != 8) return false;
  Tensor target = MakeSmallTensor(allocator, dtype, shape);
  if (!target.IsInitialized()) return false;
  bytes == 4 ? Repeat<uint32_t>(repeated, input, &target)
             : Repeat<uint64_t>(repeated, input, &target);
  result->Set(std::move(target));
  return true;
}

// Computes the shape of the result from `wanted`. An entry of `wanted` is the size of a dimension
// or, if `times`, how often the input's dimension is repeated. Returns false unless only dimensions
// of size one are repeated and the result is small.
bool ReadSizes(const Tensor& wanted, bool times, const TensorShape& input, TensorShape* shape) {
  if (wanted.dims() != 1 || wanted.NumElements() > kMostDimsOfKernels) return false;
  if (times && wanted.NumElements() != input.dims()) return false;
  int64_t elements = 1;
  for (int d = 0; d < wanted.NumElements(); ++d) {
    int64_t size = IntAt(wanted, d);
    if (size < 1 || size > kMostSmallElements) return false;
    if (times && input.dim_size(d) != 1) {
      if (size != 1) return false;
      size = input.dim_size(d);
    }
    elements *= size;
    if (elements > kMostSmallElements) return false;
    shape->AddDim(size);
  }
  return true;
}

bool BroadcastTo(Operands operands, Allocator* allocator, Value* result) {
  const Tensor& input = *operands[0].value->tensor();
  TensorShape shape;
  return ReadSizes(*operands[1].value->tensor(), /*times=*/false, input.shape(), &shape) &&
         SetRepeated(input, shape, allocator, result);
}

// Repeats dimensions of size one; other dimensions must have the multiple one.
bool Tile(Operands operands, Allocator* allocator, Value* result) {
  const Tensor& input = *operands[0].value->tensor();
  TensorShape shape;
  return ReadSizes(*operands[1].value->tensor(), /*times=*/true, input.shape(), &shape) &&
         SetRepeated(input, shape, allocator, result);
}

}  // namespace

void AddSmallReshaping(SmallOpTable* table) {
  (*table)[ops::kReshape] = Making<Reshape>;
  (*table)[ops::kExpandDims] = Making<ExpandDims>;
  (*table)["ConcatV2"] = Making<Concat>;
  (*table)["BroadcastTo"] = Making<BroadcastTo>;
  (*table)[ops::kTile] = Making<Tile>;
  (*table)["Squeeze"] = [](const Node& node, Allocator*) {
    std::vector<int32_t> axes;
    (void)TryGetNodeAttr(node.attrs(), "squeeze_dims", &axes);
    return OneResult<Squeeze>(axes);
  };
  (*table)[ops::kPack] = [](const Node& node, Allocator* allocator) {
    int32_t axis = 0;
    (void)TryGetNodeAttr(node.attrs(), "axis", &axis);
    return OneResult<Pack>(axis, allocator);
  };
  (*table)["Split"] = [](const Node&, Allocator* allocator) -> SmallOp {
    return [allocator](Operands operands, Results results) {
      return Split(operands, allocator, results);
    };
  };
}

}  // namespace tensor_array_grad
