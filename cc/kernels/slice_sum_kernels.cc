// The kernels of the ops with which SliceSumRule replaces a sum with gradients of slices. Stock
// adds tensors of the whole size; AddSlices adds each gradient to the part to which it belongs
// (slice_adder.h). SliceGradients and LastRowOfZeros are for gradients in branches of conditionals:
// SliceGradients outputs the gradients of a branch in a variant that AddSlices reads, and
// LastRowOfZeros replaces the zeros that TensorFlow makes in the other branch for a gather.

#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/container/inlined_vector.h"
#include "cc/base/counters.h"
#include "cc/base/invalid.h"
#include "cc/base/tensor_data.h"
#include "cc/device/device_element_ops.h"
#include "cc/kernels/registration.h"
#include "cc/slices/slice_adder.h"
#include "cc/slices/slice_gradient_sum.h"
#include "tensorflow/core/framework/variant.h"

namespace tensor_array_grad {
namespace {

Counter copied_bytes("slice_sums.copied_bytes");

using Inputs = absl::InlinedVector<const Tensor*, 8>;

Inputs InputsOf(OpKernelContext* ctx) {
  Inputs inputs(ctx->num_inputs());
  for (int i = 0; i < ctx->num_inputs(); ++i) inputs[i] = &ctx->input(i);
  return inputs;
}

class AddSlicesOp : public Cheap<OpKernel> {
 public:
  explicit AddSlicesOp(OpKernelConstruction* ctx) : Cheap(ctx) {
    OP_REQUIRES_OK(ctx, SliceAdder::Of(tensorflow::AttrSlice(def()), ctx->num_inputs(), &adder_));
  }

  void Compute(OpKernelContext* ctx) override {
    SliceAdder::Terms terms;
    OP_REQUIRES_OK(ctx, adder_.Read(name(), InputsOf(ctx), &terms));
    if (terms.broadcast) {
      Tensor result;
      OP_REQUIRES_OK(ctx, adder_.Broadcast(terms, ctx->input(0), IntraOpPool(ctx), &result));
      ctx->set_output(0, result);
      return;
    }
    Tensor* sum;
    OP_REQUIRES_OK(ctx, Begin(ctx, &sum));
    OP_REQUIRES_OK(ctx, SliceAdder::Add(terms, IntraOpPool(ctx), sum));
  }

 private:
  // Makes output 0 with the values of input 0: in the input's buffer if no other tensor shares it,
  // else in a copy.
  static absl::Status Begin(OpKernelContext* ctx, Tensor** sum) {
    const Tensor& before = ctx->input(0);
    int forwarded = -1;
    TF_RETURN_IF_ERROR(
        ctx->forward_input_or_allocate_output({0}, 0, before.shape(), sum, &forwarded));
    if (forwarded == 0) {
      SliceAdder::CountInPlace();
    } else if (before.TotalBytes() > 0) {
      std::memcpy((*sum)->data(), before.data(), before.TotalBytes());
      copied_bytes.Add(static_cast<int64_t>(before.TotalBytes()));
    }
    return absl::OkStatus();
  }

  SliceAdder adder_;
};

class SliceGradientsOp : public Cheap<OpKernel> {
 public:
  explicit SliceGradientsOp(OpKernelConstruction* ctx) : Cheap(ctx) {
    OP_REQUIRES_OK(ctx,
                   SliceAddends::Of(tensorflow::AttrSlice(def()), ctx->num_inputs(), &addends_));
  }

  void Compute(OpKernelContext* ctx) override {
    const Inputs inputs = InputsOf(ctx);
    SliceGradients terms;
    int input = 0;
    for (int i = 0; i < addends_.size(); ++i) {
      OP_REQUIRES_OK(ctx, addends_.Read(i, inputs, &input, &terms));
    }
    OP_REQUIRES_OK(ctx, RequireShape(name(), terms.front().whole, terms));
    SliceGradientSum sum{{terms.begin(), terms.end()}};
    Tensor* output;
    OP_REQUIRES_OK(ctx, ctx->allocate_output(0, TensorShape(), &output));
    output->scalar<Variant>()() = std::move(sum);
  }

 private:
  SliceAddends addends_;
};

// For a tensor of n rows, outputs one row of zeros and its number, n - 1, or no row if n is 0.
// Input `limit` is the number of rows that the replaced Range numbered. If it is not n, the op
// reports the error of the UnsortedSegmentSum that would have read n rows and `limit` numbers.
class LastRowOfZerosOp : public Cheap<OpKernel> {
 public:
  using Cheap::Cheap;

  void Compute(OpKernelContext* ctx) override {
    const Tensor &like = ctx->input(0), &limit = ctx->input(1);
    OP_REQUIRES(ctx, like.dims() > 0 && limit.dims() == 0,
                Invalid("like must have a dimension and limit none, not shapes ",
                        like.shape().DebugString(), " and ", limit.shape().DebugString()));
    const int64_t rows = IntAt(limit, 0);
    OP_REQUIRES(ctx, rows == like.dim_size(0),
                Invalid("data.shape = ", like.shape().DebugString(),
                        " does not start with segment_ids.shape = [", rows, "]"));
    TensorShape shape = like.shape();
    const int64_t made = std::min<int64_t>(rows, 1);
    shape.set_dim(0, made);
    Tensor *values, *indices;
    OP_REQUIRES_OK(ctx, ctx->allocate_output(0, shape, &values));
    OP_REQUIRES_OK(ctx, ctx->allocate_output(1, TensorShape({made}), &indices));
    if (made == 0) return;
    std::memset(values->data(), 0, values->TotalBytes());
    SetIntAt(0, rows - 1, indices);
  }
};

}  // namespace

KernelTable SliceSumKernels() {
  return {{ops::kAddSlices, MakeKernel<AddSlicesOp>, {}, {}, KernelSpec::kCpu},
          {ops::kSliceGradients, MakeKernel<SliceGradientsOp>, {}, {}, KernelSpec::kCpu},
          {ops::kLastRowOfZeros, MakeKernel<LastRowOfZerosOp>, {}, {}, KernelSpec::kCpu}};
}

}  // namespace tensor_array_grad
