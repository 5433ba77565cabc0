#include "cc/graph/conditional_read_rule.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "cc/testing/loop_under_test.h"
#include "tensorflow/core/framework/node_def_util.h"
#include "tensorflow/core/framework/op_kernel.h"

namespace tensor_array_grad {
namespace {

using tensorflow::DT_BOOL;
using tensorflow::DT_FLOAT;
using tensorflow::DT_INT32;
using tensorflow::DT_VARIANT;
using testing::ElementsAre;
using testing::StartsWith;

constexpr char kGetItemIf[] = "TensorArrayGrad>ListGetItemIf";

// Stands for the kernel, which the rule asks for: on CPU alone, so that a GPU has none.
REGISTER_KERNEL_BUILDER(Name(kGetItemIf).Device(tensorflow::DEVICE_CPU), NeverRun);

// A loop that reads in a branch: variables i, p, the list and `h`, which the other branch returns.
class ConditionalReadRuleTest : public testing::Test, protected LoopUnderTest {
 protected:
  ConditionalReadRuleTest() { Reset(1); }

  // The branch that reads is that of side `reads`.
  void Reset(int reads) {
    Clear();
    AddLoop();
    AddInvariant("p", DT_BOOL);
    AddInvariant("list", DT_VARIANT);
    AddVariable("h", DT_FLOAT, "sum");
    AddConditional("p_gate:1");
    AddUnary("list_in", "Switch", DT_VARIANT, {"list_gate:1", "p_gate:1"});
    AddUnary("i_in", "Switch", DT_INT32, {"i_gate:1", "p_gate:1"});
    AddUnary("h_in", "Switch", DT_FLOAT, {"h_gate:1", "p_gate:1"});
    const std::string side = absl::StrCat(":", reads), other = absl::StrCat(":", 1 - reads);
    AddConst("shape", {reads == 1 ? "^pivot_t" : "^pivot_f"});
    Set(Add("item", "TensorListGetItem", {"list_in" + side, "i_in" + side, "shape"}),
        "element_dtype", DT_FLOAT);
    AddUnary("repeated", "Identity", DT_FLOAT,
             {"h_in" + other, reads == 1 ? "^pivot_f" : "^pivot_t"});
    Set(AddUnary("merged", "Merge", DT_FLOAT, {"item", "repeated"}), "N", 2);
    Set(AddUnary("sum", "AddN", DT_FLOAT, {"merged", "h_gate:1"}), "N", 2);
  }

  // The other branch returns a constant.
  void ReturnConstant() {
    tensorflow::NodeDef& zero = Add("zero", "Const", {"^pivot_f"});
    Set(zero, "dtype", DT_FLOAT);
    Set(zero, "value", tensorflow::Tensor(0.0f));
    Named("merged").set_input(1, "zero");
  }

  int Apply() {
    std::vector<Rewrite> done;
    EXPECT_TRUE(ConditionalReadRule().Apply(Find("cond"), graph().get(), &done).ok());
    return static_cast<int>(done.size());
  }

