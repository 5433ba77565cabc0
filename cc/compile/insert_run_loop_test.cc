#include "cc/compile/insert_run_loop.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "cc/base/tensorflow_names.h"
#include "cc/flow/graph_names.h"
#include "cc/flow/node_util.h"
#include "cc/testing/frames_under_test.h"
#include "cc/testing/matchers.h"
#include "tensorflow/core/framework/node_def_util.h"

namespace tensor_array_grad {
namespace {

using tensorflow::DataTypeVector;
using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::UnorderedElementsAre;

constexpr char kRunLoop[] = "TensorArrayGrad>RunLoop";
constexpr char kRunLoopInSession[] = "TensorArrayGrad>RunLoopInSession";

class InsertRunLoopTest : public testing::Test, protected FramesUnderTest {
 protected:
  InsertRunLoopTest() {
    for (const char* name : {"zero", "ten", "step", "x0"}) Placeholder(name, DT_INT32);
    for (const char* name : {"p0", "q0"}) Placeholder(name, DT_BOOL);
    AddCounter("i", "zero", "ten", "step");
  }

  // The names of the loops that FindLoops returns. Fills left_.
  std::vector<std::string> Found() {
    std::vector<std::string> names;
    const auto left = [this](const Frame& frame, const absl::Status& why) {
      left_[frame.name] = std::string(why.message());
    };
    for (const Frame* frame : FindLoops(root(), nullptr, in_session_, left))
      names.push_back(frame->name);
    return names;
  }

  void AddPrivateStateTo(const std::string& loop) {
    Set(Add(loop + "_keeps", "GetSessionHandle", {loop + "_switch:1"}), "T", DT_INT32);
  }

  Node* Insert(const std::string& loop) {
    const absl::Status status = InsertRunLoop(FrameNamed(loop), 0, in_session_, graph().get());
    EXPECT_TRUE(status.ok()) << status;
    Node* found = nullptr;
    for (Node* node : graph()->op_nodes()) {
      const bool is_of_loop = absl::StartsWith(node->name(), loop + "_in_one_kernel");
      if (node->type_string() == (in_session_ ? kRunLoopInSession : kRunLoop) && is_of_loop) {
        found = node;
      }
    }
    EXPECT_NE(found, nullptr);
    return found;
  }

  std::set<std::string> Edges() {
    std::set<std::string> edges;
    for (const Edge* edge : graph()->edges()) edges.insert(edge->DebugString());
    return edges;
  }

  // The graph in the attribute of the op, by node name.
  static std::map<std::string, NodeDef> FrameOf(const Node& run) {
    std::string frame;
    EXPECT_TRUE(GetNodeAttr(run.attrs(), "frame", &frame).ok());
    tensorflow::GraphDef def;
    EXPECT_TRUE(def.ParseFromString(frame));
    std::map<std::string, NodeDef> nodes;
    for (const NodeDef& node : def.node()) nodes[node.name()] = node;
    return nodes;
  }

