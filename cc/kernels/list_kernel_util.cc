#include "cc/kernels/list_kernel_util.h"

#include <cstring>
#include <memory>
#include <utility>

#include "cc/core/element_ops.h"
#include "cc/core/pooled_tensor.h"
#include "cc/device/cuda_kernels.h"
#include "cc/device/device_element_ops.h"
#include "tensorflow/core/framework/variant.h"
#include "tensorflow/core/framework/variant_op_registry.h"

namespace tensor_array_grad {

using tensorflow::DataTypeString;
using tensorflow::OpKernelContext;
using tensorflow::PartialTensorShape;
using tensorflow::Tensor;
using tensorflow::TensorShape;
using tensorflow::UnaryVariantOpRegistry;
using tensorflow::Variant;
namespace registration = tensorflow::variant_op_registry_fn_registration;

namespace {

// How deeply nested the lists are that this thread is adding. Adding nested lists is recursive, so
// the depth has to be limited.
thread_local int adding = 0;
constexpr int kMostNestedSums = 1000;

absl::Status AddLists(OpKernelContext* ctx, const ListVariant& a, const ListVariant& b,
                      ListVariant* out) {
  if (adding >= kMostNestedSums) {
    return InvalidList("Trying to add lists that are nested more than ", kMostNestedSums, " deep");
  }
  const struct Nested {
    Nested() { ++adding; }
    ~Nested() { --adding; }
  } nested;
  auto add = [ctx](const Tensor& left, const Tensor& right, Tensor* sum) {
    return AddTensors(ctx, left, right, sum);
  };
  return ListVariant::Add(a, b, add, out);
}

absl::Status ZerosLikeList(OpKernelContext*, const ListVariant& list, ListVariant* out) {
  return ListVariant::ZerosLike(list, out);
}

// Registers the functions that stock's kernels of AddN and ZerosLike call for lists. A second copy
// of the library keeps those of the first, because TensorFlow aborts on a second registration.
bool RegisterAddAndZerosLike() {
  const auto list_type = tensorflow::TypeIndex::Make<ListVariant>();
  for (const char* device : {tensorflow::DEVICE_CPU, tensorflow::DEVICE_GPU}) {
    if (device == tensorflow::DEVICE_GPU && !cuda::Built()) continue;
    if (UnaryVariantOpRegistry::Global()->GetBinaryOpFn(tensorflow::ADD_VARIANT_BINARY_OP, device,
                                                        list_type) != nullptr) {
      return false;
    }
    registration::UnaryVariantBinaryOpRegistration<ListVariant> add(
        tensorflow::ADD_VARIANT_BINARY_OP, device, list_type, AddLists);
    registration::UnaryVariantUnaryOpRegistration<ListVariant> zeros_like(
        tensorflow::ZEROS_LIKE_VARIANT_UNARY_OP, device, list_type, ZerosLikeList);
  }
  return true;
}

[[maybe_unused]] const bool registered = RegisterAddAndZerosLike();

// The functions below are for elements that are variants themselves, such as nested lists.
// TensorFlow's own functions for this take the device as a type, which for a GPU only a CUDA
// compiler has.

absl::Status ZerosLikeVariant(OpKernelContext* ctx, const Variant& variant, Variant* out) {
  if (!OnGpu(ctx)) {
    return tensorflow::UnaryOpVariant<Eigen::ThreadPoolDevice>(
        ctx, tensorflow::ZEROS_LIKE_VARIANT_UNARY_OP, variant, out);
  }
  const auto* const function = UnaryVariantOpRegistry::Global()->GetUnaryOpFn(
      tensorflow::ZEROS_LIKE_VARIANT_UNARY_OP, tensorflow::DEVICE_GPU, variant.TypeId());
  if (function != nullptr) return (*function)(ctx, variant, out);
  return absl::InternalError(absl::StrCat("no zeros_like of ", variant.TypeName(), " on a GPU"));
}

absl::Status AddVariants(OpKernelContext* ctx, const Variant& a, const Variant& b, Variant* out) {
  if (!OnGpu(ctx)) {
    return tensorflow::BinaryOpVariants<Eigen::ThreadPoolDevice>(
        ctx, tensorflow::ADD_VARIANT_BINARY_OP, a, b, out);
  }
  const auto* const function = UnaryVariantOpRegistry::Global()->GetBinaryOpFn(
      tensorflow::ADD_VARIANT_BINARY_OP, tensorflow::DEVICE_GPU, a.TypeId());
  if (function != nullptr && a.TypeId() == b.TypeId()) return (*function)(ctx, a, b, out);
  return absl::InternalError(
      absl::StrCat("no sum of ", a.TypeName(), " and ", b.TypeName(), " on a GPU"));
}

}  // namespace

absl::Status ListKernel::CheckDtype(const ListVariant& list) const {
  return CheckDtypes(element_dtype_, list.dtype());
}

bool InputList::Assign(const Variant& variant) {
  list_ = variant.get<ListVariant>();
  if (list_ != nullptr) return true;
  const auto* const stock = variant.get<tensorflow::TensorList>();
  if (stock == nullptr) return false;
  conversion_ = std::make_unique<ListVariant>(ListVariant::FromStock(*stock));
  list_ = conversion_.get();
  return true;
}

absl::Status GetList(OpKernelContext* ctx, int input, InputList* list) {
  const Tensor& tensor = ctx->input(input);
  if (tensor.dims() != 0) {
    return InvalidList("Input list must be a scalar saw: ", tensor.shape().DebugString());
  }
  const Variant& variant = tensor.scalar<Variant>()();
  if (list->Assign(variant)) return absl::OkStatus();
  return InvalidList("Input handle is not a list. Saw: '", variant.DebugString(), "'");
}

std::unique_ptr<Tensor> TakeVariant(OpKernelContext* ctx, int input, int output) {
  // The attributes are the default ones, because on a CPU a request for host memory is never
  // forwarded.
  return ctx->forward_input(input, output, tensorflow::DT_VARIANT, TensorShape({}),
                            ctx->input_memory_type(input), tensorflow::AllocatorAttributes());
}

absl::Status AllocateOutput(OpKernelContext* ctx, int output, const TensorShape& shape,
                            Tensor** tensor) {
  const tensorflow::DataType dtype = ctx->expected_output_dtype(output);
  const bool on_host = ctx->output_memory_type(output) == tensorflow::HOST_MEMORY || !OnGpu(ctx);
  Tensor pooled;
  if (!on_host || !MakePooledTensor(dtype, shape, &pooled)) {
    tensorflow::AllocatorAttributes attributes = ctx->output_alloc_attr(output);
    if (dtype == tensorflow::DT_VARIANT) attributes.set_on_host(true);
    return ctx->allocate_output(output, shape, tensor, attributes);
  }
  ctx->set_output(output, std::move(pooled));
  *tensor = ctx->mutable_output(output);
  return absl::OkStatus();
}

absl::Status ForwardList(OpKernelContext* ctx, int input, const InputList& list, int output,
                         ListVariant** out) {
  return list.converted() ? OutputVariant(ctx, output, *list, out)
                          : ForwardVariant(ctx, input, *list, output, out);
}

absl::Status GetInt(OpKernelContext* ctx, int input, absl::string_view name, int64_t* value) {
  const Tensor& tensor = ctx->input(input);
  if (tensor.NumElements() != 1) {
    return InvalidList(name, " must be a scalar, but has shape ", tensor.shape().DebugString());
  }
  *value = *static_cast<const int32_t*>(tensor.data());
  return absl::OkStatus();
}

absl::Status ShapeFromTensor(const Tensor& tensor, PartialTensorShape* shape) {
  const bool narrow = tensor.dtype() == tensorflow::DT_INT32;
  if (!narrow && tensor.dtype() != tensorflow::DT_INT64) {
    return InvalidList("Expected an int32 or int64 shape tensor; found ",
                       DataTypeString(tensor.dtype()));
  }
  if (tensor.dims() == 0) {
    const int64_t rank = narrow ? tensor.scalar<int32_t>()() : tensor.scalar<int64_t>()();
    if (rank != -1) {
      return InvalidList(
          "The only valid scalar shape tensor is the fully unknown shape specified as -1.");
    }
    *shape = PartialTensorShape();
    return absl::OkStatus();
  }
  if (tensor.dims() != 1) {
    return InvalidList("Shape must be at most rank 1 but is rank ", tensor.dims());
  }
  const auto make = [&](const auto* sizes) {
    return PartialTensorShape::MakePartialShape(sizes, static_cast<int>(tensor.NumElements()),
                                                shape);
  };
  return narrow ? make(static_cast<const int32_t*>(tensor.data()))
                : make(static_cast<const int64_t*>(tensor.data()));
}

absl::Status ElementShapeFromInput(OpKernelContext* ctx, const ListVariant& list, int input,
                                   PartialTensorShape* shape) {
  PartialTensorShape wanted;
  TF_RETURN_IF_ERROR(ShapeFromTensor(ctx->input(input), &wanted));
  return wanted.MergeWith(list.shape(), shape);
}

absl::Status CheckSize(int64_t size) {
  if (size <= kMaxListSize) return absl::OkStatus();
  return InvalidList("A TensorList cannot have ", size, " elements: the most is ", kMaxListSize);
}

absl::Status CheckDtypes(tensorflow::DataType dtype, tensorflow::DataType list_dtype) {
  if (list_dtype == dtype) return absl::OkStatus();
  return InvalidList("Invalid data types; op elements ", DataTypeString(dtype),
                     " but list elements ", DataTypeString(list_dtype));
}

absl::Status CheckPush(const ListSpec& spec, int64_t size, tensorflow::DataType dtype,
                       const Tensor& item) {
  if (dtype == item.dtype() && spec.Takes(item, size)) return absl::OkStatus();
  if (!spec.shape.IsCompatibleWith(item.shape())) {
    return InvalidList(
        "Tried to append a tensor with incompatible shape to a list. Op element shape: ",
        item.shape().DebugString(), " list shape: ", spec.shape.DebugString());
  }
  TF_RETURN_IF_ERROR(CheckDtypes(dtype, spec.dtype));
  if (spec.max_num_elements != -1 && size >= spec.max_num_elements) {
    return InvalidList("Tried to push item into a full list list size: ", size,
                       " max_num_elements: ", spec.max_num_elements);
  }
  return CheckSize(size + 1);
}

absl::Status ShapeMerger::Add(const TensorShape& element) {
  if (any_ && element == last_) return absl::OkStatus();
  const PartialTensorShape before = shape_;
  TF_RETURN_IF_ERROR(before.MergeWith(PartialTensorShape(element.dim_sizes()), &shape_));
  last_ = element;
  any_ = true;
  return absl::OkStatus();
}

absl::Status FillZeros(OpKernelContext* ctx, Tensor* out) {
  if (!tensorflow::DataTypeCanUseMemcpy(out->dtype())) return absl::OkStatus();
  constexpr size_t kSmall = 4096;  // bytes that are filled sooner than the thread pool is asked
  if (out->TotalBytes() > kSmall || OnGpu(ctx)) return DeviceElementOps(ctx).Zero(out);
  if (out->TotalBytes() > 0) std::memset(out->data(), 0, out->TotalBytes());
  return absl::OkStatus();
}

absl::Status ZerosLikeTensor(OpKernelContext* ctx, const Tensor& tensor, Tensor* out) {
  TF_RETURN_IF_ERROR(DeviceElementOps(ctx).Allocate(tensor.dtype(), tensor.shape(), out));
  if (tensor.dtype() != tensorflow::DT_VARIANT) return FillZeros(ctx, out);
  const auto from = tensor.flat<Variant>();
  auto to = out->flat<Variant>();
  for (int64_t i = 0; i < from.size(); ++i) {
    TF_RETURN_IF_ERROR(ZerosLikeVariant(ctx, from(i), &to(i)));
  }
  return absl::OkStatus();
}

absl::Status AddTensors(OpKernelContext* ctx, const Tensor& left, const Tensor& right,
                        Tensor* out) {
  if (left.shape() != right.shape()) {
    return InvalidList("Trying to add two tensors with incompatible element shapes. One is ",
                       left.shape().DebugString(), " and the other is ",
                       right.shape().DebugString());
  }
  const tensorflow::DataType dtype = left.dtype();
  if (!CanAdd(dtype) && dtype != tensorflow::DT_VARIANT) {
    return InvalidList("Trying to add unsupported dtype ", static_cast<int>(dtype));
  }
  DeviceElementOps ops(ctx);
  TF_RETURN_IF_ERROR(ops.Allocate(dtype, left.shape(), out));
  if (dtype != tensorflow::DT_VARIANT) return ops.Add(left, right, out);
  const auto a = left.flat<Variant>(), b = right.flat<Variant>();
  auto sum = out->flat<Variant>();
  for (int64_t i = 0; i < sum.size(); ++i) {
    TF_RETURN_IF_ERROR(AddVariants(ctx, a(i), b(i), &sum(i)));
  }
  return absl::OkStatus();
}

absl::Status RowCutter::Start(OpKernelContext* ctx, const Tensor& tensor, const Tensor* lengths) {
  ctx_ = ctx;
  DeviceElementOps ops(ctx);
  Tensor kept;
  TF_RETURN_IF_ERROR(KeepValues(tensor, ops, &kept));
  if (!values_.CopyFrom(kept, TensorShape({tensor.NumElements()}))) {
    return absl::InternalError("a tensor that cannot be made a vector");
  }
  const bool plain = tensorflow::DataTypeCanUseMemcpy(tensor.dtype());
  if (!OnGpu(ctx) || !plain || tensor.NumElements() == 0) return absl::OkStatus();
  const int64_t row = tensor.NumElements() / tensor.dim_size(0);
  std::vector<int64_t> counts(lengths == nullptr ? tensor.dim_size(0) : lengths->NumElements(),
                              row);
  for (size_t i = 0; lengths != nullptr && i < counts.size(); ++i) {
    counts[i] *= lengths->vec<int64_t>()(static_cast<int64_t>(i));
  }
  return Spread(counts);
}

// Copies the parts, of counts[i] values, to aligned places in a new tensor, unless all are aligned
// already.
absl::Status RowCutter::Spread(const std::vector<int64_t>& counts) {
  const int64_t grain = static_cast<int64_t>(tensorflow::Allocator::kAllocatorAlignment) /
                        tensorflow::DataTypeSize(values_.dtype());
  const auto gap = [grain](int64_t count) { return (grain - count % grain) % grain; };
  int64_t total = 0;
  for (const int64_t count : counts) total += count + gap(count);
  // Nothing follows the last part, so that it needs no gap.
  const bool dense = total - gap(counts.back()) == values_.NumElements();
  if (dense && values_.IsAligned()) return absl::OkStatus();
  std::vector<Piece> pieces;
  pieces.reserve(2 * counts.size());
  int64_t at = 0;
  for (const int64_t count : counts) {
    pieces.push_back({values_, at, count});
    pieces.push_back({Tensor(), 0, gap(count)});
    at += count;
  }
  DeviceElementOps ops(ctx_);
  Tensor spread;
  TF_RETURN_IF_ERROR(ops.Allocate(values_.dtype(), TensorShape({total}), &spread));
  TF_RETURN_IF_ERROR(ops.Pack(pieces, &spread));
  values_ = std::move(spread);
  grain_ = grain;
  return absl::OkStatus();
}

absl::Status RowCutter::Next(const TensorShape& shape, Tensor* out) {
  const int64_t count = shape.num_elements();
  if (count == 0) {
    *out = Tensor(values_.dtype(), shape);
    return absl::OkStatus();
  }
  Tensor view(values_.dtype());
  if (!view.CopyFrom(values_.Slice(at_, at_ + count), shape)) {
    return absl::InternalError(absl::StrCat("no part of shape ", shape.DebugString(), " at value ",
                                            at_, " of ", values_.NumElements()));
  }
  at_ = (at_ + count + grain_ - 1) / grain_ * grain_;
  if (view.IsAligned()) {
    *out = std::move(view);
    return absl::OkStatus();
  }
  TF_RETURN_IF_ERROR(ctx_->allocate_temp(view.dtype(), shape, out));
  if (tensorflow::DataTypeCanUseMemcpy(view.dtype()) && !OnGpu(ctx_)) {
    std::memcpy(out->data(), view.data(), view.TotalBytes());
    return absl::OkStatus();
  }
  const Piece whole{view, 0, count};
  return DeviceElementOps(ctx_).Pack({&whole, 1}, out);
}

}  // namespace tensor_array_grad
