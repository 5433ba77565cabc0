#include "cc/rewrite/rules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cc/base/tensorflow_names.h"
#include "cc/flow/graph_names.h"
#include "cc/testing/loop_stack_under_test.h"
#include "cc/testing/matchers.h"
#include "tensorflow/core/framework/op_kernel.h"

namespace tensor_array_grad {
namespace {

using testing::ElementsAre;
using testing::IsSupersetOf;

constexpr char kPack[] = "TensorArrayGrad>NewLoopStack";
constexpr char kPush[] = "TensorArrayGrad>PushLoopStack";
constexpr char kPop[] = "TensorArrayGrad>PopLoopStack";

// Stubs for the kernels that the rule looks up. CPU only, so that a GPU has none.
REGISTER_KERNEL_BUILDER(Name(kPack).Device(tensorflow::DEVICE_CPU), NeverRun);
REGISTER_KERNEL_BUILDER(Name(kPush).Device(tensorflow::DEVICE_CPU), NeverRun);
REGISTER_KERNEL_BUILDER(Name(kPop).Device(tensorflow::DEVICE_CPU), NeverRun);

// A forward loop f and a backward loop b, with pushed lists between them, as while_v2 makes them.
class LoopStackRuleTest : public testing::Test, protected LoopStackUnderTest {
 protected:
  LoopStackRuleTest() { Reset(); }

  void Reset() {
    Clear();
    for (const char* loop : {"f", "b"}) {
      Placeholder(std::string(loop) + "_goes_on", tensorflow::DT_BOOL);
      Add(std::string(loop) + "_cond", "LoopCond", {std::string(loop) + "_goes_on"});
    }
    for (const char* name : {"shape", "bound"}) Placeholder(name, DT_INT32);
    for (const char* name : {"x", "y", "z"}) Placeholder(name, DT_FLOAT);
    AddScalar("any", -1);
  }

  int Apply() {
    outcome_ = {{}, "loop_stack", /*wants_remarks=*/true};
    EXPECT_TRUE(LoopStackRule().apply(Find("f_cond"), graph().get(), &outcome_).ok());
    return static_cast<int>(outcome_.done.size());
  }

  // The first input of `name`, as "op type:output".
  std::string UsedBy(const std::string& name) {
    const tensorflow::Edge* edge;
    EXPECT_TRUE(Find(name)->input_edge(0, &edge).ok());
    return absl::StrCat(edge->src()->type_string(), ":", edge->src_output());
  }

  // How many lists the stack keeps that the variable of pushed list `name` now holds.
  int Kept(const std::string& name) {
    int kept = -1;
    const Node* const pack = Find(InputsOf(name + "_f_enter")[0]);
    EXPECT_TRUE(GetNodeAttr(pack->attrs(), "kept", &kept).ok());
    return kept;
  }

  // Expects a remark about a_push with that reason, or none if it is "".
  void ExpectNothingChanges(const std::string& reason = "") {
    const int nodes = graph()->num_op_nodes();
    EXPECT_EQ(Apply(), 0);
    EXPECT_EQ(outcome_.missed.size(), reason.empty() ? 0u : 1u);
    EXPECT_THAT(outcome_.missed, testing::Each(IsRemark("a_push", reason)));
    EXPECT_EQ(graph()->num_op_nodes(), nodes);
    EXPECT_EQ(CountOf(kPack) + CountOf(kPush) + CountOf(kPop), 0);
  }

