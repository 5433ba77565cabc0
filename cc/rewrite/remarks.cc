#include "cc/rewrite/remarks.h"

#include <set>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/substitute.h"
#include "cc/flow/node_util.h"

namespace tensor_array_grad {
namespace {

// See Outcome::MissedOperand. Null if there is none.
const Node* FindBehind(const Node& node, bool (*is_pattern)(const Node&), int depth = 0) {
  constexpr int kDeepest = 8;
  if (is_pattern(node)) return &node;
  const std::string& op = node.type_string();
  const bool has_branches = node.IsMerge() || IsAddN(node);
  const bool passes_on = node.IsIdentity() || op == "Reshape" || op == "Transpose" || op == "Cast";
  if (depth > kDeepest || !(has_branches || passes_on)) return nullptr;
  const Node* first = nullptr;
  for (int i = 0; i < (has_branches ? node.num_inputs() : 1); ++i) {
    const Node* const found = FindBehind(*InputOf(node, i).node, is_pattern, depth + 1);
    if (found == nullptr && IsAddN(node)) return nullptr;
    if (first == nullptr) first = found;
  }
  return first;
}

}  // namespace

void Outcome::Did(std::string replaced, std::string by) {
  done.push_back({rule, std::move(replaced), std::move(by)});
}

void Outcome::Missed(const Node& node, absl::string_view effect, const Reason& why) {
  if (!wants_remarks || why.text == nullptr) return;
  std::set<std::string> readers;  // those that wait for the node, too
  for (const Edge* edge : why.node->out_edges()) {
    if (!edge->dst()->IsSink()) readers.insert(edge->dst()->name());
  }
  const std::string because =
      absl::Substitute(why.text, absl::StrCat("`", why.node->name(), "`"),
                       absl::StrCat("`", absl::StrJoin(readers, "`, `"), "`"));
  Remark remark{rule, node.name(), absl::StrCat(effect, ", because ", because)};
  const bool is_new = absl::c_none_of(missed, [&](const Remark& other) {
    return other.rule == remark.rule && other.node == remark.node && other.text == remark.text;
  });
  if (is_new) missed.push_back(std::move(remark));
}

void Outcome::MissedOperand(const Node& sum, const Node& operand, bool (*is_pattern)(const Node&),
                            absl::string_view effect, const Reason& why) {
  if (!wants_remarks || (IsAddN(sum) && IsAddN(operand))) return;
  const Node* const node = FindBehind(operand, is_pattern);
  if (node != nullptr) Missed(*node, effect, why);
}

}  // namespace tensor_array_grad
