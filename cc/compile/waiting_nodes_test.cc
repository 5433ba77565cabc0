#include "cc/compile/waiting_nodes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "cc/base/tensorflow_names.h"
#include "cc/testing/frames_under_test.h"
#include "cc/testing/matchers.h"
#include "tensorflow/core/framework/function.pb.h"

namespace tensor_array_grad {
namespace {

using tensorflow::DataTypeVector;

// The loop i with the variables i and x, which do not depend on each other.
class WaitingNodesTest : public testing::Test, protected FramesUnderTest {
 protected:
  WaitingNodesTest() {
    for (const char* name : {"zero", "ten", "step"}) Placeholder(name, DT_INT32);
    Placeholder("queue", DT_RESOURCE);
    AddCounter("i", "zero", "ten", "step");
    AddDequeue("first");
    AddVariableOf("i", "x", DT_INT32, "first", "x_plus");
    AddBinary("x_plus", "AddV2", DT_INT32, {"x_switch:1", "i_one"});
  }

  void AddDequeue(const std::string& name) {
    Set(Add(name, "QueueDequeueV2", {"queue"}), "component_types", DataTypeVector{DT_INT32});
  }

  void AddEnqueue(const std::string& value) {
    Set(Add("last", "QueueEnqueueV2", {"queue", value}), "Tcomponents", DataTypeVector{DT_INT32});
  }

  // Adds a call of Python with one operand and one result.
  tensorflow::NodeDef& AddPython(const std::string& name, std::vector<std::string> inputs) {
    tensorflow::NodeDef& node = Add(name, "PyFunc", std::move(inputs));
    for (const char* types : {"Tin", "Tout"}) Set(node, types, DataTypeVector{DT_INT32});
    return node;
  }

  // Adds `call`, which calls a function that takes an element from a queue. x starts as its result.
  tensorflow::NodeDef& AddCallOfTaker(const std::string& op) {
    tensorflow::FunctionDef& taker = *functions_.add_function();
    taker.mutable_signature()->set_name("take");
    taker.add_node_def()->set_op("QueueDequeueV2");
    tensorflow::NameAttrList take;
    take.set_name("take");
    Named("x_enter").set_input(0, "call");
    tensorflow::NodeDef& call = Add("call", op);
    Set(call, "f", take);
    return call;
  }

  // Adds the loop j inside i. Its variable y starts as an element of the queue.
  void AddInnerThatTakes() {
    AddCounter("j", "i_switch:1", "i_limit", "i_one");
    AddVariableOf("j", "y", DT_INT32, "taken", "y_switch:1");
    AddConstantOf("i", "i_queue", DT_RESOURCE, "queue");
    Set(Add("taken", "QueueDequeueV2", {"i_queue", "^i_switch"}), "component_types",
        DataTypeVector{DT_INT32});
  }

  // Adds the loop j inside i. It adds Python's results for `operand` to y, which becomes the next
  // x.
  void AddInnerThatSumsPython(const std::string& operand) {
    Named("x_enter").set_input(0, "zero");
    AddCounter("j", "i_switch:1", "i_limit", "i_one");
    AddVariableOf("j", "y", DT_INT32, "x_switch:1", "sum");
    AddPython("python", {operand});
    AddBinary("sum", "AddV2", DT_INT32, {"y_switch:1", "python"});
    Named("x_plus").set_input(0, "y_exit");
  }

  // Loops that run in one kernel besides are `others`.
  void ExpectLeftTo(const std::string& node, const std::string& loop = "i",
                    const std::vector<std::string>& others = {}) {
    EXPECT_THAT(Check(loop, others), Fails(absl::StatusCode::kFailedPrecondition,
                                           "ops may wait for each other: " + node + " ("));
  }
  void ExpectNone(const std::string& loop = "i", const std::vector<std::string>& others = {}) {
    EXPECT_OK(Check(loop, others));
  }

  tensorflow::FunctionDefLibrary functions_;

