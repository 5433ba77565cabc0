#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "cc/base/tensorflow_names.h"
#include "cc/flow/graph_names.h"
#include "cc/rewrite/rules.h"
#include "cc/testing/graph_under_test.h"

namespace tensor_array_grad {
namespace {

using testing::ElementsAre;

constexpr char kProduct[] = "f/ArithmeticOptimizer/SimplifyAggregation_Mul_sum";
constexpr char kFactor[] = "f/ArithmeticOptimizer/SimplifyAggregation_Const_sum";
constexpr char kTile[] = "f/ArithmeticOptimizer/ReplacePackWithTileReshape_Tile_stack";
constexpr char kMultiples[] = "f/ArithmeticOptimizer/ReplacePackWithTileReshape_Multiples_stack";
constexpr char kShape[] = "f/ArithmeticOptimizer/ReplacePackWithTileReshape_Shape_stack";
constexpr char kReshape[] = "f/ArithmeticOptimizer/ReplacePackWithTileReshape_Reshape_stack";

// A Switch of x by p, and nodes of which TensorFlow's arithmetic optimizer made a Const wait for an
// Identity of the Switch's output 0.
class WrongSideRulesTest : public testing::Test, protected GraphUnderTest {
 protected:
  WrongSideRulesTest() { Reset(); }

  void Reset() {
    Clear();
    Placeholder("p", DT_BOOL);
    Placeholder("x", DT_FLOAT);
    AddFloat("switch", "Switch", {"x", "p"});
    AddFloat("output_0", "Identity", {"switch"});
  }

  NodeDef& AddFloat(const std::string& name, const std::string& op,
                    std::vector<std::string> inputs) {
    NodeDef& node = Add(name, op, std::move(inputs));
    Set(node, "T", DT_FLOAT);
    return node;
  }

  void AddConst(const std::string& name, DataType type) {
    NodeDef& node = Add(name, "Const", {"^output_0"});
    Set(node, "dtype", type);
    Set(node, "value", Tensor(type, {}));
  }

  // The product that replaced a sum of equal terms `x`.
  void AddProduct(const std::string& x = "switch:1") {
    AddConst(kFactor, DT_FLOAT);
    AddFloat(kProduct, "Mul", {kFactor, x});
  }

  // The Tile and the Reshape that replaced a stack of tensors, which waited for `pivot`.
  void AddStack(const std::string& pivot) {
    AddFloat("pivot_switch", "Switch", {"x", "p"});
    AddFloat("pivot_0", "Identity", {"pivot_switch"});
    AddFloat("pivot_1", "Identity", {"pivot_switch:1"});
    AddConst(kMultiples, DT_INT32);
    AddConst(kShape, DT_INT32);
    Set(AddFloat(kTile, "Tile", {"switch", kMultiples, pivot}), "Tmultiples", DT_INT32);
    Set(AddFloat(kReshape, "Reshape", {kTile, kShape}), "Tshape", DT_INT32);
  }

  // Applies `rule` to the nodes that the graph pass chooses, and returns the number of rewrites.
  int Apply(const Rule& rule) {
    Outcome outcome;
    std::vector<Node*> candidates;
    for (Node* node : graph()->op_nodes()) {
      if (rule.may_apply(*node)) candidates.push_back(node);
    }
    for (Node* node : candidates) EXPECT_TRUE(rule.apply(node, graph().get(), &outcome).ok());
    return static_cast<int>(outcome.done.size());
  }

  // The output of its first input that `name` reads.
  int SlotOf(const std::string& name) {
    const tensorflow::Edge* edge = nullptr;
    EXPECT_TRUE(Find(name)->input_edge(0, &edge).ok());
    return edge->src_output();
  }

