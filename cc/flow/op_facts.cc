#include "cc/flow/op_facts.h"

#include <utility>
#include <vector>

#include "cc/base/op_names.h"
#include "tensorflow/core/framework/node_def_util.h"

namespace tensor_array_grad {

const std::unordered_map<std::string, uint32_t>& AllOpFacts() {
  static const auto* const all = [] {
    // Each op is listed once, with the others that have the same facts.
    const std::pair<uint32_t, std::vector<const char*>> groups[] = {
        {kAnyKernelMayRun,
         {"AssignAddVariableOp",
          "AssignSubVariableOp",
          "AssignVariableOp",
          ops::kConsumeMutexLock,
          "Empty",
          "LookupTableExportV2",
          "LookupTableImportV2",
          "LookupTableInsertV2",
          "LookupTableRemoveV2",
          "NonDeterministicInts",
          "PrintV2",
          "ResourceApplyAdaMax",
          "ResourceApplyAdadelta",
          "ResourceApplyAdagrad",
          "ResourceApplyAdagradDA",
          "ResourceApplyAdagradV2",
          "ResourceApplyAdam",
          "ResourceApplyAdamWithAmsgrad",
          "ResourceApplyAddSign",
          "ResourceApplyCenteredRMSProp",
          "ResourceApplyFtrl",
          "ResourceApplyFtrlV2",
          "ResourceApplyGradientDescent",
          "ResourceApplyKerasMomentum",
          "ResourceApplyMomentum",
          "ResourceApplyPowerSign",
          "ResourceApplyProximalAdagrad",
          "ResourceApplyProximalGradientDescent",
          "ResourceApplyRMSProp",
          "ResourceScatterAdd",
          "ResourceScatterDiv",
          "ResourceScatterMax",
          "ResourceScatterMin",
          "ResourceScatterMul",
          "ResourceScatterNdAdd",
          "ResourceScatterNdMax",
          "ResourceScatterNdMin",
          "ResourceScatterNdSub",
          "ResourceScatterNdUpdate",
          "ResourceScatterSub",
          "ResourceScatterUpdate",
          "ResourceSparseApplyAdadelta",
          "ResourceSparseApplyAdagrad",
          "ResourceSparseApplyAdagradDA",
          "ResourceSparseApplyAdagradV2",
          "ResourceSparseApplyCenteredRMSProp",
          "ResourceSparseApplyFtrl",
          "ResourceSparseApplyFtrlV2",
          "ResourceSparseApplyKerasMomentum",
          "ResourceSparseApplyMomentum",
          "ResourceSparseApplyProximalAdagrad",
          "ResourceSparseApplyProximalGradientDescent",
          "ResourceSparseApplyRMSProp",
          "ResourceStridedSliceAssign",
          "RngReadAndSkip",
          "RngSkip",
          ops::kStackCloseV2,
          ops::kStackPopV2,
          ops::kStackPushV2,
          ops::kStackV2,
          "StatefulRandomBinomial",
          "StatefulStandardNormal",
          "StatefulStandardNormalV2",
          "StatefulTruncatedNormal",
          "StatefulUniform",
          "StatefulUniformFullInt",
          "StatefulUniformInt",
          ops::kTensorArrayCloseV3,
          ops::kTensorArrayConcatV3,
          ops::kTensorArrayGatherV3,
          ops::kTensorArrayGradV3,
          ops::kTensorArrayGradWithShape,
          ops::kTensorArrayReadV3,
          ops::kTensorArrayScatterV3,
          ops::kTensorArraySplitV3,
          ops::kTensorArrayV3,
          ops::kTensorArrayWriteV3,
          "WriteAudioSummary",
          "WriteFile",
          "WriteGraphSummary",
          "WriteHistogramSummary",
          "WriteImageSummary",
          "WriteRawProtoSummary",
          "WriteScalarSummary",
          "WriteSummary"}},
        {kAnyKernelMayRun | kCallsPython, {"EagerPyFunc", "PyFunc"}},
        {kAnyKernelMayRun | kMayRunAgain,
         {"Assert", "CheckNumerics", "CheckNumericsV2", "LookupTableFindV2", "LookupTableSizeV2",
          "ReadVariableOp", ops::kResourceGather, "ResourceGatherNd", "StatelessRandomGetAlg",
          ops::kTensorArraySizeV3, "Timestamp", "VarHandleOp", "VarIsInitializedOp",
          "VariableShape", "_ReadVariablesOp", "_VarHandlesOp"}},
        {kDrawsNumbers,
         {"Multinomial", "ParameterizedTruncatedNormal", "RandomGamma", "RandomPoisson",
          "RandomPoissonV2", "RandomShuffle", "RandomStandardNormal", "RandomUniform",
          "RandomUniformInt", "TruncatedNormal"}},
        {kEndsLater,
         {"Batch", "BatchFunction", "For", "MapDefun", "SymbolicGradient", "Unbatch",
          "UnbatchGrad"}},
        {kCallsFunctions,
         {"Case", "If", ops::kPartitionedCall, "StatefulPartitionedCall", "StatelessCase",
          "StatelessIf"}},
        {kCallsFunctions | kRepeats, {"StatelessWhile", "While"}},
        {kCallsPython, {"PyFuncStateless"}},
        {kTakesLock, {"MutexLock"}},
        {kRepeats, {ops::kEnter, "RefEnter"}},
        {kCheapOnScalars,
         {ops::kAdd,       ops::kAddV2,      ops::kCast,         ops::kEqual,     ops::kFloorDiv,
          ops::kFloorMod,  ops::kGreater,    ops::kGreaterEqual, ops::kIdentity,  ops::kLess,
          ops::kLessEqual, ops::kLogicalAnd, ops::kLogicalNot,   ops::kLogicalOr, ops::kMaximum,
          ops::kMinimum,   ops::kMul,        ops::kNeg,          ops::kNotEqual,  ops::kPack,
          "RealDiv",       ops::kSelectV2,   ops::kSub}},
        {kMakesListVersion,
         {ops::kTensorListPopBack, ops::kTensorListPushBack, ops::kTensorListResize,
          ops::kTensorListScatterIntoExistingList, ops::kTensorListSetItem, ops::kListAccumulate,
          ops::kListAccumulateLike, ops::kPopLoopStack, ops::kPushLoopStack}},
        {kWritesInput, {"InplaceAdd", "InplaceSub", "InplaceUpdate"}},
        {kOutputsRef, {"TemporaryVariable", "Variable", "VariableV2"}}};
    auto* facts_of = new std::unordered_map<std::string, uint32_t>;
    for (const auto& [facts, ops] : groups) {
      for (const char* op : ops) (*facts_of)[op] = facts;
    }
    return facts_of;
  }();
  return *all;
}

bool HasFact(const std::string& op, uint32_t facts) {
  const auto found = AllOpFacts().find(op);
  return found != AllOpFacts().end() && (found->second & facts) != 0;
}

bool IsSeeded(const NodeDef& node) {
  if (!HasFact(node.op(), kDrawsNumbers)) return false;
  int64_t seed = 0, seed2 = 0;
  (void)TryGetNodeAttr(node, "seed", &seed);
  (void)TryGetNodeAttr(node, "seed2", &seed2);
  return seed != 0 || seed2 != 0;
}

}  // namespace tensor_array_grad
