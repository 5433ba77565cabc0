#include "cc/small_ops/small_tables.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "cc/base/tensorflow_names.h"
#include "cc/slices/basic_slice.h"
#include "cc/slices/slice_adder.h"
#include "cc/small_ops/broadcast.h"
#include "cc/small_ops/small_operands.h"
#include "tensorflow/core/framework/node_def_util.h"
#include "tensorflow/core/framework/resource_var.h"
#include "tensorflow/core/framework/tensor_util.h"

namespace tensor_array_grad {
namespace {

// ---- StridedSlice

// Whether the kernel's result would share the buffer of `whole`. It does if the alignment rule of
// IsDim0SliceAligned holds (TensorFlow's ops_util.h). Requires: the slice is a range of dimension 0
// and contains the other dimensions completely.
bool WouldShare(const Tensor& whole, const BasicSlice& slice) {
  constexpr int64_t kAlignment = EIGEN_MAX_ALIGN_BYTES;
  const int64_t row = static_cast<int64_t>(whole.TotalBytes()) / whole.dim_size(0);
  if (whole.dims() > 1) return row % kAlignment == 0;
  return slice.begin[0] * row % kAlignment == 0 && slice.size[0] * row % kAlignment == 0;
}

// Where in a tensor the values of a slice are, in bytes. The values of a *line* follow each other:
// it is a range of dimension `dims`, with all later dimensions whole.
struct Layout {
  Layout(const Tensor& whole, const BasicSlice& slice) {
    int64_t bytes = tensorflow::DataTypeSize(whole.dtype());
    for (int d = slice.dims - 1; d >= 0; --d) {
      steps[0][d] = bytes;
      first += slice.begin[d] * bytes;
      bytes *= whole.dim_size(d);
    }
    dims = std::max(slice.dims - 1, 0);
    while (dims > 0 && slice.IsWhole(dims, whole.shape())) --dims;
    line = slice.size[dims] * steps[0][dims];
  }

