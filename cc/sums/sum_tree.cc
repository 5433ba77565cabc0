#include "cc/sums/sum_tree.h"

#include <algorithm>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "cc/base/op_names.h"
#include "tensorflow/core/platform/statusor.h"

namespace tensor_array_grad {
namespace {

constexpr int kDeepest = 64;  // of conditionals and sums in each other

// The first part among `node` and the nodes whose values it passes on: those before Identity,
// Reshape, Transpose, Cast and Merge, and before an AddN of nothing else. Null if there is none.
const Node* FindPart(const Node& node, const SumPattern& pattern, int depth = 0) {
  constexpr int kDeepestFound = 8;  // a node may be visited by each way to it
  if (pattern.makes_part(node)) return &node;
  const std::string& op = node.type_string();
  const bool has_branches = node.IsMerge() || IsAddN(node);
  const bool passes_on =
      node.IsIdentity() || op == ops::kReshape || op == ops::kTranspose || op == ops::kCast;
  if (depth > kDeepestFound || !(has_branches || passes_on)) return nullptr;
  const Node* first = nullptr;
  for (int i = 0; i < (has_branches ? node.num_inputs() : 1); ++i) {
    const Node* const found = FindPart(*InputOf(node, i).node, pattern, depth + 1);
    if (found == nullptr && IsAddN(node)) return nullptr;
    if (first == nullptr) first = found;
  }
  return first;
}

// Notes that a part in `operand` of `sum` is left because of `why`. Without a part, that is no
// reason to remark on. An AddN in an AddN is a sum of its own.
void Missed(const Node& sum, const Node& operand, const SumPattern& pattern, const Reason& why,
            Outcome* outcome) {
  if (!outcome->wants_remarks || (IsAddN(sum) && IsAddN(operand))) return;
  const Node* const part = FindPart(operand, pattern);
  if (part != nullptr) outcome->Missed(*part, pattern.effect, why);
}

bool HasPart(const Addend& addend) {
  return addend.kind == Addend::kPart || absl::c_any_of(addend.parts, HasPart);
}

// Whether `operand` of `sum` matches; if so, sets `found`. An Add adds its second operand as a
// whole, so there an AddN matches outside of branches too.
bool MatchOperand(Source operand, const Node& sum, const SumPattern& pattern, int depth,
                  Addend* found, Reason* why) {
  *found = {Addend::kPart, operand};
  Skip(ops::kIdentity, found, sum, why);
  const Node& node = *found->at.node;
  const bool in_branch = depth > 0;
  const bool is_sum = IsAddN(node) && (in_branch || !IsAddN(sum));
  if (!node.IsMerge() && !is_sum) return pattern.match_end(found, sum, in_branch, why);
  // A dead control input makes an Identity dead, but not the new Merge that would get the edge.
  const bool waits =
      absl::c_any_of(found->nodes, [](const Node* other) { return !WaitsForNothing(*other); });
  if (node.IsMerge() && waits) return false;
  found->kind = is_sum ? Addend::kSum : Addend::kBranches;
  if (found->at.slot != 0 || depth > kDeepest || !Take(found, sum, why)) return false;
  for (const Source& input : InputsOf(node)) {
    Addend part;
    if (!MatchOperand(input, sum, pattern, depth + 1, &part, why)) return false;
    found->parts.push_back(std::move(part));
    if (!pattern.accepts(*found, sum, why)) return false;
  }
  return true;
}

// Appends the nodes of the tree to `nodes`, consumers first, and the Switches that bring its inputs
// into a branch to `switches`.
void AppendNodes(const Addend& addend, std::vector<Node*>* nodes, std::vector<Node*>* switches) {
  absl::c_copy(addend.nodes, std::back_inserter(*nodes));
  nodes->push_back(addend.at.node);
  for (const Source& input : addend.inputs) {
    if (input.node->IsSwitch()) switches->push_back(input.node);
  }
  for (const Addend& part : addend.parts) AppendNodes(part, nodes, switches);
}

}  // namespace

Addend MatchSum(Node* sum, const SumPattern& pattern, Outcome* outcome) {
  Addend found{Addend::kSum, {sum, 0}, {sum}};
  for (const Source& operand : InputsOf(*sum)) {
    Reason why;
    Addend& part = found.parts.emplace_back();
    if (MatchOperand(operand, *sum, pattern, /*depth=*/0, &part, &why) && HasPart(part)) continue;
    part = {Addend::kOther, operand};
    Missed(*sum, *operand.node, pattern, why, outcome);
  }
  return found;
}

void LeaveSum(const Addend& sum, const SumPattern& pattern, const Reason& why, Outcome* outcome) {
  for (const Addend& operand : sum.parts) {
    if (operand.kind == Addend::kOther) continue;
    Missed(*sum.at.node, *operand.at.node, pattern, why, outcome);
  }
}

int FirstOf(const Addend& sum) {
  const auto first = absl::c_find_if(
      sum.parts, [](const Addend& operand) { return operand.kind == Addend::kOther; });
  return first == sum.parts.end() ? 0 : static_cast<int>(first - sum.parts.begin());
}

bool Take(Addend* found, const Node& sum, Reason* why) {
  Node* const node = found->at.node;
  if (!why->Require(HasOneConsumer(*node), kSeveralReaders, *node) ||
      !why->Require(OnSameDevice(*node, sum), kOtherDevice, *node)) {
    return false;
  }
  found->nodes.push_back(node);
  return true;
}

const Node* Skip(const char* op, Addend* found, const Node& sum, Reason* why) {
  const Node* const node = found->at.node;
  if (node->type_string() != op || !Take(found, sum, why)) return nullptr;
  found->at = InputOf(*node, 0);
  return node;
}

absl::StatusOr<Source> AddSum(const std::vector<Source>& terms, const Node& add,
                              const std::vector<Node*>& replaced, const std::string& name,
                              Graph* graph) {
  NodeDef def = add.def();
  def.set_name(name);
  (*def.mutable_attr())["N"].set_i(static_cast<int64_t>(terms.size()));
  return AddReplacement(std::move(def), terms, add, replaced, graph);
}

absl::Status ReplaceSum(const Addend& sum, bool in_order, AddGroup add, Graph* graph,
                        Outcome* outcome) {
  Node* const node = sum.at.node;
  const int first = FirstOf(sum);
  const auto is_other = [&](int i) { return i == first || sum.parts[i].kind == Addend::kOther; };
  std::vector<int> order(sum.parts.size());
  absl::c_iota(order, 0);
  if (absl::c_all_of(order, is_other)) return absl::OkStatus();
  std::rotate(order.begin(), order.begin() + first, order.begin() + first + 1);
  if (!in_order) std::stable_partition(order.begin(), order.end(), is_other);
  Source total = InputOf(*node, first);
  for (auto at = order.begin() + 1, end = at; at != order.end(); at = end) {
    const bool others = is_other(*at);
    end = std::find_if(at, order.end(), [&](int i) { return is_other(i) != others; });
    const auto before = std::count_if(at, end, [&](int i) { return i < first; });
    Addend group{Addend::kSum, sum.at, sum.nodes};
    std::vector<Source> terms = {total};
    for (; at != end; ++at) {
      group.parts.push_back(sum.parts[*at]);
      terms.push_back(sum.parts[*at].at);
    }
    const std::string name = end == order.end() ? node->name() : NewName(*node, "sum", graph);
    TF_ASSIGN_OR_RETURN(total, others ? AddSum(terms, *node, sum.nodes, name, graph)
                                      : add(group, static_cast<int>(before), total, name));
  }
  std::vector<Node*> nodes, switches;
  for (int i = 0; i < node->num_inputs(); ++i) {
    if (is_other(i)) continue;
    outcome->Did(absl::StrCat(InputOf(*node, i).node->name(), ", ", node->name()), node->name());
    AppendNodes(sum.parts[i], &nodes, &switches);
  }
  absl::c_copy(switches, std::back_inserter(nodes));
  return Replace(node, total.node, nodes, graph);
}

}  // namespace tensor_array_grad
