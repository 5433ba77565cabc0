#include "cc/rewrite/rules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "cc/base/tensorflow_names.h"
#include "cc/flow/graph_names.h"
#include "cc/testing/loop_stack_under_test.h"
#include "cc/testing/matchers.h"

namespace tensor_array_grad {
namespace {

using testing::ElementsAre;
using testing::IsSupersetOf;
using testing::UnorderedElementsAre;

// Stubs for TensorFlow's kernels that the rule looks up. CPU only, so that a GPU has none.
REGISTER_KERNEL_BUILDER(Name("Sub").Device(tensorflow::DEVICE_CPU), NeverRun);
REGISTER_KERNEL_BUILDER(Name("AddV2").Device(tensorflow::DEVICE_CPU), NeverRun);

// A forward loop that counts i up while it is below a limit, and a backward loop that counts k up
// for as many iterations. Lists have scalar elements and no bound, unless a test changes that.
class RecomputeRuleTest : public testing::Test, protected LoopStackUnderTest {
 protected:
  RecomputeRuleTest() { Reset(); }

  void Reset() {
    Clear();
    AddScalar("any", -1);
    AddScalar("bound", -1);
    Set(AddScalar("shape", 0), "value", Ints({}));
    AddCount("f", "i");
    Placeholder("limit", DT_INT32);
    AddConstantEnter("f", "f_limit", "limit");
    AddCondition("f", "i", "f_limit");
    AddCount("b", "k");
    AddConstantEnter("b", "steps", "i_exit");
    AddCondition("b", "k", "steps");
  }

  // A variable of `loop` that begins with 0 and grows by 1.
  void AddCount(const std::string& loop, const std::string& name) {
    AddScalar(name + "_0", 0);
    AddLoopVariable(loop, name, name + "_0", name + "_plus", DT_INT32);
    AddTyped(name + "_body", "Identity", {name + "_switch:1"}, DT_INT32);
    AddScalar(name + "_1", 1, {"^" + name + "_body"});
    AddTyped(name + "_plus", "AddV2", {name + "_switch:1", name + "_1"}, DT_INT32);
    AddTyped(name + "_exit", "Exit", {name + "_switch"}, DT_INT32);
  }

  // `loop` continues while `count` is below `limit`.
  void AddCondition(const std::string& loop, const std::string& count, const std::string& limit) {
    AddTyped(loop + "_less", "Less", {count + "_merge", limit}, DT_INT32);
    Add(loop + "_cond", "LoopCond", {loop + "_less"});
  }

  // `name` is whether i is even, computed in each forward iteration.
  void AddIsEven(const std::string& name) {
    AddScalar(name + "_two", 2, {"^i_body"});
    AddScalar(name + "_zero", 0, {"^i_body"});
    AddTyped(name + "_mod", "FloorMod", {"i_switch:1", name + "_two"}, DT_INT32);
    AddTyped(name, "Equal", {name + "_mod", name + "_zero"}, DT_INT32);
  }

  // A list of elements of rank 1 that enters the forward loop as the constant `name`_in.
  void AddConstantList(const std::string& name) {
    Set(AddScalar(name + "_shape", 0), "value", Ints({5}));
    Placeholder(name + "_rows", DT_FLOAT);
    Set(AddOfList(name, "TensorListFromTensor", {name + "_rows", name + "_shape"}), "shape_type",
        DT_INT32);
    AddConstantEnter("f", name + "_in", name, DT_VARIANT);
  }

  // `name` is the length of a list that never changes, read in each forward iteration.
  void AddLength(const std::string& name) {
    AddConstantList(name + "_list");
    Add(name, "TensorListLength", {name + "_list_in"});
  }

  // Makes the reader of pushed list `name` also read a variable of the backward loop.
  void ReadInSteps(const std::string& name) {
    Named("use_" + name).set_op("AddV2");
    Named("use_" + name).add_input("k_switch:1");
  }

  // A pushed list of a value that cannot be recomputed.
  void AddUnknown() {
    Placeholder("x", DT_INT32);
    AddPushedList("unknown", "x", DT_INT32);
  }

