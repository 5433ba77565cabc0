// The kernels of the ops with which LoopStackRule replaces TensorListPushBack and
// TensorListPopBack. They pack the lists that a forward loop fills for its backward loop into one
// loop stack.

#include "cc/kernels/list_kernel_util.h"
#include "cc/kernels/registration.h"
#include "cc/lists/loop_stack.h"
#include "tensorflow/core/framework/variant.h"

namespace tensor_array_grad {
namespace {

// Sets `stack` to the loop stack in input 0.
absl::Status GetLoopStack(OpKernelContext* ctx, const LoopStack** stack) {
  const Tensor& tensor = ctx->input(0);
  if (tensor.dims() != 0) {
    return InvalidList("loop_stack must be a scalar but has shape ", tensor.shape().DebugString());
  }
  const auto& variant = tensor.scalar<Variant>()();
  *stack = variant.get<LoopStack>();
  if (*stack != nullptr) return absl::OkStatus();
  return InvalidList("Input handle is not a loop stack. Saw: '", variant.DebugString(), "'");
}

// Returns an error unless a loop stack of `lists` lists fits an op with `values` values.
absl::Status CheckNumber(size_t lists, int values) {
  if (lists == static_cast<size_t>(values)) return absl::OkStatus();
  return InvalidList("There are ", lists, " lists in the loop stack, but the op has ", values,
                     " values");
}

// Packs empty lists into an empty loop stack. The stack keeps the values of the first `kept` lists.
// Pushes to the others are only checked.
class NewLoopStackOp : public Cheap<ListKernel> {
 public:
  explicit NewLoopStackOp(OpKernelConstruction* ctx) : Cheap(ctx) {
    OP_REQUIRES_OK(ctx, ctx->GetAttr("kept", &kept_));
    OP_REQUIRES(ctx, kept_ <= ctx->num_inputs(),
                InvalidList("Only ", ctx->num_inputs(), " lists are packed, but ", kept_,
                            " are to be kept"));
  }

 protected:
  absl::Status Run(OpKernelContext* ctx) override {
    std::vector<ListSpec> specs;
    for (int i = 0; i < ctx->num_inputs(); ++i) {
      InputList list;
      TF_RETURN_IF_ERROR(GetList(ctx, i, &list));
      if (list->size() != 0) {
        return InvalidList("Only empty lists can be packed, but list ", i, " has ", list->size(),
                           " elements");
      }
      specs.push_back(list->spec());
    }
    return OutputVariant(ctx, 0, LoopStack(std::move(specs), kept_));
  }

 private:
  int kept_;
};

// Pushes one row, a value for each list. Makes the checks of TensorListPushBack for each of them
// before it changes the stack, which may be the input's own.
absl::Status PushRow(OpKernelContext* ctx, DataType) {
  const LoopStack* before = nullptr;
  TF_RETURN_IF_ERROR(GetLoopStack(ctx, &before));
  const int count = ctx->num_inputs() - 1;
  TF_RETURN_IF_ERROR(CheckNumber(before->specs().size(), count));
  LoopStackRow::Values row;
  row.reserve(before->kept());
  for (int i = 0; i < count; ++i) {
    const Tensor& value = ctx->input(1 + i);
    TF_RETURN_IF_ERROR(CheckPush(before->specs()[i], before->size(), value.dtype(), value));
    if (row.size() < before->kept()) row.push_back(value);
  }
  LoopStack* out;
  TF_RETURN_IF_ERROR(ForwardVariant(ctx, 0, *before, 0, &out));
  out->Push(std::move(row));
  return absl::OkStatus();
}

// Removes the last row and outputs its values, one for each kept list.
absl::Status PopRow(OpKernelContext* ctx, DataType) {
  const LoopStack* before = nullptr;
  TF_RETURN_IF_ERROR(GetLoopStack(ctx, &before));
  const int count = ctx->num_outputs() - 1;
  TF_RETURN_IF_ERROR(CheckNumber(before->kept(), count));
  for (int i = 0; i < count; ++i) {
    TF_RETURN_IF_ERROR(CheckDtypes(ctx->expected_output_dtype(1 + i), before->specs()[i].dtype));
  }
  if (before->size() == 0) return InvalidList("Trying to pop from an empty list.");
  LoopStack* out;
  TF_RETURN_IF_ERROR(ForwardVariant(ctx, 0, *before, 0, &out));
  LoopStackRow::Values row = out->Pop();
  for (int i = 0; i < count; ++i) ctx->set_output(1 + i, std::move(row[i]));
  return absl::OkStatus();
}

}  // namespace

KernelTable LoopStackKernels() {
  return {
      {"TensorArrayGrad>NewLoopStack", MakeKernel<NewLoopStackOp>, {}},
      {"TensorArrayGrad>PushLoopStack", MakeKernel<Cheap<ListFunction<PushRow>>>, {}},
      {"TensorArrayGrad>PopLoopStack", MakeKernel<Cheap<ListFunction<PopRow>>>, {}},
  };
}

}  // namespace tensor_array_grad
