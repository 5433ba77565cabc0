// StackV2, StackPushV2, StackPopV2 and StackCloseV2: the stacks of TF1 while loops.

#include <limits>
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "cc/base/counters.h"
#include "cc/kernels/kernel_util.h"
#include "cc/kernels/registration.h"
#include "cc/resource/stack_resource.h"
#include "tensorflow/core/framework/allocator.h"
#include "tensorflow/core/framework/device.h"

namespace tensor_array_grad {
namespace {

using tensorflow::AllocatorAttributes;
using tensorflow::AsyncOpKernel;
using tensorflow::Device;

class NewStackOp : public Cheap<OpKernel> {
 public:
  explicit NewStackOp(OpKernelConstruction* ctx) : Cheap(ctx) {
    OP_REQUIRES_OK(ctx, ctx->GetAttr("elem_type", &dtype_));
    OP_REQUIRES_OK(ctx, ctx->GetAttr("stack_name", &base_name_));
    if (base_name_.empty()) base_name_ = name();
  }

  void Compute(OpKernelContext* ctx) override {
    const Tensor& most = ctx->input(0);
    OP_REQUIRES(
        ctx, most.dims() == 0,
        Invalid("Stack size must be a scalar, but had shape: ", most.shape().DebugString()));
    const int32_t given = *DataOf<int32_t>(most);
    Tensor handle;
    StackResource::Create(PlaceOf(ctx), base_name_, dtype_,
                          given < 0 ? std::numeric_limits<int32_t>::max() : given, &handle);
    ctx->set_output(0, std::move(handle));
  }

 private:
  DataType dtype_;
  std::string base_name_;
};

using StackRef = ResourceRef<StackResource>;
enum PushInputs { kHandle, kElement };

// Sets `stack` to the stack of input 0 and checks that the op's element, of `dtype`, fits it.
absl::Status StackFor(OpKernelContext* ctx, DataType dtype, StackRef* stack) {
  TF_RETURN_IF_ERROR(Lookup(ctx, kHandle, stack));
  return (*stack)->CheckDtype(dtype);
}

// Pushes the element, whose buffer the stack shares, and outputs it.
absl::Status Push(OpKernelContext* ctx, StackResource* stack) {
  const Tensor& element = ctx->input(kElement);
  TF_RETURN_IF_ERROR(stack->Push({element, ctx->input_alloc_attr(kElement)}));
  ctx->set_output(0, element);
  return absl::OkStatus();
}

absl::Status PushElement(OpKernelContext* ctx) {
  StackRef stack;
  TF_RETURN_IF_ERROR(StackFor(ctx, ctx->input_dtype(kElement), &stack));
  return Push(ctx, stack.get());
}

absl::Status PopElement(OpKernelContext* ctx) {
  StackRef stack;
  TF_RETURN_IF_ERROR(StackFor(ctx, ctx->expected_output_dtype(0), &stack));
  StackResource::Element element;
  TF_RETURN_IF_ERROR(stack->Pop(&element));
  ctx->set_output(0, std::move(element.tensor));
  return absl::OkStatus();
}

absl::Status CloseStack(OpKernelContext* ctx) {
  StackRef stack;
  TF_RETURN_IF_ERROR(Lookup(ctx, kHandle, &stack));
  stack->Close();
  return absl::OkStatus();
}

// ---- GPUs. If `swap_memory` is set and the GPU's memory is nearly full, a push moves the value to
// host memory, and its pop moves it back. The copies are asynchronous, as stock's are.

Counter swapped("stacks.swapped");

constexpr size_t kLeastBytesToSwap = 2049;
constexpr double kNearlyFull = 0.7;

bool IsNearlyFull(tensorflow::Allocator* memory) {
  const auto stats = memory->GetStats();
  if (!stats) return false;
  const auto limit = static_cast<double>(stats->bytes_limit.value_or(0));
  return limit > 0 && static_cast<double>(stats->bytes_in_use) > limit * kNearlyFull;
}

absl::Status NoMemoryFor(const Tensor& tensor) {
  return absl::ResourceExhaustedError(
      absl::StrCat("out of memory while swapping an element of a stack, of shape ",
                   tensor.shape().DebugString()));
}

// Keeps a copy's memory, and the stack, until the copy has ended.
struct Copy {
  Tensor from, to;
  StackRef stack;
};

class SwappingPushOp : public AsyncOpKernel {
 public:
  explicit SwappingPushOp(OpKernelConstruction* ctx) : AsyncOpKernel(ctx) {
    OP_REQUIRES_OK(ctx, ctx->GetAttr("swap_memory", &swaps_));
  }
  bool IsExpensive() override { return false; }

  void ComputeAsync(OpKernelContext* ctx, DoneCallback done) override {
    StackRef stack;
    OP_REQUIRES_OK_ASYNC(ctx, StackFor(ctx, ctx->input_dtype(kElement), &stack), done);
    if (IsToSwap(ctx, *stack.get())) return Swap(ctx, std::move(stack), std::move(done));
    OP_REQUIRES_OK_ASYNC(ctx, Push(ctx, stack.get()), done);
    done();
  }

