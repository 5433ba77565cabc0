// The ops that SliceSumRule puts in the place of a sum with gradients of slices: AddSlices adds
// them to the parts that they belong to, where stock adds tensors of the whole size. The others
// bring it those that conditionals choose from.
//
// The values are those of stock's sum, in its order. What comes behind the sum so far is added to
// it, one after the other. What comes before the sum is summed first: AddN([g, h, sum]) is
// (g + h) + sum, and so is what one branch has summed. To that end the parts' values are taken out
// of the sum, g and h are added to what is left there, and then what was taken is added. Values
// that g and h share are taken out once: the second time there is nothing left but -0, which
// changes no value it is added to.

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "cc/core/counters.h"
#include "cc/device/device_element_ops.h"
#include "cc/kernels/registration.h"
#include "cc/slices/slice_gradient.h"
#include "cc/slices/slice_gradient_sum.h"
#include "tensorflow/core/framework/variant.h"

namespace tensor_array_grad {
namespace {

using tensorflow::OpKernelConstruction;
using tensorflow::OpKernelContext;
using tensorflow::Tensor;
using tensorflow::TensorShape;

Counter in_place("slice_sums.in_place"), copied_bytes("slice_sums.copied_bytes"),
    rows_added("slice_sums.rows");

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

// What the ops have in common: the attribute `addends`, and reading these.
class SliceOp : public tensorflow::OpKernel {
 public:
  // The first addend's inputs begin with number `first`.
  SliceOp(OpKernelConstruction* ctx, int first) : OpKernel(ctx), first_(first) {
    std::vector<std::string> nodes;
    OP_REQUIRES_OK(ctx, ctx->GetAttr("addends", &nodes));
    int inputs = first;
    for (const std::string& node : nodes) {
      tensorflow::NodeDef def;
      OP_REQUIRES(ctx, def.ParseFromString(node), absl::InvalidArgumentError("no NodeDef"));
      addends_.emplace_back();
      OP_REQUIRES_OK(ctx, SliceGradientOp::Of(def, &addends_.back()));
      inputs += addends_.back().num_inputs();
    }
    OP_REQUIRES(ctx, inputs == ctx->num_inputs(),
                absl::InvalidArgumentError(
                    absl::StrCat("The addends need ", inputs, " inputs, not ", ctx->num_inputs())));
  }

  bool IsExpensive() override { return false; }

 protected:
  int addends() const { return static_cast<int>(addends_.size()); }

  // Appends the terms of the next addend, whose inputs begin with *input, and moves that on.
  absl::Status Read(OpKernelContext* ctx, int addend, int* input, SliceGradients* terms) const {
    absl::InlinedVector<const Tensor*, 5> inputs;
    for (int i = 0; i < addends_[addend].num_inputs(); ++i)
      inputs.push_back(&ctx->input((*input)++));
    return ReadTerms(addends_[addend], inputs, terms);
  }

  // An error as AddN's unless the terms are of that shape.
  absl::Status RequireShape(const TensorShape& shape, absl::Span<const SliceGradient> terms) const {
    for (size_t i = 0; i < terms.size(); ++i) {
      if (terms[i].whole == shape) continue;
      return absl::InvalidArgumentError(absl::StrCat(
          "Inputs to operation ", name(),
          " of type AddN must have the same size and shape.  Input 0: ", shape.DebugString(),
          " != input ", i + 1, ": ", terms[i].whole.DebugString()));
    }
    return absl::OkStatus();
  }

  int first_input() const { return first_; }

 private:
  std::vector<SliceGradientOp> addends_;
  const int first_;
};

class AddSlicesOp : public SliceOp {
 public:
  explicit AddSlicesOp(OpKernelConstruction* ctx) : SliceOp(ctx, 1) {
    OP_REQUIRES_OK(ctx, ctx->GetAttr("before", &before_));
    OP_REQUIRES(ctx, before_ <= addends(),
                absl::InvalidArgumentError(absl::StrCat("There are fewer addends than ", before_)));
  }

  void Compute(OpKernelContext* ctx) override { OP_REQUIRES_OK(ctx, Run(ctx)); }

 private:
  absl::Status Run(OpKernelContext* ctx) {
    SliceGradients terms;
    absl::InlinedVector<size_t, 2> ends;
    TF_RETURN_IF_ERROR(ReadGroups(ctx, &terms, &ends));
    Tensor* sum;
    TF_RETURN_IF_ERROR(Begin(ctx, &sum));
    DeviceElementOps ops(ctx);
    size_t begin = 0;
    for (const size_t end : ends) {
      TF_RETURN_IF_ERROR(AddGroup(absl::MakeSpan(terms).subspan(begin, end - begin), &ops, sum));
      begin = end;
    }
    return absl::OkStatus();
  }