  std::map<std::string, std::string> left_;  // reason by frame
  bool in_session_ = false;
};

// ---- FindLoops

TEST_F(InsertRunLoopTest, LoopIsFound) {
  EXPECT_THAT(Found(), ElementsAre("i"));
  EXPECT_THAT(left_, IsEmpty());
}

TEST_F(InsertRunLoopTest, GraphWithoutLoopHasNone) {
  Clear();
  Placeholder("x", DT_INT32);
  EXPECT_THAT(Found(), IsEmpty());
}

TEST_F(InsertRunLoopTest, LoopsBesideEachOtherAreAllFound) {
  AddCounter("j", "i_exit", "ten", "step");
  AddCounter("k", "zero", "ten", "step");
  EXPECT_THAT(Found(), UnorderedElementsAre("i", "j", "k"));
}

TEST_F(InsertRunLoopTest, LoopInsideOfOneThatRunsInOneKernelIsPartOfIt) {
  AddCounter("j", "i_switch:1", "i_limit", "i_one");
  EXPECT_THAT(Found(), ElementsAre("i"));
}

TEST_F(InsertRunLoopTest, LoopInsideOfOneThatIsLeftIsFound) {
  AddCounter("j", "i_switch:1", "i_limit", "i_one");
  AddPrivateStateTo("i");
  EXPECT_THAT(Found(), ElementsAre("j"));
  EXPECT_EQ(left_.size(), 1);
  EXPECT_EQ(left_["i"], "private state or unknown side effects: i_keeps (GetSessionHandle)");
}

TEST_F(InsertRunLoopTest, LoopThatCallsAFunctionIsFoundInASessionToo) {
  tensorflow::NodeDef& call = Add("call", "PartitionedCall", {"i_switch:1"});
  Set(call, "Tin", tensorflow::DataTypeVector{DT_INT32});
  Set(call, "Tout", tensorflow::DataTypeVector{DT_INT32});
  Set(call, "f", tensorflow::NameAttrList());
  EXPECT_THAT(Found(), ElementsAre("i"));
  in_session_ = true;
  EXPECT_THAT(Found(), ElementsAre("i"));
}

TEST_F(InsertRunLoopTest, InASessionLoopWithACallThatMayWaitIsLeft) {
  tensorflow::NodeDef& call = Add("call", "PartitionedCall", {"i_switch:1"});
  Set(call, "Tin", tensorflow::DataTypeVector{DT_INT32});
  Set(call, "Tout", tensorflow::DataTypeVector{DT_INT32});
  Set(call, "f", tensorflow::NameAttrList());
  Set(call, "executor_type", std::string("SINGLE_THREADED_EXECUTOR"));
  in_session_ = true;
  EXPECT_THAT(Found(), IsEmpty());
  EXPECT_EQ(left_["i"], "a called function may wait: call (PartitionedCall)");
}

TEST_F(InsertRunLoopTest, InASessionLoopInsideOfOneWithASeededOpIsFound) {
  AddCounter("j", "i_switch:1", "i_limit", "i_one");
  tensorflow::NodeDef& random =
      Add("random", "RandomUniformInt", {"i_switch:1", "i_limit", "i_one"});
  for (const char* type : {"T", "Tout"}) Set(random, type, DT_INT32);
  Set(random, "seed", 1);
  EXPECT_THAT(Found(), ElementsAre("i"));
  in_session_ = true;
  EXPECT_THAT(Found(), ElementsAre("j"));
  EXPECT_EQ(left_["i"], "private state: a seeded random op in a Session");
}

TEST_F(InsertRunLoopTest, EveryLoopThatIsLeftIsReported) {
  AddCounter("j", "i_switch:1", "i_limit", "i_one");
  AddCounter("k", "zero", "ten", "step");
  AddPrivateStateTo("j");
  EXPECT_THAT(Found(), ElementsAre("k"));
  EXPECT_EQ(left_["i"], "private state or unknown side effects: j_keeps (GetSessionHandle)");
  EXPECT_EQ(left_["j"], "private state or unknown side effects: j_keeps (GetSessionHandle)");
}

TEST_F(InsertRunLoopTest, LoopWhoseInputsMayBeDeadApartIsLeft) {
  AddUnary("s", "Switch", DT_INT32, {"x0", "p0"});
  AddCounter("j", "zero", "ten", "step");
  AddVariableOf("j", "y", DT_INT32, "s:1", "y_switch:1");
  EXPECT_THAT(Found(), ElementsAre("i"));
  EXPECT_EQ(left_["j"], "inputs may be dead apart: frame 'j'");
}

// The loop j of a branch, with the variable y, which is live in both branches. Nothing but its
// Switch reads the value of y.
class LiveVariableLoopTest : public InsertRunLoopTest {
 protected:
  LiveVariableLoopTest() {
    AddUnary("s", "Switch", DT_INT32, {"x0", "p0"});
    AddCounter("j", "s:1", "ten", "step");
    AddVariableOf("j", "y", DT_INT32, "x0", "y_switch:1");
  }

