#include "cc/slices/slice_adder.h"

#include "cc/base/counters.h"
#include "cc/base/invalid.h"
#include "cc/slices/broadcast_add.h"

namespace tensor_array_grad {
namespace {

using Inputs = absl::Span<const Tensor* const>;

Counter in_place("slice_sums.in_place"), rows_added("slice_sums.rows");

// Adds the terms of one group to `sum`, as the class comment of SliceAdder explains. taken[i] is
// the tensor for the values that `sum` had at the rows of term i. It is not used for a group of one
// term, since g + sum is sum + g.
void AddGroup(absl::Span<const SliceGradient> terms, absl::Span<Tensor> taken,
              cpu::ParallelFor parallel_for, Tensor* sum) {
  const bool several = terms.size() > 1;
  for (size_t i = 0; several && i < terms.size(); ++i) {
    cpu::TakeRows(terms[i].box, terms[i].starts, parallel_for, sum, &taken[i]);
  }
  for (const SliceGradient& term : terms) {
    cpu::AddRows(term.values, term.box, term.starts, parallel_for, sum, term.from_zero);
    rows_added.Add(static_cast<int64_t>(term.starts.size()));
  }
  for (size_t i = 0; several && i < terms.size(); ++i) {
    cpu::AddRows(taken[i], terms[i].box, terms[i].starts, parallel_for, sum);
  }
}

}  // namespace

absl::Status SliceAddends::Of(const tensorflow::AttrSlice& attributes, int inputs,
                              SliceAddends* addends) {
  TF_RETURN_IF_ERROR(SliceGradientOp::ReadAll(attributes, &addends->ops_));
  int needed = 0;
  for (const SliceGradientOp& op : addends->ops_) needed += op.num_inputs();
  if (needed == inputs) return absl::OkStatus();
  return Invalid("The addends need ", needed, " inputs, not ", inputs);
}

absl::Status SliceAddends::Read(int addend, Inputs inputs, int* input,
                                SliceGradients* terms) const {
  const SliceGradientOp& op = ops_[addend];
  const int first = *input;
  *input += op.num_inputs();
  return ReadTerms(op, inputs.subspan(first, op.num_inputs()), terms);
}

absl::Status RequireShape(absl::string_view node, const TensorShape& shape,
                          absl::Span<const SliceGradient> terms) {
  for (size_t i = 0; i < terms.size(); ++i) {
    if (terms[i].whole == shape) continue;
    return Invalid("Inputs to operation ", node,
                   " of type AddN must have the same size and shape.  Input 0: ",
                   shape.DebugString(), " != input ", i + 1, ": ", terms[i].whole.DebugString());
  }
  return absl::OkStatus();
}

int64_t SliceAdder::Terms::values() const {
  int64_t all = 0;
  for (const SliceGradient& term : terms) all += term.values.NumElements();
  return all;
}

absl::Status SliceAdder::Of(const tensorflow::AttrSlice& attributes, int inputs,
                            SliceAdder* adder) {
  TF_RETURN_IF_ERROR(SliceAddends::Of(attributes, inputs - 1, &adder->addends_));
  TF_RETURN_IF_ERROR(GetNodeAttr(attributes, "before", &adder->before_));
  tensorflow::TryGetNodeAttr(attributes, "operand", &adder->operand_);
  const int addends = adder->addends_.size();
  if (adder->before_ > addends) {
    return Invalid("There are fewer addends than ", adder->before_);
  }
  if (adder->operand_ < 0 || adder->before_ == addends) return absl::OkStatus();
  return Invalid("An Add sums all ", addends, " addends before it adds `sum`, not ",
                 adder->before_);
}

// The first group consists of the addends before the sum or, if there are none, of the first addend
// after it. Each later addend is a group of its own.
absl::Status SliceAdder::Read(absl::string_view node, Inputs inputs, Terms* terms) const {
  int input = 1;
  for (int i = 0; i < addends_.size(); ++i) {
    TF_RETURN_IF_ERROR(addends_.Read(i, inputs, &input, &terms->terms));
    if (i == 0 || i >= before_) terms->ends.emplace_back();
    terms->ends.back() = terms->terms.size();
  }
  const Tensor& sum = *inputs[0];
  const bool is_add = operand_ >= 0;
  const TensorShape& shape = is_add ? terms->terms.front().whole : sum.shape();
  TF_RETURN_IF_ERROR(RequireShape(node, shape, terms->terms));
  terms->broadcast = is_add && shape != sum.shape();
  for (const SliceGradient& term : terms->terms) {
    if (term.values.dtype() == sum.dtype()) continue;
    return Invalid(node, ": gradients of ", DataTypeString(term.values.dtype()),
                   " cannot be added to ", DataTypeString(sum.dtype()));
  }
  return absl::OkStatus();
}

bool SliceAdder::AddOneLine(Inputs inputs, int64_t most, Tensor* sum) const {
  if (addends_.size() != 1) return false;
  int64_t first;
  const Tensor* const values = ReadOneLine(addends_.op(0), inputs.subspan(1), sum->shape(), &first);
  if (values == nullptr || values->dtype() != sum->dtype() || values->NumElements() > most) {
    return false;
  }
  const bool from_zero = addends_.op(0).kind == SliceGradientOp::kSegmentSum;
  cpu::AddRows(*values, {{values->NumElements()}, {1}}, {first}, cpu::OnThisThread, sum, from_zero);
  rows_added.Add();
  return true;
}

absl::Status SliceAdder::Broadcast(const Terms& terms, const Tensor& sum,
                                   cpu::ParallelFor parallel_for, Tensor* result) const {
  Tensor addends;
  TF_RETURN_IF_ERROR(DenseSum(terms.terms, parallel_for, &addends));
  return operand_ == 0 ? BroadcastAdd(sum, addends, parallel_for, result)
                       : BroadcastAdd(addends, sum, parallel_for, result);
}

void SliceAdder::CountInPlace() { in_place.Add(); }

// Allocates all memory before it changes the sum, so that an error leaves the sum unchanged.
absl::Status SliceAdder::Add(const Terms& terms, cpu::ParallelFor parallel_for, Tensor* sum) {
  absl::InlinedVector<Tensor, 2> taken(terms.terms.size());
  size_t begin = 0;
  for (const size_t end : terms.ends) {
    for (size_t i = begin; end - begin > 1 && i < end; ++i) {
      const Tensor& values = terms.terms[i].values;
      TF_RETURN_IF_ERROR(AllocateValues(values.dtype(), values.shape(), &taken[i]));
    }
    begin = end;
  }
  begin = 0;
  for (const size_t end : terms.ends) {
    AddGroup(absl::MakeSpan(terms.terms).subspan(begin, end - begin),
             absl::MakeSpan(taken).subspan(begin, end - begin), parallel_for, sum);
    begin = end;
  }
  return absl::OkStatus();
}

}  // namespace tensor_array_grad
