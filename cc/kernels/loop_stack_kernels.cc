// The kernels of the ops with which LoopStackRule replaces TensorListPushBack and
// TensorListPopBack. They pack the lists that a forward loop fills for its backward loop into one
// loop stack.

#include "cc/kernels/list_kernel_util.h"
#include "cc/kernels/registration.h"
#include "cc/lists/list_bodies.h"

namespace tensor_array_grad {
namespace {

// Packs empty lists into an empty loop stack. The stack keeps the values of the first `kept` lists.
// Pushes to the others are only checked.
class NewLoopStackOp : public Cheap<ListKernel> {
 public:
  explicit NewLoopStackOp(OpKernelConstruction* ctx) : Cheap(ctx) {
    OP_REQUIRES_OK(ctx, ctx->GetAttr("kept", &kept_));
    OP_REQUIRES(
        ctx, kept_ <= ctx->num_inputs(),
        Invalid("Only ", ctx->num_inputs(), " lists are packed, but ", kept_, " are to be kept"));
  }

 protected:
  absl::Status ComputeCall(KernelCall& call) override {
    std::vector<ListSpec> specs;
    for (int i = 0; i < call.num_inputs(); ++i) {
      const ListVariant* list = nullptr;
      TF_RETURN_IF_ERROR(call.Get(i, &list));
      if (list->size() != 0) {
        return Invalid("Only empty lists can be packed, but list ", i, " has ", list->size(),
                       " elements");
      }
      specs.push_back(list->spec());
    }
    return OutputVariant(call.ctx(), 0, LoopStack(std::move(specs), kept_));
  }

 private:
  int kept_;
};

}  // namespace

KernelTable LoopStackKernels() {
  return {
      {ops::kNewLoopStack, MakeKernel<NewLoopStackOp>, {}},
      {ops::kPushLoopStack, MakeKernel<Cheap<ListFunction<PushRow>>>, {}},
      {ops::kPopLoopStack, MakeKernel<Cheap<ListFunction<PopRow>>>, {}},
  };
}

}  // namespace tensor_array_grad
