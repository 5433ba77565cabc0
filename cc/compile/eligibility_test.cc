#include "cc/compile/eligibility.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "cc/base/tensorflow_names.h"
#include "cc/compile/compiler.h"
#include "cc/testing/frames_under_test.h"
#include "cc/testing/matchers.h"
#include "tensorflow/core/framework/attr_value.pb.h"
#include "tensorflow/core/framework/tensor.pb.h"
#include "tensorflow/core/framework/tensor_shape.pb.h"

namespace tensor_array_grad {
namespace {

// The loop i. Tests add nodes that may make the compiler leave the loop to the executor.
class LeftToExecutorTest : public testing::Test, protected FramesUnderTest {
 protected:
  LeftToExecutorTest() {
    for (const char* name : {"zero", "ten", "step", "x0"}) Placeholder(name, DT_INT32);
    for (const char* name : {"p0", "q0"}) Placeholder(name, DT_BOOL);
    Placeholder("variable", DT_RESOURCE);
    AddCounter("i", "zero", "ten", "step");
  }

  void ExpectCompiles() {
    const absl::Status status = Compile(FrameNamed("i")).status();
    EXPECT_TRUE(status.ok()) << status;
  }

  void ExpectLeft(const std::string& message) {
    const absl::Status status = Compile(FrameNamed("i")).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
    EXPECT_EQ(status.message(), message);
  }

  // Lets a resource enter the loop as the constant `resource`.
  void AddResource() { AddConstantOf("i", "resource", DT_RESOURCE, "variable"); }

  void AddAssignment(const std::string& name, const std::string& resource,
                     const std::string& value) {
    Set(Add(name, "AssignAddVariableOp", {resource, value}), "dtype", DT_INT32);
  }

  // Adds an op to `loop` that draws integers of the shape `shape`.
  void AddRandom(const std::string& loop, int seed, const std::string& shape = "") {
    tensorflow::NodeDef& random =
        Add("random", "RandomUniformInt",
            {shape.empty() ? loop + "_switch:1" : shape, loop + "_limit", loop + "_one"});
    Set(random, "T", DT_INT32);
    Set(random, "Tout", DT_INT32);
    Set(random, "seed2", seed);
  }

  // Adds the Const `shape` to the body of i.
  void AddShape(const std::vector<int32_t>& sizes) {
    Set(Add("pivot", "Identity", {"i_switch:1"}), "T", DT_INT32);
    tensorflow::NodeDef& shape = Add("shape", "Const", {"^pivot"});
    Set(shape, "dtype", DT_INT32);
    Set(shape, "value", Ints(sizes));
  }

  // Adds a loop `name` inside i; `start` is the first value of its variable.
  void AddInner(const std::string& name, const std::string& start) {
    AddCounter(name, start, "i_limit", "i_one");
  }

  // Adds the loop j inside i, and a node that adds `value` to the variable in each iteration of j.
  void AddInnerThatAssigns(const std::string& start, const std::string& value) {
    AddResource();
    AddInner("j", start);
    AddConstantOf("j", "j_resource", DT_RESOURCE, "resource");
    AddAssignment("count", "j_resource", value);
  }
};

// ---- kernels

TEST_F(LeftToExecutorTest, CounterCompiles) { ExpectCompiles(); }

// Functions that a loop calls: f calls g, and g has the op that a test adds.
class CalledFunctionTest : public LeftToExecutorTest {
 protected:
  CalledFunctionTest() {
    AddCall(&Add("call", "StatefulPartitionedCall", {"i_switch:1"}), "f");
    AddCall(&AddNodeTo("f", "inner", "PartitionedCall"), "g");
  }

  // Adds a node to a function of the library.
  tensorflow::NodeDef& AddNodeTo(const std::string& function, const std::string& name,
                                 const std::string& op) {
    tensorflow::FunctionDef& def = functions_[function];
    def.mutable_signature()->set_name(function);
    tensorflow::NodeDef& node = *def.add_node_def();
    node.set_name(name);
    node.set_op(op);
    return node;
  }

  absl::Status Check() {
    const tensorflow::FunctionLibraryDefinition library = Library();
    return CheckCalls(FrameNamed("i"), &library);
  }

