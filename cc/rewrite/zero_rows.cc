#include "cc/rewrite/zero_rows.h"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <set>
#include <utility>
#include <vector>

#include "cc/base/tensor_data.h"
#include "cc/base/tensorflow_names.h"
#include "cc/flow/loop_count.h"
#include "cc/flow/node_util.h"
#include "tensorflow/core/platform/statusor.h"

namespace tensor_array_grad {
namespace {

using Waits = std::set<Node*>;

// The control inputs of `node`.
Waits WaitsOf(const Node& node) {
  Waits waits;
  for (const Edge* edge : node.in_edges()) {
    if (edge->IsControlEdge() && !edge->src()->IsSource()) waits.insert(edge->src());
  }
  return waits;
}

// Adds to `waits` the control inputs of `node` and of its inputs except input `except`. Returns
// false unless these inputs are constants.
bool AddWaitsWithConstants(const Node& node, int except, Waits* waits) {
  waits->merge(WaitsOf(node));
  for (int i = 0; i < node.num_inputs(); ++i) {
    const Node& input = *InputOf(node, i).node;
    if (i == except) continue;
    if (!input.IsConstant()) return false;
    waits->merge(WaitsOf(input));
  }
  return true;
}

// `node` if it casts numbers of rows to int64 for one reader alone, else null.
Node* CastOfNumbers(Node* node) {
  const bool is_cast = node->type_string() == ops::kCast &&
                       node->output_type(0) == tensorflow::DT_INT64 && HasOneConsumer(*node);
  return is_cast ? node : nullptr;
}

// The rows of zeros and their numbers, as one branch gives them to the Merges. A Cast of the
// numbers stays as it is, and casts the last one.
class ZeroRows {
 public:
  // Input `branch` of the Merges of the rows and of their numbers.
  ZeroRows(Node* rows_merge, Node* ids_merge, int branch)
      : values_(*InputOf(*rows_merge, branch).node),
        rows_merge_(*rows_merge),
        branch_(branch),
        cast_(CastOfNumbers(InputOf(*ids_merge, branch).node)),
        ids_reader_(cast_ != nullptr ? *cast_ : *ids_merge),
        ids_input_(cast_ != nullptr ? 0 : branch),
        ids_(*InputOf(ids_reader_, ids_input_).node) {}

  // If the rows and numbers are as ShrinkZeroRows requires, replaces them by the last row.
  absl::Status Shrink(Graph* graph) {
    if (!OnSameDevice(values_, ids_) || !OnSameDevice(values_, rows_merge_) ||
        !OnSameDevice(values_, ids_reader_)) {
      return absl::OkStatus();
    }
    if (AreComputed()) return ShrinkComputed(graph);
    return ReadConstants() ? ShrinkConstant(graph) : absl::OkStatus();
  }

 private:
  enum { kStart, kLimit, kDelta };  // inputs of Range

  bool AreCounted() const {
    return ids_.type_string() == "Range" && IntegerOf(InputOf(ids_, kStart)) == 0 &&
           IntegerOf(InputOf(ids_, kDelta)) == 1;
  }

  // The control inputs of the Cast.
  Waits WaitsOfCast() const { return cast_ != nullptr ? WaitsOf(*cast_) : Waits(); }

  // ---- ZerosLike(x), Range(0, n, 1)

  bool AreComputed() const {
    return values_.type_string() == ops::kZerosLike && !IsRefType(values_.input_type(0)) &&
           AreCounted() && HasOneConsumer(ids_) && AreReadByShapesAlone() &&
           HasKernelOnDeviceOf(values_, LastRow()) && AreAliveTogether(*InputOf(ids_, kLimit).node);
  }

  // Whether only the Merge and Shape nodes read the zeros.
  bool AreReadByShapesAlone() const {
    return std::all_of(
        values_.out_edges().begin(), values_.out_edges().end(), [&](const Edge* edge) {
          return !edge->IsControlEdge() &&
                 (edge->dst() == &rows_merge_ || edge->dst()->type_string() == ops::kShape);
        });
  }

  // Whether the numbers are live if and only if the zeros are. If `limit` is computed from the
  // shape of the zeros, the numbers may have no control inputs that the zeros lack. If it is
  // computed from the shape of the tensor that the zeros are like, both must have the same control
  // inputs.
  bool AreAliveTogether(const Node& limit) const {
    const Node* const shape = InputOf(limit, 0).node;
    if (limit.type_string() != ops::kStridedSlice || shape->type_string() != ops::kShape) {
      return false;
    }
    Waits waits = WaitsOfCast();
    if (!AddWaitsWithConstants(ids_, kLimit, &waits) || !AddWaitsWithConstants(limit, 0, &waits) ||
        !AddWaitsWithConstants(*shape, 0, &waits)) {
      return false;
    }
    const Source shape_of = InputOf(*shape, 0);
    const Waits wanted = WaitsOf(values_);
    if (shape_of.node == &values_) {
      return std::includes(wanted.begin(), wanted.end(), waits.begin(), waits.end());
    }
    return shape_of == InputOf(values_, 0) && waits == wanted;
  }

  NodeDef LastRow() const {
    NodeDef def;
    def.set_op(ops::kLastRowOfZeros);
    (*def.mutable_attr())["T"].set_type(values_.output_type(0));
    (*def.mutable_attr())["Tindex"].set_type(ids_.output_type(0));
    return def;
  }

