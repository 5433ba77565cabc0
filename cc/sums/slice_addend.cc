#include "cc/sums/slice_addend.h"

#include <algorithm>
#include <string>

#include "absl/algorithm/container.h"
#include "cc/flow/graph_names.h"
#include "cc/flow/node_util.h"
#include "cc/flow/sum_order.h"
#include "tensorflow/core/framework/node_def_util.h"

namespace tensor_array_grad {
namespace {

constexpr char kWholeTensor[] =
    "the gradient of an index is made as a tensor of full size and added as a whole";
constexpr char kTooManyOperands[] =
    "the sum $0 has more than eight terms, which TensorFlow adds in groups";
constexpr char kUnknownOrder[] =
    "the sum $0 has three or more terms, and TensorFlow adds them in an order that depends on "
    "which of them share memory with other tensors";
constexpr char kSumOfSums[] =
    "$0 adds a sum to other terms, and a sum in another order would be rounded differently";
constexpr char kChanged[] = "$0 changes it before it is added";
constexpr char kOtherTerm[] =
    "the conditional or sum that outputs it may also output $0, which is neither the gradient of "
    "an index nor zeros";

bool IsGradientOfSlice(const Node& node) {
  const auto op = SliceGradientOp::Of(node.type_string(), node.attrs());
  return op && op->is_gradient();
}

// Whether `source` is a constant zero, which a TF1 conditional brings into a branch by a Switch.
bool IsConstantZero(Source source) {
  while (source.node->IsSwitch() || IsConstantEnter(*source.node)) {
    source = InputOf(*source.node, 0);
  }
  Tensor value;
  return ConstantOf(*source.node, &value) && IsSummed(value.dtype()) && IsZero(value);
}

// Whether `node` makes zeros. A TF1 conditional makes them by a Fill.
bool MakesZeros(const Node& node) {
  return node.type_string() == ops::kZerosLike ||
         (node.type_string() == ops::kFill && IsConstantZero(InputOf(node, 1)));
}

// Whether AddSlices reads inputs of these dtypes: values that it sums, and int32 or int64 numbers;
// row numbers may be int16. A ref tensor of a variable is none of these: its value may change
// before the slices are added, and a variant cannot hold it.
bool HasKnownDtypes(const Addend& addend, Reason* why) {
  constexpr size_t kIds = 1;
  for (size_t i = 0; i < addend.inputs.size(); ++i) {
    const Node& input = *addend.inputs[i].node;
    const DataType dtype = input.output_type(addend.inputs[i].slot);
    const bool ids = OpOf(addend).kind == SliceGradientOp::kSegmentSum && i == kIds;
    const bool known = IsSummed(dtype) || dtype == DT_INT32 || dtype == DT_INT64 ||
                       (ids && dtype == tensorflow::DT_INT16);
    if (!why->Require(known,
                      "$0 is a variable of TF1, or has another dtype than numbers that can be "
                      "summed, int32 and int64",
                      input)) {
      return false;
    }
  }
  return true;
}

// Whether the kernel may output the buffer of its input: Pad without paddings, and StridedSliceGrad
// of a scalar, which only new axes and ellipses can index.
bool MayOutputItsInput(const Node& node) {
  if (node.type_string() == ops::kPad) return true;
  if (node.type_string() != ops::kStridedSliceGrad) return false;
  const SliceMasks masks = SliceMasks::Of(node.attrs());
  Tensor begin;
  const bool no_index = ConstantOf(*InputOf(node, 1).node, &begin) && begin.NumElements() == 0;
  return masks.shrink_axis == 0 && (masks.new_axis != 0 || masks.ellipsis != 0 || no_index);
}

// Whether a ScatterNd skips indices that are out of range.
bool IgnoresBadIndices(const Node& node) {
  std::string policy;
  return TryGetNodeAttr(node.attrs(), "bad_indices_policy", &policy) && policy == "IGNORE";
}

bool MatchZeros(Addend* found, const Node& sum, Reason* why) {
  found->kind = Addend::kZeros;
  found->inputs = {found->at};
  if (MakesZeros(*found->at.node)) {
    if (!Take(found, sum, why)) return false;
    found->inputs = InputsOf(*found->at.node);
  }
  const Node& input = *found->inputs[0].node;
  return why->Require(OnSameDevice(input, sum), kOtherDevice, input) && HasKnownDtypes(*found, why);
}

bool MatchEnd(Addend* found, const Node& sum, bool in_branch, Reason* why) {
  if (in_branch && (IsConstantZero(found->at) || MakesZeros(*found->at.node))) {
    return MatchZeros(found, sum, why);
  }
  const Node* const reshape = Skip(ops::kReshape, found, sum, why);
  const Node* const transpose = Skip(ops::kTranspose, found, sum, why);
  const Node& made = *found->at.node;
  const bool moved = transpose != nullptr || reshape != nullptr;
  if (!why->Require(IsGradientOfSlice(made), in_branch ? kOtherTerm : kChanged, made) ||
      !why->Require(!moved || made.type_string() == ops::kUnsortedSegmentSum,
                    "the result of $0 is reshaped", made) ||
      !Take(found, sum, why) ||
      !why->Require(!IgnoresBadIndices(made), "$0 ignores indices that are out of range", made)) {
    return false;
  }
  found->inputs = InputsOf(made);
  for (const Node* move : {transpose, reshape}) {
    if (move != nullptr) found->inputs.push_back(InputOf(*move, 1));
  }
  return HasKnownDtypes(*found, why);
}

bool Accepts(const Addend& found, const Node& /*sum*/, Reason* why) {
  return found.kind == Addend::kBranches ||
         CanFollow(found, static_cast<int>(found.parts.size()), why);
}

// Whether another tensor may share the buffer of the tensor that `addend` stands for.
bool MayBeShared(const Addend& addend) {
  switch (addend.kind) {
    case Addend::kPart:
      return MayOutputItsInput(*addend.at.node);
    case Addend::kZeros:
      return !MakesZeros(*addend.at.node);
    case Addend::kSum:  // AddN of one operand outputs the operand's buffer
      return addend.parts.size() == 1 && MayBeShared(addend.parts[0]);
    case Addend::kBranches:
      return absl::c_any_of(addend.parts, MayBeShared);
    case Addend::kOther:
      break;
  }
  return true;
}

// How many terms the sum has that makes `addend`; of branches, the most of a branch.
int TermsOf(const Addend& addend) {
  int sum = 0, most = 1;
  for (const Addend& part : addend.parts) {
    const int terms = TermsOf(part);
    sum += terms;
    most = std::max(most, terms);
  }
  return addend.kind == Addend::kSum ? sum : most;
}

}  // namespace

const SumPattern slice_pattern{IsGradientOfSlice, kWholeTensor, MatchEnd, Accepts};

bool IsSummed(DataType dtype) {
  return dtype == tensorflow::DT_HALF || dtype == tensorflow::DT_BFLOAT16 || dtype == DT_FLOAT ||
         dtype == DT_DOUBLE || dtype == tensorflow::DT_COMPLEX64 ||
         dtype == tensorflow::DT_COMPLEX128;
}

// Which operands share their buffers, and so the order (sum_order.h), may depend on timing. For
// [a, g, b], where g never shares its buffer, AddN computes (a + g) + b or (g + a) + b, which are
// equal. If g may share its buffer, AddN may also compute (b + g) + a. So the order is known if the
// first or the second operand is an addend that never shares its buffer, or if there are only two
// operands.
//
// Addends before `first` are summed term by term, and `first` is added to the result. Since a + (b
// + c) is rounded differently from (a + b) + c, only the very first of them may have several terms.
bool CanFollow(const Addend& sum, int first, Reason* why) {
  const Node& node = *sum.at.node;
  const int operands = static_cast<int>(sum.parts.size());
  bool known = operands <= 2, in_order = true;
  for (int i = 0; i < operands; ++i) {
    known |= i < 2 && i != first && !MayBeShared(sum.parts[i]);
    in_order &= i == 0 || i >= first || TermsOf(sum.parts[i]) == 1;
  }
  return why->Require(node.num_inputs() <= kMostInOrder, kTooManyOperands, node) &&
         why->Require(in_order, kSumOfSums, node) && why->Require(known, kUnknownOrder, node);
}

SliceGradientOp OpOf(const Addend& addend) {
  if (addend.kind == Addend::kBranches) return SliceGradientOp(SliceGradientOp::kSum);
  const Node& node = *addend.at.node;
  auto op = SliceGradientOp::Of(node.type_string(), node.attrs());
  if (!op) return SliceGradientOp(SliceGradientOp::kZeros);  // a constant
  for (const Node* passed : addend.nodes) {
    op->transposed |= passed->type_string() == ops::kTranspose;
    op->reshaped |= passed->type_string() == ops::kReshape;
  }
  return *op;
}

}  // namespace tensor_array_grad
