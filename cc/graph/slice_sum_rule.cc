#include "cc/graph/slice_sum_rule.h"

#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "cc/graph/node_util.h"
#include "tensorflow/core/framework/node_def_util.h"
#include "tensorflow/core/framework/types.h"

namespace tensor_array_grad {
namespace {

using tensorflow::Graph;
using tensorflow::Node;
using tensorflow::NodeDef;

constexpr char kAddSlices[] = "TensorArrayGrad>AddSlices";

bool IsSummed(tensorflow::DataType dtype) {
  static const auto* const dtypes = new std::set<tensorflow::DataType>{
      tensorflow::DT_HALF,   tensorflow::DT_BFLOAT16,  tensorflow::DT_FLOAT,
      tensorflow::DT_DOUBLE, tensorflow::DT_COMPLEX64, tensorflow::DT_COMPLEX128};
  return dtypes->count(dtype) != 0;
}

// The gradient of a slice as an operand of the sum.
struct Addend {
  NodeDef def;                 // op and attributes, as AddSlices wants them
  std::vector<Source> inputs;  // its own, then those of Transpose and Reshape
  std::vector<Node*> nodes;    // that make the operand, each before those that feed it
};

// Follows an operand of `add` back through nodes that only lead there.
class Matcher {
 public:
  Matcher(Source operand, const Node& add) : at_(operand), add_(add) {}

  std::optional<Addend> Match() {
    Skip("Identity");
    const Node* const reshape = Skip("Reshape");
    const Node* const transpose = Skip("Transpose");
    Node* const made = at_.node;
    const std::string& op = made->type_string();
    const bool moved = transpose != nullptr || reshape != nullptr;
    if (!IsGradientOfSlice(op) || (moved && op != "UnsortedSegmentSum") || !LeadsToTheSumAlone() ||
        IgnoresBadIndices(*made)) {
      return std::nullopt;
    }
    found_.nodes.push_back(made);
    found_.def.set_op(op);
    *found_.def.mutable_attr() = made->def().attr();
    for (int i = 0; i < made->num_inputs(); ++i) found_.inputs.push_back(InputOf(*made, i));
    AddMove("_transposed", transpose);
    AddMove("_reshaped", reshape);
    return found_;
  }

 private:
  static bool IsGradientOfSlice(const std::string& op) {
    return op == "StridedSliceGrad" || op == "Pad" || op == "UnsortedSegmentSum" ||
           op == "ScatterNd";
  }

  // ScatterNd may be told to leave out indices that are out of range.
  static bool IgnoresBadIndices(const Node& node) {
    std::string policy;
    return TryGetNodeAttr(node.attrs(), "bad_indices_policy", &policy) && policy == "IGNORE";
  }

  // Goes on behind the node of that type, if the operand comes from one, and returns it.
  const Node* Skip(const char* op) {
    Node* const node = at_.node;
    if (node->type_string() != op || !LeadsToTheSumAlone()) return nullptr;
    found_.nodes.push_back(node);
    at_ = InputOf(*node, 0);
    return node;
  }

  bool LeadsToTheSumAlone() const {
    return HasOneConsumer(*at_.node) && OnSameDevice(*at_.node, add_);
  }

  void AddMove(const char* attribute, const Node* move) {
    (*found_.def.mutable_attr())[attribute].set_b(move != nullptr);
    if (move != nullptr) found_.inputs.push_back(InputOf(*move, 1));
  }

  Source at_;
  const Node& add_;
  Addend found_;
};

// The sum, built link by link in the order of its operands.
class Chain {
 public:
  // Begins with `first`. The last link gets the name of `add`, by which an error finds the user's
  // line.
  Chain(Node* add, Source first, size_t links, Graph* graph)
      : add_(add), links_(links), graph_(graph), sum_(first) {}

  absl::Status AddPlain(const std::vector<Source>& operands) {
    std::vector<Source> inputs = {sum_};
    inputs.insert(inputs.end(), operands.begin(), operands.end());
    NodeDef def = add_->def();
    def.clear_input();
    (*def.mutable_attr())["N"].set_i(static_cast<int64_t>(inputs.size()));
    return Become(std::move(def), inputs, {add_});
  }

