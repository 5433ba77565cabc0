#include "cc/graph/slice_sum_rule.h"

#include <map>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "cc/graph/sum_chain.h"
#include "tensorflow/core/framework/node_def_util.h"
#include "tensorflow/core/framework/types.h"

namespace tensor_array_grad {
namespace {

using tensorflow::Node;

constexpr char kSegmentSum[] = "UnsortedSegmentSum";

bool HasSum(tensorflow::DataType dtype) {
  return tensorflow::DataTypeIsFloating(dtype) ? tensorflow::DataTypeSize(dtype) > 1
                                               : tensorflow::DataTypeIsComplex(dtype);
}

// The attributes that our op takes over from `op`; null where there is no such op.
const std::vector<std::string>* AttributesOf(const std::string& op) {
  static const auto* const attributes = new std::map<std::string, std::vector<std::string>>{
      {"StridedSliceGrad",
       {"T", "Index", "begin_mask", "end_mask", "ellipsis_mask", "new_axis_mask",
        "shrink_axis_mask"}},
      {"Pad", {"T", "Tpaddings"}},
      {kSegmentSum, {"T", "Tindices", "Tnumsegments"}},
      {"ScatterNd", {"T", "Tindices"}}};
  const auto found = attributes->find(op);
  return found == attributes->end() ? nullptr : &found->second;
}

// ScatterNd may be told to ignore indices that are out of range.
bool IgnoresBadIndices(const Node& node) {
  std::string policy;
  return TryGetNodeAttr(node.attrs(), "bad_indices_policy", &policy) && policy == "IGNORE";
}

// Follows an operand of `add` back through nodes that only lead there.
class Matcher {
 public:
  Matcher(Source operand, const Node& add) : at_(operand), add_(add) {}

  std::optional<Addend> Match() {
    Skip("Identity");
    const Node* const reshape = Skip("Reshape");
    const Node* const transpose = Skip("Transpose");
    const std::vector<std::string>* const attributes = AttributesOf(at_.node->type_string());
    Node* const made = at_.node;
    if (attributes == nullptr || !LeadsToTheSumAlone() || IgnoresBadIndices(*made)) {
      return std::nullopt;
    }
    found_.nodes.push_back(made);
    for (int i = 0; i < made->num_inputs(); ++i) found_.inputs.push_back(InputOf(*made, i));
    found_.op.set_op(absl::StrCat("TensorArrayGrad>Add", made->type_string()));
    for (const std::string& name : *attributes) {
      const auto* const value = made->attrs().Find(name);
      if (value != nullptr) (*found_.op.mutable_attr())[name] = *value;
    }
    const bool moves = made->type_string() == kSegmentSum;
    if (moves ? !AddMoves(transpose, reshape) : transpose != nullptr || reshape != nullptr) {
      return std::nullopt;
    }
    return found_;
  }

 private:
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

  // Has the op transpose and reshape the segments.
  bool AddMoves(const Node* transpose, const Node* reshape) {
    auto& attributes = *found_.op.mutable_attr();
    if (transpose != nullptr) {
      const Source perm = InputOf(*transpose, 1);
      if (perm.node->output_type(perm.slot) != tensorflow::DT_INT32) return false;
      found_.inputs.push_back(perm);
    }
    attributes["num_perms"].set_i(transpose != nullptr);
    attributes["Tshape"].set_type(tensorflow::DT_INT32);
    if (reshape != nullptr) {
      const Source shape = InputOf(*reshape, 1);
      attributes["Tshape"].set_type(shape.node->output_type(shape.slot));
      found_.inputs.push_back(shape);
    }
    attributes["num_shapes"].set_i(reshape != nullptr);
    return true;
  }

  Source at_;
  const Node& add_;
  Addend found_;
};

}  // namespace

absl::Status SliceSumRule::Apply(Node* node, tensorflow::Graph* graph,
                                 std::vector<Rewrite>* done) const {
  constexpr int kMostInOrder = 8;
  if (!HasSum(node->output_type(0)) || node->num_inputs() > kMostInOrder) return absl::OkStatus();
  std::map<int, Addend> addends;
  for (int i = 0; i < node->num_inputs(); ++i) {
    if (auto addend = Matcher(InputOf(*node, i), *node).Match()) addends.emplace(i, *addend);
  }
  return AddOneByOne(node, std::move(addends), graph, done);
}

}  // namespace tensor_array_grad