  // The name of the copy of `name` that was made as the n-th one.
  static std::string Live(const std::string& name, int n = 0) {
    return absl::StrCat(name, "/live/_", n);
  }
};

TEST_F(WrongSideRulesTest, TheFactorOfAProductWaitsForTheSwitch) {
  AddProduct();
  EXPECT_EQ(Apply(SumOfEqualsRule()), 1);
  EXPECT_THAT(InputsOf(kProduct), ElementsAre(Live(kFactor), "switch"));
  EXPECT_THAT(InputsOf(Live(kFactor)), ElementsAre("^switch"));
  EXPECT_EQ(Find(kFactor), nullptr);
  EXPECT_EQ(Find("output_0"), nullptr);
  EXPECT_EQ(Apply(SumOfEqualsRule()), 0);
}

TEST_F(WrongSideRulesTest, TheFactorMayComeSecond) {
  AddProduct();
  Named(kProduct).set_input(0, "switch:1");
  Named(kProduct).set_input(1, kFactor);
  EXPECT_EQ(Apply(SumOfEqualsRule()), 1);
  EXPECT_THAT(InputsOf(kProduct), ElementsAre("switch", Live(kFactor)));
}

TEST_F(WrongSideRulesTest, AProductInABranchOfACaseIsRepaired) {
  AddProduct("switch:2");
  Named("p").mutable_attr()->at("dtype").set_type(DT_INT32);
  Named("switch").set_op("_SwitchN");
  Set(Named("switch"), "num_outs", 3);
  EXPECT_EQ(Apply(SumOfEqualsRule()), 1);
}

TEST_F(WrongSideRulesTest, AProductOfOutput0IsLeft) {
  AddProduct("switch");
  EXPECT_EQ(Apply(SumOfEqualsRule()), 0);
}

TEST_F(WrongSideRulesTest, AProductOfAnotherSwitchIsLeft) {
  AddFloat("other", "Switch", {"x", "p"});
  AddProduct("other:1");
  EXPECT_EQ(Apply(SumOfEqualsRule()), 0);
}

TEST_F(WrongSideRulesTest, AProductOfTheProgramIsLeft) {
  AddProduct();
  Named(kProduct).set_name("product");
  EXPECT_EQ(Apply(SumOfEqualsRule()), 0);
}

TEST_F(WrongSideRulesTest, AFactorOfTheProgramIsLeft) {
  AddProduct();
  Named(kFactor).set_name("factor");
  Named(kProduct).set_input(0, "factor");
  EXPECT_EQ(Apply(SumOfEqualsRule()), 0);
}

TEST_F(WrongSideRulesTest, AFactorThatWaitsForAnotherNodeTooIsLeft) {
  AddProduct();
  Named(kFactor).add_input("^x");
  EXPECT_EQ(Apply(SumOfEqualsRule()), 0);
}

TEST_F(WrongSideRulesTest, AFactorThatWaitsForNothingIsLeft) {
  AddProduct();
  Named(kFactor).clear_input();
  EXPECT_EQ(Apply(SumOfEqualsRule()), 0);
}

TEST_F(WrongSideRulesTest, AnotherReaderKeepsTheFactor) {
  AddProduct();
  AddFloat("reader", "Mul", {kFactor, "switch"});
  EXPECT_EQ(Apply(SumOfEqualsRule()), 1);
  EXPECT_THAT(InputsOf("reader"), ElementsAre(kFactor, "switch"));
  EXPECT_THAT(InputsOf(kFactor), ElementsAre("^output_0"));
}

TEST_F(WrongSideRulesTest, AStackReadsTheOutputOfItsPivot) {
  AddStack("^pivot_1");
  EXPECT_EQ(Apply(StackOfEqualsRule()), 2);
  EXPECT_THAT(InputsOf(kTile), ElementsAre("switch", Live(kMultiples), "^pivot_1"));
  EXPECT_EQ(SlotOf(kTile), 1);
  EXPECT_THAT(InputsOf(kReshape), ElementsAre(kTile, Live(kShape, 1)));
  EXPECT_THAT(InputsOf(Live(kShape, 1)), ElementsAre("^switch"));
  EXPECT_EQ(Find("output_0"), nullptr);
}

TEST_F(WrongSideRulesTest, AStackWhoseReshapeAnotherOptimizerChangedIsRepaired) {
  AddStack("^pivot_1");
  Named(kReshape).set_input(1, "shape");
  Placeholder("shape", DT_INT32);
  EXPECT_EQ(Apply(StackOfEqualsRule()), 1);
  EXPECT_EQ(SlotOf(kTile), 1);
}

TEST_F(WrongSideRulesTest, AStackWithoutAPivotOfAnotherOutputIsLeft) {
  for (const char* waits_for : {"^pivot_0", "^x", "^p"}) {
    AddStack(waits_for);
    EXPECT_EQ(Apply(StackOfEqualsRule()), 0);
    EXPECT_EQ(SlotOf(kTile), 0);
    Reset();
  }
}

TEST_F(WrongSideRulesTest, AStackWithAPivotOfAnotherPredicateIsLeft) {
  AddStack("^pivot_1");
  Placeholder("q", DT_BOOL);
  Named("pivot_switch").set_input(1, "q");
  EXPECT_EQ(Apply(StackOfEqualsRule()), 0);
}

TEST_F(WrongSideRulesTest, ATileOfTheProgramIsLeft) {
  AddStack("^pivot_1");
  Named(kTile).set_name("tile");
  Named(kReshape).set_input(0, "tile");
  EXPECT_EQ(Apply(StackOfEqualsRule()), 0);
}

}  // namespace
}  // namespace tensor_array_grad