  absl::Status AddSlices(const std::vector<const Addend*>& addends, int before) {
    NodeDef def;
    def.set_op(kAddSlices);
    auto& attributes = *def.mutable_attr();
    attributes["T"].set_type(add_->output_type(0));
    attributes["before"].set_i(before);
    std::vector<Source> inputs = {sum_};
    std::vector<Node*> replaced = {add_};
    for (const Addend* addend : addends) {
      attributes["addends"].mutable_list()->add_s(addend->def.SerializeAsString());
      for (const Source& input : addend->inputs) {
        attributes["Targs"].mutable_list()->add_type(input.node->output_type(input.slot));
        inputs.push_back(input);
      }
      replaced.insert(replaced.end(), addend->nodes.begin(), addend->nodes.end());
    }
    return Become(std::move(def), inputs, replaced);
  }

  Node* end() const { return sum_.node; }

 private:
  absl::Status Become(NodeDef def, const std::vector<Source>& inputs,
                      const std::vector<Node*>& replaced) {
    def.set_name(++made_ == links_ ? add_->name()
                                   : graph_->NewName(absl::StrCat(add_->name(), "/sum")));
    for (const Source& input : inputs) AddInput(input, &def);
    const auto node = AddReplacement(std::move(def), inputs, *add_, replaced, graph_);
    if (!node.ok()) return node.status();
    sum_ = {*node, 0};
    return absl::OkStatus();
  }

  Node* const add_;
  const size_t links_;
  Graph* const graph_;
  Source sum_;
  size_t made_ = 0;
};

// Operands of one kind that follow each other.
struct Group {
  std::vector<Source> plain;
  std::vector<const Addend*> slices;
  int before = 0;  // of the slices, how many come before what they are added to
};

// The groups of the operands of `add` but for `first`, the first that is no addend. Addends before
// it are in the first group.
std::vector<Group> GroupsOf(const Node& add, const std::map<int, Addend>& addends, int first) {
  std::vector<Group> groups;
  for (int i = 0; i < add.num_inputs(); ++i) {
    if (i == first) continue;
    const auto found = addends.find(i);
    const bool slice = found != addends.end();
    if (groups.empty() || groups.back().plain.empty() == !slice) groups.emplace_back();
    if (slice) {
      groups.back().slices.push_back(&found->second);
      groups.back().before += i < first;
    } else {
      groups.back().plain.push_back(InputOf(add, i));
    }
  }
  return groups;
}

NodeDef AnyAddSlices(const Node& add) {
  NodeDef def;
  def.set_op(kAddSlices);
  (*def.mutable_attr())["T"].set_type(add.output_type(0));
  return def;
}

}  // namespace

absl::Status SliceSumRule::Apply(Node* node, Graph* graph, std::vector<Rewrite>* done) const {
  constexpr int kMostInOrder = 8;
  const int operands = node->num_inputs();
  if (!IsSummed(node->output_type(0)) || operands < 2 || operands > kMostInOrder ||
      !HasKernelOnDeviceOf(*node, AnyAddSlices(*node))) {
    return absl::OkStatus();
  }
  std::map<int, Addend> addends;
  for (int i = 0; i < operands; ++i) {
    if (auto addend = Matcher(InputOf(*node, i), *node).Match()) addends.emplace(i, *addend);
  }
  if (static_cast<int>(addends.size()) == operands) addends.erase(0);
  if (addends.count(0) == 0 && addends.count(1) == 0) return absl::OkStatus();
  int first = 0;
  while (addends.count(first) > 0) ++first;
  const std::vector<Group> groups = GroupsOf(*node, addends, first);
  Chain chain(node, InputOf(*node, first), groups.size(), graph);
  for (const Group& group : groups) {
    TF_RETURN_IF_ERROR(group.slices.empty() ? chain.AddPlain(group.plain)
                                            : chain.AddSlices(group.slices, group.before));
  }
  std::vector<Node*> feeding;
  for (const auto& [operand, addend] : addends) {
    done->push_back({absl::StrCat(addend.nodes.front()->name(), ", ", node->name()), node->name()});
    feeding.insert(feeding.end(), addend.nodes.begin(), addend.nodes.end());
  }
  return Replace(node, chain.end(), feeding, graph);
}

}  // namespace tensor_array_grad
