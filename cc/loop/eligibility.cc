#include "cc/loop/eligibility.h"

#include <algorithm>
#include <string>
#include <unordered_set>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "cc/graph/graph_names.h"
#include "cc/graph/node_util.h"
#include "tensorflow/core/framework/types.h"

namespace tensor_array_grad {
namespace {

using Ops = std::unordered_set<std::string>;

// Whether the stateful op `op` keeps its state in resources, files or the terminal, so that it
// makes no difference which kernel object runs it. Any other stateful op is left to the executor:
// it may wait for another op, or keep its state in its kernel as the random ops do.
bool MayHaveItsSideEffects(const std::string& op) {
  static const auto* const exact = new Ops{"Assert",
                                           "AssignAddVariableOp",
                                           "AssignSubVariableOp",
                                           "AssignVariableOp",
                                           "CheckNumerics",
                                           "CheckNumericsV2",
                                           "EagerPyFunc",
                                           "Empty",
                                           "IsResourceHandleRefCounting",
                                           "LookupTableExportV2",
                                           "LookupTableFindV2",
                                           "LookupTableImportV2",
                                           "LookupTableInsertV2",
                                           "LookupTableRemoveV2",
                                           "LookupTableSizeV2",
                                           "NonDeterministicInts",
                                           "PrintV2",
                                           "PyFunc",
                                           "ReadVariableOp",
                                           "ResourceGather",
                                           "ResourceGatherNd",
                                           "ResourceStridedSliceAssign",
                                           "RngReadAndSkip",
                                           "RngSkip",
                                           "StackCloseV2",
                                           "StackPopV2",
                                           "StackPushV2",
                                           "StackV2",
                                           "StatefulRandomBinomial",
                                           "StatefulStandardNormal",
                                           "StatefulStandardNormalV2",
                                           "StatefulTruncatedNormal",
                                           "StatefulUniform",
                                           "StatefulUniformFullInt",
                                           "StatefulUniformInt",
                                           "StatelessRandomGetAlg",
                                           "TensorArrayGradWithShape",
                                           "Timestamp",
                                           "VarHandleOp",
                                           "VarIsInitializedOp",
                                           "VariableShape",
                                           "WriteFile",
                                           "_ReadVariablesOp",
                                           "_VarHandlesOp"};
  return exact->count(op) != 0 || absl::StartsWith(op, "ResourceApply") ||
         absl::StartsWith(op, "ResourceScatter") || absl::StartsWith(op, "ResourceSparseApply") ||
         (absl::StartsWith(op, "TensorArray") && absl::EndsWith(op, "V3")) ||
         (absl::StartsWith(op, "Write") && absl::EndsWith(op, "Summary"));
}

// Whether the user's program cannot observe that the stateful op `op` runs once more than the loop
// asks for.
bool MayRunAgain(const std::string& op) {
  static const auto* const ops = new Ops{"Assert",
                                         "CheckNumerics",
                                         "CheckNumericsV2",
                                         "IsResourceHandleRefCounting",
                                         "LookupTableFindV2",
                                         "LookupTableSizeV2",
                                         "ReadVariableOp",
                                         "ResourceGather",
                                         "ResourceGatherNd",
                                         "StatelessRandomGetAlg",
                                         "TensorArraySizeV3",
                                         "Timestamp",
                                         "VarHandleOp",
                                         "VarIsInitializedOp",
                                         "VariableShape",
                                         "_ReadVariablesOp",
                                         "_VarHandlesOp"};
  return ops->count(op) != 0;
}

// Whether the kernel of `op`, which has no side effects, may finish after Compute has returned. Ops
// with side effects need no entry, because MayHaveItsSideEffects does not list asynchronous ones.
bool EndsLater(const std::string& op) {
  static const auto* const ops = new Ops{
      "Batch",          "BatchFunction",    "PartitionedCall", "StatelessCase", "StatelessIf",
      "StatelessWhile", "SymbolicGradient", "Unbatch",         "UnbatchGrad"};
  return ops->count(op) != 0;
}

// Whether an input or output of `node` is the ref tensor of a variable.
bool HasRefs(const Node& node) {
  const auto is_ref = [](tensorflow::DataType type) { return tensorflow::IsRefType(type); };
  return std::any_of(node.input_types().begin(), node.input_types().end(), is_ref) ||
         std::any_of(node.output_types().begin(), node.output_types().end(), is_ref);
}

}  // namespace

absl::Status Rejected(absl::string_view reason, absl::string_view detail) {
  return absl::FailedPreconditionError(absl::StrCat(reason, ": ", detail));
}

absl::Status Rejected(absl::string_view reason, const Node& node) {
  return Rejected(reason, absl::StrCat(node.name(), " (", node.type_string(), ")"));
}

absl::string_view ReasonOf(const absl::Status& rejected) {
  return rejected.message().substr(0, rejected.message().find(':'));
}

absl::Status CheckNode(const Node& node) {
  const std::string& op = node.type_string();
  if (node.IsSend() || node.IsRecv()) return Rejected("another device takes part", node);
  if (HasRefs(node)) return Rejected("ref type", node);
  if (EndsLater(op) || IsFunctionCall(node)) return Rejected("asynchronous kernel", node);
  if (absl::StartsWith(op, "Inplace")) return Rejected("writes its input", node);
  if (node.op_def().is_stateful() && !MayHaveItsSideEffects(op)) {
    return Rejected("private state or unknown side effects", node);
  }
  return absl::OkStatus();
}

absl::Status CheckCondition(const Node& node) {
  if (!node.op_def().is_stateful() || MayRunAgain(node.type_string())) return absl::OkStatus();
  return Rejected("condition with side effects", node);
}

}  // namespace tensor_array_grad
