#include "cc/flow/op_facts.h"

#include <gtest/gtest.h>

#include <iostream>
#include <set>
#include <string>
#include <vector>

#include "tensorflow/core/framework/op.h"

// Linked with all of TensorFlow, whose registry has all stock ops. The linker leaves out a library
// of which nothing is used, so the test uses TF_Version.
extern "C" const char* TF_Version();

namespace tensor_array_grad {
namespace {

const tensorflow::OpDef* DefinitionOf(const std::string& op) {
  const tensorflow::OpDef* definition = nullptr;
  return tensorflow::OpRegistry::Global()->LookUpOpDef(op, &definition).ok() ? definition : nullptr;
}

TEST(OpFactsTest, EveryOpExists) {
  for (const auto& [op, facts] : AllOpFacts()) EXPECT_NE(DefinitionOf(op), nullptr) << op;
}

TEST(OpFactsTest, FactsOfStatefulOpsAreOfStatefulOps) {
  for (const auto& [op, facts] : AllOpFacts()) {
    const tensorflow::OpDef* const definition = DefinitionOf(op);
    if (definition == nullptr) continue;
    const bool of_stateful = (facts & (kAnyKernelMayRun | kMayRunAgain)) != 0;
    EXPECT_TRUE(!of_stateful || definition->is_stateful()) << op;
    EXPECT_TRUE((facts & kEndsLater) == 0 || !definition->is_stateful()) << op;
  }
}

TEST(OpFactsTest, AnOpThatMayRunAgainMayRunInAnyKernel) {
  for (const auto& [op, facts] : AllOpFacts()) {
    EXPECT_TRUE((facts & kMayRunAgain) == 0 || (facts & kAnyKernelMayRun) != 0) << op;
  }
}

TEST(OpFactsTest, ListVersionsAndRefsAreOfOpsThatHaveThem) {
  for (const auto& [op, facts] : AllOpFacts()) {
    const tensorflow::OpDef* const definition = DefinitionOf(op);
    if (definition == nullptr) continue;
    if ((facts & kMakesListVersion) != 0) {
      ASSERT_GT(definition->output_arg_size(), 0) << op;
      EXPECT_EQ(definition->output_arg(0).type(), tensorflow::DT_VARIANT) << op;
      EXPECT_EQ(definition->input_arg(0).type(), tensorflow::DT_VARIANT) << op;
    }
    EXPECT_TRUE((facts & kOutputsRef) == 0 || definition->output_arg(0).is_ref()) << op;
  }
}

// Every op on lists that outputs a list and reads one either makes a version of it or is known.
TEST(OpFactsTest, NoOtherOpMakesAListVersion) {
  const std::set<std::string> known = {"TensorListConcatLists", "TensorListPushBackBatch"};
  std::vector<tensorflow::OpDef> all;
  tensorflow::OpRegistry::Global()->GetRegisteredOps(&all);
  for (const tensorflow::OpDef& op : all) {
    if (op.name().rfind("TensorList", 0) != 0) continue;
    const bool maps_list = op.input_arg_size() > 0 && op.output_arg_size() > 0 &&
                           op.input_arg(0).type() == tensorflow::DT_VARIANT &&
                           op.output_arg(0).type() == tensorflow::DT_VARIANT;
    EXPECT_EQ(HasFact(op.name(), kMakesListVersion), maps_list && known.count(op.name()) == 0)
        << op.name();
  }
}

// Loops with these ops are left to TensorFlow's executor. Not a failure: a list to read.
TEST(OpFactsTest, StatefulOpsWithoutARowArePrinted) {
  std::vector<tensorflow::OpDef> all;
  tensorflow::OpRegistry::Global()->GetRegisteredOps(&all);
  std::cout << "TensorFlow " << TF_Version() << ":\n";
  int count = 0;
  for (const tensorflow::OpDef& op : all) {
    if (!op.is_stateful() || AllOpFacts().count(op.name()) != 0) continue;
    std::cout << op.name() << '\n';
    ++count;
  }
  EXPECT_GT(count, 100);
}

}  // namespace
}  // namespace tensor_array_grad