  absl::Status ShrinkComputed(Graph* graph) {
    const std::vector<Source> inputs = {InputOf(values_, 0), InputOf(ids_, kLimit)};
    NodeDef def = LastRow();
    def.set_name(NewName(values_, "last", graph));
    TF_ASSIGN_OR_RETURN(const Source last,
                        AddReplacement(std::move(def), inputs, values_, {&values_, &ids_}, graph));
    TF_RETURN_IF_ERROR(ReadShapeOfOriginal(graph));
    return Replace(last, {last.node, 1}, graph);
  }

  // Makes the Shape nodes that read the zeros read the tensor that the zeros are like. They also
  // get the control inputs of the zeros, so that they stay in the branch.
  absl::Status ReadShapeOfOriginal(Graph* graph) {
    const std::vector<const Edge*> edges(values_.out_edges().begin(), values_.out_edges().end());
    const Source like = InputOf(values_, 0);
    for (const Edge* edge : edges) {
      if (edge->dst() == &rows_merge_) continue;
      Node* const shape = edge->dst();
      for (Node* wait : WaitsOf(values_)) graph->AddControlEdge(wait, shape);
      TF_RETURN_IF_ERROR(graph->UpdateEdge(like.node, like.slot, shape, edge->dst_input()));
    }
    return absl::OkStatus();
  }

  // ---- constants

  // Whether rows and numbers are constants. Puts the rows into `zeros_`.
  bool ReadConstants() {
    Waits waits = WaitsOfCast();
    return ConstantOf(values_, &zeros_) && zeros_.dims() > 0 && zeros_.dim_size(0) > 1 &&
           IsZero(zeros_) && AreNumbersOf(zeros_.dim_size(0)) &&
           AddWaitsWithConstants(ids_, /*except=*/-1, &waits) && waits == WaitsOf(values_);
  }

  // Whether the numbers are those of `rows` rows. They are a constant or, because TensorFlow folds
  // no constants of 100 KiB or more, a Range of constants.
  bool AreNumbersOf(int64_t rows) const {
    if (AreCounted()) return IntegerOf(InputOf(ids_, kLimit)) == rows;
    std::vector<int64_t> all(rows);
    std::iota(all.begin(), all.end(), 0);
    return IntegersOf({&ids_, 0}) == all;
  }

  absl::Status ShrinkConstant(Graph* graph) {
    const int64_t last = zeros_.dim_size(0) - 1;
    TF_ASSIGN_OR_RETURN(const Source values, Constant(zeros_.Slice(last, last + 1), graph));
    Tensor number(ids_.output_type(0), {1});
    SetIntAt(0, last, &number);
    TF_ASSIGN_OR_RETURN(const Source ids, Constant(number, graph));
    return Replace(values, ids, graph);
  }

  // A constant that is live where the zeros are.
  absl::StatusOr<Source> Constant(const Tensor& value, Graph* graph) {
    NodeDef def = values_.def();
    def.set_name(NewName(values_, "last", graph));
    (*def.mutable_attr())["dtype"].set_type(value.dtype());
    value.AsProtoField((*def.mutable_attr())["value"].mutable_tensor());
    return AddReplacement(std::move(def), {}, values_, {&values_}, graph);
  }

  absl::Status Replace(Source values, Source ids, Graph* graph) {
    TF_RETURN_IF_ERROR(graph->UpdateEdge(values.node, values.slot, &rows_merge_, branch_));
    TF_RETURN_IF_ERROR(graph->UpdateEdge(ids.node, ids.slot, &ids_reader_, ids_input_));
    RemoveUnused({&ids_, &values_}, graph);
    return absl::OkStatus();
  }

  Node& values_;
  Node& rows_merge_;
  const int branch_;
  Node* const cast_;  // null: none
  Node& ids_reader_;  // the Cast or the Merge
  const int ids_input_;
  Node& ids_;
  Tensor zeros_;  // see ReadConstants
};

// Whether this is the result of a conditional or a loop that one node reads.
bool IsMergeOfOneConsumer(const Source& source) {
  return source.node->IsMerge() && source.slot == 0 && HasOneConsumer(*source.node);
}

// Shrinks the outputs of the branches whose results are `rows` and `ids`, and those of the
// conditionals inside of these branches. `sum` reads the rows in the end.
absl::Status ShrinkBranches(const Node& sum, const Source& rows, const Source& ids, Graph* graph) {
  if (!IsMergeOfOneConsumer(rows) || !IsMergeOfOneConsumer(ids) || !OnSameDevice(*rows.node, sum) ||
      rows.node->num_inputs() != ids.node->num_inputs()) {
    return absl::OkStatus();
  }
  for (int i = 0; i < rows.node->num_inputs(); ++i) {
    TF_RETURN_IF_ERROR(ShrinkBranches(sum, InputOf(*rows.node, i), InputOf(*ids.node, i), graph));
    TF_RETURN_IF_ERROR(ZeroRows(rows.node, ids.node, i).Shrink(graph));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status ShrinkZeroRows(const Node& sum, Graph* graph) {
  return ShrinkBranches(sum, InputOf(sum, 0), InputOf(sum, 1), graph);
}

}  // namespace tensor_array_grad