  tensorflow::FunctionLibraryDefinition Library() {
    tensorflow::FunctionDefLibrary all;
    for (const auto& [name, function] : functions_) *all.add_function() = function;
    return tensorflow::FunctionLibraryDefinition(tensorflow::OpRegistry::Global(), all);
  }

 private:
  static void AddCall(tensorflow::NodeDef* call, const std::string& function) {
    Set(*call, "Tin", tensorflow::DataTypeVector{DT_INT32});
    Set(*call, "Tout", tensorflow::DataTypeVector{DT_INT32});
    tensorflow::NameAttrList named;
    named.set_name(function);
    Set(*call, "f", named);
  }

  std::map<std::string, tensorflow::FunctionDef> functions_;
};

TEST_F(CalledFunctionTest, Compiles) { ExpectCompiles(); }

TEST_F(CalledFunctionTest, OfOpsThatDoNotWaitIsAllowed) {
  AddNodeTo("g", "sum", "AddV2");
  AddNodeTo("g", "noise", "RandomStandardNormal");
  AddNodeTo("g", "value", "ReadVariableOp");
  EXPECT_OK(Check());
}

TEST_F(CalledFunctionTest, ThatCallsItselfIsAllowed) {
  AddNodeTo("g", "again", "f");
  EXPECT_OK(Check());
}

TEST_F(CalledFunctionTest, OfAnOpThatMayWait) {
  AddNodeTo("g", "keeps", "GetSessionHandle");
  EXPECT_THAT(Check(), Fails(absl::StatusCode::kFailedPrecondition,
                             "a called function may wait: call (GetSessionHandle)"));
}

TEST_F(CalledFunctionTest, OfPython) {
  AddNodeTo("g", "python", "PyFuncStateless");
  EXPECT_THAT(Check(), Fails(absl::StatusCode::kFailedPrecondition,
                             "a called function may wait: call (PyFuncStateless)"));
}

TEST_F(CalledFunctionTest, WithAnExecutorOfItsOwn) {
  AddNodeTo("g", "sum", "AddV2");
  Set(AddNodeTo("f", "other", "PartitionedCall"), "executor_type",
      std::string("SINGLE_THREADED_EXECUTOR"));
  EXPECT_THAT(Check(), Fails(absl::StatusCode::kFailedPrecondition,
                             "a called function may wait: call (PartitionedCall)"));
}

TEST_F(CalledFunctionTest, OfARandomOpIsAllowedInASessionIfItHasNoSeed) {
  NodeDef& noise = AddNodeTo("g", "noise", "RandomStandardNormal");
  const tensorflow::FunctionLibraryDefinition unseeded = Library();
  EXPECT_OK(CheckInSession(FrameNamed("i"), &unseeded));
  Set(noise, "seed2", 5);
  const tensorflow::FunctionLibraryDefinition seeded = Library();
  EXPECT_THAT(CheckInSession(FrameNamed("i"), &seeded),
              Fails(absl::StatusCode::kFailedPrecondition,
                    "private state: a seeded random op in a Session"));
  EXPECT_OK(CheckCalls(FrameNamed("i"), &seeded));
}

TEST_F(CalledFunctionTest, OfAKernelThatEndsLater) {
  AddNodeTo("g", "batch", "BatchFunction");
  EXPECT_THAT(Check(), Fails(absl::StatusCode::kFailedPrecondition,
                             "a called function may wait: call (BatchFunction)"));
}

TEST_F(LeftToExecutorTest, NodeThatIsAFunction) {
  tensorflow::FunctionDef& function = *library().add_function();
  tensorflow::OpDef& signature = *function.mutable_signature();
  signature.set_name("Twice");
  signature.add_input_arg()->set_name("x");
  signature.mutable_input_arg(0)->set_type(DT_INT32);
  Add("call", "Twice", {"i_switch:1"});
  ExpectLeft("asynchronous kernel: call (Twice)");
}

TEST_F(LeftToExecutorTest, KernelWithStateOfItsOwn) {
  Set(Add("keeps", "GetSessionHandle", {"i_switch:1"}), "T", DT_INT32);
  ExpectLeft("private state or unknown side effects: keeps (GetSessionHandle)");
}

TEST_F(LeftToExecutorTest, RandomOpIsAllowed) {
  AddRandom("i", 0);
  ExpectCompiles();
  EXPECT_FALSE(HasSeededNode(FrameNamed("i")));
  EXPECT_OK(CheckInSession(FrameNamed("i"), nullptr));
}

TEST_F(LeftToExecutorTest, SeededRandomOpIsAllowedAndSeenInAnInnerLoopToo) {
  AddInner("j", "i_switch:1");
  AddRandom("j", 3);
  ExpectCompiles();
  EXPECT_TRUE(HasSeededNode(FrameNamed("i")));
  EXPECT_THAT(CheckInSession(FrameNamed("i"), nullptr),
              Fails(absl::StatusCode::kFailedPrecondition,
                    "private state: a seeded random op in a Session"));
}

TEST_F(LeftToExecutorTest, ARandomOpMayDrawManyNumbers) {
  AddShape({2, (1 << 13) + 1});
  AddRandom("i", 0, "shape");
  ExpectCompiles();
}

TEST_F(LeftToExecutorTest, ASeededRandomOpMayDrawSomeNumbers) {
  AddShape({2, 1 << 13});
  AddRandom("i", 3, "shape");
  ExpectCompiles();
}

TEST_F(LeftToExecutorTest, SeededRandomOpThatDrawsManyNumbers) {
  AddShape({2, (1 << 13) + 1});
  AddRandom("i", 3, "shape");
  ExpectLeft("draws many numbers: random (RandomUniformInt)");
}

TEST_F(LeftToExecutorTest, SeededRandomOpThatDrawsManyNumbersInAnInnerLoop) {
  AddShape({2, (1 << 13) + 1});
  Named("shape").clear_input();  // outside of both loops
  AddInner("j", "i_switch:1");
  AddConstantOf("i", "shape_of_i", DT_INT32, "shape");
  AddConstantOf("j", "shape_of_j", DT_INT32, "shape_of_i");
  AddRandom("j", 3, "shape_of_j");
  ExpectLeft("draws many numbers: random (RandomUniformInt)");
}

TEST_F(LeftToExecutorTest, SeededRandomOpOfAnInvalidShapeReportsItsErrorItself) {
  AddShape({1 << 30, 1 << 30, 1 << 30});
  AddRandom("i", 3, "shape");
  ExpectCompiles();
}

TEST_F(LeftToExecutorTest, SeededRandomOpThatTheStockLoopWouldRunOnceMore) {
  AddRandom("i", 3, "i_merge");
  ExpectLeft("side effects outside of the body: random (RandomUniformInt)");
}

TEST_F(LeftToExecutorTest, RefType) {
  Set(Add("variable_v2", "VariableV2", {"^i_switch"}), "dtype", DT_FLOAT);
  ExpectLeft("ref type: variable_v2 (VariableV2)");
}

TEST_F(LeftToExecutorTest, KernelThatWritesItsInput) {
  Set(Add("write", "InplaceUpdate", {"i_switch:1", "i_one", "i_limit"}), "T", DT_INT32);
  ExpectLeft("writes its input: write (InplaceUpdate)");
}

TEST_F(LeftToExecutorTest, SendToAnotherDevice) {
  Set(Add("send", "_Send", {"i_switch:1"}), "T", DT_INT32);
  ExpectLeft("another device takes part: send (_Send)");
}

TEST_F(LeftToExecutorTest, RecvFromAnotherDevice) {
  Set(Add("recv", "_Recv", {"^i_switch"}), "tensor_type", DT_INT32);
  ExpectLeft("another device takes part: recv (_Recv)");
}

TEST_F(LeftToExecutorTest, SideEffectsOnResourcesAreAllowed) {
  AddResource();
  AddAssignment("add", "resource", "i_switch:1");
  Set(Add("read", "ReadVariableOp", {"resource"}), "dtype", DT_INT32);
  ExpectCompiles();
}

TEST_F(LeftToExecutorTest, PrefixOfTheOpDecidesWhetherItsSideEffectsAreAllowed) {
  const std::string unknown = "private state or unknown side effects: ";
  const std::map<std::string, std::string> reason_of = {
      {"ResourceApplyAdam", ""},
      {"ResourceScatterAdd", ""},
      {"ResourceSparseApplyAdagrad", ""},
      {"TensorArrayWriteV3", ""},
      {"WriteScalarSummary", ""},
      {"TensorArrayWriteV2", unknown + "node (TensorArrayWriteV2)"},
      {"StackV3", unknown + "node (StackV3)"},
      {"WriteAll", unknown + "node (WriteAll)"},
      {"ImportSummary", unknown + "node (ImportSummary)"}};
  for (const auto& [op, reason] : reason_of) {
    tensorflow::OpRegistry::Global()->Register([op = op](tensorflow::OpRegistrationData* data) {
      return tensorflow::OpDefBuilder(op).SetIsStateful().Finalize(data);
    });
    Clear();
    Add("node", op);
    EXPECT_EQ(CheckNode(*Find("node")).message(), reason);
  }
}

TEST_F(LeftToExecutorTest, KernelWithStateOfItsOwnInAnInnerLoop) {
  AddInner("j", "i_switch:1");
  Set(Add("keeps", "GetSessionHandle", {"j_switch:1"}), "T", DT_INT32);
  ExpectLeft("private state or unknown side effects: keeps (GetSessionHandle)");
}

// ---- the condition, which the stock loop evaluates once more

TEST_F(LeftToExecutorTest, ConditionWithSideEffects) {
  AddResource();
  AddAssignment("count", "resource", "i_merge");
  Named("i_cond").add_input("^count");
  ExpectLeft("condition with side effects: count (AssignAddVariableOp)");
}

TEST_F(LeftToExecutorTest, ConditionMayReadAVariable) {
  AddResource();
  Set(Add("read", "ReadVariableOp", {"resource"}), "dtype", DT_INT32);
  Named("i_less").set_input(1, "read");
  ExpectCompiles();
}

TEST_F(LeftToExecutorTest, SideEffectsOfALoopInTheCondition) {
  AddInnerThatAssigns("i_merge", "j_switch:1");
  Named("i_less").set_input(0, "j_exit");
  ExpectLeft("condition with side effects: count (AssignAddVariableOp)");
}

TEST_F(LeftToExecutorTest, SideEffectsOfALoopInsideOfALoopInTheCondition) {
  AddResource();
  AddInner("j", "i_merge");
  AddConstantOf("j", "j_resource", DT_RESOURCE, "resource");
  AddCounter("k", "j_switch:1", "j_limit", "j_one");
  AddConstantOf("k", "k_resource", DT_RESOURCE, "j_resource");
  AddAssignment("count", "k_resource", "k_switch:1");
  Named("j_plus").set_input(0, "k_exit");
  Named("i_less").set_input(0, "j_exit");
  ExpectLeft("condition with side effects: count (AssignAddVariableOp)");
}

TEST_F(LeftToExecutorTest, ConditionOfAnInnerLoopMayHaveSideEffects) {
  AddInnerThatAssigns("i_switch:1", "j_merge");
  Named("j_cond").add_input("^count");
  ExpectCompiles();
}

TEST_F(LeftToExecutorTest, SideEffectsOutsideOfAnInnerBody) {
  AddInnerThatAssigns("i_switch:1", "j_merge");
  ExpectLeft("side effects outside of the body: count (AssignAddVariableOp)");
}

// ---- liveness

TEST_F(LeftToExecutorTest, VariableThatMayBeDead) {
  AddVariableOf("i", "p", DT_BOOL, "p0", "p_switch:1");
  AddUnary("s", "Switch", DT_INT32, {"i_switch:1", "p_switch:1"});
  Named("i_next").set_input(0, "s:1");
  ExpectLeft("a variable may be dead: i_next (NextIteration)");
}

TEST_F(LeftToExecutorTest, InnerLoopWhoseInputsMayBeDeadApart) {
  AddVariableOf("i", "p", DT_BOOL, "p0", "p_switch:1");
  AddUnary("s", "Switch", DT_INT32, {"i_switch:1", "p_switch:1"});
  AddInner("j", "i_switch:1");
  AddVariableOf("j", "y", DT_INT32, "s:1", "y_switch:1");
  ExpectLeft("inputs may be dead apart: frame 'j'");
}

TEST_F(LeftToExecutorTest, NumberOfTheLiveInputOfAMergeWithAnInputThatIsNeverLive) {
  AddValue("yes", tensorflow::Tensor(true), {"^i_switch"});
  AddUnary("s", "Switch", DT_INT32, {"i_switch:1", "yes"});
  AddMerge("merged", DT_INT32, {"s", "s:1"});
  AddUnary("number", "Neg", DT_INT32, {"merged:1"});
  ExpectLeft("unsupported frame: merged (Merge)");
}

// ---- frames that tf.while_loop does not make

TEST_F(LeftToExecutorTest, FrameWithoutLoopCond) {
  AddConstantOf("straight", "enters", DT_INT32, "x0");
  AddUnary("leaves", "Exit", DT_INT32, {"enters"});
  EXPECT_EQ(Compile(FrameNamed("straight")).status().message(), "unsupported frame: 0 LoopConds");
}

TEST_F(LeftToExecutorTest, FrameWithoutVariable) {
  AddConstantOf("still", "enters", DT_BOOL, "p0");
  Add("still_cond", "LoopCond", {"enters"});
  EXPECT_EQ(Compile(FrameNamed("still")).status().message(), "unsupported frame: no variable");
}

TEST_F(LeftToExecutorTest, EnterOfAVariableThatTwoNodesRead) {
  AddUnary("reader", "Neg", DT_INT32, {"i_enter"});
  ExpectLeft("unsupported frame: i_enter (Enter)");
}

TEST_F(LeftToExecutorTest, EnterOfAVariableThatANodeWaitsFor) {
  AddConst("waiter", {"^i_enter"});
  ExpectLeft("unsupported frame: i_enter (Enter)");
}

TEST_F(LeftToExecutorTest, EnterOfAConstantThatAMergeReads) {
  AddMerge("reader", DT_INT32, {"i_limit"});
  ExpectLeft("unsupported frame: i_limit (Enter)");
}

TEST_F(LeftToExecutorTest, ValueIndexOfALoopsMergeIsRead) {
  AddUnary("reader", "Neg", DT_INT32, {"i_merge:1"});
  ExpectLeft("unsupported frame: i_merge (Merge)");
}

TEST_F(LeftToExecutorTest, NodeThatWaitsForTheIterationBefore) {
  AddConst("waiter", {"^i_next"});
  ExpectLeft("unsupported frame: i_next (NextIteration)");
}

TEST_F(LeftToExecutorTest, LoopCondThatNoSwitchReads) {
  AddUnary("other", "Neg", DT_BOOL, {"i_cond"});
  Named("i_switch").set_input(1, "other");
  ExpectLeft("unsupported frame: i_cond (LoopCond)");
}

TEST_F(LeftToExecutorTest, InnerLoopWhoseConstantComesFromItsOwnExit) {
  AddCounter("j", "i_switch:1", "i_limit", "late");
  AddUnary("late", "Neg", DT_INT32, {"j_exit"});
  ExpectLeft("unsupported frame: nodes of frame 'i' wait for each other");
}

TEST_F(LeftToExecutorTest, InnerLoopWhoseConstantWaitsForItsOwnExit) {
  AddInner("j", "i_switch:1");
  Named("j_one").add_input("^j_exit");
  ExpectLeft("unsupported frame: nodes of frame 'i' wait for each other");
}

TEST_F(LeftToExecutorTest, ValueOfTheIterationThatIsNotTakenIsMergedIntoTheBody) {
  AddUnary("last", "Neg", DT_INT32, {"i_switch"});
  AddMerge("merged", DT_INT32, {"last", "i_plus"});
  ExpectLeft("unsupported frame: merged (Merge)");
}

TEST_F(LeftToExecutorTest, NodeBeforeTheExitOfAnInnerLoop) {
  AddInner("j", "i_switch:1");
  AddUnary("last", "Neg", DT_INT32, {"j_switch"});
  Named("j_exit").set_input(0, "last");
  ExpectLeft("unsupported frame: last (Neg)");
}

TEST_F(LeftToExecutorTest, NodeBeforeTheExitOfTheOutermostLoopIsLeftToTheStockLoop) {
  AddUnary("last", "Neg", DT_INT32, {"i_switch"});
  Named("i_exit").set_input(0, "last");
  ExpectCompiles();
}

TEST_F(LeftToExecutorTest, ExitOfTheOutermostLoopFromItsBody) {
  Named("i_exit").set_input(0, "i_switch:1");
  ExpectLeft("unsupported frame: i_exit (Exit)");
}

TEST_F(LeftToExecutorTest, ExitOfTheOutermostLoopFromItsCondition) {
  Named("i_exit").set_input(0, "i_merge");
  ExpectLeft("unsupported frame: i_exit (Exit)");
}

TEST_F(LeftToExecutorTest, ExitOfAnInnerLoopFromItsBody) {
  AddInner("j", "i_switch:1");
  Named("j_exit").set_input(0, "j_switch:1");
  ExpectLeft("unsupported frame: j_exit (Exit)");
}

TEST_F(LeftToExecutorTest, LoopThatIsEnteredWhereAnInnerLoopEnds) {
  AddInner("j", "i_switch:1");
  AddCounter("k", "j_switch", "j_limit", "j_one");
  ExpectLeft("unsupported frame: 'k' is entered where 'j' ends");
}

TEST_F(LeftToExecutorTest, LoopThatRunsInIterationsOfAnInnerLoopThatAreNotTaken) {
  AddInner("j", "i_switch:1");
  AddCounter("k", "j_merge", "j_limit", "j_one");
  ExpectLeft("unsupported frame: 'k' runs in iterations that are not taken");
}

// ---- constants

// A proto of `elements` floats that stores only one of them.
tensorflow::TensorProto Repeated(int64_t elements) {
  tensorflow::TensorProto proto;
  proto.set_dtype(DT_FLOAT);
  proto.mutable_tensor_shape()->add_dim()->set_size(elements);
  proto.add_float_val(1);
  return proto;
}

TEST_F(LeftToExecutorTest, ConstantsThatAreLargeTogether) {
  for (const char* name : {"first", "second"}) {
    tensorflow::NodeDef& constant = Add(name, "Const", {"^i_switch"});
    Set(constant, "dtype", DT_FLOAT);
    Set(constant, "value", Repeated(9 << 18));  // 9 MiB
  }
  const absl::Status status = Compile(FrameNamed("i")).status();
  EXPECT_THAT(status, Fails(absl::StatusCode::kFailedPrecondition, "large constants: "));
}

TEST_F(LeftToExecutorTest, ConstantOfTheLargestAllowedSizeCompiles) {
  tensorflow::NodeDef& constant = Add("large", "Const", {"^i_switch"});
  Set(constant, "dtype", DT_FLOAT);
  Set(constant, "value", Repeated(4 << 20));  // 16 MiB
  ExpectCompiles();
}

TEST_F(LeftToExecutorTest, ConstantThatCannotBeRead) {
  tensorflow::TensorProto proto = Repeated(2);
  proto.set_tensor_content("three");
  tensorflow::NodeDef& constant = Add("broken", "Const", {"^i_switch"});
  Set(constant, "dtype", DT_FLOAT);
  Set(constant, "value", proto);
  ExpectLeft("a constant cannot be read: broken (Const)");
}

TEST_F(LeftToExecutorTest, ConstantOfAnotherDtypeThanItsNode) {
  tensorflow::NodeDef& constant = Add("broken", "Const", {"^i_switch"});
  Set(constant, "dtype", DT_INT32);
  Set(constant, "value", Repeated(2));
  ExpectLeft("a constant cannot be read: broken (Const)");
}

TEST_F(LeftToExecutorTest, ConstantOfAHugeShapeIsNotAllocated) {
  tensorflow::NodeDef& constant = Add("huge", "Const", {"^i_switch"});
  Set(constant, "dtype", DT_FLOAT);
  Set(constant, "value", Repeated(int64_t{1} << 60));
  ExpectLeft("large constants: huge (Const)");
}

TEST_F(LeftToExecutorTest, ReasonIsTheTextBeforeTheColon) {
  const absl::Status rejected = Rejected("ref type", *Find("i_plus"));
  EXPECT_EQ(ReasonOf(rejected.message()), "ref type");
  EXPECT_EQ(CauseOf(rejected), "i_plus");
  const absl::Status of_two = Rejected("ref type", *Find("i_plus"), Find("i_less"));
  EXPECT_EQ(of_two.message(), "ref type: i_plus (AddV2) and i_less (Less)");
  EXPECT_EQ(CauseOf(of_two), "i_plus");
  EXPECT_EQ(ReasonOf("no colon"), "no colon");
  EXPECT_EQ(CauseOf(Rejected("ref type", "something")), "");
}

}  // namespace
}  // namespace tensor_array_grad