  int Apply() {
    outcome_ = {{}, "recompute", /*wants_remarks=*/true};
    EXPECT_TRUE(RecomputeRule().apply(Find("f_cond"), graph().get(), &outcome_).ok());
    return static_cast<int>(outcome_.done.size());
  }

  int Lists() {
    return CountOf("EmptyTensorList") + CountOf("TensorListPushBack") +
           CountOf("TensorListPopBack");
  }
  // The node that feeds input `index` of `node`.
  Node* Input(const Node* node, int index = 0) {
    const tensorflow::Edge* edge = nullptr;
    EXPECT_TRUE(node->input_edge(index, &edge).ok());
    return edge->src();
  }
  // The node that replaces the pop of pushed list `name`.
  Node* Instead(const std::string& name) { return Input(Find("use_" + name)); }

  // Expects that `node` is `end`, a final value, less the number of backward iterations.
  void ExpectCountsBack(const Node* node, const std::string& end = "i_exit") {
    EXPECT_EQ(node->type_string(), "Sub");
    EXPECT_EQ(Input(node, 0)->type_string(), "Enter");
    EXPECT_EQ(Input(Input(node, 0))->name(), end);
    EXPECT_EQ(Input(node, 1)->name(), "k_plus");
    EXPECT_EQ(node->assigned_device_name(), kCpu0);
  }

  // Expects that the rule keeps a pushed list of `value` after `change`.
  void ExpectKept(const std::function<void()>& change, const std::string& value = "i_switch:1",
                  DataType type = DT_INT32) {
    Reset();
    AddPushedList("a", value, type);
    change();
    const int nodes = graph()->num_op_nodes();
    EXPECT_EQ(Apply(), 0);
    EXPECT_EQ(graph()->num_op_nodes(), nodes);
    EXPECT_EQ(Instead("a")->name(), "a_pop");
  }

  // The same, with one remark, about a_push.
  void ExpectRemark(const std::string& reason, const std::function<void()>& change) {
    ExpectKept(change);
    EXPECT_THAT(outcome_.missed, ElementsAre(IsRemark("a_push", reason)));
  }