  // Applies the rule to the loop with that change, which keeps it from the read.
  void ExpectKept(const std::function<void()>& change) {
    Reset(1);
    change();
    EXPECT_EQ(Apply(), 0);
    EXPECT_NE(Find("merged"), nullptr);
    EXPECT_EQ(CountOf(kGetItemIf), 0);
  }
};

TEST_F(ConditionalReadRuleTest, AReadInABranchBecomesOneOp) {
  for (const int side : {0, 1}) {
    Reset(side);
    EXPECT_EQ(Apply(), 1);
    EXPECT_THAT(InputsOf("sum"), ElementsAre("item", "h_gate"));
    EXPECT_EQ(Find("item")->type_string(), kGetItemIf);
    EXPECT_THAT(InputsOf("item"),
                ElementsAre("list_gate", "i_gate", StartsWith("shape/"), "p_gate", "h_gate"));
    bool wanted = side == 0;
    EXPECT_TRUE(GetNodeAttr(Find("item")->attrs(), "wanted", &wanted).ok());
    EXPECT_EQ(wanted, side == 1);
    for (const char* node : {"merged", "repeated", "shape", "list_in", "i_in", "h_in"}) {
      EXPECT_EQ(Find(node), nullptr) << node;
    }
  }
}

TEST_F(ConditionalReadRuleTest, TheBranchesMayComeToTheMergeInAnyOrder) {
  Named("merged").set_input(0, "repeated");
  Named("merged").set_input(1, "item");
  EXPECT_EQ(Apply(), 1);
}

TEST_F(ConditionalReadRuleTest, ConstantsOfTheBranchesWaitForThePredicate) {
  ReturnConstant();
  EXPECT_EQ(Apply(), 1);
  for (const int input : {2, 4}) {
    EXPECT_THAT(InputsOf(InputsOf("item")[input]), ElementsAre("^p_gate"));
  }
  EXPECT_EQ(Find("zero"), nullptr);
}

TEST_F(ConditionalReadRuleTest, AConstantThatOthersReadStaysInItsBranch) {
  AddSum("reader", {"shape"});
  EXPECT_EQ(Apply(), 1);
  EXPECT_THAT(InputsOf("reader"), ElementsAre("shape"));
  EXPECT_THAT(InputsOf("shape"), ElementsAre("^pivot_t"));
}

TEST_F(ConditionalReadRuleTest, AListOrIndexMayBeAliveInBothBranches) {
  Named("item").set_input(0, "list_gate:1");
  EXPECT_EQ(Apply(), 1);
  EXPECT_THAT(InputsOf("item").front(), "list_gate");
  Reset(1);
  Named("item").set_input(1, "i_gate:1");
  EXPECT_EQ(Apply(), 1);
}

TEST_F(ConditionalReadRuleTest, WhatTheBranchesNeedBesidesStays) {
  AddSum("reader", {"i_in:1"});
  AddUnary("returned", "Identity", DT_FLOAT, {"repeated"});
  EXPECT_EQ(Apply(), 1);
  EXPECT_THAT(InputsOf("reader"), ElementsAre("i_in"));
  EXPECT_THAT(InputsOf("repeated"), ElementsAre("h_in", "^pivot_f"));
  EXPECT_EQ(Find("list_in"), nullptr);
}

TEST_F(ConditionalReadRuleTest, WhoWaitsForTheMergeWaitsForTheRead) {
  AddSum("waiter", {"i_gate:1", "^merged"});
  EXPECT_EQ(Apply(), 1);
  EXPECT_THAT(InputsOf("waiter"), ElementsAre("i_gate", "^item"));
}

TEST_F(ConditionalReadRuleTest, TwoReadsInOneStepBecomeTwoOps) {
  AddUnary("list_in_2", "Switch", DT_VARIANT, {"list_gate:1", "p_gate:1"});
  Set(Add("item_2", "TensorListGetItem", {"list_in_2", "i_in", "shape_2"}), "element_dtype",
      DT_FLOAT);
  AddConst("shape_2", {"^pivot_f"});
  AddUnary("first_in", "Switch", DT_FLOAT, {"merged", "p_gate:1"});
  Set(AddUnary("merged_2", "Merge", DT_FLOAT, {"first_in:1", "item_2"}), "N", 2);
  Named("sum").set_input(0, "merged_2");
  EXPECT_EQ(Apply(), 2);
  EXPECT_THAT(InputsOf("sum").front(), "item_2");
  EXPECT_THAT(InputsOf("item_2").back(), "item");
}

// ---- near misses

TEST_F(ConditionalReadRuleTest, WhatABranchComputesStays) {
  ExpectKept([&] {
    AddUnary("computed", "ZerosLike", DT_FLOAT, {"h_in"});
    Named("merged").set_input(1, "computed");
  });
  ExpectKept([&] {
    AddUnary("computed", "ZerosLike", DT_FLOAT, {"item"});
    Named("merged").set_input(0, "computed");
  });
  ExpectKept([&] {
    AddSum("computed", {"i_in:1", "i_in:1"});
    Named("item").set_input(1, "computed");
  });
}

TEST_F(ConditionalReadRuleTest, WhatMayBeDeadWhereThePredicateIsNotStays) {
  for (const auto& [brought, from] : {std::pair("h_in", "h_gate:1"), {"list_in", "list_gate:1"}}) {
    SCOPED_TRACE(brought);
    ExpectKept([&, brought = brought, from = from] {
      AddInvariant("q", DT_BOOL);
      AddUnary("outer", "Switch", Named(brought).attr().at("T").type(), {from, "q_gate:1"});
      Named(brought).set_input(0, "outer:1");
    });
  }
}

TEST_F(ConditionalReadRuleTest, APivotThatMayBeDeadInItsBranchIsNone) {
  for (const char* waiter : {"shape", "item", "repeated"}) {
    SCOPED_TRACE(waiter);
    ExpectKept([&] {
      AddInvariant("q", DT_BOOL);
      AddUnary("outer", "Switch", DT_BOOL, {"p_gate:1", "q_gate:1"});
      AddUnary("odd", "Switch", DT_BOOL, {"outer:1", "p_gate:1"});
      const std::string side = waiter == std::string("repeated") ? "" : ":1";
      AddUnary("odd_pivot", "Identity", DT_BOOL, {"odd" + side});
      Named(waiter).add_input("^odd_pivot");
    });
  }
}

TEST_F(ConditionalReadRuleTest, ANodeThatWaitsForMoreThanItsBranchStays) {
  for (const char* node : {"item", "repeated", "merged", "shape"}) {
    SCOPED_TRACE(node);
    ExpectKept([&] {
      AddSum("effect", {"i_in:1"});
      Named(node).add_input("^effect");
    });
  }
  ExpectKept([&] { Named("item").add_input("^pivot_f"); });
}

TEST_F(ConditionalReadRuleTest, AnItemThatOthersReadOrWaitForStays) {
  ExpectKept([&] { AddUnary("reader", "Identity", DT_FLOAT, {"item"}); });
  ExpectKept([&] { AddSum("waiter", {"i_in:1", "^item"}); });
}

TEST_F(ConditionalReadRuleTest, AMergeThatIsAskedForItsBranchStays) {
  ExpectKept([&] { AddSum("reader", {"merged:1"}); });
}

TEST_F(ConditionalReadRuleTest, AnotherPredicateStays) {
  ExpectKept([&] {
    AddInvariant("q", DT_BOOL);
    Named("h_in").set_input(1, "q_gate:1");
  });
  ExpectKept([&] { Named("repeated").set_input(0, "h_in:1"); });
}

TEST_F(ConditionalReadRuleTest, ANodeOnAnotherDeviceStays) {
  for (const char* node : {"item", "merged", "repeated", "shape", "list_in", "i_in", "h_in",
                           "list_gate", "i_gate", "h_gate", "p_gate"}) {
    SCOPED_TRACE(node);
    ExpectKept([&] { Named(node).set_device(kCpu1); });
  }
}

TEST_F(ConditionalReadRuleTest, ADeviceWithoutTheKernelIsLeftAlone) {
  ExpectKept([&] { PlaceAllOn(kGpu0); });
}

}  // namespace
}  // namespace tensor_array_grad