  Outcome outcome_;  // of the last application
};

TEST_F(LoopStackRuleTest, SeveralListsBecomeOneStack) {
  AddPushedList("a", "x");
  AddPushedList("b", "y");
  AddPushedList("c", "z");
  EXPECT_EQ(Apply(), 3);
  EXPECT_EQ(CountOf("Switch"), 2);
  EXPECT_EQ(CountOf("Merge"), 2);
  EXPECT_EQ(CountOf("NextIteration"), 2);
  EXPECT_EQ(CountOf("Enter"), 2);
  EXPECT_EQ(CountOf("Exit"), 1);
  EXPECT_EQ(CountOf("TensorListPushBack") + CountOf("TensorListPopBack") + CountOf("Const"), 0);
  EXPECT_EQ(UsedBy("use_a"), absl::StrCat(kPop, ":1"));
  EXPECT_EQ(UsedBy("use_b"), absl::StrCat(kPop, ":2"));
  EXPECT_EQ(UsedBy("use_c"), absl::StrCat(kPop, ":3"));
  ASSERT_EQ(CountOf(kPack), 1);
  EXPECT_THAT(InputsOf(InputsOf("a_f_enter")[0]), ElementsAre("a", "b", "c"));
  EXPECT_EQ(Kept("a"), 3);
  EXPECT_THAT(InputsOf("a_push"), ElementsAre("a_f_switch", "x", "y", "z"));
  EXPECT_THAT(InputsOf("a_pop"), ElementsAre("a_b_switch"));
  EXPECT_THAT(InputsOf("a_f_next"), ElementsAre("a_push"));
  EXPECT_THAT(InputsOf("a_b_next"), ElementsAre("a_pop"));
  EXPECT_EQ(Find("a_push")->assigned_device_name(), kCpu0);
}

TEST_F(LoopStackRuleTest, OneListBecomesAStackOfOneValuePerRow) {
  AddPushedList("a", "x");
  EXPECT_EQ(Apply(), 1);
  EXPECT_THAT(InputsOf(InputsOf("a_f_enter")[0]), ElementsAre("a"));
  EXPECT_THAT(InputsOf("a_push"), ElementsAre("a_f_switch", "x"));
  EXPECT_EQ(UsedBy("use_a"), absl::StrCat(kPop, ":1"));
  EXPECT_EQ(CountOf("TensorListPushBack") + CountOf("TensorListPopBack"), 0);
}

TEST_F(LoopStackRuleTest, AValuePushedToEqualListsIsKeptOnce) {
  AddPushedList("a", "x");
  AddPushedList("b", "x");
  Named("b_f_enter").set_input(0, "a");
  EXPECT_EQ(Apply(), 2);
  EXPECT_THAT(InputsOf("a_push"), ElementsAre("a_f_switch", "x"));
  EXPECT_EQ(UsedBy("use_a"), UsedBy("use_b"));
}

TEST_F(LoopStackRuleTest, AValuePushedToDifferentListsIsKeptForEach) {
  AddPushedList("a", "x");
  AddPushedList("b", "x");  // begins as another list, whose bound may differ
  EXPECT_EQ(Apply(), 2);
  EXPECT_THAT(InputsOf("a_push"), ElementsAre("a_f_switch", "x", "x"));
}

TEST_F(LoopStackRuleTest, AListThatIsNeverReadIsPackedButNotKept) {
  AddPushed("never", "x");  // made first, but has no pop that the packed pop could replace
  AddPushedList("a", "y");
  EXPECT_EQ(Apply(), 2);
  EXPECT_THAT(InputsOf(InputsOf("a_f_enter")[0]), ElementsAre("a", "never"));
  EXPECT_THAT(InputsOf("a_push"), ElementsAre("a_f_switch", "y", "x"));
  EXPECT_EQ(Kept("a"), 1);
  EXPECT_EQ(UsedBy("use_a"), absl::StrCat(kPop, ":1"));
  EXPECT_EQ(Find("a_pop")->num_outputs(), 2);
  EXPECT_EQ(CountOf("Switch"), 2);
  EXPECT_EQ(CountOf("TensorListPushBack"), 0);
}

TEST_F(LoopStackRuleTest, ListsOfWhichNoneIsReadArePackedWithoutAPop) {
  AddPushed("a", "x");
  AddPushed("b", "y");
  Add("ended", "NoOp", {"^a_exit", "^b_exit"});
  EXPECT_EQ(Apply(), 2);
  EXPECT_THAT(InputsOf(InputsOf("a_f_enter")[0]), ElementsAre("a", "b"));
  EXPECT_THAT(InputsOf("a_push"), ElementsAre("a_f_switch", "x", "y"));
  EXPECT_EQ(Kept("a"), 0);
  EXPECT_THAT(InputsOf("ended"), ElementsAre("^a_exit"));
  EXPECT_EQ(CountOf("TensorListPushBack") + CountOf(kPop), 0);
  EXPECT_EQ(CountOf("Switch"), 1);
}

TEST_F(LoopStackRuleTest, TheStackOfListsThatAreNeverReadKeepsAnExitThatNodesWaitFor) {
  AddPushed("a", "x");
  AddPushed("b", "y");
  Add("ended", "NoOp", {"^b_exit"});
  graph()->RemoveNode(Find("a_exit"));
  EXPECT_EQ(Apply(), 2);
  EXPECT_THAT(InputsOf("ended"), ElementsAre("^b_exit"));
  EXPECT_THAT(InputsOf("b_push"), ElementsAre("b_f_switch", "y", "x"));
}

TEST_F(LoopStackRuleTest, FloatsAreKeptIfASumDependsOnSharedBuffers) {
  for (const int terms : {2, 3}) {
    Reset();
    Set(AddTyped("sum", "AddN", std::vector<std::string>(terms, "x"), DT_FLOAT), "N", terms);
    AddPushed("never", "x");
    AddPushed("index", "bound", DT_INT32);
    EXPECT_EQ(Apply(), 2);
    EXPECT_THAT(InputsOf("never_push"), ElementsAre("never_f_switch", "x", "bound"));
    EXPECT_EQ(Kept("never"), terms == 3 ? 1 : 0);
  }
}

TEST_F(LoopStackRuleTest, FloatsAreKeptIfAFunctionMayContainSuchASum) {
  NodeDef& call = Add("call", "PartitionedCall", {"x"});
  Set(call, "Tin", std::vector<DataType>{DT_FLOAT});
  Set(call, "Tout", std::vector<DataType>{DT_FLOAT});
  tensorflow::NameAttrList function;
  function.set_name("f");
  Set(call, "f", function);
  AddPushedList("a", "x");
  graph()->RemoveNode(Find("use_a"));
  EXPECT_EQ(Apply(), 1);
  EXPECT_EQ(Kept("a"), 1);
}

TEST_F(LoopStackRuleTest, FloatsAreKeptIfAnOpIsAFunctionThatMayContainSuchASum) {
  tensorflow::OpDef& function = *library().add_function()->mutable_signature();
  function.set_name("f");
  function.add_input_arg()->set_name("x");
  function.mutable_input_arg(0)->set_type(DT_FLOAT);
  Add("call", "f", {"x"});
  AddPushedList("a", "x");
  graph()->RemoveNode(Find("use_a"));
  EXPECT_EQ(Apply(), 1);
  EXPECT_EQ(Kept("a"), 1);
}

TEST_F(LoopStackRuleTest, AListWhosePoppedValuesNothingReadsIsNotKept) {
  AddPushedList("a", "x");
  AddPushedList("b", "y");
  graph()->RemoveNode(Find("use_a"));
  EXPECT_EQ(Apply(), 2);
  EXPECT_THAT(InputsOf("a_push"), ElementsAre("a_f_switch", "y", "x"));
  EXPECT_EQ(Kept("a"), 1);
  EXPECT_EQ(UsedBy("use_b"), absl::StrCat(kPop, ":1"));
  EXPECT_EQ(Find("a_pop")->num_outputs(), 2);
}

TEST_F(LoopStackRuleTest, APopWhoseValuesNothingReadsStillRemovesRows) {
  AddPushedList("a", "x");
  graph()->RemoveNode(Find("use_a"));
  EXPECT_EQ(Apply(), 1);
  EXPECT_EQ(Kept("a"), 0);
  EXPECT_EQ(Find("a_pop")->type_string(), kPop);
  EXPECT_EQ(Find("a_pop")->num_outputs(), 1);
  EXPECT_THAT(InputsOf("a_b_next"), ElementsAre("a_pop"));
}

TEST_F(LoopStackRuleTest, AValueOfTwoEqualListsIsKeptIfOneOfThemIsRead) {
  AddPushedList("a", "x");
  AddPushed("never", "x");
  Named("never_f_enter").set_input(0, "a");
  EXPECT_EQ(Apply(), 2);
  EXPECT_THAT(InputsOf("a_push"), ElementsAre("a_f_switch", "x"));
  EXPECT_EQ(Kept("a"), 1);
}

TEST_F(LoopStackRuleTest, AListThatIsNeverReadIsPackedOnce) {
  AddPushed("never", "x");
  AddPushedList("a", "y");
  AddPushedList("b", "z");
  Placeholder("other_goes_on", tensorflow::DT_BOOL);
  Add("other_cond", "LoopCond", {"other_goes_on"});
  Named("b_b_switch").set_input(1, "other_cond");  // another backward loop
  EXPECT_EQ(Apply(), 3);
  EXPECT_THAT(InputsOf("a_push"), ElementsAre("a_f_switch", "y", "x"));
  EXPECT_THAT(InputsOf("b_push"), ElementsAre("b_f_switch", "z"));
}

TEST_F(LoopStackRuleTest, IdentitiesBetweenTheNodesOfAListAreRemoved) {
  AddPushedList("a", "x");
  AddPushedList("b", "y");
  AddTyped("link", "Identity", {"b_f_switch:1"});
  Named("b_push").set_input(0, "link");
  AddTyped("back_link", "Identity", {"b_pop"});
  Named("b_b_next").set_input(0, "back_link");
  EXPECT_EQ(Apply(), 2);
  EXPECT_EQ(Find("link"), nullptr);
  EXPECT_EQ(Find("back_link"), nullptr);
}

TEST_F(LoopStackRuleTest, StackGetsTheControlInputsOfAllLists) {
  AddPushedList("a", "x");
  AddPushedList("b", "y");
  for (const char* name : {"b_push", "b_f_next", "b_b_next"}) {
    Add(absl::StrCat("before_", name), "NoOp");
    Named(name).add_input(absl::StrCat("^before_", name));
  }
  EXPECT_EQ(Apply(), 2);
  EXPECT_THAT(InputsOf("a_push"), IsSupersetOf({std::string("^before_b_push")}));
  EXPECT_THAT(InputsOf("a_f_next"), IsSupersetOf({std::string("^before_b_f_next")}));
  EXPECT_THAT(InputsOf("a_b_next"), IsSupersetOf({std::string("^before_b_b_next")}));
}

TEST_F(LoopStackRuleTest, NodeThatWaitsForAnExitWaitsForTheStacksExit) {
  AddPushedList("a", "x");
  AddPushedList("b", "y");
  AddTyped("b_left", "Exit", {"b_b_switch"});
  Add("f_ended", "NoOp", {"^a_exit", "^b_exit"});
  Add("b_ended", "NoOp", {"^b_left"});
  EXPECT_EQ(Apply(), 2);
  EXPECT_THAT(InputsOf("f_ended"), ElementsAre("^b_exit"));  // b is the one with both exits
  EXPECT_THAT(InputsOf("b_ended"), ElementsAre("^b_left"));
}

TEST_F(LoopStackRuleTest, ANodeThatWaitsForAListThatIsNeverReadWaitsForThePack) {
  AddPushed("never", "x");
  Add("ended", "NoOp", {"^never_exit"});
  Add("before", "NoOp");
  Named("never_f_next").add_input("^before");
  AddPushedList("a", "y");
  EXPECT_EQ(Apply(), 2);
  EXPECT_THAT(InputsOf("ended"), ElementsAre("^a_exit"));
  EXPECT_THAT(InputsOf("a_f_next"), ElementsAre("a_push", "^before"));
}

TEST_F(LoopStackRuleTest, ShapeThatAnotherNodeReadsIsKept) {
  AddPushedList("a", "x");
  AddPushedList("b", "y");
  AddTyped("reader", "Identity", {"any"}, DT_INT32);
  EXPECT_EQ(Apply(), 2);
  EXPECT_THAT(InputsOf("reader"), ElementsAre("any"));
}

// ---- near misses: the graph must not change -----------------------------------------------------

TEST_F(LoopStackRuleTest, ListsOfTwoBackwardLoopsStayApart) {
  AddPushedList("a", "x");
  AddPushedList("b", "y");
  Placeholder("other_goes_on", tensorflow::DT_BOOL);
  Add("other_cond", "LoopCond", {"other_goes_on"});
  Named("b_b_switch").set_input(1, "other_cond");
  EXPECT_EQ(Apply(), 2);
  EXPECT_THAT(InputsOf("a_push"), ElementsAre("a_f_switch", "x"));
  EXPECT_THAT(InputsOf("b_push"), ElementsAre("b_f_switch", "y"));
  EXPECT_EQ(CountOf(kPop), 2);
}

TEST_F(LoopStackRuleTest, ListThatAnotherNodeReadsStays) {
  for (const char* read :
       {"a_f_enter", "a_f_merge", "a_f_merge:1", "a_f_switch:1", "a_push", "a_exit", "a_f_next",
        "a_b_enter", "a_b_merge", "a_b_switch:1", "a_pop"}) {
    SCOPED_TRACE(read);
    Reset();
    AddPushedList("a", "x");
    AddTyped("reader", "Identity", {read},
             std::string(read) == "a_f_merge:1" ? DT_INT32 : DT_VARIANT);
    AddTyped("reader_of_reader", "Identity", {"reader"},
             std::string(read) == "a_f_merge:1" ? DT_INT32 : DT_VARIANT);
    ExpectNothingChanges("`reader`");
  }
}

// As the gradient of a gradient does.
TEST_F(LoopStackRuleTest, AListThatTwoBackwardLoopsReadStays) {
  AddPushedList("a", "x");
  AddLoopVariable("b", "second", "a_exit", "second_step");
  AddTyped("second_step", "Identity", {"second_switch:1"});
  ExpectNothingChanges(
      "the list that `a_exit` outputs is read by `a_b_enter`, `second_enter`, not by one backward "
      "loop alone");
}

TEST_F(LoopStackRuleTest, ListThatAnotherNodeWaitsForStays) {
  for (const char* node : {"a_f_enter", "a_f_merge", "a_f_switch", "a_push", "a_f_next",
                           "a_b_enter", "a_b_merge", "a_b_switch", "a_pop", "a_b_next"}) {
    SCOPED_TRACE(node);
    Reset();
    AddPushedList("a", "x");
    Add("waiter", "NoOp", {absl::StrCat("^", node)});
    ExpectNothingChanges("`waiter`");
  }
}

TEST_F(LoopStackRuleTest, ListWithControlInputsStays) {
  for (const char* node : {"a_f_enter", "a_f_merge", "a_f_switch", "a_exit", "a_b_enter",
                           "a_b_merge", "a_b_switch", "a_pop"}) {
    SCOPED_TRACE(node);
    Reset();
    AddPushedList("a", "x");
    Add("before", "NoOp");
    Named(node).add_input("^before");
    ExpectNothingChanges(absl::StrCat("`", node, "` has a control input"));
  }
}

TEST_F(LoopStackRuleTest, ListThatIsReadAfterThePopsStays) {
  AddPushedList("a", "x");
  AddTyped("left", "Exit", {"a_b_switch"});
  AddTyped("reader", "Identity", {"left"});
  ExpectNothingChanges("the list that `a_b_switch` outputs has other readers");
}

TEST_F(LoopStackRuleTest, AListThatDoesNotBeginEmptyStays) {
  AddPushedList("a", "x");
  Placeholder("begun", DT_VARIANT);
  Named("a_f_enter").set_input(0, "begun");
  ExpectNothingChanges();
}

TEST_F(LoopStackRuleTest, AListThatIsPushedIntoAnotherStays) {
  AddPushedList("a", "x");
  Placeholder("other", DT_VARIANT);
  Named("a_push").set_input(0, "other");
  Named("a_push").set_input(1, "a_f_switch:1");
  Set(Named("a_push"), "element_dtype", DT_VARIANT);
  ExpectNothingChanges("the list that `a_f_switch` outputs has other readers");
}

TEST_F(LoopStackRuleTest, APopThatAsksForAShapeStays) {
  AddPushedList("a", "x");
  AddScalar("three", 3);
  Named("a_pop").set_input(1, "three");
  ExpectNothingChanges("`a_pop` requests a shape");
  Reset();
  AddPushedList("a", "x");
  Named("a_pop").set_input(1, "shape");  // its value is unknown
  ExpectNothingChanges("`a_pop` requests a shape");
}

TEST_F(LoopStackRuleTest, APopOfAnotherTypeStays) {
  AddPushedList("a", "x");
  Set(Named("a_pop"), "element_dtype", DT_INT32);
  Set(Named("use_a"), "T", DT_INT32);
  ExpectNothingChanges("`a_pop` has another dtype");
}

TEST_F(LoopStackRuleTest, AListThatIsAConstantOfTheLoopStays) {
  AddPushedList("a", "x");
  Set(Named("a_f_enter"), "is_constant", true);
  ExpectNothingChanges();
}

TEST_F(LoopStackRuleTest, ListsOnAnotherDeviceStay) {
  for (const char* moved : {"a", "a_push", "a_pop", "a_f_switch", "a_b_enter"}) {
    SCOPED_TRACE(moved);
    Reset();
    AddPushedList("a", "x");
    Named(moved).set_device(kCpu1);
    ExpectNothingChanges("is on another device than the rest of the list");
  }
}

TEST_F(LoopStackRuleTest, EachDeviceHasAStackOfItsOwn) {
  for (const char* name : {"a", "b", "c", "d"}) AddPushedList(name, "x");
  for (Node* node : graph()->op_nodes()) {
    if (node->name()[0] == 'b' || node->name()[0] == 'd') node->set_assigned_device_name(kCpu1);
  }
  EXPECT_EQ(Apply(), 4);
  EXPECT_THAT(InputsOf(InputsOf("a_f_enter")[0]), ElementsAre("a", "c"));
  EXPECT_THAT(InputsOf(InputsOf("b_f_enter")[0]), ElementsAre("b", "d"));
  EXPECT_EQ(Find("a_pop")->assigned_device_name(), kCpu0);
  EXPECT_EQ(Find("b_pop")->assigned_device_name(), kCpu1);
}

TEST_F(LoopStackRuleTest, ListsThatAreNeverReadArePackedWithOthersOfTheirDevice) {
  for (const char* name : {"a", "b"}) AddPushedList(name, "x");
  for (const char* name : {"a_never", "b_never", "c_never"}) AddPushed(name, "x");
  for (Node* node : graph()->op_nodes()) {
    if (node->name()[0] == 'b') node->set_assigned_device_name(kCpu1);
  }
  EXPECT_EQ(Apply(), 5);
  EXPECT_THAT(InputsOf(InputsOf("a_f_enter")[0]), ElementsAre("a", "a_never", "c_never"));
  EXPECT_THAT(InputsOf(InputsOf("b_f_enter")[0]), ElementsAre("b", "b_never"));
  Reset();
  AddPushedList("a", "x");
  AddPushed("b_never", "x");
  for (Node* node : graph()->op_nodes()) {
    if (node->name()[0] == 'b') node->set_assigned_device_name(kCpu1);
  }
  EXPECT_EQ(Apply(), 2);  // nothing pops on the device of the second
  EXPECT_THAT(InputsOf(InputsOf("a_f_enter")[0]), ElementsAre("a"));
  EXPECT_THAT(InputsOf(InputsOf("b_never_f_enter")[0]), ElementsAre("b_never"));
}

TEST_F(LoopStackRuleTest, ListsOfAnotherProcessStay) {
  AddPushedList("a", "x");
  for (Node* node : graph()->op_nodes()) {
    if (!node->IsLoopCond()) {
      node->set_assigned_device_name("/job:worker/replica:0/task:1/device:CPU:0");
    }
  }
  ExpectNothingChanges("another process runs `a_push`");
}

TEST_F(LoopStackRuleTest, ADeviceWithoutTheKernelsIsLeftAlone) {
  AddPushedList("a", "x");
  for (Node* node : graph()->op_nodes()) node->set_assigned_device_name(kGpu0);
  ExpectNothingChanges("the device of `a_push` has no kernels of this library");
}

}  // namespace
}  // namespace tensor_array_grad
