#include "cc/graph/sum_chain.h"

#include <numeric>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"

namespace tensor_array_grad {
namespace {

using tensorflow::Graph;
using tensorflow::Node;
using tensorflow::NodeDef;

// Builds the chain, link by link.
class Chain {
 public:
  Chain(Node* add, Graph* graph) : add_(add), graph_(graph) {}

  // Adds an operand as it is, with the next ones of its kind in one AddN.
  void AddPlain(Source operand) { plain_.push_back(operand); }

  // Adds `addend` to the sum so far.
  absl::Status AddLink(const Addend& addend, const std::string& name) {
    TF_RETURN_IF_ERROR(SumPlain(graph_->NewName(absl::StrCat(add_->name(), "/sum"))));
    NodeDef def = addend.op;
    std::vector<Source> inputs = {plain_.front()};
    inputs.insert(inputs.end(), addend.inputs.begin(), addend.inputs.end());
    std::vector<Node*> replaced = {add_};
    if (addend.waits) replaced.insert(replaced.end(), addend.nodes.begin(), addend.nodes.end());
    return Become(std::move(def), name, inputs, replaced);
  }

  // Makes the sum of what is left, and one source of it: the sum of all.
  absl::Status SumPlain(const std::string& name) {
    if (plain_.size() == 1) return absl::OkStatus();
    NodeDef def = add_->def();
    def.clear_input();
    (*def.mutable_attr())["N"].set_i(static_cast<int64_t>(plain_.size()));
    return Become(std::move(def), name, std::vector<Source>(plain_), {add_});
  }

  Node* end() const { return plain_.front().node; }

 private:
  // Adds the node that `def` describes with these inputs, which is the sum so far.
  absl::Status Become(NodeDef def, const std::string& name, const std::vector<Source>& inputs,
                      const std::vector<Node*>& replaced) {
    def.set_name(name);
    for (const Source& input : inputs) AddInput(input, &def);
    const auto node = AddReplacement(std::move(def), inputs, *add_, replaced, graph_);
    if (!node.ok()) return node.status();
    plain_ = {{*node, 0}};
    return absl::OkStatus();
  }

  Node* const add_;
  Graph* const graph_;
  std::vector<Source> plain_;  // the sum so far, and operands that are still to be added
};

}  // namespace

absl::Status AddOneByOne(Node* add, std::map<int, Addend> addends, Graph* graph,
                         std::vector<Rewrite>* done) {
  std::vector<int> order(add->num_inputs());
  std::iota(order.begin(), order.end(), 0);
  if (addends.count(0) > 0 && order.size() > 1 && addends.count(1) == 0) {
    std::swap(order[0], order[1]);
  } else {
    addends.erase(0);
  }
  if (addends.empty()) return absl::OkStatus();
  // Everything that can refuse comes first; from here on the graph changes.
  for (const auto& [operand, addend] : addends) {
    if (!HasKernelOnDeviceOf(*add, addend.op)) return absl::OkStatus();
  }
  Chain chain(add, graph);
  for (const int operand : order) {
    const auto found = addends.find(operand);
    if (found == addends.end()) {
      chain.AddPlain(InputOf(*add, operand));
      continue;
    }
    // The last link takes the name of the sum, by which an error finds the user's line.
    const bool last = operand == order.back();
    const std::string name =
        last ? add->name() : graph->NewName(absl::StrCat(add->name(), "/accumulate"));
    done->push_back({absl::StrCat(found->second.nodes.front()->name(), ", ", add->name()), name});
    TF_RETURN_IF_ERROR(chain.AddLink(found->second, name));
  }
  TF_RETURN_IF_ERROR(chain.SumPlain(add->name()));
  TF_RETURN_IF_ERROR(MoveConsumers(add, chain.end(), graph));
  graph->RemoveNode(add);
  std::vector<Node*> unused;
  for (const auto& [operand, addend] : addends) {
    unused.insert(unused.end(), addend.nodes.begin(), addend.nodes.end());
  }
  RemoveUnused(unused, graph);
  return absl::OkStatus();
}

}  // namespace tensor_array_grad