  void ExpectJIsLeft() {
    EXPECT_THAT(Found(), ElementsAre("i"));
    EXPECT_EQ(left_["j"], "inputs may be dead apart: frame 'j'");
  }
};

TEST_F(LiveVariableLoopTest, LoopIsFoundIfItCannotSeeTheLiveValue) {
  EXPECT_THAT(Found(), UnorderedElementsAre("i", "j"));
}

TEST_F(LiveVariableLoopTest, ReaderOfTheValueOutsideOfTheBodySeesIt) {
  AddUnary("reader", "Neg", DT_INT32, {"y_merge"});
  ExpectJIsLeft();
}

TEST_F(LiveVariableLoopTest, NodeThatWaitsForTheValueSeesIt) {
  AddUnary("waits", "Neg", DT_INT32, {"j_switch:1", "^y_merge"});
  ExpectJIsLeft();
}

TEST_F(LiveVariableLoopTest, IndexOfTheMergesInputSeesIt) {
  AddUnary("reader", "Neg", DT_INT32, {"y_merge:1"});
  ExpectJIsLeft();
}

TEST_F(LiveVariableLoopTest, SwitchByAnotherPredicateSeesIt) {
  AddConstantOf("j", "q", DT_BOOL, "p0");
  AddVariableOf("j", "z", DT_INT32, "x0", "z_switch:1");
  Named("z_switch").set_input(1, "q");
  ExpectJIsLeft();
}

TEST_F(LiveVariableLoopTest, ConditionThatIsLiveThoughItsVariableIsDeadSeesIt) {
  Add("trigger", "ControlTrigger", {"^j_merge"});
  Named("j_less").add_input("^trigger");
  ExpectJIsLeft();
}

TEST_F(LiveVariableLoopTest, ValueFromAnotherDeviceMayBeDeadAlone) {
  NodeDef& recv = Add("recv", "_Recv");
  Set(recv, "tensor_type", DT_INT32);
  for (const char* name : {"tensor_name", "send_device", "recv_device"}) Set(recv, name, "any");
  Set(recv, "send_device_incarnation", 1);
  Named("y_enter").set_input(0, "recv");
  ExpectJIsLeft();
}

TEST_F(LiveVariableLoopTest, MergeInTheConditionMaySeeIt) {
  AddVariableOf("j", "z", DT_INT32, "s:1", "z_switch:1");
  AddMerge("either", DT_INT32, {"j_merge", "z_merge"});
  Named("j_less").set_input(0, "either");
  ExpectJIsLeft();
}

TEST_F(InsertRunLoopTest, LoopOfOneBranchIsFound) {
  AddUnary("s", "Switch", DT_INT32, {"x0", "p0"});
  AddCounter("j", "s:1", "ten", "step");
  EXPECT_THAT(Found(), UnorderedElementsAre("i", "j"));
}

TEST_F(InsertRunLoopTest, LoopsOfAFrameThatCannotBeOrderedAreLeft) {
  AddCounter("j", "zero", "ten", "late");
  AddUnary("late", "Neg", DT_INT32, {"j_exit"});
  EXPECT_THAT(Found(), IsEmpty());
  EXPECT_EQ(left_["i"], "unsupported frame: nodes of frame '' wait for each other");
  EXPECT_EQ(left_["j"], "unsupported frame: nodes of frame '' wait for each other");
}

// Whether an Enter of the loop has an attribute of this library's.
bool IsMarked(const Frame& loop) {
  return std::any_of(loop.enters.begin(), loop.enters.end(), [](const Node* enter) {
    return absl::StrContains(enter->def().DebugString(), "tensor_array_grad");
  });
}

// A loop in a branch that has the predicate of the branch as a constant.
class KnownPredicateLoopTest : public InsertRunLoopTest {
 protected:
  KnownPredicateLoopTest() {
    AddUnary("s", "Switch", DT_INT32, {"x0", "p0"});
    AddCounter("j", "s:1", "ten", "step");
    AddConstantOf("j", "p_in", DT_BOOL, "p0");
  }
};

TEST_F(KnownPredicateLoopTest, TheKernelKnowsThePredicateAndTheStockLoopDoesNot) {
  EXPECT_THAT(Found(), UnorderedElementsAre("i", "j"));
  EXPECT_TRUE(IsMarked(FrameNamed("j"))) << "until InsertRunLoop has copied the loop";
  const Node* const run = Insert("j");
  EXPECT_TRUE(absl::StrContains(FrameOf(*run)["p_in"].DebugString(), "known_value"));
  EXPECT_FALSE(IsMarked(FrameNamed("j")));
}

TEST_F(KnownPredicateLoopTest, ALoopThatIsLeftKnowsNothing) {
  AddPrivateStateTo("j");
  EXPECT_THAT(Found(), ElementsAre("i"));
  EXPECT_FALSE(IsMarked(FrameNamed("j")));
}

TEST_F(KnownPredicateLoopTest, MarksOfAFileAreRemovedFromEveryLoop) {
  Set(Named("p_in"), "_tensor_array_grad_known_value", 0);
  AddVariableOf("j", "y", DT_INT32, "x0", "y_switch:1");
  AddUnary("sees_y", "Neg", DT_INT32, {"y_merge"});
  EXPECT_THAT(Found(), ElementsAre("i"));
  EXPECT_EQ(left_["j"], "inputs may be dead apart: frame 'j'");
  EXPECT_FALSE(IsMarked(FrameNamed("j")));
}

// ---- InsertRunLoop

TEST_F(InsertRunLoopTest, OpComesBetweenTheVariablesAndTheirEnters) {
  AddVariableOf("i", "x", DT_INT32, "x0", "x_switch:1");
  const std::set<std::string> before = Edges();
  const Node* const run = Insert("i");
  EXPECT_EQ(CountOf(kRunLoop), 1);
  EXPECT_TRUE(run->op_def().is_stateful());
  // Its inputs are those of the variables in the order of their Enter nodes, then those of the
  // constants.
  std::vector<std::string> variables, constants;
  for (const Node* enter : FrameNamed("i").enters) {
    bool is_constant = false;
    (void)TryGetNodeAttr(enter->attrs(), "is_constant", &is_constant);
    (is_constant ? constants : variables).push_back(enter->name());
  }
  std::vector<std::string> sources;
  const std::map<std::string, std::string> source_of = {
      {"i_enter", "zero"}, {"x_enter", "x0"}, {"i_limit", "ten"}, {"i_one", "step"}};
  for (const auto& name : variables) sources.push_back(source_of.at(name));
  for (const auto& name : constants) sources.push_back(source_of.at(name));
  EXPECT_EQ(InputsOf(run->name()), sources);
  for (size_t i = 0; i < variables.size(); ++i) {
    const Node* const enter = Find(variables[i]);
    const Edge* edge = nullptr;
    ASSERT_TRUE(enter->input_edge(0, &edge).ok());
    EXPECT_EQ(edge->src(), run);
    EXPECT_EQ(edge->src_output(), static_cast<int>(i));
  }
  EXPECT_THAT(InputsOf("i_limit"), ElementsAre("ten"));
  EXPECT_THAT(InputsOf("i_one"), ElementsAre("step"));
  // Nothing else has changed.
  std::set<std::string> gone;
  const std::set<std::string> after = Edges();
  std::set_difference(before.begin(), before.end(), after.begin(), after.end(),
                      std::inserter(gone, gone.end()));
  EXPECT_EQ(gone.size(), 2) << testing::PrintToString(gone);
}

TEST_F(InsertRunLoopTest, OpHasTheDeviceAndTheTypesOfTheLoop) {
  AddVariableOf("i", "p", DT_BOOL, "p0", "p_switch:1");
  const Node* const run = Insert("i");
  EXPECT_EQ(run->assigned_device_name(), kCpu0);
  EXPECT_EQ(run->requested_device(), kCpu0);
  DataTypeVector variables, constants;
  EXPECT_TRUE(GetNodeAttr(run->attrs(), "T", &variables).ok());
  EXPECT_TRUE(GetNodeAttr(run->attrs(), "U", &constants).ok());
  EXPECT_THAT(variables, UnorderedElementsAre(DT_INT32, DT_BOOL));
  EXPECT_THAT(constants, ElementsAre(DT_INT32, DT_INT32));
}

TEST_F(InsertRunLoopTest, DefinitionOfTheOpNamesItsInputs) {
  const Node* const run = Insert("i");
  EXPECT_THAT(run->requested_inputs(), UnorderedElementsAre("zero:0", "ten:0", "step:0"));
  EXPECT_EQ(run->requested_inputs()[0], "zero:0");
}

TEST_F(InsertRunLoopTest, OpGetsTheControlInputsOfAllEnters) {
  AddConst("effect", {});
  AddConst("other_effect", {});
  Named("i_enter").add_input("^effect");
  Named("i_one").add_input("^other_effect");
  const Node* const run = Insert("i");
  EXPECT_THAT(InputsOf(run->name()), AllOf(Contains("^effect"), Contains("^other_effect")));
  EXPECT_THAT(InputsOf("i_enter"), ElementsAre(run->name(), "^effect"));
  EXPECT_THAT(InputsOf("i_one"), ElementsAre("step", "^other_effect"));
}

TEST_F(InsertRunLoopTest, FramesOfTheGraphAreValidAfterTheInsertion) {
  AddCounter("j", "i_switch:1", "i_limit", "i_one");
  const Node* const run = Insert("j");
  const absl::StatusOr<FrameTree> tree = FrameTree::Of(*graph());
  ASSERT_TRUE(tree.ok()) << tree.status();
  const Frame& outer = *tree->root().children.front();
  EXPECT_THAT(outer.nodes, Contains(run)) << "the op belongs to the frame around the loop";
}

TEST_F(InsertRunLoopTest, AttributeIsTheFrameWithArgumentsNumberedByInput) {
  AddVariableOf("i", "x", DT_INT32, "x0", "x_switch:1");
  AddCounter("j", "x_switch:1", "i_limit", "i_one");
  const Node* const run = Insert("i");
  const std::map<std::string, NodeDef> nodes = FrameOf(*run);
  std::set<std::string> expected;
  for (const Frame* frame : {&FrameNamed("i"), &FrameNamed("j")}) {
    for (const Node* node : frame->nodes) expected.insert(node->name());
    for (const Node* node : frame->enters) expected.insert(node->name());
  }
  std::set<int> indices;
  for (const auto& [name, node] : nodes) {
    if (node.op() != "_Arg") {
      EXPECT_EQ(expected.erase(name), 1) << name << " is not of the frame";
      continue;
    }
    indices.insert(static_cast<int>(node.attr().at("index").i()));
  }
  EXPECT_THAT(expected, IsEmpty());
  EXPECT_THAT(indices, ElementsAre(0, 1, 2, 3));
  // Each Enter of the outermost loop reads the _Arg whose index is the number of its input of
  // RunLoop.
  const std::map<std::string, std::string> enter_of = {
      {"zero", "i_enter"}, {"x0", "x_enter"}, {"ten", "i_limit"}, {"step", "i_one"}};
  const std::vector<std::string> inputs = InputsOf(run->name());
  for (size_t i = 0; i < inputs.size(); ++i) {
    const NodeDef& enter = nodes.at(enter_of.at(inputs[i]));
    const NodeDef& argument = nodes.at(enter.input(0));
    EXPECT_EQ(argument.op(), "_Arg");
    EXPECT_EQ(argument.attr().at("index").i(), static_cast<int>(i)) << inputs[i];
  }
}

TEST_F(InsertRunLoopTest, ControlEdgesWithinTheFrameAreKeptAndThoseFromOutsideAreNot) {
  AddConst("effect", {});
  AddConst("inside", {"^i_switch"});
  Named("i_plus").add_input("^inside");
  Named("i_enter").add_input("^effect");
  const std::map<std::string, NodeDef> nodes = FrameOf(*Insert("i"));
  EXPECT_THAT(nodes.at("i_plus").input(), Contains("^inside"));
  EXPECT_THAT(nodes.at("i_enter").input(), Not(Contains("^effect")));
  EXPECT_EQ(nodes.count("effect"), 0);
}

// The three reasons for which TensorFlow does not optimise the op of a Session (insert_run_loop.h).
TEST_F(InsertRunLoopTest, InASessionTheOpIsNotStatefulAndItsFirstInputComesFromAMerge) {
  AddVariableOf("i", "x", DT_INT32, "x0", "x_switch:1");
  in_session_ = true;
  const Node* const run = Insert("i");
  EXPECT_FALSE(run->op_def().is_stateful());
  const Node* const merge = InputOf(*run, 0).node;
  EXPECT_TRUE(merge->IsMerge());
  EXPECT_TRUE(merge->IsControlFlow());
  EXPECT_EQ(merge->assigned_device_name(), kCpu0);
  std::vector<std::string> inputs = InputsOf(run->name());
  inputs[0] = InputsOf(merge->name())[0];
  EXPECT_THAT(inputs, UnorderedElementsAre("zero", "x0", "ten", "step"));
}

TEST_F(InsertRunLoopTest, EqualLoopsOfASessionAreNotMerged) {
  AddCounter("j", "zero", "ten", "step");
  in_session_ = true;
  std::string frames[2];
  for (int k : {0, 1}) {
    EXPECT_TRUE(GetNodeAttr(Insert(k == 0 ? "i" : "j")->attrs(), "frame", &frames[k]).ok());
  }
  EXPECT_NE(frames[0], frames[1]);
}

TEST_F(InsertRunLoopTest, WhatWasInsertedIsRemoved) {
  AddVariableOf("i", "x", DT_INT32, "x0", "x_switch:1");
  const int nodes = graph()->num_nodes();
  for (const bool in_session : {false, true}) {
    in_session_ = in_session;
    Insert("i");
    ASSERT_OK(RemoveRunLoops(graph().get()));
    EXPECT_EQ(graph()->num_nodes(), nodes);
    EXPECT_THAT(InputsOf("i_enter"), ElementsAre("zero"));
    EXPECT_THAT(InputsOf("x_enter"), ElementsAre("x0"));
  }
}

TEST_F(InsertRunLoopTest, NodesOfTheProgramStayWhenARunLoopOfASessionIsRemoved) {
  in_session_ = true;
  AddUnary("other", "Neg", DT_INT32, {"zero"});
  AddMerge("of_two", DT_INT32, {"zero", "x0"});
  AddMerge("with_two_readers", DT_INT32, {"zero"});
  AddUnary("reader", "Neg", DT_INT32, {"with_two_readers"});
  for (const char* first : {"other", "of_two", "with_two_readers"}) {
    ASSERT_OK(graph()->UpdateEdge(Find(first), 0, Insert("i"), 0));
    ASSERT_OK(RemoveRunLoops(graph().get()));
    ASSERT_NE(Find(first), nullptr) << first;
    EXPECT_THAT(InputsOf("i_enter"), ElementsAre(first));
  }
  EXPECT_THAT(InputsOf("reader"), ElementsAre("with_two_readers"));
}

// As TensorFlow leaves two loops that begin with one value.
TEST_F(InsertRunLoopTest, LoopsThatShareTheAddedMergeAreRemoved) {
  AddCounter("j", "zero", "ten", "step");
  const int nodes = graph()->num_nodes();
  in_session_ = true;
  Node* const merge = InputOf(*Insert("i"), 0).node;
  Node* const other = InputOf(*Insert("j"), 0).node;
  ASSERT_OK(MoveOutput(other, 0, {merge, 0}, graph().get()));
  graph()->RemoveNode(other);
  ASSERT_OK(RemoveRunLoops(graph().get()));
  EXPECT_EQ(graph()->num_nodes(), nodes);
  EXPECT_THAT(InputsOf("i_enter"), ElementsAre("zero"));
  EXPECT_THAT(InputsOf("j_enter"), ElementsAre("zero"));
}

TEST_F(InsertRunLoopTest, FrameThatIsTooLargeForAnAttributeLeavesTheGraphAsItWas) {
  const Frame& frame = FrameNamed("i");
  Find("i_plus")->AddAttr("_padding", std::string(257 << 20, 'x'));
  const std::set<std::string> before = Edges();
  const int nodes = graph()->num_nodes();
  EXPECT_THAT(InsertRunLoop(frame, 0, in_session_, graph().get()),
              Fails(absl::StatusCode::kFailedPrecondition,
                    "large frame: a graph of this size cannot be an attribute"));
  EXPECT_EQ(Edges(), before);
  EXPECT_EQ(graph()->num_nodes(), nodes);
}

}  // namespace
}  // namespace tensor_array_grad
