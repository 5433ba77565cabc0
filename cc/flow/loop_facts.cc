#include "cc/flow/loop_facts.h"

#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "cc/flow/node_util.h"
#include "cc/flow/op_facts.h"

namespace tensor_array_grad {
namespace {

using introspection::Loop;
using introspection::ProgramOp;

// TensorFlow names the nodes of an inlined body "LOOP/body/_7/NAME" and the LoopCond
// "LOOP/LoopCond/_9", where LOOP is the While op and the first number belongs to the loop. Returns
// NAME; empty for another node.
absl::string_view NameIn(absl::string_view part, absl::string_view name, const Frame& loop) {
  if (loop.loop_conds.empty()) return {};
  const std::string& loop_cond = loop.loop_conds.front()->name();
  const std::string prefix = loop_cond.substr(0, loop_cond.rfind("/LoopCond"));
  if (!absl::ConsumePrefix(&name, absl::StrCat(prefix, "/", part, "/_"))) return {};
  const size_t slash = name.find('/');
  return slash == name.npos ? absl::string_view() : name.substr(slash + 1);
}

bool HasOrigin(const NodeDef::ExperimentalDebugInfo& info) {
  return info.original_func_names_size() > 0 && info.original_node_names_size() > 0;
}

// An op of the function that was inlined as `part`, "body" or "cond", of `loop`.
ProgramOp OpOf(absl::string_view part, const Frame& loop) {
  for (const Node* node : loop.nodes) {
    const auto& info = node->def().experimental_debug_info();
    if (HasOrigin(info) && NameIn(part, node->name(), loop) == info.original_node_names(0)) {
      return OriginOf(*node);
    }
  }
  return {};
}

}  // namespace

ProgramOp OriginOf(const Node& node) {
  const auto& info = node.def().experimental_debug_info();
  if (!HasOrigin(info)) return {"", node.name()};
  return {info.original_func_names(0), info.original_node_names(0)};
}

ProgramOp OriginOf(const std::string& name, const Frame& loop) {
  if (name.empty()) return {};
  for (const Node* node : loop.nodes) {
    if (node->name() == name && HasOrigin(node->def().experimental_debug_info())) {
      return OriginOf(*node);
    }
  }
  for (const Frame* inner : loop.children) {
    ProgramOp origin = OriginOf(name, *inner);
    if (!origin.first.empty()) return origin;
  }
  for (const char* part : {"body", "cond"}) {
    const absl::string_view original = NameIn(part, name, loop);
    if (!original.empty()) return {OpOf(part, loop).first, std::string(original)};
  }
  return {"", name};
}

Loop FactsOf(const Frame& loop) {
  Loop facts;
  facts.name = loop.name;
  facts.body = OpOf("body", loop);
  facts.condition = OpOf("cond", loop);
  if (facts.body.first.empty() && !loop.loop_conds.empty()) {
    facts.body = {"", loop.loop_conds.front()->name()};
  }
  std::vector<std::string> remarks;
  if (!loop.loop_conds.empty()) {
    (void)TryGetNodeAttr(loop.loop_conds.front()->attrs(), kRemarksOfLoop, &remarks);
  }
  for (size_t i = 0; i + 2 < remarks.size(); i += 3) {
    facts.notes.push_back({remarks[i], remarks[i + 2], OriginOf(remarks[i + 1], loop)});
  }
  for (const Node* node : loop.nodes) {
    if (HasFact(*node, kCallsPython)) facts.python = OriginOf(node->name(), loop);
  }
  return facts;
}

}  // namespace tensor_array_grad
