#include "cc/rewrite/rewrite_log.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "cc/base/log.h"
#include "cc/base/loop_record.h"
#include "cc/flow/node_util.h"
#include "tensorflow/core/graph/control_flow.h"

namespace tensor_array_grad {
bool AreRemarksWanted() { return AreLoopsWatched() || IsLogged(LogLevel::kRewrites); }

void MarkLoops(const GraphRemarks& remarks, Graph* graph) {
  std::map<std::string, std::vector<std::string>> marks;  // by loop
  const auto mark = [&](const std::string& loop, const std::string& rule, const std::string& node,
                        const std::string& text) {
    for (const std::string& part : {rule, node, text}) marks[loop].push_back(part);
  };
  for (const Rewrite& one : remarks.done) mark(one.loop, one.rule, one.by, "");
  for (const Remark& one : remarks.missed) mark(one.loop, one.rule, one.node, one.text);
  const Frames frames = FramesOf(*graph);
  for (Node* node : graph->op_nodes()) {
    if (!IsLoopCond(*node)) continue;
    const auto frame = frames.find(node->name());
    const auto found = frame == frames.end() ? marks.end() : marks.find(frame->second);
    if (found != marks.end()) node->AddAttr(kRemarksOfLoop, found->second);
  }
}

Frames FramesOf(const Graph& graph) {
  Frames frames;
  std::vector<tensorflow::ControlFlowInfo> info;
  if (!tensorflow::BuildControlFlowInfo(&graph, &info).ok()) return frames;
  for (const Node* node : graph.op_nodes()) frames[node->name()] = info[node->id()].frame_name;
  return frames;
}

void SetLoops(const Graph& graph, Frames before, GraphRemarks* remarks) {
  Frames frames = FramesOf(graph);
  frames.merge(before);
  for (Rewrite& rewrite : remarks->done) rewrite.loop = frames[rewrite.by];
  for (Remark& remark : remarks->missed) remark.loop = frames[remark.node];
}

std::vector<std::string> SummaryPerLoop(const GraphRemarks& remarks) {
  std::map<std::string, std::vector<std::pair<std::string, int>>> counts;  // by loop and rule
  for (const Rewrite& rewrite : remarks.done) {
    auto& of_loop = counts[rewrite.loop];
    if (of_loop.empty() || of_loop.back().first != rewrite.rule) {
      of_loop.emplace_back(rewrite.rule, 0);
    }
    ++of_loop.back().second;
  }
  std::vector<std::string> lines;
  for (const auto& [loop, of_loop] : counts) {
    lines.push_back(absl::StrCat(loop.empty() ? "outside of loops" : absl::StrCat("loop ", loop),
                                 ": ", absl::StrJoin(of_loop, ", ", absl::PairFormatter(" "))));
  }
  return lines;
}

std::vector<std::string> LinePerRewrite(const GraphRemarks& remarks) {
  std::vector<std::string> lines;
  for (const Rewrite& rewrite : remarks.done) {
    lines.push_back(absl::StrCat(rewrite.rule, ": ", rewrite.replaced, " -> ", rewrite.by));
  }
  for (const Remark& remark : remarks.missed) {
    const std::string where = remark.loop.empty() ? "" : absl::StrCat(" in loop ", remark.loop);
    lines.push_back(absl::StrCat(remark.rule, " missed ", remark.node, where, ": ", remark.text));
  }
  return lines;
}

}  // namespace tensor_array_grad
