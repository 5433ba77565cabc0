// The kernels that note what TensorFlow's executor does with a loop (cc/compile/watch_loop.h).

#include <memory>

#include "cc/base/loop_record.h"
#include "cc/kernels/registration.h"

namespace tensor_array_grad {
namespace {

class NoteConditionOp : public OpKernel {
 public:
  explicit NoteConditionOp(OpKernelConstruction* ctx)
      : OpKernel(ctx), record_(RecordOf(ctx->def())) {}
  void Compute(OpKernelContext* ctx) override {
    record_->EvaluatesCondition(ctx->step_id(), ctx->frame_iter().iter_id);
  }

 private:
  const std::shared_ptr<LoopRecord> record_;
};

class NoteExitOp : public OpKernel {
 public:
  explicit NoteExitOp(OpKernelConstruction* ctx) : OpKernel(ctx), record_(RecordOf(ctx->def())) {}
  void Compute(OpKernelContext* ctx) override { record_->EndsInExecutor(ctx->step_id()); }

 private:
  const std::shared_ptr<LoopRecord> record_;
};

}  // namespace

KernelTable WatchKernels() {
  return {{ops::kNoteCondition, MakeKernel<Cheap<NoteConditionOp>>, {}, {}, KernelSpec::kCpu},
          {ops::kNoteExit, MakeKernel<Cheap<NoteExitOp>>, {}, {}, KernelSpec::kCpu}};
}

}  // namespace tensor_array_grad
