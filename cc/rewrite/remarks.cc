#include "cc/rewrite/remarks.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/substitute.h"
#include "cc/flow/node_util.h"

namespace tensor_array_grad {
namespace {

// The names of at most that many readers are in a remark.
constexpr size_t kMostReaders = 4;

// The names of the nodes that read `node` or wait for it.
std::vector<std::string> ReadersOf(const Node& node) {
  std::set<std::string> names;
  for (const Edge* edge : node.out_edges()) {
    if (!edge->dst()->IsSink() && names.size() < kMostReaders) names.insert(edge->dst()->name());
  }
  return {names.begin(), names.end()};
}

std::string Quoted(absl::string_view name) { return absl::StrCat("`", name, "`"); }

std::string Quoted(const std::vector<std::string>& names) {
  return absl::StrJoin(names, ", ", [](std::string* text, const std::string& name) {
    absl::StrAppend(text, Quoted(name));
  });
}

}  // namespace

void Outcome::Did(std::string replaced, std::string by) {
  done.push_back({rule, std::move(replaced), std::move(by)});
}

void Outcome::Missed(const Node& node, absl::string_view effect, const Reason& why) {
  if (!wants_remarks || why.text == nullptr) return;
  std::vector<std::string> others;
  const bool has_readers = absl::string_view(why.text).find("$1") != absl::string_view::npos;
  if (has_readers) others = ReadersOf(*why.node);
  const std::string text = absl::Substitute(why.text, Quoted(why.node->name()), Quoted(others));
  if (why.node != &node) others.insert(others.begin(), why.node->name());
  missed.insert({rule, node.name(), absl::StrCat(effect, ", because ", text), std::move(others)});
}

const Node* FindBehind(const Node& node, absl::FunctionRef<bool(const Node&)> is_wanted,
                       int depth) {
  constexpr int kDeepest = 8;
  if (is_wanted(node)) return &node;
  const std::string& op = node.type_string();
  const bool has_branches = node.IsMerge() || IsAddN(node);
  const bool passes_on = node.IsIdentity() || op == "Reshape" || op == "Transpose" || op == "Cast";
  if (depth > kDeepest || !(has_branches || passes_on)) return nullptr;
  const Node* first = nullptr;
  for (int i = 0; i < (has_branches ? node.num_inputs() : 1); ++i) {
    const Node* const found = FindBehind(*InputOf(node, i).node, is_wanted, depth + 1);
    if (found == nullptr && IsAddN(node)) return nullptr;
    if (first == nullptr) first = found;
  }
  return first;
}

}  // namespace tensor_array_grad