  int64_t steps[1][BasicSlice::kMostDims];  // from one value to the next in each dimension
  int64_t first = 0;
  int dims;      // how many dimensions there are before that of a line
  int64_t line;  // the size of a line
};

// Sets `result` to the number of `dtype` at address `at`. Returns false for other dtypes than
// float, double, int32 and int64.
bool SetNumber(DataType dtype, const void* at, Value* result) {
  const auto set = [&](auto number) {
    std::memcpy(&number, at, sizeof(number));
    result->SetScalar(number);
    return true;
  };
  switch (dtype) {
    case DT_FLOAT:
      return set(float{});
    case DT_DOUBLE:
      return set(double{});
    case DT_INT32:
      return set(int32_t{});
    case DT_INT64:
      return set(int64_t{});
    default:
      return false;
  }
}

// A slice of all elements, and an aligned range of dimension 0, share the buffer of the input, as
// the kernel's result does. A single number is copied into the value itself, other slices line
// by line.
bool StridedSlice(Operands operands, const SliceMasks& masks, Allocator* allocator, Value* result) {
  enum { kInput, kBegin, kEnd, kStrides };
  if (operands[kInput].value->is_scalar()) return false;
  const Tensor& input = *operands[kInput].value->tensor();
  const TensorShape& shape = input.shape();
  if (!tensorflow::DataTypeCanUseMemcpy(input.dtype())) return false;
  BasicSlice slice;
  if (!slice.Read(shape, *operands[kBegin].value->tensor(), *operands[kEnd].value->tensor(),
                  *operands[kStrides].value->tensor(), masks)) {
    return false;
  }
  if (slice.elements == 0) return false;
  Tensor target;
  if (slice.elements == shape.num_elements()) {
    if (!target.CopyFrom(input, slice.ShapeOfResult())) return false;
    result->Set(std::move(target));
    return true;
  }
  const Layout layout(input, slice);
  const char* const from = DataOf<char>(input) + layout.first;
  if (slice.rank == 0 && SetNumber(input.dtype(), from, result)) return true;
  if (layout.dims == 0 && WouldShare(input, slice)) {
    if (slice.IsRow()) {
      target = input.SubSlice(slice.begin[0]);
    } else {
      const Tensor part = input.Slice(slice.begin[0], slice.begin[0] + slice.size[0]);
      if (!target.CopyFrom(part, slice.ShapeOfResult())) return false;
    }
  } else {
    if (slice.elements > kMostSmallElements) return false;
    target = MakeSmallTensor(allocator, input.dtype(), slice.ShapeOfResult());
    if (!target.IsInitialized()) return false;
    auto* to = DataOf<char>(&target);
    ForEachPlace(slice.size, layout.steps, 1, layout.dims, [&](const int64_t* at) {
      std::memcpy(to, from + *at, layout.line);
      to += layout.line;
    });
  }
  result->Set(std::move(target));
  return true;
}

// Makes zeros with the values of `dy` at the places of the slice.
bool StridedSliceGradient(Operands operands, const SliceMasks& masks, Allocator* allocator,
                          Value* result) {
  enum { kShape, kBegin, kEnd, kStrides, kDy };
  const Tensor& dy = *operands[kDy].value->tensor();
  TensorShape shape;
  BasicSlice slice;
  if (!tensorflow::DataTypeCanUseMemcpy(dy.dtype()) ||
      !tensorflow::tensor::MakeShape(*operands[kShape].value->tensor(), &shape).ok() ||
      shape.dims() == 0 || shape.num_elements() > kMostSmallElements ||
      !slice.Read(shape, *operands[kBegin].value->tensor(), *operands[kEnd].value->tensor(),
                  *operands[kStrides].value->tensor(), masks) ||
      slice.elements == 0 || slice.ShapeOfResult() != dy.shape()) {
    return false;
  }
  Tensor target = MakeSmallTensor(allocator, dy.dtype(), shape);
  if (!target.IsInitialized()) return false;
  const Layout layout(target, slice);
  std::memset(target.data(), 0, target.TotalBytes());
  char* const to = DataOf<char>(&target) + layout.first;
  const auto* from = DataOf<char>(dy);
  ForEachPlace(slice.size, layout.steps, 1, layout.dims, [&](const int64_t* at) {
    std::memcpy(to + *at, from, layout.line);
    from += layout.line;
  });
  result->Set(std::move(target));
  return true;
}

// ---- GatherV2, ResourceGather

// Copies row `index` of `whole`, as the kernels do for a scalar index.
bool CopyRow(const Tensor& whole, const Value& index, Allocator* allocator, Value* result) {
  int64_t row;
  if (!index.GetInteger(&row) || whole.dims() == 0 || row < 0 || row >= whole.dim_size(0) ||
      !tensorflow::DataTypeCanUseMemcpy(whole.dtype())) {
    return false;
  }
  TensorShape shape = whole.shape();
  shape.RemoveDim(0);
  const int64_t bytes = static_cast<int64_t>(whole.TotalBytes()) / whole.dim_size(0);
  const char* const from = DataOf<char>(whole) + row * bytes;
  if (shape.dims() == 0 && SetNumber(whole.dtype(), from, result)) return true;
  if (bytes == 0 || shape.num_elements() > kMostSmallElements) return false;
  Tensor target = MakeSmallTensor(allocator, whole.dtype(), shape);
  if (!target.IsInitialized()) return false;
  std::memcpy(target.data(), from, bytes);
  result->Set(std::move(target));
  return true;
}

bool Gather(Operands operands, Allocator* allocator, Value* result) {
  enum { kParams, kIndices, kAxis };
  int64_t axis;
  return operands[kAxis].value->GetInteger(&axis) && axis == 0 &&
         !operands[kParams].value->is_number() &&
         CopyRow(*operands[kParams].value->tensor(), *operands[kIndices].value, allocator, result);
}

// The variable that `handle` keeps alive; null if it holds something else. The check of the type is
// that of ResourceHandle::GetResource, without its hashing of the type's name in each call.
tensorflow::Var* VariableOf(const Tensor& handle) {
  static const uint64_t hash = tensorflow::TypeIndex::Make<tensorflow::Var>().hash_code();
  if (handle.dtype() != DT_RESOURCE || handle.dims() != 0) return nullptr;
  const auto& resource = *DataOf<tensorflow::ResourceHandle>(handle);
  if (!resource.IsRefCounting() || resource.hash_code() != hash) return nullptr;
  return static_cast<tensorflow::Var*>(resource.resource().get());
}

bool GatherFromVariable(Operands operands, DataType dtype, Allocator* allocator, Value* result) {
  tensorflow::Var* const variable = VariableOf(*operands[0].value->tensor());
  if (variable == nullptr) return false;
  tensorflow::tf_shared_lock lock(*variable->mu());
  // The kernel's first call puts the variable into copy-on-read mode, with a buffer of its own.
  // From then on the rows of the buffer may be read here.
  return variable->is_initialized && variable->copy_on_read_mode.load() &&
         variable->tensor()->dtype() == dtype &&
         CopyRow(*variable->tensor(), *operands[1].value, allocator, result);
}

// ---- AddSlices

// Changes the sum in place, so it returns false if another tensor shares the sum. A single addend
// whose values follow each other is added directly (AddOneLine).
bool AddSlices(Operands operands, const SliceAdder& adder, Value* result) {
  if (operands[0].value->is_number() || !IsOnlyReference(operands[0])) return false;
  Tensor* const sum = operands[0].value->tensor();
  const Tensor* inputs[kMostSmallOperands];
  for (size_t i = 0; i < operands.size(); ++i) inputs[i] = operands[i].value->tensor();
  if (!adder.AddOneLine({inputs, operands.size()}, kMostSmallElements, sum)) {
    SliceAdder::Terms terms;
    if (!adder.Read("", {inputs, operands.size()}, &terms).ok()) return false;
    if (terms.broadcast || terms.values() > kMostSmallElements) return false;
    if (!SliceAdder::Add(terms, cpu::OnThisThread, sum).ok()) return false;
  }
  SliceAdder::CountInPlace();
  result->Assign(operands[0].value, /*last=*/true);
  return true;
}

// ---- the table

template <auto compute>
SmallOp Slicing(const Node& node, Allocator* allocator) {
  return OneResult<compute>(SliceMasks::Of(node.attrs()), allocator);
}

int BatchDims(const Node& node) {
  int batch_dims = 0;
  (void)TryGetNodeAttr(node.attrs(), "batch_dims", &batch_dims);
  return batch_dims;
}

}  // namespace

void AddSmallIndexing(SmallOpTable* table) {
  (*table)[ops::kStridedSlice] = Slicing<StridedSlice>;
  (*table)[ops::kStridedSliceGrad] = Slicing<StridedSliceGradient>;
  (*table)["GatherV2"] = [](const Node& node, Allocator* allocator) {
    return BatchDims(node) == 0 ? OneResult<Gather>(allocator) : SmallOp();
  };
  (*table)[ops::kResourceGather] = [](const Node& node, Allocator* allocator) {
    return BatchDims(node) == 0 ? OneResult<GatherFromVariable>(node.output_type(0), allocator)
                                : SmallOp();
  };
  (*table)[ops::kAddSlices] = [](const Node& node, Allocator*) {
    SliceAdder adder;
    const bool valid = SliceAdder::Of(node.attrs(), node.num_inputs(), &adder).ok();
    return valid ? OneResult<AddSlices>(adder) : SmallOp();
  };
}

}  // namespace tensor_array_grad
