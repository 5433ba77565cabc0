#ifndef CC_KERNELS_LIST_KERNEL_UTIL_H_
#define CC_KERNELS_LIST_KERNEL_UTIL_H_

#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "cc/base/tensorflow_names.h"
#include "cc/lists/list_checks.h"
#include "cc/lists/list_variant.h"
#include "cc/run/kernel_names.h"

namespace tensor_array_grad {

// The base of kernels for lists. Compute calls Run, whose error becomes that of the call. Reads the
// op's attribute element_dtype if it has one.
class ListKernel : public OpKernel {
 public:
  explicit ListKernel(OpKernelConstruction* ctx) : OpKernel(ctx) {
    if (ctx->HasAttr("element_dtype")) {
      OP_REQUIRES_OK(ctx, ctx->GetAttr("element_dtype", &element_dtype_));
    }
  }
  void Compute(OpKernelContext* ctx) override { OP_REQUIRES_OK(ctx, Run(ctx)); }

 protected:
  virtual absl::Status Run(OpKernelContext* ctx) = 0;

  DataType element_dtype_ = DT_INVALID;
};

// Sets `list` to the list in input `input`. Returns InvalidArgument unless the input is a scalar
// variant that holds a list.
absl::Status GetList(OpKernelContext* ctx, int input, InputList* list);

// The kernel of an op that is a function of its inputs and of element_dtype.
template <absl::Status (*run)(OpKernelContext*, DataType)>
class ListFunction : public ListKernel {
 public:
  using ListKernel::ListKernel;

 protected:
  absl::Status Run(OpKernelContext* ctx) override { return run(ctx, element_dtype_); }
};

// The same for an op that reads or changes one list, its first input.
template <absl::Status (*run)(OpKernelContext*, const InputList&, DataType)>
class OneListFunction : public ListKernel {
 public:
  using ListKernel::ListKernel;

 protected:
  absl::Status Run(OpKernelContext* ctx) override {
    InputList list;
    TF_RETURN_IF_ERROR(GetList(ctx, 0, &list));
    return run(ctx, list, element_dtype_);
  }
};

// Returns the scalar variant in input `input`, for the caller to change and to set as output
// `output`. Returns null if another tensor shares its buffer.
std::unique_ptr<Tensor> TakeVariant(OpKernelContext* ctx, int input, int output);

// Makes output `output` a tensor of `shape` with uninitialised values. A small tensor in host
// memory comes from the pool (pooled_tensor.h). Variants are always in host memory. The context
// owns *tensor.
absl::Status AllocateOutput(OpKernelContext* ctx, int output, const TensorShape& shape,
                            Tensor** tensor);

// Makes output `output` a scalar variant that holds `value`. Sets `out`, unless it is null, to the
// address of the value in the output.
template <typename T>
absl::Status OutputVariant(OpKernelContext* ctx, int output, T value, T** out = nullptr) {
  Tensor* tensor;
  TF_RETURN_IF_ERROR(AllocateOutput(ctx, output, TensorShape({}), &tensor));
  T& held = tensor->scalar<Variant>()().template emplace<T>(std::move(value));
  if (out != nullptr) *out = &held;
  return absl::OkStatus();
}

// Makes output `output` a list equal to `list`, which input `input` holds, and sets `out` to it for
// the caller to change. If no other tensor shares the input's buffer, the input becomes the output,
// and `list` changes with it.
absl::Status ForwardList(OpKernelContext* ctx, int input, const InputList& list, int output,
                         ListVariant** out);

// Like ForwardList, for a variant of any type T that is cheap to copy: `value` is the T in input
// `input`.
template <typename T>
absl::Status ForwardVariant(OpKernelContext* ctx, int input, const T& value, int output, T** out) {
  std::unique_ptr<Tensor> own = TakeVariant(ctx, input, output);
  if (own == nullptr) return OutputVariant(ctx, output, value, out);
  *out = const_cast<T*>(&value);  // it is stored in *own, whose buffer no other tensor shares
  ctx->set_output(output, std::move(*own));
  return absl::OkStatus();
}

// Sets `value` to the only value of the int32 input `input`, in host memory. Returns
// InvalidArgument, with `name` as the input's name, unless the input has exactly one value.
absl::Status GetInt(OpKernelContext* ctx, int input, absl::string_view name, int64_t* value);

// Fills `out` with zeros of its dtype. Strings and variants are not changed.
absl::Status FillZeros(OpKernelContext* ctx, Tensor* out);

// Sets `out` to a tensor of zeros like `tensor`, nested lists included.
absl::Status ZerosLikeTensor(OpKernelContext* ctx, const Tensor& tensor, Tensor* out);

// Sets `out` to left + right, in a new buffer. Returns InvalidArgument if the shapes differ or the
// dtype has no sum.
absl::Status AddTensors(OpKernelContext* ctx, const Tensor& left, const Tensor& right, Tensor* out);

}  // namespace tensor_array_grad

#endif  // CC_KERNELS_LIST_KERNEL_UTIL_H_
