#include "cc/rewrite/rules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "cc/base/tensorflow_names.h"
#include "cc/flow/graph_names.h"
#include "cc/testing/loop_under_test.h"
#include "cc/testing/matchers.h"
#include "tensorflow/core/framework/op_kernel.h"

namespace tensor_array_grad {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::UnorderedElementsAre;

constexpr char kAccumulate[] = "TensorArrayGrad>ListAccumulate";
constexpr char kAccumulateLike[] = "TensorArrayGrad>ListAccumulateLike";

// Stubs for the kernels that the rule looks up. CPU only, so that a GPU has none.
REGISTER_KERNEL_BUILDER(Name(kAccumulate).Device(tensorflow::DEVICE_CPU), NeverRun);
REGISTER_KERNEL_BUILDER(Name(kAccumulateLike).Device(tensorflow::DEVICE_CPU), NeverRun);
REGISTER_KERNEL_BUILDER(Name("Switch").Device(tensorflow::DEVICE_CPU), NeverRun);
REGISTER_KERNEL_BUILDER(Name("_SwitchN").Device(tensorflow::DEVICE_CPU), NeverRun);

class AccumulateIntoListRuleTest : public testing::Test, protected GraphUnderTest {
 protected:
  AccumulateIntoListRuleTest() { Reset(); }

  void Reset() {
    Clear();
    Placeholder("list", DT_VARIANT);
    Placeholder("other_list", DT_VARIANT);
    for (const char* name : {"shape", "n", "i"}) Placeholder(name, DT_INT32);
    Placeholder("x", DT_FLOAT);
  }

  // The nodes `prefix`reserve and `prefix`set: a list with x at i.
  void AddOneElementList(const std::string& prefix) {
    NodeDef& reserve = Add(prefix + "reserve", "TensorListReserve", {"shape", "n"});
    Set(reserve, "element_dtype", DT_FLOAT);
    Set(reserve, "shape_type", DT_INT32);
    NodeDef& set = Add(prefix + "set", "TensorListSetItem", {prefix + "reserve", "i", "x"});
    Set(set, "element_dtype", DT_FLOAT);
  }

  // Gives `prefix`reserve the element shape of `shape_of` and the length of `length_of`.
  void MakeLike(const std::string& prefix, const std::string& shape_of,
                const std::string& length_of) {
    Set(Add(prefix + "size", "TensorListElementShape", {shape_of}), "shape_type", DT_INT32);
    Add(prefix + "length", "TensorListLength", {length_of});
    Named(prefix + "reserve").set_input(0, prefix + "size");
    Named(prefix + "reserve").set_input(1, prefix + "length");
  }

  void AddSum(std::vector<std::string> operands, int n) {
    NodeDef& sum = Add("sum", "AddN", std::move(operands));
    Set(sum, "N", n);
    Set(sum, "T", DT_VARIANT);
    AddIdentity("use", "sum");
  }

  NodeDef& AddIdentity(const std::string& name, const std::string& input,
                       tensorflow::DataType type = DT_VARIANT) {
    NodeDef& node = Add(name, "Identity", {input});
    Set(node, "T", type);
    return node;
  }

  // The node that feeds the consumer of the sum: the sum, or the node that replaced it.
  Node* Result() { return Find(InputsOf("use")[0]); }

  int Apply() {
    outcome_ = {{}, "accumulate_into_list", /*wants_remarks=*/true};
    EXPECT_TRUE(AccumulateIntoListRule().apply(Find("sum"), graph().get(), &outcome_).ok());
    return static_cast<int>(outcome_.done.size());
  }

  // Expects one remark, about `node`, with that reason.
  void ExpectRemark(const std::string& node, const std::string& reason) {
    EXPECT_THAT(outcome_.missed, ElementsAre(IsRemark(node, reason)));
  }