 private:
  absl::Status Check(const std::string& loop, const std::vector<std::string>& others = {}) {
    const tensorflow::FunctionLibraryDefinition library(tensorflow::OpRegistry::Global(),
                                                        functions_);
    WaitingNodes waiting(root(), &library);
    for (const std::string& other : others) EXPECT_OK(waiting.Check(FrameNamed(other)));
    return waiting.Check(FrameNamed(loop));
  }
};

TEST_F(WaitingNodesTest, NothingWaitsForANodeBeforeTheLoop) { ExpectNone(); }

TEST_F(WaitingNodesTest, NodeThatReadsAVariableThatNeedsTheOther) {
  AddEnqueue("x_exit");
  ExpectNone();
}

TEST_F(WaitingNodesTest, NodeThatReadsAVariableWhichLeavesTheLoopBeforeTheOtherEnters) {
  AddEnqueue("i_exit");
  ExpectLeftTo("first");
}

TEST_F(WaitingNodesTest, NodeThatWaitsForTheOtherByAControlEdge) {
  AddEnqueue("i_exit");
  Named("last").add_input("^first");
  ExpectNone();
}

TEST_F(WaitingNodesTest, TheLoopCountsToTheValueOfTheOther) {
  AddEnqueue("i_exit");
  Named("i_limit").set_input(0, "first");
  ExpectNone();
}

TEST_F(WaitingNodesTest, ValueOfAnotherDeviceMayDependOnTheLoop) {
  Set(Add("receive", "_Recv"), "tensor_type", DT_INT32);
  AddUnary("send", "_Send", DT_INT32, {"i_exit"});
  Named("x_enter").set_input(0, "receive");
  ExpectLeftTo("receive");
}

TEST_F(WaitingNodesTest, NodeThatMakesAVariableWaitsForNothing) {
  AddEnqueue("i_exit");
  Set(Add("variable", "VariableV2"), "dtype", DT_INT32);
  AddUnary("value", "Identity", DT_INT32, {"variable"});
  Named("x_enter").set_input(0, "value");
  ExpectNone();
}

TEST_F(WaitingNodesTest, ArgumentsOfAFunctionAreThereWhenItStarts) {
  AddEnqueue("i_exit");
  Set(AddUnary("argument", "_Arg", DT_INT32, {}), "index", 0);
  Named("x_enter").set_input(0, "argument");
  ExpectNone();
}

TEST_F(WaitingNodesTest, FunctionThatTakesAnElementFromAQueue) {
  AddEnqueue("i_exit");
  tensorflow::NodeDef& call = AddCallOfTaker("PartitionedCall");
  Set(call, "Tin", DataTypeVector{});
  Set(call, "Tout", DataTypeVector{DT_INT32});
  ExpectLeftTo("call");
  functions_.mutable_function(0)->mutable_node_def(0)->set_op("Const");
  ExpectNone();
}

TEST_F(WaitingNodesTest, MapOfAFunctionThatTakesAnElementFromAQueue) {
  AddEnqueue("i_exit");
  Set(AddCallOfTaker("MapDefun"), "output_types", DataTypeVector{DT_INT32});
  ExpectLeftTo("call");
}

TEST_F(WaitingNodesTest, PythonInTheBodyThatDoesNotNeedTheOther) {
  AddPython("python", {"i_switch:1"});
  Named("i_plus").set_input(0, "python");
  ExpectLeftTo("first");
}

TEST_F(WaitingNodesTest, PythonThatNeedsItsResultOfTheIterationBefore) {
  AddPython("python", {"x_switch:1"});
  Named("x_plus").set_input(0, "python");
  ExpectNone();
}

TEST_F(WaitingNodesTest, PythonOfTwoIterationsAtOnce) {
  Named("x_enter").set_input(0, "zero");
  AddPython("python", {"x_switch:1"});
  ExpectLeftTo("python");
}

TEST_F(WaitingNodesTest, TwoOfPythonOneAfterTheOther) {
  AddPython("python", {"x_switch:1"});
  AddPython("more", {"x_switch:1", "^python"});
  Named("x_plus").set_input(0, "more");
  ExpectNone();
}

TEST_F(WaitingNodesTest, TwoOfPythonSideBySide) {
  AddPython("python", {"x_switch:1"});
  AddPython("more", {"x_switch:1"});
  AddBinary("both", "AddV2", DT_INT32, {"python", "more"});
  Named("x_plus").set_input(0, "both");
  ExpectLeftTo("python");
}

TEST_F(WaitingNodesTest, NodeAfterTheLoopThatDoesNotNeedPythonInIt) {
  AddPython("python", {"x_switch:1"});
  Named("x_plus").set_input(0, "python");
  Named("x_enter").set_input(0, "zero");
  AddEnqueue("i_exit");
  ExpectLeftTo("python");
}

TEST_F(WaitingNodesTest, PythonThatNeedsItsResultOfTwoIterationsBefore) {
  Named("x_enter").set_input(0, "zero");
  AddVariableOf("i", "older", DT_INT32, "zero", "x_switch:1");
  AddPython("python", {"older_switch:1"});
  Named("x_plus").set_input(0, "python");
  ExpectLeftTo("python");
}

TEST_F(WaitingNodesTest, PythonOfTwoIterationsOfAnInnerLoop) {
  AddInnerThatSumsPython("j_switch:1");
  ExpectLeftTo("python");
}

TEST_F(WaitingNodesTest, PythonOfAnInnerLoopThatNeedsTheSum) {
  AddInnerThatSumsPython("y_switch:1");
  ExpectNone();
}

// The loop k starts when i ends, but its counter needs nothing of i.
TEST_F(WaitingNodesTest, TwoLoopsThatPutNodesInAnOrderTogether) {
  AddCounter("k", "zero", "ten", "step");
  AddVariableOf("k", "y", DT_INT32, "i_exit", "y_switch:1");
  AddEnqueue("k_exit");
  ExpectNone("i");
  ExpectNone("k");
  ExpectLeftTo("first", "k", {"i"});
  ExpectLeftTo("first", "i", {"k"});
}

TEST_F(WaitingNodesTest, NodeInTheOuterLoopThatAnInnerOneWaitsFor) {
  AddInnerThatTakes();
  ExpectNone("j");
}

TEST_F(WaitingNodesTest, NodesInTheOuterLoopAroundAnInnerOne) {
  AddInnerThatTakes();
  AddPython("python", {"j_exit"});
  ExpectLeftTo("taken", "j");
}

// The node `value` waits behind the outer loop, in which `taken` and j are.
TEST_F(WaitingNodesTest, NodeAfterTheOuterLoopThatNeedsTheInnerOne) {
  AddInnerThatTakes();
  AddVariableOf("i", "count", DT_INT32, "zero", "j_exit");
  AddEnqueue("count_exit");
  ExpectLeftTo("taken", "j");
}

TEST_F(WaitingNodesTest, NodeBeforeTheOuterLoopThatReachesTheInnerOneInItsSecondIteration) {
  AddCounter("j", "i_switch:1", "i_limit", "i_one");
  AddVariableOf("j", "y", DT_INT32, "x_switch:1", "y_switch:1");
  Named("x_enter").set_input(0, "zero");
  AddVariableOf("i", "later", DT_INT32, "first", "later_switch:1");
  Named("x_plus").set_input(0, "later_switch:1");
  AddPython("python", {"j_exit"});
  ExpectLeftTo("first", "j");
}

// As in a recurrent layer: each iteration reads a constant of the loop.
TEST_F(WaitingNodesTest, NodeThatNeedsTheOtherAsAConstantOfTheLoop) {
  Named("x_enter").set_input(0, "zero");
  AddConstantOf("i", "input", DT_INT32, "first");
  Named("x_plus").set_input(0, "input");
  AddEnqueue("x_exit");
  ExpectNone();
}

TEST_F(WaitingNodesTest, NodeThatReadsAVariableThatReplacesTheOther) {
  Named("x_plus").set_input(0, "i_one");
  AddEnqueue("x_exit");
  ExpectLeftTo("first");
}

TEST_F(WaitingNodesTest, NodeBehindAnotherLoopThatNeedsTheOther) {
  AddEnqueue("k_exit");
  AddCounter("k", "zero", "x_exit", "step");
  ExpectNone("i");
  ExpectNone("k");
  ExpectNone("k", {"i"});
}

TEST_F(WaitingNodesTest, PathToTheNextIterationOfTheOuterLoop) {
  AddInnerThatTakes();
  Named("x_plus").set_input(0, "y_exit");
  AddPython("python", {"j_exit", "^x_switch"});
  ExpectLeftTo("taken", "j");
}

}  // namespace
}  // namespace tensor_array_grad
