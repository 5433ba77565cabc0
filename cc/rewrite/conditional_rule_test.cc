#include "cc/rewrite/rules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "cc/base/tensorflow_names.h"
#include "cc/testing/loop_under_test.h"
#include "tensorflow/core/framework/node_def_util.h"
#include "tensorflow/core/framework/op_kernel.h"

namespace tensor_array_grad {
namespace {

using testing::ElementsAre;

constexpr char kAccumulateIf[] = "TensorArrayGrad>ListAccumulateIf";

// A stub for the kernel that the rule looks up. CPU only, so that a GPU has none.
REGISTER_KERNEL_BUILDER(Name(kAccumulateIf).Device(tensorflow::DEVICE_CPU), NeverRun);

// The backward loop of a loop that reads a list in one branch: its variables are i, p, x, the list
// that was read, and `sums`.
class ConditionalRuleTest : public testing::Test, protected LoopUnderTest {
 protected:
  ConditionalRuleTest() { Reset(1); }

  // `reads` is the side of the branch that reads.
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
    const std::string side = absl::StrCat(":", reads), other = absl::StrCat(":", 1 - reads);
    const std::string pivot = reads == 1 ? "^pivot_t" : "^pivot_f";
    Set(Add("shape", "TensorListElementShape", {"list_in" + side, pivot}), "shape_type", DT_INT32);
    Add("length", "TensorListLength", {"list_in" + side, pivot});
    tensorflow::NodeDef& reserve = Add("reserve", "TensorListReserve", {"shape", "length"});
    Set(reserve, "element_dtype", DT_FLOAT);
    Set(reserve, "shape_type", DT_INT32);
    Set(Add("set", "TensorListSetItem", {"reserve", "i_in" + side, "x_in" + side}), "element_dtype",
        DT_FLOAT);
    AddUnary("zeros", "ZerosLike", DT_VARIANT,
             {"list_in" + other, reads == 1 ? "^pivot_f" : "^pivot_t"});
    Set(AddUnary("merged", "Merge", DT_VARIANT, {"set", "zeros"}), "N", 2);
    Set(AddUnary("sum", "AddN", DT_VARIANT, {"merged", "sums_switch:1"}), "N", 2);
  }

  // Another sum of the loop, with a read of `list` in the same branch.
  void AddSecondSum(const std::string& list) {
    AddVariable("sums2", DT_VARIANT, "sum2");
    AddUnary("list_in2", "Switch", DT_VARIANT, {list, "p_switch:1"});
    Set(Add("shape2", "TensorListElementShape", {"list_in2:1", "^pivot_t"}), "shape_type",
        DT_INT32);
    Add("length2", "TensorListLength", {"list_in2:1", "^pivot_t"});
    tensorflow::NodeDef& reserve = Add("reserve2", "TensorListReserve", {"shape2", "length2"});
    Set(reserve, "element_dtype", DT_FLOAT);
    Set(reserve, "shape_type", DT_INT32);
    Set(Add("set2", "TensorListSetItem", {"reserve2", "i_in:1", "x_in:1"}), "element_dtype",
        DT_FLOAT);
    AddUnary("zeros2", "ZerosLike", DT_VARIANT, {"list_in2", "^pivot_f"});
    Set(AddUnary("merged2", "Merge", DT_VARIANT, {"set2", "zeros2"}), "N", 2);
    Set(AddUnary("sum2", "AddN", DT_VARIANT, {"merged2", "sums2_switch:1"}), "N", 2);
  }

  int Apply() {
    std::vector<Rewrite> done;
    EXPECT_TRUE(ConditionalRule().apply(Find("cond"), graph().get(), &done).ok());
    return static_cast<int>(done.size());
  }

