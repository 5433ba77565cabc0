#include "cc/rewrite/rules.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "cc/base/switches.h"
#include "cc/base/tensorflow_names.h"
#include "cc/flow/graph_names.h"
#include "cc/flow/node_util.h"
#include "cc/flow/sum_order.h"
#include "cc/rewrite/zero_rows.h"
#include "tensorflow/core/framework/node_def_util.h"
#include "tensorflow/core/platform/statusor.h"

namespace tensor_array_grad {
namespace {

constexpr char kAddSlices[] = "TensorArrayGrad>AddSlices";
constexpr char kSliceGradients[] = "TensorArrayGrad>SliceGradients";

bool IsSummed(DataType dtype) {
  static const auto* const dtypes = new std::set<DataType>{
      tensorflow::DT_HALF, tensorflow::DT_BFLOAT16,  DT_FLOAT,
      DT_DOUBLE,           tensorflow::DT_COMPLEX64, tensorflow::DT_COMPLEX128};
  return dtypes->count(dtype) != 0;
}

// An operand of the sum that AddSlices takes without making the full tensor. It is a tree: a leaf
// is the gradient of a slice or, in a branch of a conditional, zeros. An inner node is a Merge, or
// an AddN in a branch or in front of an Add.
struct SliceAddend {
  // Of a leaf.
  NodeDef def;                 // op and attributes, for the `addends` of AddSlices
  std::vector<Source> inputs;  // of that op, then of Transpose and Reshape
  std::vector<Node*> nodes;    // the nodes that compute the operand, consumers first

  // Of an inner node: one of `merge` and `add`, and its inputs.
  Node* merge = nullptr;
  Node* add = nullptr;
  std::vector<SliceAddend> parts;

  bool has_slice = false;      // whether a leaf is the gradient of a slice
  bool may_be_shared = false;  // whether another tensor may share the operand's buffer
  int terms = 1;               // how many terms its sum has; of a Merge, the most of a branch
};

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