  Outcome outcome_;  // of the last application
};

TEST_F(AccumulateIntoListRuleTest, SumWithAOneElementListBecomesAnAccumulate) {
  AddOneElementList("");
  AddSum({"list", "set"}, 2);
  EXPECT_EQ(Apply(), 1);
  ASSERT_NE(Result(), nullptr);
  EXPECT_EQ(Result()->type_string(), kAccumulate);
  EXPECT_THAT(InputsOf(Result()->name()), ElementsAre("list", "i", "x", "shape", "n"));
  EXPECT_EQ(Result()->assigned_device_name(), kCpu0);
  EXPECT_EQ(CountOf("AddN") + CountOf("TensorListSetItem") + CountOf("TensorListReserve"), 0);
}

TEST_F(AccumulateIntoListRuleTest, ListWithShapeAndLengthOfAnotherBecomesAccumulateLike) {
  AddOneElementList("");
  MakeLike("", "other_list", "other_list");
  AddSum({"list", "set"}, 2);
  EXPECT_EQ(Apply(), 1);
  EXPECT_EQ(Result()->type_string(), kAccumulateLike);
  EXPECT_THAT(InputsOf(Result()->name()), ElementsAre("list", "i", "x", "other_list"));
  EXPECT_EQ(CountOf("TensorListElementShape") + CountOf("TensorListLength"), 0);
}

TEST_F(AccumulateIntoListRuleTest, LengthThatAnotherNodeReadsIsKept) {
  AddOneElementList("");
  MakeLike("", "other_list", "other_list");
  AddIdentity("reader", "length", DT_INT32);
  AddSum({"list", "set"}, 2);
  EXPECT_EQ(Apply(), 1);
  EXPECT_EQ(Result()->type_string(), kAccumulateLike);
  EXPECT_THAT(InputsOf("reader"), ElementsAre("length"));
  EXPECT_EQ(CountOf("TensorListElementShape"), 0);
}

TEST_F(AccumulateIntoListRuleTest, ControlInputOfTheLengthIsKept) {
  AddOneElementList("");
  MakeLike("", "other_list", "other_list");
  Named("length").add_input("^n");
  AddSum({"list", "set"}, 2);
  EXPECT_EQ(Apply(), 1);
  EXPECT_EQ(InputsOf(Result()->name()).back(), "^n");
}

TEST_F(AccumulateIntoListRuleTest, ShapeAndLengthOfDifferentListsBecomeInputs) {
  AddOneElementList("");
  MakeLike("", "other_list", "list");
  AddSum({"list", "set"}, 2);
  EXPECT_EQ(Apply(), 1);
  EXPECT_EQ(Result()->type_string(), kAccumulate);
  EXPECT_THAT(InputsOf(Result()->name()), ElementsAre("list", "i", "x", "size", "length"));
}

TEST_F(AccumulateIntoListRuleTest, ShapeAndLengthOnAnotherDeviceBecomeInputs) {
  AddOneElementList("a_");
  MakeLike("a_", "other_list", "other_list");
  Named("a_length").set_device(kCpu1);
  AddSum({"list", "a_set"}, 2);
  EXPECT_EQ(Apply(), 1);
  EXPECT_EQ(Result()->type_string(), kAccumulate);
}

TEST_F(AccumulateIntoListRuleTest, TheOneElementListMayComeFirst) {
  AddOneElementList("");
  AddSum({"set", "list"}, 2);
  EXPECT_EQ(Apply(), 1);
  EXPECT_THAT(InputsOf(Result()->name()), ElementsAre("list", "i", "x", "shape", "n"));
}

TEST_F(AccumulateIntoListRuleTest, SeveralOneElementListsBecomeAChain) {
  AddOneElementList("a_");
  AddOneElementList("b_");
  AddSum({"a_set", "list", "b_set"}, 3);
  EXPECT_EQ(Apply(), 2);
  const std::string last = Result()->name();
  const std::string first = InputsOf(last)[0];
  EXPECT_NE(first, last);
  EXPECT_EQ(Find(first)->type_string(), kAccumulate);
  EXPECT_EQ(InputsOf(first)[0], "list");
  EXPECT_EQ(CountOf("AddN"), 0);
}

TEST_F(AccumulateIntoListRuleTest, OtherListsAreSummedFirst) {
  AddOneElementList("");
  AddSum({"list", "set", "other_list"}, 3);
  EXPECT_EQ(Apply(), 1);
  ASSERT_EQ(CountOf("AddN"), 1);
  const std::string sum = InputsOf(Result()->name())[0];
  EXPECT_THAT(InputsOf(sum), ElementsAre("list", "other_list"));
  EXPECT_EQ(Find(sum)->num_inputs(), 2);
}

TEST_F(AccumulateIntoListRuleTest, ASumOfNothingButOneElementListsStartsFromTheFirst) {
  AddOneElementList("a_");
  AddOneElementList("b_");
  AddSum({"a_set", "b_set"}, 2);
  EXPECT_EQ(Apply(), 1);
  EXPECT_EQ(InputsOf(Result()->name())[0], "a_set");
  EXPECT_EQ(CountOf("TensorListReserve"), 1);
}

TEST_F(AccumulateIntoListRuleTest, ControlInputsOfTheReplacedNodesAreKept) {
  for (const char* name : {"before_reserve", "before_set", "before_sum"}) Add(name, "NoOp");
  AddOneElementList("");
  AddSum({"list", "set"}, 2);
  Named("reserve").add_input("^before_reserve");
  Named("set").add_input("^before_set");
  Named("sum").add_input("^before_sum");
  Add("after", "NoOp", {"^sum"});
  EXPECT_EQ(Apply(), 1);
  auto inputs = InputsOf(Result()->name());
  ASSERT_EQ(inputs.size(), 8u);
  EXPECT_THAT(std::vector<std::string>(inputs.begin() + 5, inputs.end()),
              UnorderedElementsAre("^before_reserve", "^before_set", "^before_sum"));
  EXPECT_THAT(InputsOf("after"), ElementsAre("^" + Result()->name()));
}

TEST_F(AccumulateIntoListRuleTest, AnIdentityOfTheListIsReplacedToo) {
  Add("before_copy", "NoOp");
  AddOneElementList("");
  AddIdentity("copy", "set").add_input("^before_copy");
  AddSum({"list", "copy"}, 2);
  EXPECT_EQ(Apply(), 1);
  EXPECT_EQ(Result()->type_string(), kAccumulate);
  EXPECT_THAT(InputsOf(Result()->name()), Contains("^before_copy"));
  EXPECT_EQ(CountOf("TensorListSetItem") + CountOf("TensorListReserve"), 0);
  EXPECT_EQ(Find("copy"), nullptr);
}

TEST_F(AccumulateIntoListRuleTest, TheResultHasTheNameOfTheSumSoThatErrorsFindItsLine) {
  AddOneElementList("");
  AddSum({"list", "set"}, 2);
  EXPECT_EQ(Apply(), 1);
  EXPECT_EQ(Result()->name(), "sum");
}

TEST_F(AccumulateIntoListRuleTest, ReserveThatAnotherNodeReadsIsKept) {
  AddOneElementList("");
  AddSum({"list", "set"}, 2);
  AddIdentity("reader", "reserve");
  EXPECT_EQ(Apply(), 1);
  EXPECT_THAT(InputsOf("reader"), ElementsAre("reserve"));
}

TEST_F(AccumulateIntoListRuleTest, ReserveThatAnotherNodeWaitsForIsKept) {
  AddOneElementList("");
  AddSum({"list", "set"}, 2);
  Add("waiter", "NoOp", {"^reserve"});
  EXPECT_EQ(Apply(), 1);
  EXPECT_THAT(InputsOf("waiter"), ElementsAre("^reserve"));
}

TEST_F(AccumulateIntoListRuleTest, ReserveOfSeveralListsIsRemovedWithTheLastOfThem) {
  AddOneElementList("");
  Set(Add("second", "TensorListSetItem", {"reserve", "i", "x"}), "element_dtype", DT_FLOAT);
  AddSum({"list", "set", "second"}, 3);
  EXPECT_EQ(Apply(), 2);
  EXPECT_EQ(CountOf("TensorListReserve") + CountOf("TensorListSetItem"), 0);
}

// ---- near misses: the graph must not change -----------------------------------------------------

TEST_F(AccumulateIntoListRuleTest, ListThatAnotherNodeReadsStays) {
  AddOneElementList("");
  AddSum({"list", "set"}, 2);
  AddIdentity("reader", "set");
  EXPECT_EQ(Apply(), 0);
  ExpectRemark("set", "`set` has several readers: `reader`, `sum`");
  EXPECT_THAT(InputsOf("sum"), ElementsAre("list", "set"));
}

TEST_F(AccumulateIntoListRuleTest, AListAddedTwiceStays) {
  AddOneElementList("");
  AddSum({"list", "set", "set"}, 3);
  EXPECT_EQ(Apply(), 0);
  ExpectRemark("set", "`set` has several readers: `sum`");
}

TEST_F(AccumulateIntoListRuleTest, ListThatAnotherNodeWaitsForStays) {
  AddOneElementList("");
  AddSum({"list", "set"}, 2);
  Add("waiter", "NoOp", {"^set"});
  EXPECT_EQ(Apply(), 0);
  ExpectRemark("set", "`set` has several readers: `sum`, `waiter`");
  EXPECT_THAT(InputsOf("waiter"), ElementsAre("^set"));
}

TEST_F(AccumulateIntoListRuleTest, AWriteThatMayResizeStays) {
  AddOneElementList("");
  AddSum({"list", "set"}, 2);
  Set(Named("set"), "resize_if_index_out_of_bounds", true);
  EXPECT_EQ(Apply(), 0);
  ExpectRemark("set", "`set` may make the list longer");
}

TEST_F(AccumulateIntoListRuleTest, AReserveOfAnotherTypeStays) {
  AddOneElementList("");
  AddSum({"list", "set"}, 2);
  Set(Named("reserve"), "element_dtype", DT_DOUBLE);
  EXPECT_EQ(Apply(), 0);
  ExpectRemark("set", "`reserve` has another dtype");
}

TEST_F(AccumulateIntoListRuleTest, AListOnAnotherDeviceStays) {
  for (const char* moved : {"set", "reserve", "sum"}) {
    SCOPED_TRACE(moved);
    Reset();
    AddOneElementList("");
    AddSum({"list", "set"}, 2);
    Named(moved).set_device(kCpu1);
    EXPECT_EQ(Apply(), 0);
    ExpectRemark("set", "is on another device than the sum");
  }
}

TEST_F(AccumulateIntoListRuleTest, ADeviceWithoutTheKernelIsLeftAlone) {
  AddOneElementList("");
  AddSum({"list", "set"}, 2);
  for (const char* moved : {"set", "reserve", "sum"}) Named(moved).set_device(kGpu0);
  EXPECT_EQ(Apply(), 0);
  ExpectRemark("set", "the device of the sum, `sum`, has no kernels");
}

// It may run in another process, without this library.
TEST_F(AccumulateIntoListRuleTest, ASumAroundItOnAnotherDeviceStays) {
  for (const char* prefix : {"near_", "far_"}) AddOneElementList(prefix);
  for (const char* node : {"far_reserve", "far_set"}) Named(node).set_device(kCpu1);
  for (const auto& [sum, lists] : std::map<std::string, std::vector<std::string>>{
           {"sum", {"list", "near_set"}}, {"far_sum", {"sum", "far_set"}}}) {
    NodeDef& node = Add(sum, "AddN", lists);
    Set(node, "N", 2);
    Set(node, "T", DT_VARIANT);
  }
  Named("far_sum").set_device(kCpu1);
  EXPECT_EQ(Apply(), 1);
  EXPECT_EQ(Find("far_sum")->type_string(), "AddN");
  EXPECT_THAT(InputsOf("far_sum"), ElementsAre("sum", "far_set"));
}

TEST_F(AccumulateIntoListRuleTest, NodesOfUnknownPlaceAreLeftAlone) {
  AddOneElementList("");
  AddSum({"list", "set"}, 2);
  for (const char* name : {"set", "reserve", "sum"}) Find(name)->set_assigned_device_name("");
  EXPECT_EQ(Apply(), 0);
}

TEST_F(AccumulateIntoListRuleTest, AWriteIntoAnotherListStays) {
  NodeDef& set = Add("set", "TensorListSetItem", {"other_list", "i", "x"});
  Set(set, "element_dtype", DT_FLOAT);
  AddSum({"list", "set"}, 2);
  EXPECT_EQ(Apply(), 0);
  EXPECT_THAT(outcome_.missed, testing::IsEmpty());
}

TEST_F(AccumulateIntoListRuleTest, ASumOfTensorsStays) {
  NodeDef& sum = Add("sum", "AddN", {"x", "x"});
  Set(sum, "N", 2);
  Set(sum, "T", DT_FLOAT);
  EXPECT_EQ(Apply(), 0);
}

// ---- reads in branches --------------------------------------------------------------------------

// The backward loop of a loop that reads a list in branches: its variables are i, p, x, the list
// that was read, and `sums`.
class ReadInABranchTest : public testing::Test, protected LoopUnderTest {
 protected:
  ReadInABranchTest() { Reset(1); }

