#include "cc/rewrite/rules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cc/base/tensorflow_names.h"
#include "cc/flow/graph_names.h"
#include "cc/testing/graph_under_test.h"
#include "tensorflow/core/framework/op_kernel.h"

namespace tensor_array_grad {
namespace {

using testing::ElementsAre;
using testing::UnorderedElementsAre;

constexpr char kAccumulate[] = "TensorArrayGrad>ListAccumulate";
constexpr char kAccumulateLike[] = "TensorArrayGrad>ListAccumulateLike";

// Stubs for the kernels that the rule looks up. CPU only, so that a GPU has none.
REGISTER_KERNEL_BUILDER(Name(kAccumulate).Device(tensorflow::DEVICE_CPU), NeverRun);
REGISTER_KERNEL_BUILDER(Name(kAccumulateLike).Device(tensorflow::DEVICE_CPU), NeverRun);

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
    std::vector<Rewrite> done;
    EXPECT_TRUE(AccumulateIntoListRule().apply(Find("sum"), graph().get(), &done).ok());
    return static_cast<int>(done.size());
  }
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
  EXPECT_THAT(InputsOf("sum"), ElementsAre("list", "set"));
}

TEST_F(AccumulateIntoListRuleTest, AListAddedTwiceStays) {
  AddOneElementList("");
  AddSum({"list", "set", "set"}, 3);
  EXPECT_EQ(Apply(), 0);
}

TEST_F(AccumulateIntoListRuleTest, ListThatAnotherNodeWaitsForStays) {
  AddOneElementList("");
  AddSum({"list", "set"}, 2);
  Add("waiter", "NoOp", {"^set"});
  EXPECT_EQ(Apply(), 0);
  EXPECT_THAT(InputsOf("waiter"), ElementsAre("^set"));
}

TEST_F(AccumulateIntoListRuleTest, AWriteThatMayResizeStays) {
  AddOneElementList("");
  AddSum({"list", "set"}, 2);
  Set(Named("set"), "resize_if_index_out_of_bounds", true);
  EXPECT_EQ(Apply(), 0);
}

TEST_F(AccumulateIntoListRuleTest, AReserveOfAnotherTypeStays) {
  AddOneElementList("");
  AddSum({"list", "set"}, 2);
  Set(Named("reserve"), "element_dtype", DT_DOUBLE);
  EXPECT_EQ(Apply(), 0);
}

TEST_F(AccumulateIntoListRuleTest, AListOnAnotherDeviceStays) {
  for (const char* moved : {"set", "reserve", "sum"}) {
    SCOPED_TRACE(moved);
    Reset();
    AddOneElementList("");
    AddSum({"list", "set"}, 2);
    Named(moved).set_device(kCpu1);
    EXPECT_EQ(Apply(), 0);
  }
}

TEST_F(AccumulateIntoListRuleTest, ADeviceWithoutTheKernelIsLeftAlone) {
  AddOneElementList("");
  AddSum({"list", "set"}, 2);
  for (const char* moved : {"set", "reserve", "sum"}) Named(moved).set_device(kGpu0);
  EXPECT_EQ(Apply(), 0);
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
}

TEST_F(AccumulateIntoListRuleTest, ASumOfTensorsStays) {
  NodeDef& sum = Add("sum", "AddN", {"x", "x"});
  Set(sum, "N", 2);
  Set(sum, "T", DT_FLOAT);
  EXPECT_EQ(Apply(), 0);
}

}  // namespace
}  // namespace tensor_array_grad
