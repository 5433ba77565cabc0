#include <vector>

#include "absl/strings/match.h"
#include "cc/flow/node_util.h"
#include "cc/rewrite/rules.h"

namespace tensor_array_grad {
namespace {

// What the names of the nodes contain that the optimizer made of a sum and of a stack.
constexpr char kMadeOfSum[] = "ArithmeticOptimizer/SimplifyAggregation_Mul_";
constexpr char kMadeOfStack[] = "ArithmeticOptimizer/ReplacePackWithTileReshape_Tile_";

// Whether `node` is a Const that waits for output 0 of `switch_node` and for nothing else, and
// whose name contains `made_by`.
bool WaitsForOutput0(const Node& node, const Node& switch_node, const char* made_by) {
  return node.IsConstant() && absl::StrContains(node.name(), made_by) && !WaitsForNothing(node) &&
         WaitsOnlyFor(node, [&switch_node](const Node& from) {
           const Source waited_for = from.IsIdentity() ? InputOf(from, 0) : Source{nullptr, 0};
           return waited_for.node == &switch_node && waited_for.slot == 0;
         });
}

// Gives `reader` its own copy of the Const in its input `index`, which runs whenever `switch_node`
// runs, whichever output is live. Other readers keep the Const: after equal nodes were merged, it
// may be right for them.
absl::Status ReadLiveCopy(Node* reader, int index, Node* switch_node, Graph* graph,
                          Outcome* outcome) {
  Node* const constant = InputOf(*reader, index).node;
  std::vector<Node*> unused = {constant};
  for (const Edge* edge : constant->in_edges()) unused.push_back(edge->src());
  NodeDef def = constant->def();
  def.set_name(NewName(*constant, "live", graph));
  TF_ASSIGN_OR_RETURN(const Source copy, AddReplacement(def, {}, *constant, {}, graph));
  graph->AddControlEdge(switch_node, copy.node);
  TF_RETURN_IF_ERROR(graph->UpdateEdge(copy.node, copy.slot, reader, index));
  outcome->Did(constant->name(), copy.node->name());
  RemoveUnused(unused, graph);
  return absl::OkStatus();
}

absl::Status ApplyToMul(Node* mul, Graph* graph, Outcome* outcome) {
  for (const int index : {0, 1}) {
    const Source x = InputOf(*mul, 1 - index);
    if (!x.node->IsSwitch() || x.slot == 0) continue;
    if (WaitsForOutput0(*InputOf(*mul, index).node, *x.node, "/SimplifyAggregation_Const_")) {
      return ReadLiveCopy(mul, index, x.node, graph, outcome);
    }
  }
  return absl::OkStatus();
}

// The output of `switch_node` that is live whenever `node` runs, because `node` waits for a copy of
// that output of a Switch by the same predicate; -1 if there is none.
int OutputRequiredBy(const Node& node, const Node& switch_node) {
  const Source predicate = SkipIdentities(InputOf(switch_node, 1));
  for (const Edge* edge : node.in_edges()) {
    if (!edge->IsControlEdge() || !edge->src()->IsIdentity()) continue;
    const Source pivot = InputOf(*edge->src(), 0);
    if (pivot.node->IsSwitch() && pivot.node->num_outputs() == switch_node.num_outputs() &&
        SkipIdentities(InputOf(*pivot.node, 1)) == predicate) {
      return pivot.slot;
    }
  }
  return -1;
}

absl::Status ApplyToTile(Node* tile, Graph* graph, Outcome* outcome) {
  const Source x = InputOf(*tile, 0);
  if (!x.node->IsSwitch() || x.slot != 0) return absl::OkStatus();
  const int output = OutputRequiredBy(*tile, *x.node);
  const auto waits = [&x](const Node& reader, const char* made_by) {
    return WaitsForOutput0(*InputOf(reader, 1).node, *x.node, made_by);
  };
  if (output <= 0 || !waits(*tile, "/ReplacePackWithTileReshape_Multiples_")) {
    return absl::OkStatus();
  }
  TF_RETURN_IF_ERROR(graph->UpdateEdge(x.node, output, tile, 0));
  TF_RETURN_IF_ERROR(ReadLiveCopy(tile, 1, x.node, graph, outcome));
  for (const Edge* edge : tile->out_edges()) {
    Node* const reader = edge->dst();
    if (reader->type_string() == ops::kReshape && edge->dst_input() == 0 &&
        waits(*reader, "/ReplacePackWithTileReshape_Shape_")) {
      TF_RETURN_IF_ERROR(ReadLiveCopy(reader, 1, x.node, graph, outcome));
    }
  }
  return absl::OkStatus();
}

}  // namespace

Rule SumOfEqualsRule() {
  return {"sum_of_equals",
          [](const Node& node) {
            return node.type_string() == ops::kMul && absl::StrContains(node.name(), kMadeOfSum);
          },
          ApplyToMul};
}

Rule StackOfEqualsRule() {
  return {"stack_of_equals",
          [](const Node& node) {
            return node.type_string() == ops::kTile && absl::StrContains(node.name(), kMadeOfStack);
          },
          ApplyToTile};
}

}  // namespace tensor_array_grad