  // `reads` is the side of the branch that reads; the other one has zeros.
  void Reset(int reads) {
    Clear();
    AddLoop();
    AddInvariant("p", DT_BOOL);
    AddInvariant("x", DT_FLOAT);
    AddInvariant("list", DT_VARIANT);
    AddVariable("sums", DT_VARIANT, "sum");
    AddConditional("p_switch:1");
    AddUnary("list_in", "Switch", DT_VARIANT, {"list_switch:1", "p_switch:1"});
    AddUnary("x_in", "Switch", DT_FLOAT, {"x_switch:1", "p_switch:1"});
    AddUnary("i_in", "Switch", DT_INT32, {"i_switch:1", "p_switch:1"});
    AddRead("", reads);
    AddZeros("zeros", 1 - reads);
    AddMerge("merged", {"set", "zeros"});
    AddListSum("sum", {"merged", "sums_switch:1"});
  }

  static std::string Side(const std::string& name, int side) {
    return absl::StrCat(name, ":", side);
  }
  static std::string Pivot(int side) { return side == 1 ? "^pivot_t" : "^pivot_f"; }

  // The gradient of a read on one side: the nodes `prefix`set and so on.
  void AddRead(const std::string& prefix, int side) {
    const std::string list = Side("list_in", side);
    Set(Add(prefix + "shape", "TensorListElementShape", {list, Pivot(side)}), "shape_type",
        DT_INT32);
    Add(prefix + "length", "TensorListLength", {list, Pivot(side)});
    NodeDef& reserve =
        Add(prefix + "reserve", "TensorListReserve", {prefix + "shape", prefix + "length"});
    Set(reserve, "element_dtype", DT_FLOAT);
    Set(reserve, "shape_type", DT_INT32);
    Set(Add(prefix + "set", "TensorListSetItem",
            {prefix + "reserve", Side("i_in", side), Side("x_in", side)}),
        "element_dtype", DT_FLOAT);
  }