 private:
  std::optional<SliceAddend> Zeros(std::vector<Source> inputs, const char* op = "ZerosLike") {
    found_.def.set_op(op);
    found_.inputs = std::move(inputs);
    found_.may_be_shared = found_.nodes.empty();
    if (!OnSameDevice(*found_.inputs[0].node, add_) || !HasKnownDtypes()) return std::nullopt;
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
    if (at_.node->num_inputs() > kMostInOrder || !MatchParts(/*in_order=*/true)) {
      return std::nullopt;
    }
    const std::vector<SliceAddend>& parts = found_.parts;
    if (parts.size() > 2 && parts[0].may_be_shared && parts[1].may_be_shared) {
      return std::nullopt;  // the order of its additions is unknown: see IsOrderKnown
    }
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
      auto part = Matcher(InputOf(*node, i), add_, depth_ + 1).Match();
      if (!part || (in_order && i > 0 && part->terms > 1)) return false;
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
    if (!IsGradientOfSlice(op) || (moved && op != "UnsortedSegmentSum") || !LeadsToTheSumAlone() ||
        IgnoresBadIndices(*made)) {
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
  bool HasKnownDtypes() const {
    constexpr size_t kIds = 1;
    for (size_t i = 0; i < found_.inputs.size(); ++i) {
      const DataType dtype = found_.inputs[i].node->output_type(found_.inputs[i].slot);
      const bool ids = found_.def.op() == "UnsortedSegmentSum" && i == kIds;
      if (!IsSummed(dtype) && dtype != DT_INT32 && dtype != DT_INT64 &&
          !(ids && dtype == tensorflow::DT_INT16)) {
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

  static bool IsGradientOfSlice(const std::string& op) {
    return op == "StridedSliceGrad" || op == "Pad" || op == "UnsortedSegmentSum" ||
           op == "ScatterNd";
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

  bool LeadsToTheSumAlone() const {
    return HasOneConsumer(*at_.node) && OnSameDevice(*at_.node, add_);
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
};

// Makes attributes and inputs of AddSlices and SliceGradients nodes from addends, and adds the
// SliceGradients nodes and the Merges of their variants for addends in branches.
class Packer {
 public:
  Packer(const Node& place, Graph* graph) : place_(place), graph_(graph) {}

  // Appends `addend` to the attributes of `def` and to `inputs`, and the nodes that it replaces to
  // `replaced`. For a Merge it appends a second Merge, of variants, with the same control inputs.
  absl::Status Add(const SliceAddend& addend, NodeDef* def, std::vector<Source>* inputs,
                   std::vector<Node*>* replaced) {
    if (addend.add != nullptr) {
      replaced->push_back(addend.add);
      for (const SliceAddend& part : addend.parts) {
        TF_RETURN_IF_ERROR(Add(part, def, inputs, replaced));
      }
      return absl::OkStatus();
    }
    NodeDef taken = addend.def;
    std::vector<Source> from = addend.inputs;
    if (addend.merge != nullptr) {
      taken.set_op(kSliceGradients);
      TF_ASSIGN_OR_RETURN(from.emplace_back(), Merge(addend));
    } else {
      replaced->insert(replaced->end(), addend.nodes.begin(), addend.nodes.end());
    }
    auto& attributes = *def->mutable_attr();
    attributes["addends"].mutable_list()->add_s(taken.SerializeAsString());
    for (const Source& input : from) {
      attributes["Targs"].mutable_list()->add_type(input.node->output_type(input.slot));
      inputs->push_back(input);
    }
    return absl::OkStatus();
  }

 private:
  // Adds a Merge of variants that replaces that of `addend`.
  absl::StatusOr<Source> Merge(const SliceAddend& addend) {
    std::vector<Source> inputs;
    for (const SliceAddend& part : addend.parts) {
      TF_ASSIGN_OR_RETURN(inputs.emplace_back(), Pack(part));
    }
    NodeDef def = addend.merge->def();
    (*def.mutable_attr())["T"].set_type(DT_VARIANT);
    return AddNode(std::move(def), inputs, *addend.merge, {addend.merge});
  }

  // Adds a node whose variant output holds `part`.
  absl::StatusOr<Source> Pack(const SliceAddend& part) {
    if (part.merge != nullptr) return Merge(part);
    NodeDef def;
    def.set_op(kSliceGradients);
    std::vector<Source> inputs;
    std::vector<Node*> replaced;
    TF_RETURN_IF_ERROR(Add(part, &def, &inputs, &replaced));
    const Node& place = replaced.empty() ? place_ : *replaced.front();
    return AddNode(std::move(def), inputs, place, replaced);
  }

  absl::StatusOr<Source> AddNode(NodeDef def, const std::vector<Source>& inputs, const Node& place,
                                 const std::vector<Node*>& replaced) {
    def.set_name(graph_->NewName(absl::StrCat(place.name(), "/slices")));
    return AddReplacement(std::move(def), inputs, place, replaced, graph_);
  }

  const Node& place_;
  Graph* const graph_;
};

// Operands of one kind that follow each other.
struct Group {
  std::vector<Source> plain;
  std::vector<const SliceAddend*> slices;
  int before = 0;  // how many of the slices come before the operand that they are added to
};

// Groups the operands of `add` other than `first`, the first that is not an addend. Addends before
// it are in the first group.
std::vector<Group> GroupsOf(const Node& add, const std::map<int, SliceAddend>& addends, int first) {
  std::vector<Group> groups;
  for (int i = 0; i < add.num_inputs(); ++i) {
    if (i == first) continue;
    const auto found = addends.find(i);
    const bool slice = found != addends.end();
    if (groups.empty() || groups.back().plain.empty() == !slice) groups.emplace_back();
    if (slice) {
      groups.back().slices.push_back(&found->second);
      groups.back().before += i < first;
    } else {
      groups.back().plain.push_back(InputOf(add, i));
    }
  }
  return groups;
}

// Whether the order of the additions is known, and AddSlices can follow it. `first` is the number
// of the first operand that is not an addend.
//
// Which operands share their buffers, and so the order (sum_order.h), may depend on timing. For
// [a, g, b], where g never shares its buffer, AddN computes (a + g) + b or (g + a) + b, which are
// equal. If g may share its buffer, AddN may also compute (b + g) + a. So the order is known if the
// first or the second operand is an addend that never shares its buffer, or if there are only two
// operands.
//
// Addends before `first` are summed term by term, and `first` is added to the result. So only the
// very first of them may have several terms, as in MatchParts.
bool IsOrderKnown(const std::map<int, SliceAddend>& addends, int operands, int first) {
  bool known = false;
  for (const auto& [operand, addend] : addends) {
    known = known || operands == 2 || (operand < 2 && !addend.may_be_shared);
    if (0 < operand && operand < first && addend.terms > 1) return false;
  }
  return known;
}

// Whether `node` is the Add by which a TF1 loop adds the gradient of an iteration to the running
// sum. Others are left: a program adds padded tensors outside of loops too.
bool AddsInLoop(const Node& node) {
  const std::string& op = node.type_string();
  return (op == "Add" || op == "AddV2") && HasOneConsumer(node) &&
         (*node.out_edges().begin())->dst()->IsNextIteration();
}

// Whether the only consumer of `node`, a sum, is a Merge or the Add of a loop, possibly behind
// Identities. The sum after the Merge, or the Add, then takes its addends if possible.
bool FeedsASum(const Node& node) {
  const Node* at = &node;
  do {
    if (!HasOneConsumer(*at)) return false;
    at = (*at->out_edges().begin())->dst();
  } while (at->IsIdentity());
  return at->IsMerge() || AddsInLoop(*at);
}

// An AddSlices of the dtype of `add` that adds nothing.
NodeDef EmptyAddSlices(const Node& add) {
  NodeDef def;
  def.set_op(kAddSlices);
  (*def.mutable_attr())["T"].set_type(add.output_type(0));
  return def;
}

// Adds the node that adds `group`, operands of `add`, to `sum`. The last node gets the name of
// `add`, so that errors name the node of the user's program.
absl::StatusOr<Source> AddGroup(const Group& group, Source sum, Node* add, bool is_last,
                                Graph* graph) {
  NodeDef def = group.slices.empty() ? add->def() : EmptyAddSlices(*add);
  std::vector<Source> inputs = {sum};
  std::vector<Node*> replaced = {add};
  if (group.slices.empty()) {
    inputs.insert(inputs.end(), group.plain.begin(), group.plain.end());
    (*def.mutable_attr())["N"].set_i(static_cast<int64_t>(inputs.size()));
  } else {
    Packer packer(*add, graph);
    for (const SliceAddend* addend : group.slices) {
      TF_RETURN_IF_ERROR(packer.Add(*addend, &def, &inputs, &replaced));
    }
    auto& attributes = *def.mutable_attr();
    // The operand of an Add is summed as a whole, on whichever side of the Add it is.
    attributes["before"].set_i(IsAddN(*add) ? group.before : attributes["addends"].list().s_size());
    if (!IsAddN(*add)) attributes["operand"].set_i(group.before);
  }
  def.set_name(is_last ? add->name() : graph->NewName(absl::StrCat(add->name(), "/sum")));
  return AddReplacement(std::move(def), inputs, *add, replaced, graph);
}

absl::Status ApplySliceSum(Node* node, Graph* graph, std::vector<Rewrite>* done) {
  const int operands = node->num_inputs();
  if (!IsSummed(node->output_type(0)) || operands < 2 || operands > kMostInOrder ||
      !HasKernelOnDeviceOf(*node, EmptyAddSlices(*node))) {
    return absl::OkStatus();
  }
  std::map<int, SliceAddend> addends;
  for (int i = 0; i < operands; ++i) {
    auto addend = Matcher(InputOf(*node, i), *node).Match();
    if (addend) addends.emplace(i, *std::move(addend));
  }
  if (static_cast<int>(addends.size()) == operands) {
    if (IsAddN(*node) && FeedsASum(*node)) return absl::OkStatus();
    addends.erase(0);
  }
  int first = 0;
  while (addends.count(first) > 0) ++first;
  if (!IsOrderKnown(addends, operands, first)) return absl::OkStatus();
  static const bool without_zero_rows = IsLeftOut("zero_rows");
  for (const auto& [operand, addend] : addends) {
    if (addend.def.op() == "UnsortedSegmentSum" && !without_zero_rows) {
      TF_RETURN_IF_ERROR(ShrinkZeroRows(*addend.nodes.back(), graph));
    }
  }
  const std::vector<Group> groups = GroupsOf(*node, addends, first);
  Source sum = InputOf(*node, first);
  for (const Group& group : groups) {
    TF_ASSIGN_OR_RETURN(sum, AddGroup(group, sum, node, &group == &groups.back(), graph));
  }
  std::vector<Node*> feeding;
  for (const auto& [operand, addend] : addends) {
    done->push_back({absl::StrCat(addend.nodes.front()->name(), ", ", node->name()), node->name()});
    feeding.insert(feeding.end(), addend.nodes.begin(), addend.nodes.end());
  }
  return Replace(node, sum.node, feeding, graph);
}

}  // namespace

Rule SliceSumRule() {
  return {"slice_sum", [](const Node& node) { return IsAddN(node) || AddsInLoop(node); },
          ApplySliceSum};
}

}  // namespace tensor_array_grad