  // What is to be added, in order, and where each group of it ends; the terms of a group are summed
  // first. An error where stock has one: the sum is then as it was.
  absl::Status ReadGroups(OpKernelContext* ctx, SliceGradients* terms,
                          absl::InlinedVector<size_t, 2>* ends) const {
    int input = first_input();
    for (int i = 0; i < addends(); ++i) {
      TF_RETURN_IF_ERROR(Read(ctx, i, &input, terms));
      if (i == 0 || i >= before_) ends->emplace_back();
      ends->back() = terms->size();
    }
    TF_RETURN_IF_ERROR(RequireShape(ctx->input(0).shape(), *terms));
    for (const SliceGradient& term : *terms) {
      if (term.values.dtype() == ctx->input_dtype(0)) continue;
      return absl::InvalidArgumentError(
          absl::StrCat(name(), ": gradients of ", DataTypeString(term.values.dtype()),
                       " cannot be added to ", DataTypeString(ctx->input_dtype(0))));
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

  static absl::Status AddGroup(absl::Span<const SliceGradient> group, DeviceElementOps* ops,
                               Tensor* sum) {
    const auto add = [&](const SliceGradient& term) {
      ForEachRow(term, [&](int64_t begin, const cpu::Box& box) {
        ops->AddToBox(term.values, begin, box, sum);
      });
    };
    // One needs no care: g + sum is sum + g.
    std::vector<SliceGradient> taken;
    if (group.size() > 1) taken.assign(group.begin(), group.end());
    for (SliceGradient& part : taken) {
      TF_RETURN_IF_ERROR(ops->Allocate(sum->dtype(), part.values.shape(), &part.values));
      ForEachRow(part, [&](int64_t begin, const cpu::Box& box) {
        ops->TakeFromBox(box, sum, begin, &part.values);
      });
    }
    for (const SliceGradient& term : group) {
      add(term);
      rows_added.Add(static_cast<int64_t>(term.starts.size()));
    }
    for (const SliceGradient& part : taken) add(part);
    return absl::OkStatus();
  }

  int before_ = 0;
};

class SliceGradientsOp : public SliceOp {
 public:
  explicit SliceGradientsOp(OpKernelConstruction* ctx) : SliceOp(ctx, 0) {}

  void Compute(OpKernelContext* ctx) override {
    SliceGradients terms;
    int input = first_input();
    for (int i = 0; i < addends(); ++i) OP_REQUIRES_OK(ctx, Read(ctx, i, &input, &terms));
    OP_REQUIRES_OK(ctx, RequireShape(terms.front().whole, terms));
    SliceGradientSum sum{{terms.begin(), terms.end()}};
    Tensor* output;
    OP_REQUIRES_OK(ctx, ctx->allocate_output(0, TensorShape(), &output));
    output->scalar<tensorflow::Variant>()() = std::move(sum);
  }
};

class LastRowOfZerosOp : public tensorflow::OpKernel {
 public:
  using OpKernel::OpKernel;

  bool IsExpensive() override { return false; }

  void Compute(OpKernelContext* ctx) override {
    const Tensor &like = ctx->input(0), &limit = ctx->input(1);
    OP_REQUIRES(ctx, like.dims() > 0 && limit.dims() == 0,
                absl::InvalidArgumentError(absl::StrCat(
                    "like must have a dimension and limit none, not shapes ",
                    like.shape().DebugString(), " and ", limit.shape().DebugString())));
    const bool is_int = limit.dtype() == tensorflow::DT_INT32;
    const int64_t rows = is_int ? limit.scalar<int32_t>()() : limit.scalar<int64_t>()();
    OP_REQUIRES(ctx, rows == like.dim_size(0),
                absl::InvalidArgumentError(
                    absl::StrCat("data.shape = ", like.shape().DebugString(),
                                 " does not start with segment_ids.shape = [", rows, "]")));
    TensorShape shape = like.shape();
    const int64_t made = std::min<int64_t>(rows, 1);
    shape.set_dim(0, made);
    Tensor *values, *indices;
    OP_REQUIRES_OK(ctx, ctx->allocate_output(0, shape, &values));
    OP_REQUIRES_OK(ctx, ctx->allocate_output(1, TensorShape({made}), &indices));
    if (made == 0) return;
    std::memset(values->data(), 0, values->TotalBytes());
    if (is_int) {
      indices->flat<int32_t>()(0) = static_cast<int32_t>(rows - 1);
    } else {
      indices->flat<int64_t>()(0) = rows - 1;
    }
  }
};

}  // namespace

KernelTable SliceSumKernels() {
  return {
      {"TensorArrayGrad>AddSlices", MakeKernel<AddSlicesOp>, {}, {}, /*on_gpu=*/false},
      {SliceGradientOp::kSumOp, MakeKernel<SliceGradientsOp>, {}, {}, /*on_gpu=*/false},
      {"TensorArrayGrad>LastRowOfZeros", MakeKernel<LastRowOfZerosOp>, {}, {}, /*on_gpu=*/false}};
}

}  // namespace tensor_array_grad
