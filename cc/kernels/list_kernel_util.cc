#include "cc/kernels/list_kernel_util.h"

#include <memory>
#include <utility>

#include "cc/base/element_ops.h"
#include "cc/base/pooled_tensor.h"
#include "cc/base/tensor_data.h"
#include "cc/device/cuda_kernels.h"
#include "cc/device/device_element_ops.h"
#include "tensorflow/core/framework/variant.h"
#include "tensorflow/core/framework/variant_op_registry.h"

namespace tensor_array_grad {

using tensorflow::UnaryVariantOpRegistry;
namespace registration = tensorflow::variant_op_registry_fn_registration;

namespace {

// Fills `out` with zeros of its dtype. Strings and variants are not changed.
absl::Status FillZeros(OpKernelContext* ctx, Tensor* out) {
  if (!tensorflow::DataTypeCanUseMemcpy(out->dtype())) return absl::OkStatus();
  return DeviceElementOps(ctx).Zero(out);
}

// The depth of nested lists that this thread is adding. Adding nested lists is recursive, so the
// depth has to be limited.
thread_local int adding = 0;
constexpr int kMostNestedSums = 1000;

absl::Status AddLists(OpKernelContext* ctx, const ListVariant& a, const ListVariant& b,
                      ListVariant* out) {
  if (adding >= kMostNestedSums) {
    return Invalid("Trying to add lists that are nested more than ", kMostNestedSums, " deep");
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
// TensorFlow's own functions take the device as a template argument, and only a CUDA compiler has
// the type for a GPU. For a GPU these functions look up the registered function directly.

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

std::unique_ptr<Tensor> TakeVariant(OpKernelContext* ctx, int input, int output) {
  // The attributes must be the default ones: on a CPU, forward_input never forwards an input if the
  // attributes request host memory.
  return ctx->forward_input(input, output, DT_VARIANT, TensorShape({}),
                            ctx->input_memory_type(input), tensorflow::AllocatorAttributes());
}

absl::Status AllocateOutput(OpKernelContext* ctx, int output, const TensorShape& shape,
                            Tensor** tensor) {
  const DataType dtype = ctx->expected_output_dtype(output);
  const bool on_host = ctx->output_memory_type(output) == tensorflow::HOST_MEMORY || !OnGpu(ctx);
  Tensor pooled;
  if (!on_host || !MakePooledTensor(dtype, shape, &pooled)) {
    tensorflow::AllocatorAttributes attributes = ctx->output_alloc_attr(output);
    if (dtype == DT_VARIANT) attributes.set_on_host(true);
    return ctx->allocate_output(output, shape, tensor, attributes);
  }
  ctx->set_output(output, std::move(pooled));
  *tensor = ctx->mutable_output(output);
  return absl::OkStatus();
}

absl::Status KernelCall::GetInt(int input, absl::string_view name, int64_t* number) const {
  const Tensor& tensor = Input(input);
  if (tensor.NumElements() != 1) {
    return Invalid(name, " must be a scalar, but has shape ", tensor.shape().DebugString());
  }
  *number = *DataOf<int32_t>(tensor);
  return absl::OkStatus();
}

absl::Status KernelCall::Get(int input, const ListVariant** list) {
  const Tensor& tensor = Input(input);
  if (tensor.dims() != 0) {
    return Invalid("Input list must be a scalar saw: ", tensor.shape().DebugString());
  }
  const Variant& variant = tensor.scalar<Variant>()();
  InputList held;
  if (!held.Assign(variant)) {
    return Invalid("Input handle is not a list. Saw: '", variant.DebugString(), "'");
  }
  *list = &*held;
  if (held.converted()) conversions_.push_back(std::move(held));
  return absl::OkStatus();
}

absl::Status KernelCall::Get(int input, const LoopStack** stack) {
  const Tensor& tensor = Input(input);
  if (tensor.dims() != 0) {
    return Invalid("loop_stack must be a scalar but has shape ", tensor.shape().DebugString());
  }
  const Variant& variant = tensor.scalar<Variant>()();
  *stack = variant.get<LoopStack>();
  if (*stack != nullptr) return absl::OkStatus();
  return Invalid("Input handle is not a loop stack. Saw: '", variant.DebugString(), "'");
}

absl::Status KernelCall::OutputOther(const ListVariant& list, int64_t index) const {
  ElementValue value;
  TF_RETURN_IF_ERROR(ReadElement(list, index, Input(2), &value));
  return OutputElement(0, value);
}

absl::Status KernelCall::OutputElement(int output, const ElementValue& value) const {
  const ListElement& element = value.element;
  if (element.kind == ListElement::kSet) return Output(output, *element.tensor);
  if (element.kind == ListElement::kZeros) {
    Tensor zeros;
    TF_RETURN_IF_ERROR(ZerosLikeTensor(ctx_, *element.tensor, &zeros));
    return Output(output, std::move(zeros));
  }
  Tensor* zeros;
  TF_RETURN_IF_ERROR(AllocateOutput(ctx_, output, value.shape, &zeros));
  return FillZeros(ctx_, zeros);
}

absl::Status ZerosLikeTensor(OpKernelContext* ctx, const Tensor& tensor, Tensor* out) {
  TF_RETURN_IF_ERROR(DeviceElementOps(ctx).Allocate(tensor.dtype(), tensor.shape(), out));
  if (tensor.dtype() != DT_VARIANT) return FillZeros(ctx, out);
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
    return Invalid("Trying to add two tensors with incompatible element shapes. One is ",
                   left.shape().DebugString(), " and the other is ", right.shape().DebugString());
  }
  const DataType dtype = left.dtype();
  if (!CanAdd(dtype) && dtype != DT_VARIANT) {
    return Invalid("Trying to add unsupported dtype ", static_cast<int>(dtype));
  }
  DeviceElementOps ops(ctx);
  TF_RETURN_IF_ERROR(ops.Allocate(dtype, left.shape(), out));
  if (dtype != DT_VARIANT) return ops.Add(left, right, out);
  const auto a = left.flat<Variant>(), b = right.flat<Variant>();
  auto sum = out->flat<Variant>();
  for (int64_t i = 0; i < sum.size(); ++i) {
    TF_RETURN_IF_ERROR(AddVariants(ctx, a(i), b(i), &sum(i)));
  }
  return absl::OkStatus();
}

}  // namespace tensor_array_grad