 private:
  bool IsToSwap(OpKernelContext* ctx, const StackResource& stack) const {
    const Tensor& element = ctx->input(kElement);
    const AllocatorAttributes attributes = ctx->input_alloc_attr(kElement);
    return swaps_ && !attributes.on_host() && element.TotalBytes() >= kLeastBytesToSwap &&
           stack.BottomHasOtherBuffer(element) &&
           IsNearlyFull(ctx->device()->GetAllocator(attributes));
  }

  static void Swap(OpKernelContext* ctx, StackRef stack, DoneCallback done) {
    AllocatorAttributes host;
    host.set_on_host(true);
    host.set_gpu_compatible(true);
    const Tensor& element = ctx->input(kElement);
    auto copy = std::make_shared<Copy>();
    copy->from = element;
    copy->to = Tensor(ctx->device()->GetAllocator(host), element.dtype(), element.shape());
    copy->stack = std::move(stack);
    OP_REQUIRES_ASYNC(ctx, copy->to.IsInitialized(), NoMemoryFor(element), done);
    swapped.Add();
    ctx->op_device_context()->CopyDeviceTensorToCPU(
        &copy->from, "StackPush", static_cast<Device*>(ctx->device()), &copy->to,
        [ctx, copy, done = std::move(done)](const absl::Status& copied) {
          OP_REQUIRES_OK_ASYNC(ctx, copied, done);
          OP_REQUIRES_OK_ASYNC(
              ctx, copy->stack->Push({copy->to, ctx->input_alloc_attr(kElement), /*swapped=*/true}),
              done);
          ctx->set_output(0, copy->from);
          done();
        });
  }

  bool swaps_ = false;
};

class SwappingPopOp : public AsyncOpKernel {
 public:
  using AsyncOpKernel::AsyncOpKernel;
  bool IsExpensive() override { return false; }

  void ComputeAsync(OpKernelContext* ctx, DoneCallback done) override {
    StackRef stack;
    OP_REQUIRES_OK_ASYNC(ctx, StackFor(ctx, ctx->expected_output_dtype(0), &stack), done);
    StackResource::Element element;
    OP_REQUIRES_OK_ASYNC(ctx, stack->Pop(&element), done);
    if (element.swapped) return CopyBack(ctx, std::move(element), std::move(done));
    ctx->set_output(0, std::move(element.tensor));
    done();
  }

 private:
  static void CopyBack(OpKernelContext* ctx, StackResource::Element element, DoneCallback done) {
    auto copy = std::make_shared<Copy>();
    copy->from = std::move(element.tensor);
    copy->to = Tensor(ctx->device()->GetAllocator(element.attributes), copy->from.dtype(),
                      copy->from.shape());
    OP_REQUIRES_ASYNC(ctx, copy->to.IsInitialized(), NoMemoryFor(copy->from), done);
    ctx->op_device_context()->CopyCPUTensorToDevice(
        &copy->from, static_cast<Device*>(ctx->device()), &copy->to,
        [ctx, copy, done = std::move(done)](const absl::Status& copied) {
          OP_REQUIRES_OK_ASYNC(ctx, copied, done);
          ctx->set_output(0, copy->to);
          done();
        });
  }
};

}  // namespace

KernelTable StackKernels() {
  const auto numbers = [](const char* attribute) {
    return GpuNumbers(
        attribute, {tensorflow::DT_INT8, tensorflow::DT_UINT8, tensorflow::DT_INT16,
                    tensorflow::DT_UINT16, tensorflow::DT_UINT32, DT_INT64, tensorflow::DT_UINT64});
  };
  const auto in_host_memory = [](const char* attribute) {
    return GpuTypes{attribute, {DT_INT32, DT_BOOL}};
  };
  constexpr auto kCpu = KernelSpec::kCpu, kGpu = KernelSpec::kGpu;
  const auto push = MakeKernel<Cheap<FunctionKernel<PushElement>>>;
  const auto pop = MakeKernel<Cheap<FunctionKernel<PopElement>>>;
  return {
      {ops::kStackV2, MakeKernel<NewStackOp>, {"max_size", "handle"}},
      {ops::kStackCloseV2, MakeKernel<FunctionKernel<CloseStack>>, {"handle"}},
      {ops::kStackPushV2, push, {}, {}, kCpu},
      {ops::kStackPushV2, MakeAsyncKernel<SwappingPushOp>, {"handle"}, numbers("T"), kGpu},
      {ops::kStackPushV2, push, {"handle", "elem", "output"}, in_host_memory("T"), kGpu},
      {ops::kStackPopV2, pop, {}, {}, kCpu},
      {ops::kStackPopV2, MakeAsyncKernel<SwappingPopOp>, {"handle"}, numbers("elem_type"), kGpu},
      {ops::kStackPopV2, pop, {"handle", "elem"}, in_host_memory("elem_type"), kGpu}};
}

}  // namespace tensor_array_grad
