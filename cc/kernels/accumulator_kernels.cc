// The kernels of the ops with which AccumulatorRule replaces TensorListPushBack and
// TensorListPopBack. They pack the lists that a forward loop fills for its backward loop into one
// stack of values.

#include "cc/kernels/list_kernel_util.h"
#include "cc/kernels/registration.h"
#include "cc/lists/accumulators.h"
#include "tensorflow/core/framework/variant.h"

namespace tensor_array_grad {
namespace {

using tensorflow::OpKernelConstruction;
using tensorflow::OpKernelContext;
using tensorflow::Tensor;

// Sets `accumulators` to the stack of values in input 0.
absl::Status GetAccumulators(OpKernelContext* ctx, const Accumulators** accumulators) {
  const Tensor& tensor = ctx->input(0);
  if (tensor.dims() != 0) {
    return InvalidList("accumulators must be a scalar but have shape ",
                       tensor.shape().DebugString());
  }
  const auto& variant = tensor.scalar<tensorflow::Variant>()();
  *accumulators = variant.get<Accumulators>();
  if (*accumulators != nullptr) return absl::OkStatus();
  return InvalidList("Input handle holds no accumulators. Saw: '", variant.DebugString(), "'");
}

absl::Status CheckNumber(size_t accumulators, int values) {
  if (accumulators == static_cast<size_t>(values)) return absl::OkStatus();
  return InvalidList("There are ", accumulators, " accumulators, but the op has ", values,
                     " values");
}

class PackAccumulatorsOp : public CheapListKernel {
 public:
  explicit PackAccumulatorsOp(OpKernelConstruction* ctx) : CheapListKernel(ctx) {
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
    return OutputVariant(ctx, 0, Accumulators(std::move(specs), kept_));
  }

 private:
  int kept_;
};

class PushAccumulatorsOp : public CheapListKernel {
 public:
  using CheapListKernel::CheapListKernel;

 protected:
  absl::Status Run(OpKernelContext* ctx) override {
    const int count = ctx->num_inputs() - 1;
    const Accumulators* before = nullptr;
    TF_RETURN_IF_ERROR(GetAccumulators(ctx, &before));
    TF_RETURN_IF_ERROR(CheckNumber(before->specs().size(), count));
    AccumulatorRow::Values row;
    row.reserve(before->kept());
    for (int i = 0; i < count; ++i) {
      const Tensor& value = ctx->input(1 + i);
      TF_RETURN_IF_ERROR(CheckPush(before->specs()[i], before->size(), value.dtype(), value));
      if (row.size() < before->kept()) row.push_back(value);
    }
    Accumulators* out;
    TF_RETURN_IF_ERROR(ForwardVariant(ctx, 0, *before, 0, &out));
    out->Push(std::move(row));
    return absl::OkStatus();
  }
};

class PopAccumulatorsOp : public CheapListKernel {
 public:
  using CheapListKernel::CheapListKernel;

 protected:
  absl::Status Run(OpKernelContext* ctx) override {
    const int count = ctx->num_outputs() - 1;
    const Accumulators* before = nullptr;
    TF_RETURN_IF_ERROR(GetAccumulators(ctx, &before));
    TF_RETURN_IF_ERROR(CheckNumber(before->kept(), count));
    for (int i = 0; i < count; ++i) {
      TF_RETURN_IF_ERROR(CheckDtypes(ctx->expected_output_dtype(1 + i), before->specs()[i].dtype));
    }
    if (before->size() == 0) return InvalidList("Trying to pop from an empty list.");
    Accumulators* out;
    TF_RETURN_IF_ERROR(ForwardVariant(ctx, 0, *before, 0, &out));
    AccumulatorRow::Values row = out->Pop();
    for (int i = 0; i < count; ++i) ctx->set_output(1 + i, std::move(row[i]));
    return absl::OkStatus();
  }
};

}  // namespace

KernelTable AccumulatorKernels() {
  return {
      {"TensorArrayGrad>PackAccumulators", MakeKernel<PackAccumulatorsOp>, {}},
      {"TensorArrayGrad>PushAccumulators", MakeKernel<PushAccumulatorsOp>, {}},
      {"TensorArrayGrad>PopAccumulators", MakeKernel<PopAccumulatorsOp>, {}},
  };
}

}  // namespace tensor_array_grad