  // Applies the rule to the loop after `change`, and expects that it leaves the sum alone.
  void ExpectKept(const std::function<void()>& change) {
    Reset(1);
    change();
    EXPECT_EQ(Apply(), 0);
    EXPECT_NE(Find("merged"), nullptr);
    EXPECT_EQ(CountOf(kAccumulateIf), 0);
  }
};

TEST_F(ConditionalRuleTest, AReadInABranchBecomesOneOp) {
  for (const int side : {0, 1}) {
    Reset(side);
    EXPECT_EQ(Apply(), 1);
    const std::string sum = InputsOf("sums_next")[0];
    EXPECT_EQ(Find(sum)->type_string(), kAccumulateIf);
    EXPECT_THAT(InputsOf(sum),
                ElementsAre("sums_switch", "i_switch", "x_switch", "list_switch", "p_switch"));
    bool wanted = side == 0;
    EXPECT_TRUE(GetNodeAttr(Find(sum)->attrs(), "wanted", &wanted).ok());
    EXPECT_EQ(wanted, side == 1);
    for (const char* node : {"shape", "length", "reserve", "set", "zeros", "merged", "list_in"}) {
      EXPECT_EQ(Find(node), nullptr) << node;
    }
    EXPECT_EQ(Find("x_in"), nullptr);
  }
}

TEST_F(ConditionalRuleTest, InputsOfTheMergeMayHaveAnyOrder) {
  Named("merged").set_input(0, "zeros");
  Named("merged").set_input(1, "set");
  EXPECT_EQ(Apply(), 1);
}

TEST_F(ConditionalRuleTest, SwitchThatAnotherNodeOfTheBranchReadsIsKept) {
  AddUnary("reader", "Identity", DT_FLOAT, {"x_in:1", "^pivot_t"});
  EXPECT_EQ(Apply(), 1);
  EXPECT_THAT(InputsOf("reader"), ElementsAre("x_in", "^pivot_t"));
  EXPECT_EQ(Find("i_in"), nullptr);
}

TEST_F(ConditionalRuleTest, OtherOperandsAreSummedFirst) {
  AddInvariant("more", DT_VARIANT);
  Named("sum").add_input("more_switch:1");
  Set(Named("sum"), "N", 3);
  EXPECT_EQ(Apply(), 1);
  const std::string sum = InputsOf("sums_next")[0];
  EXPECT_THAT(InputsOf(InputsOf(sum)[0]), ElementsAre("sums_switch", "more_switch"));
}

TEST_F(ConditionalRuleTest, ControlInputsOfTheSumAreKept) {
  AddSum("effect", {"i_switch:1"});
  Named("sum").add_input("^effect");
  EXPECT_EQ(Apply(), 1);
  EXPECT_EQ(InputsOf(InputsOf("sums_next")[0]).back(), "^effect");
}

TEST_F(ConditionalRuleTest, SeveralSumsOfOneLoopAreReplaced) {
  AddSecondSum("list_switch:1");
  EXPECT_EQ(Apply(), 2);
  EXPECT_EQ(CountOf(kAccumulateIf), 2);
}

// The rule has matched both sums before it replaces the first.
TEST_F(ConditionalRuleTest, ASumThatReadsAReplacedSumIsLeftAlone) {
  AddSecondSum("sum");
  EXPECT_EQ(Apply(), 1);
  EXPECT_EQ(CountOf(kAccumulateIf), 1);
  EXPECT_NE(Find("merged2"), nullptr);
}

// ---- near misses

TEST_F(ConditionalRuleTest, AnItemThatIsComputedInTheBranchStays) {
  ExpectKept([&] {
    AddUnary("computed", "Identity", DT_FLOAT, {"x_in:1"});
    Named("set").set_input(2, "computed");
  });
}

TEST_F(ConditionalRuleTest, ItemThatMayBeDeadWhileThePredicateIsLiveStays) {
  ExpectKept([&] {
    AddInvariant("q", DT_BOOL);
    AddUnary("outer", "Switch", DT_FLOAT, {"x_switch:1", "q_switch:1"});
    Named("x_in").set_input(0, "outer:1");
  });
}

TEST_F(ConditionalRuleTest, ANodeThatIsReadOrWaitedForElsewhereStays) {
  for (const char* node : {"reserve", "set", "zeros", "merged"}) {
    SCOPED_TRACE(node);
    ExpectKept([&] { AddUnary("reader", "Identity", DT_VARIANT, {node}); });
    ExpectKept([&] { AddSum("waiter", {"i_in:1", std::string("^") + node}); });
  }
  ExpectKept([&] { AddSum("reader", {"length"}); });
}

TEST_F(ConditionalRuleTest, PivotThatMayBeDeadInItsBranchDoesNotCount) {
  ExpectKept([&] {
    AddInvariant("q", DT_BOOL);
    AddUnary("outer", "Switch", DT_BOOL, {"p_switch:1", "q_switch:1"});
    AddUnary("odd", "Switch", DT_BOOL, {"outer:1", "p_switch:1"});
    AddUnary("odd_pivot", "Identity", DT_BOOL, {"odd:1"});
    Named("set").add_input("^odd_pivot");
  });
}

TEST_F(ConditionalRuleTest, ANodeThatWaitsForMoreThanItsBranchStays) {
  for (const char* node : {"shape", "length", "reserve", "set", "zeros", "merged"}) {
    SCOPED_TRACE(node);
    ExpectKept([&] {
      AddSum("effect", {"i_switch:1"});
      Named(node).add_input("^effect");
    });
  }
}

TEST_F(ConditionalRuleTest, AnotherPredicateOrListStays) {
  ExpectKept([&] {
    AddInvariant("q", DT_BOOL);
    Named("i_in").set_input(1, "q_switch:1");
  });
  ExpectKept([&] {
    AddInvariant("other", DT_VARIANT);
    AddUnary("other_in", "Switch", DT_VARIANT, {"other_switch:1", "p_switch:1"});
    Named("zeros").set_input(0, "other_in");
  });
  ExpectKept([&] { Named("zeros").set_input(0, "list_in:1"); });
}

TEST_F(ConditionalRuleTest, ListWithLengthOfItsOwnStays) {
  ExpectKept([&] {
    AddUnary("n", "Switch", DT_INT32, {"i_switch:1", "p_switch:1"});
    Named("reserve").set_input(1, "n:1");
  });
}

TEST_F(ConditionalRuleTest, ANodeOnAnotherDeviceStays) {
  for (const char* node :
       {"shape", "length", "reserve", "set", "zeros", "merged", "list_in", "x_in", "i_in"}) {
    SCOPED_TRACE(node);
    ExpectKept([&] { Named(node).set_device(kCpu1); });
  }
}

TEST_F(ConditionalRuleTest, ADeviceWithoutTheKernelIsLeftAlone) {
  ExpectKept([&] { PlaceAllOn(kGpu0); });
}

}  // namespace
}  // namespace tensor_array_grad
