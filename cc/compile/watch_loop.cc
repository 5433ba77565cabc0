#include "cc/compile/watch_loop.h"

#include <vector>

#include "cc/flow/node_util.h"
#include "tensorflow/core/platform/statusor.h"

namespace tensor_array_grad {
namespace {

absl::StatusOr<Source> AddNote(const char* op, int64_t id, absl::Span<const Source> inputs,
                               const Node& place, const std::vector<Node*>& after, Graph* graph) {
  NodeDef def;
  def.set_name(NewName(place, "note", graph));
  def.set_op(op);
  def.set_device(place.assigned_device_name());
  AddNodeAttr("record", id, &def);
  TF_ASSIGN_OR_RETURN(const Source note, AddReplacement(std::move(def), inputs, place, {}, graph));
  for (Node* node : after) graph->AddControlEdge(node, note.node);
  return note;
}

}  // namespace

absl::Status WatchInExecutor(const Frame& loop, int64_t id, Graph* graph) {
  if (loop.loop_conds.size() != 1) return absl::OkStatus();
  Node* const loop_cond = loop.loop_conds.front();
  std::vector<Node*> exits;
  for (Node* node : loop.nodes) {
    if (node->IsExit()) exits.push_back(node);
  }
  TF_RETURN_IF_ERROR(
      AddNote(ops::kNoteCondition, id, {{loop_cond, 0}}, *loop_cond, {}, graph).status());
  if (exits.empty()) return absl::OkStatus();  // they are on another device
  return AddNote(ops::kNoteExit, id, {}, *exits.front(), exits, graph).status();
}

}  // namespace tensor_array_grad
