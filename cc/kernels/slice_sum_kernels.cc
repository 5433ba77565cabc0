// The op that SliceSumRule puts in the place of a sum with gradients of slices: it adds them to the
// parts that they belong to, where stock adds tensors of the whole size.
//
// The values are those of stock's sum, in its order. What comes behind the sum so far is added to
// it, one after the other. What comes before the sum is summed first: AddN([g, h, sum]) is
// (g + h) + sum. To that end the parts' values are taken out of the sum, g and h are added to what
// is left there, and then what was taken is added. Values that g and h share are taken out once:
// the second time there is nothing left but -0, which changes no value it is added to.

#include <cstring>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "cc/core/counters.h"
#include "cc/device/device_element_ops.h"
#include "cc/kernels/registration.h"
#include "cc/slices/slice_gradient.h"

namespace tensor_array_grad {
namespace {

using tensorflow::OpKernelConstruction;
using tensorflow::OpKernelContext;
using tensorflow::Tensor;
using tensorflow::TensorShape;

Counter in_place("slice_sums.in_place"), copied_bytes("slice_sums.copied_bytes");

// Calls work(begin, box) for each row of `gradient`: the number of its first value, and where it
// belongs.
template <typename RowWork>
void ForEachRow(const SliceGradient& gradient, RowWork work) {
  cpu::Box box = gradient.box;
  const int64_t width = gradient.width();
  for (size_t i = 0; i < gradient.starts.size(); ++i) {
    box.first = gradient.starts[i];
    work(static_cast<int64_t>(i) * width, box);
  }
}

class AddSlicesOp : public tensorflow::OpKernel {
 public:
  explicit AddSlicesOp(OpKernelConstruction* ctx) : OpKernel(ctx) {
    std::vector<std::string> nodes;
    OP_REQUIRES_OK(ctx, ctx->GetAttr("addends", &nodes));
    OP_REQUIRES_OK(ctx, ctx->GetAttr("before", &before_));
    int inputs = 1;
    for (const std::string& node : nodes) {
      tensorflow::NodeDef def;
      OP_REQUIRES(ctx, def.ParseFromString(node), absl::InvalidArgumentError("no NodeDef"));
      addends_.emplace_back();
      OP_REQUIRES_OK(ctx, SliceGradientOp::Of(def, &addends_.back()));
      inputs += addends_.back().num_inputs();
    }
    OP_REQUIRES(ctx, inputs == ctx->num_inputs() && before_ <= static_cast<int>(nodes.size()),
                absl::InvalidArgumentError(
                    absl::StrCat("The addends need ", inputs, " inputs, not ", ctx->num_inputs())));
  }

  bool IsExpensive() override { return false; }

  void Compute(OpKernelContext* ctx) override { OP_REQUIRES_OK(ctx, Run(ctx)); }

 private:
  absl::Status Run(OpKernelContext* ctx) {
    std::vector<SliceGradient> gradients;
    TF_RETURN_IF_ERROR(ReadGradients(ctx, &gradients));
    Tensor* sum;
    TF_RETURN_IF_ERROR(Begin(ctx, &sum));
    DeviceElementOps ops(ctx);
    const auto add = [&](const SliceGradient& gradient) {
      ForEachRow(gradient, [&](int64_t begin, const cpu::Box& box) {
        ops.AddToBox(gradient.values, begin, box, sum);
      });
    };
    // One that comes before the sum alone needs no care: g + sum is sum + g.
    const int first = before_ > 1 ? before_ : 0;
    std::vector<SliceGradient> taken(gradients.begin(), gradients.begin() + first);
    for (SliceGradient& part : taken) {
      TF_RETURN_IF_ERROR(ops.Allocate(sum->dtype(), part.values.shape(), &part.values));
      ForEachRow(part, [&](int64_t begin, const cpu::Box& box) {
        ops.TakeFromBox(box, sum, begin, &part.values);
      });
    }
    for (int i = 0; i < first; ++i) add(gradients[i]);
    for (const SliceGradient& part : taken) add(part);
    for (size_t i = first; i < gradients.size(); ++i) add(gradients[i]);
    return absl::OkStatus();
  }

  // An error where stock has one: the sum is then as it was.
  absl::Status ReadGradients(OpKernelContext* ctx, std::vector<SliceGradient>* gradients) const {
    const TensorShape& shape = ctx->input(0).shape();
    int next = 1;
    for (const SliceGradientOp& addend : addends_) {
      std::vector<const Tensor*> inputs;
      for (int i = 0; i < addend.num_inputs(); ++i) inputs.push_back(&ctx->input(next++));
      gradients->emplace_back();
      TF_RETURN_IF_ERROR(ReadSliceGradient(addend, inputs, &gradients->back()));
      if (gradients->back().whole != shape) {
        return absl::InvalidArgumentError(absl::StrCat(
            "Inputs to operation ", name(),
            " of type AddN must have the same size and shape.  Input 0: ", shape.DebugString(),
            " != input ", gradients->size(), ": ", gradients->back().whole.DebugString()));
      }
    }
    return absl::OkStatus();
  }

  // Makes output 0, which begins as input 0: in its buffer where nothing else holds that, else in a
  // copy.
  static absl::Status Begin(OpKernelContext* ctx, Tensor** sum) {
    const Tensor& before = ctx->input(0);
    int forwarded = -1;
    TF_RETURN_IF_ERROR(
        ctx->forward_input_or_allocate_output({0}, 0, before.shape(), sum, &forwarded));
    if (forwarded == 0) {
      in_place.Add();
    } else if (before.TotalBytes() > 0) {
      std::memcpy((*sum)->data(), before.data(), before.TotalBytes());
      copied_bytes.Add(static_cast<int64_t>(before.TotalBytes()));
    }
    return absl::OkStatus();
  }

  std::vector<SliceGradientOp> addends_;
  int before_ = 0;
};

}  // namespace

KernelTable SliceSumKernels() {
  return {{"TensorArrayGrad>AddSlices", MakeKernel<AddSlicesOp>, {}, {}, /*on_gpu=*/false}};
}

}  // namespace tensor_array_grad
