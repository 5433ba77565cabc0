#include "cc/flow/remarks.h"

#include <set>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/substitute.h"

namespace tensor_array_grad {

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

}  // namespace tensor_array_grad