  Outcome outcome_;  // of the last application
};

TEST_F(RecomputeRuleTest, ACountIsCountedBack) {
  AddPushedList("a", "i_switch:1", DT_INT32);
  EXPECT_EQ(Apply(), 1);
  EXPECT_EQ(Lists(), 0);
  ExpectCountsBack(Instead("a"));
  EXPECT_EQ(Input(Instead("a"))->name(), "steps");
  EXPECT_EQ(CountOf("Switch"), 2);
  EXPECT_EQ(CountOf("Merge"), 2);
  EXPECT_EQ(CountOf("Exit"), 2);
  EXPECT_EQ(Find("any"), nullptr);
}

TEST_F(RecomputeRuleTest, ValueThatFollowsFromTheCountIsRecomputed) {
  AddIsEven("even");
  AddPushedList("a", "even", DT_BOOL);
  Set(Add("chooser", "Switch", {"i_switch:1", "even"}), "T", DT_INT32);
  EXPECT_EQ(Apply(), 1);
  EXPECT_EQ(Lists(), 0);
  const Node* const equal = Instead("a");
  EXPECT_EQ(equal->type_string(), "Equal");
  EXPECT_NE(equal->name(), "even");
  const Node* const mod = Input(equal);
  EXPECT_EQ(mod->type_string(), "FloorMod");
  ExpectCountsBack(Input(mod));
  for (const Node* constant : {Input(mod, 1), Input(equal, 1)}) {
    EXPECT_EQ(constant->type_string(), "Const");
    EXPECT_THAT(InputsOf(constant->name()), ElementsAre("^k_merge"));
  }
  EXPECT_THAT(InputsOf("even"), ElementsAre("even_mod", "even_zero"));
}

TEST_F(RecomputeRuleTest, IndexThatFollowsFromTheCountIsRecomputed) {
  for (const char* op : {"Pack", "ExpandDims"}) {
    SCOPED_TRACE(op);
    Reset();
    AddScalar("zero", 0, {"^i_plus"});
    AddTyped("index", op, {"i_switch:1", "zero"}, DT_INT32);
    if (*op == 'P') Set(Named("index"), "N", 2);
    Set(Named("shape"), "value", Ints({*op == 'P' ? 2 : 1}));
    AddPushedList("a", "index", DT_INT32);
    EXPECT_EQ(Apply(), 1);
    EXPECT_EQ(Lists(), 0);
    const Node* const index = Instead("a");
    EXPECT_EQ(index->type_string(), op);
    ExpectCountsBack(Input(index));
    EXPECT_EQ(Input(index, 1)->type_string(), "Const");
    EXPECT_THAT(InputsOf(Input(index, 1)->name()), ElementsAre("^k_merge"));
  }
}

TEST_F(RecomputeRuleTest, IndexThatMayBeRejectedOrMayFailOrIsAnOperandStays) {
  const auto add = [&](const char* op, const char* second, const std::vector<int32_t>& shape) {
    AddTyped("index", op, {"i_switch:1", second}, DT_INT32);
    if (*op == 'P') Set(Named("index"), "N", 2);
    Set(Named("shape"), "value", Ints(shape));
  };
  ExpectKept([&] { add("Pack", "i_plus", {}); }, "index");
  ExpectKept([&] { add("Pack", "i_plus", {3}); }, "index");
  ExpectKept([&] { add("ExpandDims", "i_switch:1", {1}); }, "index");
  ExpectKept([&] { AddScalar("axis", 1), add("ExpandDims", "axis", {1}); }, "index");
  const auto add_sum = [&] { AddTyped("sum", "AddV2", {"index", "index"}, DT_INT32); };
  ExpectKept([&] { add("Pack", "i_plus", {2}), add_sum(); }, "sum");
}

TEST_F(RecomputeRuleTest, CommonPartOfSeveralValuesIsRecomputedOnce) {
  AddIsEven("even");
  AddPushedList("a", "i_switch:1", DT_INT32);
  AddPushedList("b", "even", DT_BOOL);
  AddPushedList("c", "even_mod", DT_INT32);
  EXPECT_EQ(Apply(), 3);
  EXPECT_EQ(CountOf("Sub"), 1);
  EXPECT_EQ(Input(Instead("b")), Instead("c"));
  EXPECT_EQ(Input(Instead("c")), Instead("a"));
}

TEST_F(RecomputeRuleTest, ForwardNodesThatOnlyTheListUsedAreRemoved) {
  AddIsEven("even");
  Add("both", "LogicalAnd", {"even", "even"});
  AddPushedList("a", "both", DT_BOOL);
  EXPECT_EQ(Apply(), 1);
  for (const char* node : {"even", "even_mod", "even_two", "even_zero", "both"}) {
    EXPECT_EQ(Find(node), nullptr) << node;
  }
  EXPECT_NE(Find("i_plus"), nullptr);
}

TEST_F(RecomputeRuleTest, CountWithAnotherFirstValueIsCountedBackFromItsLast) {
  AddCount("f", "j");
  Set(Named("j_0"), "value", Tensor(int32_t{7}));
  AddPushedList("a", "j_switch:1", DT_INT32);
  EXPECT_EQ(Apply(), 1);
  ExpectCountsBack(Instead("a"), "j_exit");
  // The NextIteration waits for the new constant: see AnchorConstant.
  const std::string enter = Input(Instead("a"))->name();
  EXPECT_THAT(InputsOf("k_next"), UnorderedElementsAre("k_plus", "^" + enter));
}

TEST_F(RecomputeRuleTest, ACountThatFallsIsCountedUp) {
  for (const bool subtracts : {true, false}) {
    Reset();
    AddCount("f", "j");
    if (subtracts) {
      Named("j_plus").set_op("Sub");
    } else {
      Set(Named("j_1"), "value", Tensor(int32_t{-1}));
    }
    AddPushedList("a", "j_switch:1", DT_INT32);
    EXPECT_EQ(Apply(), 1);
    const Node* const sum = Instead("a");
    EXPECT_EQ(sum->type_string(), "AddV2");
    EXPECT_EQ(Input(Input(sum, 0))->name(), "j_exit");
    EXPECT_EQ(Input(sum, 1)->name(), "k_plus");
  }
}

TEST_F(RecomputeRuleTest, ACountWithoutAnExitGetsOne) {
  AddCount("f", "j");
  AddPushedList("a", "j_switch:1", DT_INT32);
  graph()->RemoveNode(Find("j_exit"));
  EXPECT_EQ(Apply(), 1);
  const Node* const exit = Input(Input(Instead("a")));
  EXPECT_EQ(exit->type_string(), "Exit");
  EXPECT_THAT(InputsOf(exit->name()), ElementsAre("j_switch"));
}

TEST_F(RecomputeRuleTest, IdentitiesAreSkipped) {
  AddTyped("i_in", "Identity", {"i_switch:1"}, DT_INT32);
  AddTyped("i_out", "Identity", {"i_exit"}, DT_INT32);
  Named("steps").set_input(0, "i_out");
  AddTyped("goes_on", "Identity", {"b_less"}, DT_BOOL);
  Named("b_cond").set_input(0, "goes_on");
  AddPushedList("a", "i_in", DT_INT32);
  EXPECT_EQ(Apply(), 1);
  ExpectCountsBack(Instead("a"));
}

TEST_F(RecomputeRuleTest, LengthOfAConstantListIsReadBeforeTheLoop) {
  AddLength("length");
  AddPushedList("a", "length", DT_INT32);
  ReadInSteps("a");
  EXPECT_EQ(Apply(), 1);
  const Node* const enter = Instead("a");
  EXPECT_EQ(enter->type_string(), "Enter");
  EXPECT_EQ(Input(enter)->type_string(), "TensorListLength");
  EXPECT_THAT(InputsOf(Input(enter)->name()), ElementsAre("length_list"));
  EXPECT_THAT(InputsOf("k_next"), UnorderedElementsAre("k_plus", "^" + enter->name()));
  EXPECT_EQ(Find("length"), nullptr);
  EXPECT_EQ(Find("length_list_in"), nullptr);
}

TEST_F(RecomputeRuleTest, UnreadConstantWithAControlInputIsAnchoredAtTheNextIteration) {
  AddLength("length");
  Add("before", "NoOp");
  Named("length_list_in").add_input("^before");
  AddPushedList("a", "length", DT_INT32);
  EXPECT_EQ(Apply(), 1);
  EXPECT_THAT(InputsOf("i_next"), UnorderedElementsAre("i_plus", "^length_list_in"));
}

TEST_F(RecomputeRuleTest, ElementShapeOfAConstantListIsReadBeforeTheLoop) {
  Set(Named("shape"), "value", Ints({1}));
  AddConstantList("list");
  Set(Add("sizes", "TensorListElementShape", {"list_in"}), "shape_type", DT_INT32);
  AddPushedList("a", "sizes", DT_INT32);
  ReadInSteps("a");
  EXPECT_EQ(Apply(), 1);
  EXPECT_EQ(Input(Instead("a"))->type_string(), "TensorListElementShape");
}

TEST_F(RecomputeRuleTest, OnlyConstantsAreReplacedIfAnotherListStays) {
  AddLength("length");
  AddPushedList("a", "length", DT_INT32);
  ReadInSteps("a");
  AddPushedList("b", "i_switch:1", DT_INT32);
  AddUnknown();
  EXPECT_EQ(Apply(), 1);
  EXPECT_EQ(Instead("a")->type_string(), "Enter");
  EXPECT_EQ(Instead("b")->name(), "b_pop");
  EXPECT_EQ(Instead("unknown")->name(), "unknown_pop");
}

// A constant of the loop is live in the last iteration too, whose condition is false.
TEST_F(RecomputeRuleTest, ReaderThatWouldRunInTheLastIterationReadsACopyThatWaits) {
  const auto expect_wait = [&](const std::function<void()>& change) {
    Reset();
    AddLength("length");
    AddPushedList("a", "length", DT_INT32);
    change();
    EXPECT_EQ(Apply(), 1);
    const Node* const taken = Instead("a");
    EXPECT_EQ(taken->type_string(), "Identity");
    EXPECT_EQ(taken->assigned_device_name(), kCpu0);
    EXPECT_THAT(InputsOf(taken->name()), ElementsAre(Input(taken)->name(), "^k_plus"));
    EXPECT_EQ(Input(taken)->type_string(), "Enter");
  };
  expect_wait([] {});
  expect_wait([&] {
    ReadInSteps("a");
    AddTyped("other_reader", "Identity", {"a_pop:1"}, DT_INT32);
  });
  expect_wait([&] {  // a variable whose next value is the popped value
    AddLoopVariable("b", "h", "i_exit", "a_pop:1", DT_INT32);
    ReadInSteps("a");
  });
  expect_wait([&] {
    Set(AddTyped("merged", "Merge", {"a_pop:1", "k_switch:1"}, DT_INT32), "N", 2);
    ReadInSteps("a");
  });
}

TEST_F(RecomputeRuleTest, ReadersOfTwoReplacedConstantsReadCopiesThatWait) {
  AddLength("length");
  AddPushedList("a", "length", DT_INT32);
  AddLength("other_length");
  AddPushedList("b", "other_length", DT_INT32);
  Named("use_a").set_op("AddV2");
  Named("use_a").add_input("b_pop:1");
  ReadInSteps("b");
  EXPECT_EQ(Apply(), 2);
  EXPECT_EQ(Instead("a")->type_string(), "Identity");
  EXPECT_EQ(Input(Find("use_a"), 1)->type_string(), "Identity");
}

TEST_F(RecomputeRuleTest, SwitchByAVariableReadsAConstantDirectly) {
  AddLength("length");
  AddPushedList("a", "length", DT_INT32);
  AddTyped("even", "Equal", {"k_switch:1", "k_1"}, DT_INT32);
  Named("use_a").set_op("Switch");
  Named("use_a").add_input("even");
  EXPECT_EQ(Apply(), 1);
  EXPECT_EQ(Instead("a")->type_string(), "Enter");
}

TEST_F(RecomputeRuleTest, ConstantsOfTheForwardLoopEnterTheBackwardLoop) {
  AddScalar("three", 3);
  AddConstantEnter("f", "three_in", "three");
  AddTyped("times", "Mul", {"three_in", "i_switch:1"}, DT_INT32);
  AddPushedList("a", "times", DT_INT32);
  EXPECT_EQ(Apply(), 1);
  const Node* const mul = Instead("a");
  EXPECT_EQ(mul->type_string(), "Mul");
  EXPECT_EQ(Input(Input(mul, 0))->name(), "three");
  EXPECT_NE(Input(mul, 0)->name(), "three_in");
  ExpectCountsBack(Input(mul, 1));
}

TEST_F(RecomputeRuleTest, ListMayHaveTheBoundOfTheLoop) {
  for (const bool constant : {true, false}) {
    SCOPED_TRACE(constant);
    Reset();
    AddPushedList("a", "i_switch:1", DT_INT32);
    if (constant) {
      Set(Named("bound"), "value", Tensor(int32_t{9}));
      AddScalar("nine", 9);
      Named("f_limit").set_input(0, "nine");
    } else {
      Named("a").set_input(1, "limit");
    }
    EXPECT_EQ(Apply(), 1);
  }
}

TEST_F(RecomputeRuleTest, TheBoundMayBeOneOfSeveralConditions) {
  AddPushedList("a", "i_switch:1", DT_INT32);
  Named("a").set_input(1, "limit");
  Placeholder("goes_on", DT_BOOL);
  Add("f_and", "LogicalAnd", {"goes_on", "f_less"});
  Named("f_cond").set_input(0, "f_and");
  EXPECT_EQ(Apply(), 1);
}

TEST_F(RecomputeRuleTest, TheListMayTakeAnyShape) {
  AddPushedList("a", "i_switch:1", DT_INT32);
  Named("a").set_input(0, "any");
  EXPECT_EQ(Apply(), 1);
}

TEST_F(RecomputeRuleTest, NodeThatWaitsForTheListWaitsForTheCount) {
  AddPushedList("a", "i_switch:1", DT_INT32);
  AddTyped("a_b_exit", "Exit", {"a_b_switch"});
  Add("before", "NoOp");
  Named("a_f_next").add_input("^before");
  Named("a_b_next").add_input("^before");
  Add("after", "NoOp", {"^a_exit", "^a_b_exit"});
  EXPECT_EQ(Apply(), 1);
  EXPECT_THAT(InputsOf("after"), UnorderedElementsAre("^i_exit", "^k_exit"));
  EXPECT_THAT(InputsOf("i_next"), IsSupersetOf({std::string("^before")}));
  EXPECT_THAT(InputsOf("k_next"), IsSupersetOf({std::string("^before")}));
}

// ---- near misses

TEST_F(RecomputeRuleTest, ValueThatDoesNotFollowFromTheCountStays) {
  ExpectKept([&] { Placeholder("x", DT_INT32); }, "x");
  ExpectKept([&] { AddLoopVariable("f", "x", "limit", "x_switch:1", DT_INT32); }, "x_switch:1");
  ExpectKept([&] { AddTyped("x", "Mul", {"i_switch:1", "f_limit"}, DT_INT32); }, "x");
  ExpectKept(
      [&] {
        Set(Add("x", "RandomUniformInt", {"shape", "k_0", "i_switch:1"}), "T", DT_INT32),
            Set(Named("x"), "Tout", DT_INT32);
      },
      "x");
}

TEST_F(RecomputeRuleTest, ValueComputedFromConstantsAloneStays) {
  ExpectKept([&] { AddScalar("two", 2, {"^i_body"}); }, "two");
  ExpectKept(
      [&] {
        AddLength("length");
        AddScalar("two", 2, {"^i_body"});
        AddTyped("less_two", "Sub", {"length", "two"}, DT_INT32);
      },
      "less_two");
}

TEST_F(RecomputeRuleTest, LengthOfAListThatTheLoopChangesStays) {
  ExpectKept(
      [&] {
        AddOther();
        Add("length", "TensorListLength", {"other_switch:1"});
      },
      "length");
  ExpectKept(
      [&] {
        Placeholder("any_list", DT_VARIANT);
        AddConstantEnter("f", "any_list_in", "any_list", DT_VARIANT);
        Add("length", "TensorListLength", {"any_list_in"});
      },
      "length");
}

TEST_F(RecomputeRuleTest, ACountThatGrowsOtherwiseStays) {
  ExpectKept([&] { Set(Named("i_1"), "value", Tensor(int32_t{2})); });
  ExpectKept([&] {
    AddCount("f", "j");
    Set(Named("j_1"), "value", Tensor(int32_t{2}));
    Named("a_push").set_input(1, "j_switch:1");
  });
  ExpectKept([&] {
    AddCount("f", "j");
    Named("j_plus").set_input(1, "i_switch:1");
    Named("a_push").set_input(1, "j_switch:1");
  });
  ExpectKept([&] {
    AddCount("f", "j");
    Named("j_plus").set_op("Sub");
    Named("j_plus").set_input(0, "j_1");
    Named("j_plus").set_input(1, "j_switch:1");
    Named("a_push").set_input(1, "j_switch:1");
  });
  ExpectKept([&] {
    AddCount("f", "j");
    Named("j_enter").set_input(0, "limit");
    Named("a_push").set_input(1, "j_switch:1");
  });
}

TEST_F(RecomputeRuleTest, ACountOfAnotherTypeStays) {
  ExpectKept([&] {
    AddCount("f", "j");
    for (const char* node : {"enter", "merge", "switch", "body", "next", "exit", "plus"}) {
      Set(Named(std::string("j_") + node), "T", DT_INT64);
    }
    for (const char* node : {"j_0", "j_1"}) {
      Set(Named(node), "dtype", DT_INT64);
      Set(Named(node), "value", Tensor(static_cast<int64_t>(node[2] - '0')));
    }
    Named("a_push").set_input(1, "j_switch:1");
    for (const char* node : {"a", "a_push", "a_pop"}) {
      Set(Named(node), "element_dtype", DT_INT64);
    }
    Set(Named("use_a"), "T", DT_INT64);
  });
}

TEST_F(RecomputeRuleTest, ValueWhoseComputationMayFailStays) {
  // The iteration that fails may be one that the backward loop does not reach.
  for (const char* op : {"FloorMod", "FloorDiv"}) {
    ExpectKept([&] { AddTyped("x", op, {"i_1", "i_switch:1"}, DT_INT32); }, "x");
    ExpectKept([&] { AddTyped("x", op, {"i_switch:1", "zero"}, DT_INT32), AddScalar("zero", 0); },
               "x");
  }
}

TEST_F(RecomputeRuleTest, ValueThatWaitsForANodeThatIsNotRecomputedStays) {
  const auto add_effect = [&] { AddTyped("effect", "Square", {"i_switch:1"}, DT_INT32); };
  ExpectRemark("`a_push` waits for other nodes",
               [&] { add_effect(), Named("a_push").add_input("^effect"); });
  for (const char* node : {"even", "even_mod", "even_two"}) {
    SCOPED_TRACE(node);
    ExpectKept([&] { add_effect(), AddIsEven("even"), Named(node).add_input("^effect"); }, "even",
               DT_BOOL);
  }
}

TEST_F(RecomputeRuleTest, CountThatWaitsForThePoppedValueStays) {
  for (const char* node : {"k_1", "k_plus"}) {
    SCOPED_TRACE(node);
    ExpectKept([&] {
      AddTyped("effect", "Neg", {"a_pop:1"}, DT_INT32);
      Named(node).add_input("^effect");
    });
  }
  ExpectKept([&] {
    AddTyped("effect", "Neg", {"a_pop:1"}, DT_INT32);
    AddTyped("by", "Identity", {"k_1", "^effect"}, DT_INT32);
    Named("k_plus").set_input(1, "by");
  });
}

TEST_F(RecomputeRuleTest, BackwardLoopThatMayRunMoreIterationsStays) {
  ExpectKept([&] { Named("steps").set_input(0, "limit"); });
  ExpectKept([&] { Named("b_less").set_op("LessEqual"); });
  ExpectKept([&] {
    Named("b_less").set_input(0, "steps");
    Named("b_less").set_input(1, "k_merge");
  });
  ExpectKept([&] { Set(Named("k_0"), "value", Tensor(int32_t{1})); });
  ExpectKept([&] { Set(Named("k_0"), "value", Tensor(int32_t{-1})); });
  ExpectKept([&] { Set(Named("k_1"), "value", Tensor(int32_t{2})); });
  ExpectKept([&] { Named("k_plus").set_op("Sub"); });
  // The variable that bounds the backward loop does not count forward iterations.
  ExpectKept([&] { Set(Named("i_0"), "value", Tensor(int32_t{-1})); });
  ExpectKept([&] {
    Add("b_or", "LogicalOr", {"b_less", "b_less"});
    Named("b_cond").set_input(0, "b_or");
  });
}

TEST_F(RecomputeRuleTest, ListThatMayRejectAnElementForItsBoundStays) {
  ExpectRemark("the list `a` has a limit",
               [&] { Set(Named("bound"), "value", Tensor(int32_t{9})); });
  ExpectRemark("the list `a` has a limit", [&] {
    Set(Named("bound"), "value", Tensor(int32_t{9}));
    AddScalar("ten", 10);
    Named("f_limit").set_input(0, "ten");
  });
  ExpectRemark("the list `a` has a limit", [&] {
    Placeholder("other_bound", DT_INT32);
    Named("a").set_input(1, "other_bound");
  });
}

TEST_F(RecomputeRuleTest, ListThatMayRejectAnElementForItsShapeStays) {
  ExpectRemark("the list `a` may reject", [&] { Set(Named("shape"), "value", Ints({1})); });
  ExpectRemark("the list `a` may reject", [&] { Named("a").set_input(0, "limit"); });
  const auto add_sizes = [&] {
    AddConstantList("list");
    Set(Add("sizes", "TensorListElementShape", {"list_in"}), "shape_type", DT_INT32);
  };
  ExpectKept(add_sizes, "sizes");
  ExpectKept([&] { add_sizes(), Set(Named("shape"), "value", Ints({2})); }, "sizes");
  ExpectKept(
      [&] {
        add_sizes();
        Set(Named("shape"), "value", Ints({1}));
        Named("list").set_input(1, "any");
      },
      "sizes");
}

TEST_F(RecomputeRuleTest, ValueThatNeedsMoreNodesThanTheListStays) {
  for (const int length : {7, 8, 40}) {
    Reset();
    std::string value = "i_switch:1";
    for (int n = 0; n < length; ++n) {
      const std::string next = absl::StrCat("sum", n);
      AddTyped(next, "Mul", {value, value}, DT_INT32);
      value = next;
    }
    AddPushedList("a", value, DT_INT32);
    EXPECT_EQ(Apply(), length == 7 ? 1 : 0) << length;
  }
}

TEST_F(RecomputeRuleTest, EachFurtherListAllowsOneMoreNode) {
  std::string value = "i_switch:1";
  for (int n = 0; n < 8; ++n) {
    const std::string next = absl::StrCat("sum", n);
    AddTyped(next, "Mul", {value, value}, DT_INT32);
    value = next;
  }
  AddPushedList("a", value, DT_INT32);
  AddPushedList("b", "i_switch:1", DT_INT32);
  EXPECT_EQ(Apply(), 2);
}

TEST_F(RecomputeRuleTest, ListStaysIfAnotherListOfTheLoopStays) {
  ExpectKept([&] { AddUnknown(); });
  EXPECT_THAT(outcome_.missed, testing::IsEmpty());  // it would save nothing
}

TEST_F(RecomputeRuleTest, ListThatANodeWaitsForStaysIfTheCountHasNoExit) {
  ExpectRemark("nodes wait for the last use of `a_pop`", [&] {
    AddTyped("a_b_exit", "Exit", {"a_b_switch"});
    Add("after", "NoOp", {"^a_b_exit"});
    graph()->RemoveNode(Find("k_exit"));
  });
}

TEST_F(RecomputeRuleTest, NodesOnAnotherDeviceStay) {
  for (const char* node : {"i_enter", "i_merge", "i_switch", "i_next", "i_plus", "i_exit",
                           "k_enter", "k_merge", "k_switch", "k_next", "k_plus", "k_exit"}) {
    SCOPED_TRACE(node);
    ExpectKept([&] { Named(node).set_device(kCpu1); });
  }
  for (const char* node : {"even", "even_mod", "even_two", "even_zero"}) {
    SCOPED_TRACE(node);
    ExpectKept(
        [&] {
          AddIsEven("even");
          Named(node).set_device(kCpu1);
        },
        "even", DT_BOOL);
  }
  ExpectKept([&] {
    for (const char* node :
         {"a", "a_f_enter", "a_f_merge", "a_f_switch", "a_f_next", "a_push", "a_exit", "a_b_enter",
          "a_b_merge", "a_b_switch", "a_b_next", "a_pop"}) {
      Named(node).set_device(kCpu1);
    }
  });
  for (const char* node : {"three", "three_in", "times"}) {
    SCOPED_TRACE(node);
    ExpectKept(
        [&] {
          AddScalar("three", 3);
          AddConstantEnter("f", "three_in", "three");
          AddTyped("times", "Mul", {"three_in", "i_switch:1"}, DT_INT32);
          Named(node).set_device(kCpu1);
        },
        "times");
  }
  for (const char* node : {"list", "length"}) {
    SCOPED_TRACE(node);
    ExpectKept(
        [&] {
          AddConstantList("list");
          Add("length", "TensorListLength", {"list_in"});
          Named(node).set_device(kCpu1);
        },
        "length");
  }
}

TEST_F(RecomputeRuleTest, NothingChangesIfTheDeviceHasNoKernels) {
  ExpectKept([&] { PlaceAllOn(kGpu0); });
}

}  // namespace
}  // namespace tensor_array_grad
