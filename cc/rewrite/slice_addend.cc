#include "cc/rewrite/slice_addend.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "cc/flow/sum_order.h"
#include "tensorflow/core/framework/node_def_util.h"

namespace tensor_array_grad {
namespace {

constexpr char kSumOfSums[] =
    "$0 adds a sum to other terms, and a sum in another order would be rounded differently";
constexpr char kChanged[] = "$0 changes it before it is added";
constexpr char kOtherTerm[] =
    "the conditional or sum that outputs it may also output $0, which is neither the gradient of "
    "an index nor zeros";

// Matches an operand of a sum by going back through nodes that lead only to the sum: an Identity,
// then a Merge (whose inputs are matched recursively, as branches), or Reshape, Transpose and the
// op that makes the gradient. In a branch, zeros and AddN match too. An Add adds its second operand
// as a whole, so there an AddN matches too. Each node passed must be on the device of the sum and
// have no other consumer, because it will be removed.
class Matcher {
 public:
  // `add` is the sum. `depth` counts the Merges and AddNs between the operand and the sum.
  Matcher(Source operand, const Node& add, int depth = 0)
      : at_(operand), add_(add), depth_(depth), in_branch_(depth > 0) {}

  std::optional<SliceAddend> Match() {
    constexpr int kDeepest = 32;
    if (depth_ > kDeepest) return std::nullopt;
    if (in_branch_ && IsConstantZero(at_)) return Zeros({at_});
    Skip("Identity");
    if (in_branch_ && Skip("ZerosLike") != nullptr) return Zeros({at_});
    if (in_branch_ && IsFillOfZeros()) return MatchFill();
    if (at_.node->IsMerge()) return MatchMerge();
    if ((in_branch_ || !IsAddN(add_)) && at_.node->type_string() == "AddN") return MatchAdd();
    return MatchSlice();
  }

  // Why Match returned nothing, or a gradient in a branch that cannot be added.
  const Reason& why() const { return why_; }

 private:
  // Notes the reason `otherwise`, about the node at which the match is, unless `holds`.
  bool Require(bool holds, const char* otherwise) {
    return why_.Require(holds, otherwise, *at_.node);
  }

  std::optional<SliceAddend> Zeros(std::vector<Source> inputs, const char* op = "ZerosLike") {
    found_.def.set_op(op);
    found_.inputs = std::move(inputs);
    found_.may_be_shared = found_.nodes.empty();
    const Node& input = *found_.inputs[0].node;
    if (!why_.Require(OnSameDevice(input, add_), kOtherDevice, input) || !HasKnownDtypes()) {
      return std::nullopt;
    }
    return std::move(found_);
  }

  // Whether `source` is a constant zero, which a TF1 conditional brings into a branch by a Switch.
  static bool IsConstantZero(Source source) {
    while (source.node->IsSwitch() || IsConstantEnter(*source.node)) {
      source = InputOf(*source.node, 0);
    }
    Tensor value;
    return ConstantOf(*source.node, &value) && IsSummed(value.dtype()) && IsZero(value);
  }

  // Whether the operand is Fill(sizes, 0), the zeros of a TF1 conditional.
  bool IsFillOfZeros() const {
    return at_.node->type_string() == "Fill" && IsConstantZero(InputOf(*at_.node, 1));
  }

  std::optional<SliceAddend> MatchFill() {
    if (!LeadsToTheSumAlone()) return std::nullopt;
    found_.nodes.push_back(at_.node);
    return Zeros({InputOf(*at_.node, 0), InputOf(*at_.node, 1)}, "Fill");
  }

  std::optional<SliceAddend> MatchMerge() {
    found_.merge = at_.node;
    if (at_.slot != 0 || !MatchParts(/*in_order=*/false)) return std::nullopt;
    for (const SliceAddend& part : found_.parts) {
      found_.terms = std::max(found_.terms, part.terms);
      found_.may_be_shared = found_.may_be_shared || part.may_be_shared;
    }
    return std::move(found_);
  }

  std::optional<SliceAddend> MatchAdd() {
    found_.add = at_.node;
    if (!Require(at_.node->num_inputs() <= kMostInOrder, kTooManyOperands) ||
        !MatchParts(/*in_order=*/true)) {
      return std::nullopt;
    }
    const std::vector<SliceAddend>& parts = found_.parts;
    const bool any_order = parts.size() > 2 && parts[0].may_be_shared && parts[1].may_be_shared;
    if (!Require(!any_order, kUnknownOrder)) return std::nullopt;  // see IsOrderKnown
    found_.terms = 0;
    for (const SliceAddend& part : parts) found_.terms += part.terms;
    // AddN of one operand outputs the operand's buffer.
    found_.may_be_shared = parts.size() == 1 && parts.front().may_be_shared;
    return std::move(found_);
  }

  // Matches all inputs of the node; true if all match and one has a slice. `in_order` says that the
  // node is an AddN: since a + (b + c) is rounded differently from (a + b) + c, only its first
  // input may have several terms.
  bool MatchParts(bool in_order) {
    Node* const node = at_.node;
    if (!LeadsToTheSumAlone()) return false;
    found_.nodes.push_back(node);
    for (int i = 0; i < node->num_inputs(); ++i) {
      Matcher branch(InputOf(*node, i), add_, depth_ + 1);
      auto part = branch.Match();
      if (!part) why_ = branch.why();
      if (!part || !Require(!in_order || i == 0 || part->terms == 1, kSumOfSums)) return false;
      found_.has_slice = found_.has_slice || part->has_slice;
      found_.nodes.insert(found_.nodes.end(), part->nodes.begin(), part->nodes.end());
      found_.parts.push_back(*std::move(part));
    }
    return found_.has_slice;
  }

