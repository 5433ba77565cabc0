#ifndef CC_KERNELS_LIST_KERNEL_UTIL_H_
#define CC_KERNELS_LIST_KERNEL_UTIL_H_

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "cc/base/tensorflow_names.h"
#include "cc/device/kernel_names.h"
#include "cc/lists/list_checks.h"
#include "cc/lists/list_read.h"
#include "cc/lists/list_variant.h"
#include "cc/lists/loop_stack.h"

namespace tensor_array_grad {

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

// Sets `out` to a tensor of zeros like `tensor`, nested lists included.
absl::Status ZerosLikeTensor(OpKernelContext* ctx, const Tensor& tensor, Tensor* out);

// Sets `out` to left + right, in a new buffer. Returns InvalidArgument if the shapes differ or the
// dtype has no sum.
absl::Status AddTensors(OpKernelContext* ctx, const Tensor& left, const Tensor& right, Tensor* out);

// The call of a kernel for lists, as the body of an op sees it (lists/list_bodies.h).
class KernelCall {
 public:
  KernelCall(OpKernelContext* ctx, DataType dtype, bool may_grow)
      : ctx_(ctx), dtype_(dtype), may_grow_(may_grow) {}

  OpKernelContext* ctx() const { return ctx_; }
  DataType dtype() const { return dtype_; }
  bool may_grow() const { return may_grow_; }
  int num_inputs() const { return ctx_->num_inputs(); }
  int num_outputs() const { return ctx_->num_outputs(); }
  DataType output_type(int output) const { return ctx_->expected_output_dtype(output); }

  const Tensor& Input(int input) const { return ctx_->input(input); }
  // The input is int32, in host memory. InvalidArgument unless it has exactly one value.
  absl::Status GetInt(int input, absl::string_view name, int64_t* number) const;
  // InvalidArgument unless the input is a scalar variant that holds such a value. The call owns the
  // conversion of a list that a stock kernel made.
  absl::Status Get(int input, const ListVariant** list);
  absl::Status Get(int input, const LoopStack** stack);

  absl::Status AddTo(const Tensor& a, Tensor* b) const {
    return AddTensors(ctx_, a, Tensor(*b), b);
  }
  template <typename T>
  absl::Status Forward(int input, const T& held, T** out) const {
    const bool is_own = Input(input).scalar<Variant>()().get<T>() == &held;  // not a conversion
    std::unique_ptr<Tensor> own = is_own ? TakeVariant(ctx_, input, 0) : nullptr;
    if (own == nullptr) return OutputVariant(ctx_, 0, held, out);
    *out = const_cast<T*>(&held);  // it is stored in *own, whose buffer no other tensor shares
    ctx_->set_output(0, std::move(*own));
    return absl::OkStatus();
  }
  absl::Status Output(int output, Tensor tensor) const {
    ctx_->set_output(output, std::move(tensor));
    return absl::OkStatus();
  }
  // The element has the shape in input 2 if it does not say so itself.
  absl::Status OutputOther(const ListVariant& list, int64_t index) const;
  absl::Status OutputElement(int output, const ElementValue& value) const;

 private:
  OpKernelContext* const ctx_;
  const DataType dtype_;
  const bool may_grow_;
  std::vector<InputList> conversions_;
};

// The base of kernels for lists. Compute calls ComputeCall, whose error becomes that of the call.
// Reads the attributes of which a KernelCall knows, as far as the op has them.
class ListKernel : public OpKernel {
 public:
  explicit ListKernel(OpKernelConstruction* ctx) : OpKernel(ctx) {
    const auto read = [ctx](const char* name, auto* value) {
      if (ctx->HasAttr(name)) OP_REQUIRES_OK(ctx, ctx->GetAttr(name, value));
    };
    read("element_dtype", &element_dtype_);
    read("resize_if_index_out_of_bounds", &may_grow_);
  }
  void Compute(OpKernelContext* ctx) override {
    KernelCall call(ctx, element_dtype_, may_grow_);
    OP_REQUIRES_OK(ctx, ComputeCall(call));
  }

 protected:
  virtual absl::Status ComputeCall(KernelCall& call) = 0;

 private:
  DataType element_dtype_ = DT_INVALID;
  bool may_grow_ = false;
};

// The kernel of an op that is a function of its call.
template <absl::Status (*body)(KernelCall&)>
class ListFunction : public ListKernel {
 public:
  using ListKernel::ListKernel;

 protected:
  absl::Status ComputeCall(KernelCall& call) override { return body(call); }
};

// The same for an op that reads or changes one list, its first input.
template <absl::Status (*body)(KernelCall&, const ListVariant&)>
class OneListFunction : public ListKernel {
 public:
  using ListKernel::ListKernel;

 protected:
  absl::Status ComputeCall(KernelCall& call) override {
    const ListVariant* list = nullptr;
    TF_RETURN_IF_ERROR(call.Get(0, &list));
    return body(call, *list);
  }
};

}  // namespace tensor_array_grad

#endif  // CC_KERNELS_LIST_KERNEL_UTIL_H_