  void AddZeros(const std::string& name, int side) {
    AddUnary(name, "ZerosLike", DT_VARIANT, {Side("list_in", side), Pivot(side)});
  }

  void AddMerge(const std::string& name, std::vector<std::string> inputs) {
    Set(AddUnary(name, "Merge", DT_VARIANT, std::move(inputs)), "N", 2);
  }

  void AddListSum(const std::string& name, std::vector<std::string> inputs) {
    Set(AddUnary(name, "AddN", DT_VARIANT, std::move(inputs)), "N", 2);
  }

  int Apply(const std::string& sum = "sum") {
    outcome_ = {{}, "accumulate_into_list", /*wants_remarks=*/true};
    EXPECT_TRUE(AccumulateIntoListRule().apply(Find(sum), graph().get(), &outcome_).ok());
    return static_cast<int>(outcome_.done.size());
  }

  // The inputs of the Merge that replaced the sum.
  std::vector<std::string> Branches() {
    EXPECT_EQ(Find("sum")->type_string(), "Merge");
    return InputsOf("sum");
  }

  // Applies the rule to the loop after `change`, and expects that it leaves the sum alone.
  // The remark is about `set`.
  void ExpectKept(const std::function<void()>& change, const std::string& reason) {
    Reset(1);
    change();
    EXPECT_EQ(Apply(), 0);
    EXPECT_THAT(outcome_.missed, ElementsAre(IsRemark("set", reason)));
    EXPECT_NE(Find("merged"), nullptr);
    EXPECT_EQ(CountOf(kAccumulateLike), 0);
  }