  std::optional<SliceAddend> MatchSlice() {
    const Node* const reshape = Skip("Reshape");
    const Node* const transpose = Skip("Transpose");
    Node* const made = at_.node;
    const std::string& op = made->type_string();
    const bool moved = transpose != nullptr || reshape != nullptr;
    if (!Require(IsGradientOfSlice(*made), in_branch_ ? kOtherTerm : kChanged) ||
        !Require(!moved || op == "UnsortedSegmentSum", "the result of $0 is reshaped") ||
        !LeadsToTheSumAlone() ||
        !Require(!IgnoresBadIndices(*made), "$0 ignores indices that are out of range")) {
      return std::nullopt;
    }
    found_.nodes.push_back(made);
    found_.def.set_op(op);
    *found_.def.mutable_attr() = made->def().attr();
    for (int i = 0; i < made->num_inputs(); ++i) found_.inputs.push_back(InputOf(*made, i));
    AddMove("_transposed", transpose);
    AddMove("_reshaped", reshape);
    if (!HasKnownDtypes()) return std::nullopt;
    found_.has_slice = true;
    found_.may_be_shared = MayOutputItsInput(*made);
    return std::move(found_);
  }

  // Whether AddSlices reads inputs of these dtypes: values that it sums, and int32 or int64
  // numbers; row numbers may be int16. A ref tensor of a variable is none of these: its value may
  // change before the slices are added, and a variant cannot hold it.
  bool HasKnownDtypes() {
    constexpr size_t kIds = 1;
    for (size_t i = 0; i < found_.inputs.size(); ++i) {
      const DataType dtype = found_.inputs[i].node->output_type(found_.inputs[i].slot);
      const bool ids = found_.def.op() == "UnsortedSegmentSum" && i == kIds;
      const bool known = IsSummed(dtype) || dtype == DT_INT32 || dtype == DT_INT64 ||
                         (ids && dtype == tensorflow::DT_INT16);
      if (!why_.Require(known,
                        "$0 is a variable of TF1, or has another dtype than numbers that can "
                        "be summed, int32 and int64",
                        *found_.inputs[i].node)) {
        return false;
      }
    }
    return true;
  }

  // Whether the kernel may output the buffer of its input: Pad without paddings, and
  // StridedSliceGrad of a scalar, which only new axes and ellipses can index.
  static bool MayOutputItsInput(const Node& node) {
    if (node.type_string() == "Pad") return true;
    if (node.type_string() != "StridedSliceGrad") return false;
    const auto mask = [&node](const char* name) {
      int64_t bits = 0;
      return TryGetNodeAttr(node.attrs(), name, &bits) ? bits : 0;
    };
    Tensor begin;
    const bool no_index = ConstantOf(*InputOf(node, 1).node, &begin) && begin.NumElements() == 0;
    return mask("shrink_axis_mask") == 0 &&
           (mask("new_axis_mask") != 0 || mask("ellipsis_mask") != 0 || no_index);
  }

  // Whether a ScatterNd skips indices that are out of range.
  static bool IgnoresBadIndices(const Node& node) {
    std::string policy;
    return TryGetNodeAttr(node.attrs(), "bad_indices_policy", &policy) && policy == "IGNORE";
  }

  // If the operand comes from a node of that type, continues with its input and returns the node.
  const Node* Skip(const char* op) {
    Node* const node = at_.node;
    if (node->type_string() != op || !LeadsToTheSumAlone()) return nullptr;
    found_.nodes.push_back(node);
    at_ = InputOf(*node, 0);
    return node;
  }

  bool LeadsToTheSumAlone() {
    return Require(HasOneConsumer(*at_.node), kSeveralReaders) &&
           Require(OnSameDevice(*at_.node, add_), kOtherDevice);
  }

  void AddMove(const char* attribute, const Node* move) {
    (*found_.def.mutable_attr())[attribute].set_b(move != nullptr);
    if (move != nullptr) found_.inputs.push_back(InputOf(*move, 1));
  }

  Source at_;
  const Node& add_;
  const int depth_;
  const bool in_branch_;  // whether the operand is computed in a branch before a Merge
  SliceAddend found_;
  Reason why_;
};

}  // namespace

bool IsSummed(DataType dtype) {
  static const auto* const dtypes = new std::set<DataType>{
      tensorflow::DT_HALF, tensorflow::DT_BFLOAT16,  DT_FLOAT,
      DT_DOUBLE,           tensorflow::DT_COMPLEX64, tensorflow::DT_COMPLEX128};
  return dtypes->count(dtype) != 0;
}

bool IsGradientOfSlice(const Node& node) {
  const std::string& op = node.type_string();
  return op == "StridedSliceGrad" || op == "Pad" || op == "UnsortedSegmentSum" || op == "ScatterNd";
}

std::optional<SliceAddend> MatchSliceAddend(Source operand, const Node& add, Reason* why) {
  Matcher matcher(operand, add);
  auto addend = matcher.Match();
  *why = matcher.why();
  return addend;
}

}  // namespace tensor_array_grad
