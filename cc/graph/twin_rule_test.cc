#include "cc/graph/twin_rule.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "cc/testing/loop_under_test.h"
#include "tensorflow/core/framework/tensor.h"

namespace tensor_array_grad {
namespace {

using tensorflow::DT_FLOAT;
using tensorflow::DT_INT32;
using tensorflow::DT_INT64;
using tensorflow::DT_VARIANT;
using tensorflow::Tensor;
using testing::ElementsAre;
using testing::UnorderedElementsAre;

// A loop with a list and the counters a and b, which both begin with 1 and grow by 1.
class TwinRuleTest : public testing::Test, protected LoopUnderTest {
 protected:
  TwinRuleTest() { Reset(); }

  void Reset() {
    Clear();
    AddLoop();
    AddInvariant("list", DT_VARIANT);
    AddCounter("a", {"a_gate:1", "a_one"});
    AddCounter("b", {"b_one", "b_gate:1"});
  }

  void AddCounter(const std::string& name, std::vector<std::string> sum) {
    AddConst(name + "_initial", {});
    AddVariable(name, DT_INT32, name + "_plus");
    Named(name + "_enter").set_input(0, name + "_initial");
    AddConst(name + "_one", {"^gate"});
    AddUnary(name + "_plus", "AddV2", DT_INT32, std::move(sum));
  }

  int Apply() {
    std::vector<Rewrite> done;
    EXPECT_TRUE(TwinRule().Apply(Find("cond"), graph().get(), &done).ok());
    return static_cast<int>(done.size());
  }

