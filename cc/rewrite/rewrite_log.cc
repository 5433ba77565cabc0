#include "cc/rewrite/rewrite_log.h"

#include <map>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "tensorflow/core/graph/control_flow.h"

namespace tensor_array_grad {
namespace {

// The frame of each node, by the node's name; "" outside of loops. Empty if the graph's control
// flow is invalid.
std::map<std::string, std::string> FramesOf(const Graph& graph) {
  std::map<std::string, std::string> frames;
  std::vector<tensorflow::ControlFlowInfo> info;
  if (!tensorflow::BuildControlFlowInfo(&graph, &info).ok()) return frames;
  for (const Node* node : graph.op_nodes()) frames[node->name()] = info[node->id()].frame_name;
  return frames;
}

}  // namespace

std::vector<std::string> SummaryPerLoop(const Graph& graph, const Rewrites& rewrites) {
  const std::map<std::string, std::string> frames = FramesOf(graph);
  std::map<std::string, std::vector<std::string>> counts;  // by frame
  for (const auto& [rule, done] : rewrites) {
    std::map<std::string, int> of_rule;  // by frame
    for (const Rewrite& rewrite : done) {
      const auto frame = frames.find(rewrite.by);
      ++of_rule[frame == frames.end() ? "" : frame->second];
    }
    for (const auto& [frame, count] : of_rule) {
      counts[frame].push_back(absl::StrCat(rule, " ", count));
    }
  }
  std::vector<std::string> lines;
  for (const auto& [frame, of_frame] : counts) {
    lines.push_back(absl::StrCat(frame.empty() ? "outside of loops" : absl::StrCat("loop ", frame),
                                 ": ", absl::StrJoin(of_frame, ", ")));
  }
  return lines;
}

std::vector<std::string> LinePerRewrite(const Rewrites& rewrites) {
  std::vector<std::string> lines;
  for (const auto& [rule, done] : rewrites) {
    for (const Rewrite& rewrite : done) {
      lines.push_back(absl::StrCat(rule, ": ", rewrite.replaced, " -> ", rewrite.by));
    }
  }
  return lines;
}

}  // namespace tensor_array_grad