  Outcome outcome_;  // of the last application
};

TEST_F(ReadInABranchTest, TheListComesIntoTheBranches) {
  for (const int reads : {0, 1}) {
    Reset(reads);
    EXPECT_EQ(Apply(), 1);
    const std::string read = Branches()[0], rest = Branches()[1];
    EXPECT_EQ(Find(read)->type_string(), kAccumulateLike);
    const auto inputs = InputsOf(read);
    const std::string list = inputs[0].substr(0, inputs[0].find(':'));
    EXPECT_THAT(InputsOf(list), ElementsAre("sums_switch", "p_switch"));
    EXPECT_EQ(Find(list)->type_string(), "Switch");
    EXPECT_THAT(std::vector<std::string>(inputs.begin() + 1, inputs.begin() + 4),
                ElementsAre("i_in", "x_in", "list_in"));
    EXPECT_EQ(Find(rest)->type_string(), "AddN");
    EXPECT_THAT(InputsOf(rest), ElementsAre(list, "zeros"));
    const Edge* edge;
    ASSERT_TRUE(Find(read)->input_edge(0, &edge).ok());
    EXPECT_EQ(edge->src_output(), reads);
    ASSERT_TRUE(Find(rest)->input_edge(0, &edge).ok());
    EXPECT_EQ(edge->src_output(), 1 - reads);
    for (const char* node : {"shape", "length", "reserve", "set", "merged"}) {
      EXPECT_EQ(Find(node), nullptr) << node;
    }
  }
}

TEST_F(ReadInABranchTest, InputsOfTheMergeMayHaveAnyOrder) {
  Named("merged").set_input(0, "zeros");
  Named("merged").set_input(1, "set");
  EXPECT_EQ(Apply(), 1);
  EXPECT_EQ(Find(Branches()[1])->type_string(), kAccumulateLike);
}

TEST_F(ReadInABranchTest, BothBranchesMayRead) {
  AddRead("other_", 0);
  Named("merged").set_input(1, "other_set");
  EXPECT_EQ(Apply(), 1);
  for (const std::string& branch : Branches()) {
    EXPECT_EQ(Find(branch)->type_string(), kAccumulateLike);
  }
}

TEST_F(ReadInABranchTest, ABranchMayReadSeveralTimes) {
  for (const char* first : {"sum", "inner"}) {  // whichever is visited first
    Reset(1);
    AddRead("second_", 1);
    AddListSum("inner", {"set", "second_set"});
    Named("merged").set_input(0, "inner");
    EXPECT_EQ(Apply(first), 1);
    EXPECT_EQ(CountOf(kAccumulateLike), 2);
    const std::string last = Branches()[0];
    EXPECT_EQ(Find(InputsOf(last)[0])->type_string(), kAccumulateLike);
    EXPECT_EQ(CountOf("TensorListReserve"), 0);
  }
}

TEST_F(ReadInABranchTest, BranchesMayBeNested) {
  AddInvariant("q", DT_BOOL);
  AddUnary("q_in", "Switch", DT_BOOL, {"q_switch:1", "p_switch:1"});
  for (const char* name : {"list", "x", "i"}) {
    const auto type = name[0] == 'l' ? DT_VARIANT : name[0] == 'x' ? DT_FLOAT : DT_INT32;
    AddUnary(absl::StrCat(name, "_inner"), "Switch", type, {absl::StrCat(name, "_in:1"), "q_in:1"});
  }
  for (const char* node : {"shape", "length"}) Named(node).set_input(0, "list_inner:1");
  Named("set").set_input(1, "i_inner:1");
  Named("set").set_input(2, "x_inner:1");
  AddUnary("inner_zeros", "ZerosLike", DT_VARIANT, {"list_inner:0"});
  AddMerge("inner", {"set", "inner_zeros"});
  Named("merged").set_input(0, "inner");
  EXPECT_EQ(Apply(), 1);
  const std::string inner = Branches()[0];
  EXPECT_EQ(Find(inner)->type_string(), "Merge");
  const std::string list = InputsOf(InputsOf(inner)[0])[0];
  EXPECT_EQ(InputsOf(list)[1], "q_in");
  EXPECT_EQ(InputsOf(InputsOf(list)[0])[0], "sums_switch");
}

// The time must not grow exponentially with the depth.
TEST_F(ReadInABranchTest, BranchesMayBeNestedDeeply) {
  std::string list = "list_in:1", x = "x_in:1", i = "i_in:1", outer = "merged";
  for (int depth = 0; depth < 40; ++depth) {
    const std::string q = absl::StrCat("q", depth), in = absl::StrCat("_", depth);
    AddInvariant(q, DT_BOOL);
    AddUnary("list" + in, "Switch", DT_VARIANT, {list, q + "_switch:1"});
    AddUnary("x" + in, "Switch", DT_FLOAT, {x, q + "_switch:1"});
    AddUnary("i" + in, "Switch", DT_INT32, {i, q + "_switch:1"});
    AddUnary("zeros" + in, "ZerosLike", DT_VARIANT, {"list" + in + ":0"});
    AddMerge("merged" + in, {"set", "zeros" + in});
    Named(outer).set_input(0, "merged" + in);
    outer = "merged" + in;
    list = "list" + in + ":1", x = "x" + in + ":1", i = "i" + in + ":1";
  }
  for (const char* node : {"shape", "length"}) Named(node).set_input(0, list);
  Named("set").set_input(1, i);
  Named("set").set_input(2, x);
  EXPECT_EQ(Apply(), 1);
  EXPECT_EQ(CountOf("ZerosLike"), 41);
}

TEST_F(ReadInABranchTest, OneOfManyBranchesMayRead) {
  Reset(1);
  for (const char* name : {"list_in", "x_in", "i_in"}) {
    Named(name).set_op("_SwitchN");
    Set(Named(name), "num_outs", 2);
    Named(name).set_input(1, "i_switch:1");
  }
  EXPECT_EQ(Apply(), 1);
  EXPECT_EQ(CountOf("_SwitchN"), 4);
}

TEST_F(ReadInABranchTest, WhatTheReplacedNodesWaitForIsKept) {
  AddSum("effect", {"i_switch:1"});
  for (const char* node : {"shape", "length", "reserve", "set"}) {
    SCOPED_TRACE(node);
    Reset(1);
    AddSum("effect", {"i_switch:1"});
    Named(node).add_input("^effect");
    EXPECT_EQ(Apply(), 1);
    EXPECT_THAT(InputsOf(Branches()[0]), Contains("^effect"));
  }
  Reset(1);
  AddSum("effect", {"i_switch:1"});
  for (const char* node : {"merged", "sum"}) Named(node).add_input("^effect");
  EXPECT_EQ(Apply(), 1);
  EXPECT_THAT(InputsOf("sum"), Contains("^effect"));
  EXPECT_THAT(InputsOf(InputsOf(Branches()[0])[0]), Contains("^effect"));
}

TEST_F(ReadInABranchTest, OtherOperandsAreSummedFirst) {
  AddInvariant("more", DT_VARIANT);
  Named("sum").add_input("more_switch:1");
  Set(Named("sum"), "N", 3);
  EXPECT_EQ(Apply(), 1);
  const std::string list = InputsOf(Branches()[0])[0];
  EXPECT_THAT(InputsOf(InputsOf(list)[0]), ElementsAre("sums_switch", "more_switch"));
}

// ---- near misses

TEST_F(ReadInABranchTest, ANodeThatIsReadOrWaitedForElsewhereStays) {
  for (const char* node : {"set", "merged"}) {
    SCOPED_TRACE(node);
    const std::string reason = absl::StrCat("`", node, "` has several readers: ");
    ExpectKept([&] { AddUnary("reader", "Identity", DT_VARIANT, {node}); }, reason);
    ExpectKept([&] { AddSum("waiter", {"i_in:1", std::string("^") + node}); }, reason);
  }
  ExpectKept([&] { AddSum("reader", {"merged:1"}); }, "`merged` has several readers: ");
}

TEST_F(ReadInABranchTest, SidesOfDifferentOrOfUnknownPredicatesStay) {
  const std::string reason = "by which predicate the conditional of `merged` chooses";
  ExpectKept(
      [&] {
        AddInvariant("q", DT_BOOL);
        AddUnary("list_by_q", "Switch", DT_VARIANT, {"list_switch:1", "q_switch:1"});
        Named("zeros").set_input(0, "list_by_q");
      },
      reason);
  // The side that reads.
  ExpectKept([&] { Named("zeros").set_input(0, "list_in:1"); }, reason);
  ExpectKept([&] { Named("zeros").set_input(0, "list_switch:1"); }, reason);
}

TEST_F(ReadInABranchTest, APredicateThatMayChangeStays) {
  Set(Add("variable", "VariableV2", {"^i_switch"}), "dtype", DT_BOOL);
  for (const char* name : {"list_in", "x_in", "i_in"}) Named(name).set_input(1, "variable");
  Set(Named("variable"), "shape", tensorflow::TensorShape());
  EXPECT_EQ(Apply(), 0);
}

TEST_F(ReadInABranchTest, AListWithValuesInTheOtherBranchStays) {
  ExpectKept([&] { Named("merged").set_input(1, "list_in"); }, "may also output `list_in`");
}

TEST_F(ReadInABranchTest, ANodeOnAnotherDeviceStays) {
  for (const char* node : {"reserve", "set", "zeros", "merged", "list_in"}) {
    SCOPED_TRACE(node);
    Reset(1);
    if (node == std::string("list_in")) {
      for (const char* name : {"x_in", "i_in"}) Named(name).set_device(kCpu1);
    }
    Named(node).set_device(kCpu1);
    EXPECT_EQ(Apply(), 0);
  }
}

}  // namespace
}  // namespace tensor_array_grad