  // Applies the rule to the loop with that change, which keeps b from going.
  void ExpectKept(const std::function<void()>& change) {
    Reset();
    change();
    EXPECT_EQ(Apply(), 0);
    EXPECT_THAT(InputsOf("b_merge"), ElementsAre("b_enter", "b_next"));
  }
};

TEST_F(TwinRuleTest, OfTwoEqualCountersTheFirstStays) {
  AddSum("in_body", {"b_gate:1"});
  AddSum("in_condition", {"b_merge"});
  AddSum("of_next", {"b_plus"});
  AddSum("after", {"b_exit"});
  EXPECT_EQ(Apply(), 1);
  EXPECT_THAT(InputsOf("in_body"), ElementsAre("a_gate"));
  EXPECT_THAT(InputsOf("in_condition"), ElementsAre("a_merge"));
  EXPECT_THAT(InputsOf("of_next"), ElementsAre("a_plus"));
  EXPECT_THAT(InputsOf("after"), ElementsAre("a_exit"));
  for (const char* node : {"b_enter", "b_merge", "b_gate", "b_next", "b_exit", "b_plus", "b_one"}) {
    EXPECT_EQ(Find(node), nullptr) << node;
  }
  EXPECT_THAT(InputsOf("a_plus"), ElementsAre("a_gate", "a_one"));
}

TEST_F(TwinRuleTest, WhoWaitsForTheSecondWaitsForTheFirst) {
  AddConst("waits_for_merge", {"^b_merge"});
  AddConst("waits_for_gate", {"^b_gate"});
  AddConst("waits_for_sum", {"^b_plus"});
  Add("waits_for_exit", "NoOp", {"^b_exit"});
  EXPECT_EQ(Apply(), 1);
  EXPECT_THAT(InputsOf("waits_for_merge"), ElementsAre("^a_merge"));
  EXPECT_THAT(InputsOf("waits_for_gate"), ElementsAre("^a_gate"));
  EXPECT_THAT(InputsOf("waits_for_sum"), ElementsAre("^a_plus"));
  EXPECT_THAT(InputsOf("waits_for_exit"), ElementsAre("^a_exit"));
}

TEST_F(TwinRuleTest, IdentitiesOfTheBodyAreLookedThrough) {
  AddUnary("input", "Identity", DT_INT32, {"b_gate:1", "^gate"});
  Named("b_plus").set_input(1, "input");
  EXPECT_EQ(Apply(), 1);
  EXPECT_THAT(InputsOf("input"), ElementsAre("a_gate", "^gate"));
}

TEST_F(TwinRuleTest, TheFirstTakesTheExitThatItLacks) {
  AddSum("after", {"b_exit"});
  graph()->RemoveNode(Find("a_exit"));
  EXPECT_EQ(Apply(), 1);
  EXPECT_THAT(InputsOf("after"), ElementsAre("b_exit"));
  EXPECT_THAT(InputsOf("b_exit"), ElementsAre("a_gate"));
}

TEST_F(TwinRuleTest, ManyBecomeOne) {
  AddCounter("c", {"c_gate:1", "a_one"});
  AddCounter("d", {"d_gate:1", "d_one"});
  EXPECT_EQ(Apply(), 3);
  EXPECT_EQ(CountOf("AddV2"), 1);
}

TEST_F(TwinRuleTest, CountersThatFallAlikeAreTwinsToo) {
  for (const char* name : {"a", "b"}) {
    Named(std::string(name) + "_plus").set_op("Sub");
    Named(std::string(name) + "_plus").set_input(0, std::string(name) + "_gate:1");
    Named(std::string(name) + "_plus").set_input(1, std::string(name) + "_one");
  }
  EXPECT_EQ(Apply(), 1);
  EXPECT_EQ(CountOf("Sub"), 1);
}

TEST_F(TwinRuleTest, AWaitOfEveryVariableIsKept) {
  AddSum("effect", {"i_gate:1"});
  for (const char* v : {"i", "list", "a", "b"})
    Named(std::string(v) + "_next").add_input("^effect");
  EXPECT_EQ(Apply(), 1);
  EXPECT_THAT(InputsOf("a_next"), UnorderedElementsAre("a_plus", "^gate", "^effect"));
}

// ---- near misses

TEST_F(TwinRuleTest, CountersThatDifferStay) {
  ExpectKept([&] { Set(Named("b_initial"), "value", Tensor(int32_t{2})); });
  ExpectKept([&] { Set(Named("b_one"), "value", Tensor(int32_t{2})); });
  ExpectKept([&] { Named("b_plus").set_op("AddN"), Set(Named("b_plus"), "N", 2); });
  ExpectKept([&] { Named("b_plus").set_input(1, "i_gate:1"); });
  ExpectKept([&] {
    Named("b_plus").set_op("Sub");
    Named("b_plus").set_input(0, "b_gate:1");
    Named("b_plus").set_input(1, "b_one");
  });
  ExpectKept([&] { Named("b_plus").set_input(0, "i_gate:1"); });
  ExpectKept([&] { Named("b_enter").set_input(0, "i"); });
}

TEST_F(TwinRuleTest, AVariableOfAnotherTypeStays) {
  for (const auto type : {DT_FLOAT, DT_INT64}) {
    ExpectKept([&] {
      for (const char* node : {"enter", "merge", "gate", "next", "exit", "plus"}) {
        Set(Named(std::string("b_") + node), "T", type);
      }
      for (const char* node : {"b_initial", "b_one"}) {
        Set(Named(node), "dtype", type);
        Set(Named(node), "value", type == DT_FLOAT ? Tensor(1.0f) : Tensor(int64_t{1}));
      }
    });
  }
}

TEST_F(TwinRuleTest, ACounterThatWaitsOrIsWaitedForOtherwiseStays) {
  ExpectKept([&] {
    AddSum("effect", {"i_gate:1"});
    Named("b_next").add_input("^effect");
  });
  ExpectKept([&] {
    AddSum("effect", {"i_gate:1"});
    Named("b_plus").add_input("^effect");
  });
  for (const auto& [step, sum] : {std::pair("a_one", "b_plus"), std::pair("b_one", "a_plus")}) {
    ExpectKept([&, one = step, other = sum] {
      AddSum("effect", {other});
      Named(one).add_input("^effect");
    });
  }
  ExpectKept([&] { AddConst("waiter", {"^b_next"}); });
  ExpectKept([&] {
    Placeholder("before", DT_INT32);
    Named("b_enter").add_input("^before");
  });
}

TEST_F(TwinRuleTest, ACounterWhoseNextStepIsAnotherVariablesTooStays) {
  ExpectKept([&] {
    AddVariable("c", DT_INT32, "b_plus");
    Named("c_merge").set_input(1, "b_next");
  });
}

TEST_F(TwinRuleTest, ACounterThatGrowsByItselfGoesOnce) {
  Named("a_plus").set_input(1, "b_gate:1");
  Named("b_plus").set_input(0, "b_gate:1");
  EXPECT_EQ(Apply(), 1);
  EXPECT_THAT(InputsOf("a_plus"), ElementsAre("a_gate", "a_gate"));
}

TEST_F(TwinRuleTest, ACounterOfWhichTheMergesIndexIsReadStays) {
  ExpectKept([&] { AddSum("reader", {"b_merge:1"}); });
}

TEST_F(TwinRuleTest, ACounterOnAnotherDeviceStays) {
  for (const char* node : {"b_enter", "b_merge", "b_gate", "b_next", "b_exit", "b_plus"}) {
    SCOPED_TRACE(node);
    ExpectKept([&] { Named(node).set_device(kCpu1); });
  }
}

TEST_F(TwinRuleTest, ALoopWithoutAListIsLeftAlone) {
  Clear();
  AddLoop();
  AddCounter("a", {"a_gate:1", "a_one"});
  AddCounter("b", {"b_gate:1", "b_one"});
  EXPECT_EQ(Apply(), 0);
}

}  // namespace
}  // namespace tensor_array_grad
