#include "cc/compile/compiler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "cc/base/tensorflow_names.h"
#include "cc/compile/program_text.h"
#include "cc/testing/frames_under_test.h"
#include "cc/testing/matchers.h"

namespace tensor_array_grad {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

// The loop i: its variable is in register 0, its constants limit and step are in 1 and 2. Tests add
// to its body.
class ProgramTest : public testing::Test, protected FramesUnderTest {
 protected:
  ProgramTest() {
    for (const char* name : {"zero", "ten", "step", "x0", "y0"}) Placeholder(name, DT_INT32);
    for (const char* name : {"p0", "q0"}) Placeholder(name, DT_BOOL);
    Placeholder("list0", DT_VARIANT);
    Placeholder("item0", DT_FLOAT);
    AddCounter("i", "zero", "ten", "step");
  }

  // The program of the loop i, which the first call compiles.
  const Program& program() {
    if (!program_.loops.empty()) return program_;
    absl::StatusOr<Program> made = Compile(FrameNamed("i"));
    if (!made.ok()) {
      ADD_FAILURE() << made.status();
      made = Program();
      made->loops.resize(2);
    }
    return program_ = *std::move(made);
  }

  std::string Text(int loop = 0) { return ProgramText(program()).OfLoop(loop); }

  void AddInvariantOf(const std::string& name, tensorflow::DataType type,
                      const std::string& start) {
    AddVariableOf("i", name, type, start, name + "_switch:1");
  }

  // Adds the variable p and a Switch of i by p. The node `taken` reads side 1.
  void AddBranch() {
    AddInvariantOf("p", DT_BOOL, "p0");
    AddUnary("s", "Switch", DT_INT32, {"i_switch:1", "p_switch:1"});
    AddUnary("taken", "Neg", DT_INT32, {"s:1"});
  }

 private:
  Program program_;
};

TEST_F(ProgramTest, CounterCompilesToTheExampleOfTheHeader) {
  EXPECT_EQ(Text(),
            "condition:\n"
            "  i_less 0 1 -> 3\n"
            "body:\n"
            "  i_plus 0! 2 -> 4\n"
            "next:\n"
            "  0 = 4!\n"
            "predicate 3\n");
  EXPECT_THAT(program().arguments, ElementsAre(0, 1, 2));
  EXPECT_THAT(program().loops[0].variables, ElementsAre(0));
  EXPECT_EQ(program().registers, 5);
  EXPECT_EQ(program().flags, 0);
  EXPECT_EQ(program().loops[0].nodes, 7);
  EXPECT_EQ(program().nodes[program().loops[0].loop_cond]->name(), "i_cond");
}

TEST_F(ProgramTest, TextOfAProgramNamesItsLoopsAndArguments) {
  EXPECT_EQ(ProgramText(program()).OfAll(),
            absl::StrCat("loop 0 by i_cond\n", Text(), "arguments 0 1 2\n"));
}

TEST_F(ProgramTest, NodesThatPassAValueOnHaveNoInstruction) {
  AddUnary("copy", "Identity", DT_INT32, {"i_switch:1"});
  AddUnary("copy_of_copy", "Identity", DT_INT32, {"copy"});
  Named("i_plus").set_input(0, "copy_of_copy");
  Add("nothing", "NoOp", {"^copy"});
  Add("trigger", "ControlTrigger", {"^nothing"});
  EXPECT_THAT(program().loops[0].body, SizeIs(1));
  EXPECT_EQ(program().loops[0].body[0].inputs[0].reg, 0);
}

TEST_F(ProgramTest, ConstantsHaveRegistersFromTheStart) {
  AddValue("seven", tensorflow::Tensor(int32_t{7}), {"^i_switch"});
  Named("i_plus").set_input(1, "seven");
  const Program& made = program();
  ASSERT_THAT(made.constants, SizeIs(1));
  EXPECT_THAT(made.constants[0].value, TensorEq(tensorflow::Tensor(int32_t{7})));
  EXPECT_EQ(made.loops[0].body[0].inputs[1].reg, made.constants[0].reg);
  EXPECT_FALSE(made.loops[0].body[0].inputs[1].last);
}

TEST_F(ProgramTest, ABranchOfAKnownPredicateHasNoGuards) {
  AddValue("yes", tensorflow::Tensor(true), {"^i_switch"});
  AddUnary("s", "Switch", DT_INT32, {"i_switch:1", "yes"});
  AddUnary("taken", "Neg", DT_INT32, {"s:1"});
  Add("never", "LoopTest>WithoutKernel", {"s"});
  AddMerge("merged", DT_INT32, {"never", "taken"});
  Named("i_next").set_input(0, "merged");
  EXPECT_EQ(program().flags, 0);
  EXPECT_EQ(Text(),
            "condition:\n"
            "  i_less 0 1 -> 3\n"
            "body:\n"
            "  taken 0 -> 5\n"
            "  merge merged 5! -> 6 _\n"
            "  i_plus 0! 2 -> _\n"
            "next:\n"
            "  0 = 6!\n"
            "predicate 3\n");
}

TEST_F(ProgramTest, BranchesAreGuardedAndMerged) {
  AddBranch();
  AddMerge("merged", DT_INT32, {"s", "taken"});
  Named("i_next").set_input(0, "merged");
  // Registers: 0 i, 1 limit, 2 step, 3 p. If p holds, `taken` is the last reader of i; if not, the
  // Merge is. No node reads i_plus.
  EXPECT_EQ(Text(),
            "condition:\n"
            "  i_less 0 1 -> 4\n"
            "body:\n"
            "  i_plus 0 2 -> _\n"
            "  branch s by 3 -> f0 f1\n"
            "  [f1] taken 0! -> 5\n"
            "  merge merged [f0] 0! | [f1] 5! -> 6 _ release 0\n"
            "next:\n"
            "  0 = 6!\n"
            "predicate 4\n");
}

TEST_F(ProgramTest, ListUpdateInABranchIsTheLastReaderOfTheList) {
  // if p: a = SetItem(list, i, item)  else: a = list
  AddInvariantOf("p", DT_BOOL, "p0");
  AddVariableOf("i", "list", DT_VARIANT, "list0", "a");
  AddConstantOf("i", "item", DT_FLOAT, "item0");
  AddUnary("s", "Switch", DT_VARIANT, {"list_switch:1", "p_switch:1"});
  Set(Add("set", "TensorListSetItem", {"s:1", "i_switch:1", "item"}), "element_dtype", DT_FLOAT);
  AddMerge("a", DT_VARIANT, {"s", "set"});
  const std::string text = Text();
  const int list = program().loops[0].variables[2];
  EXPECT_THAT(text, HasSubstr(absl::StrCat("[f1] set ", list, "! 0")));
  EXPECT_THAT(text, HasSubstr(absl::StrCat("merge a [f0] ", list, "! | [f1] ")));
}

TEST_F(ProgramTest, ValueThatOnlyOneBranchReadsIsReleasedIfThatBranchIsNotTaken) {
  AddBranch();
  AddUnary("big", "Neg", DT_INT32, {"i_switch:1"});
  AddUnary("of_big", "Switch", DT_INT32, {"big", "p_switch:1"});
  AddBinary("only_reader", "AddV2", DT_INT32, {"of_big:1", "taken"});
  const Program& made = program();
  const ProgramText text(made);
  int found = 0;
  for (const Instruction& instruction : made.loops[0].body) {
    if (made.nodes[instruction.node]->name() != "only_reader") continue;
    ++found;
    const Read& big = instruction.inputs[0];
    EXPECT_TRUE(big.last);
    EXPECT_THAT(std::vector<int>(instruction.releases.begin(), instruction.releases.end()),
                testing::Contains(big.reg));
    EXPECT_THAT(instruction.guards, SizeIs(1));
  }
  EXPECT_EQ(found, 1);
}

TEST_F(ProgramTest, OutputThatNothingReadsHasNoRegister) {
  AddUnary("unread", "Neg", DT_INT32, {"i_limit"});
  AddUnary("waited_for", "Neg", DT_INT32, {"i_one"});
  Named("i_plus").add_input("^waited_for");
  EXPECT_THAT(Text(), HasSubstr("  unread 1 -> _\n"));
  EXPECT_THAT(Text(), HasSubstr("  waited_for 2 -> _\n"));
}

TEST_F(ProgramTest, ValueThatOnlyANodeWithoutInstructionReadsIsReleasedAtOnce) {
  AddUnary("value", "Neg", DT_INT32, {"i_switch:1"});
  AddUnary("copy", "Identity", DT_INT32, {"value"});
  EXPECT_THAT(Text(), HasSubstr("value 0"));
  for (const Instruction& instruction : program().loops[0].body) {
    if (program().nodes[instruction.node]->name() != "value") continue;
    EXPECT_THAT(instruction.releases, ElementsAre(instruction.outputs[0]));
  }
}

TEST_F(ProgramTest, OneBranchSetsTheFlagsOfAllSwitchesByAPredicate) {
  AddBranch();
  AddUnary("copy", "Identity", DT_BOOL, {"p_switch:1"});
  AddUnary("t", "Switch", DT_INT32, {"i_switch:1", "copy"});
  AddUnary("other", "Neg", DT_INT32, {"t:0"});
  EXPECT_EQ(program().flags, 2);
  EXPECT_THAT(Text(), HasSubstr("[f0] other"));
  EXPECT_THAT(Text(), HasSubstr("[f1] taken"));
}

TEST_F(ProgramTest, SwitchesOfDifferentSizeByOneIndexHaveFlagsOfTheirOwn) {
  AddInvariantOf("n", DT_INT32, "x0");
  AddSwitchN("three", 3, {"i_switch:1", "n_switch:1"});
  AddSwitchN("five", 5, {"i_switch:1", "n_switch:1"});
  AddUnary("last_of_three", "Neg", DT_INT32, {"three:2"});
  AddUnary("last_of_five", "Neg", DT_INT32, {"five:4"});
  const Program& made = program();
  EXPECT_EQ(made.flags, 8);
  std::set<int> guards;
  for (const Instruction& instruction : made.loops[0].body) {
    for (int flag : instruction.guards) {
      EXPECT_GE(flag, 0);
      guards.insert(flag);
    }
  }
  EXPECT_THAT(guards, SizeIs(2));
}

TEST_F(ProgramTest, GuardsOfNestedBranchesAreTheInnermost) {
  AddBranch();
  AddInvariantOf("q", DT_BOOL, "q0");
  AddUnary("inner_q", "Switch", DT_BOOL, {"q_switch:1", "p_switch:1"});
  AddUnary("t", "Switch", DT_INT32, {"s:1", "inner_q:1"});
  AddUnary("deep", "Neg", DT_INT32, {"t:1"});
  const std::string text = Text();
  EXPECT_THAT(text, HasSubstr("[f1] branch t by"));
  EXPECT_THAT(text, HasSubstr("[f3] deep"));
}

TEST_F(ProgramTest, MergeOfUnknownLivenessSetsAFlagForItsReaders) {
  AddBranch();
  AddInvariantOf("q", DT_BOOL, "q0");
  AddUnary("t", "Switch", DT_INT32, {"i_switch:1", "q_switch:1"});
  AddMerge("odd", DT_INT32, {"taken", "t"});
  AddUnary("reader", "Neg", DT_INT32, {"odd"});
  const Program& made = program();
  int flag = -1;
  for (const Instruction& instruction : made.loops[0].body) {
    const std::string& name = made.nodes[instruction.node]->name();
    if (name == "odd") {
      flag = instruction.flag;
      EXPECT_THAT(instruction.guards, IsEmpty());
    }
    if (name == "reader") {
      EXPECT_THAT(instruction.guards, ElementsAre(flag));
    }
  }
  EXPECT_GE(flag, 0);
}

TEST_F(ProgramTest, SwapOfTwoVariablesUsesAThirdRegister) {
  AddVariableOf("i", "x", DT_INT32, "x0", "y_switch:1");
  AddVariableOf("i", "y", DT_INT32, "y0", "x_switch:1");
  const LoopCode& code = program().loops[0];
  // One move for i and three for the swap.
  ASSERT_THAT(code.next, SizeIs(4));
  std::vector<std::string> values(program().registers);
  const int x = code.variables[1], y = code.variables[2];
  values[x] = "x";
  values[y] = "y";
  for (const Move& move : code.next) {
    values[move.to] = values[move.from.reg];
    EXPECT_TRUE(move.from.last) << move.from.reg;
  }
  EXPECT_EQ(values[x], "y");
  EXPECT_EQ(values[y], "x");
}

TEST_F(ProgramTest, InvariantVariableIsNeitherMovedNorReleased) {
  AddInvariantOf("x", DT_INT32, "x0");
  AddUnary("reader", "Neg", DT_INT32, {"x_switch:1"});
  const LoopCode& code = program().loops[0];
  EXPECT_THAT(code.next, SizeIs(1));
  EXPECT_THAT(Text(), HasSubstr(absl::StrCat("reader ", code.variables[1], " -> _\n")));
}

TEST_F(ProgramTest, VariableThatOnlyTheConditionReadsIsDroppedBeforeTheBodyIfItIsReplaced) {
  AddVariableOf("i", "x", DT_INT32, "x0", "i_plus");
  AddInvariantOf("y", DT_INT32, "y0");
  for (const char* variable : {"x", "y"}) {
    const std::string reader = absl::StrCat(variable, "_reader");
    AddUnary(reader, "Neg", DT_INT32, {absl::StrCat(variable, "_merge")});
    Named("i_cond").add_input(absl::StrCat("^", reader));
  }
  const LoopCode& code = program().loops[0];
  EXPECT_THAT(code.dropped, ElementsAre(code.variables[1]));
}

TEST_F(ProgramTest, VariableWithoutReaderIsStillReplaced) {
  AddVariableOf("i", "x", DT_INT32, "x0", "i_plus");
  const LoopCode& code = program().loops[0];
  ASSERT_THAT(code.next, SizeIs(2));
  EXPECT_NE(code.next[0].from.last, code.next[1].from.last);  // both move the same value
}

TEST_F(ProgramTest, EnterWithoutMergeIsAVariableThatKeepsItsValue) {
  Set(AddUnary("lonely", "Enter", DT_INT32, {"x0"}), "frame_name", "i");
  EXPECT_THAT(program().arguments, SizeIs(4));
  EXPECT_THAT(program().loops[0].variables, SizeIs(2));
}

TEST_F(ProgramTest, ConditionHasOnlyTheNodesThatLoopCondNeeds) {
  AddBinary("twice", "AddV2", DT_INT32, {"i_merge", "i_merge"});
  AddUnary("not_for_cond", "Neg", DT_INT32, {"i_merge"});
  Named("i_less").set_input(0, "twice");
  std::vector<std::string> names;
  const Program& made = program();
  for (const Instruction& i : made.loops[0].condition) names.push_back(made.nodes[i.node]->name());
  EXPECT_THAT(names, ElementsAre("twice", "i_less"));
  EXPECT_THAT(Text(), HasSubstr("twice 0 0 -> "));  // the condition releases no variable
}

TEST_F(ProgramTest, NodeThatLoopCondOnlyWaitsForIsInTheConditionToo) {
  AddUnary("effect", "Neg", DT_INT32, {"i_limit"});
  Named("i_cond").add_input("^effect");
  EXPECT_THAT(program().loops[0].condition, SizeIs(2));
}

TEST_F(ProgramTest, BranchThatConditionAndBodyShareIsInTheCondition) {
  // A conditional in the condition and another one in the body, both by the constant p. The one in
  // the body reads only constants.
  AddConstantOf("i", "p", DT_BOOL, "p0");
  AddUnary("body_s", "Switch", DT_INT32, {"i_one", "p"});
  AddUnary("body_taken", "Neg", DT_INT32, {"body_s:1"});
  AddUnary("s", "Switch", DT_INT32, {"i_limit", "p"});
  AddUnary("taken", "Neg", DT_INT32, {"s:1"});
  AddMerge("limit", DT_INT32, {"s", "taken"});
  Named("i_less").set_input(1, "limit");
  const Program& made = program();
  int branches = 0;
  for (const Instruction& instruction : made.loops[0].condition) {
    branches += instruction.action == Instruction::kBranch;
  }
  EXPECT_EQ(branches, 1);
}

TEST_F(ProgramTest, PredicateOutlivesTheCondition) {
  AddUnary("effect", "Neg", DT_BOOL, {"i_less"});
  Named("i_cond").add_input("^effect");
  EXPECT_THAT(Text(), HasSubstr(absl::StrCat("effect ", program().loops[0].predicate, " -> _\n")));
}

TEST_F(ProgramTest, InnerLoopIsOneInstruction) {
  AddCounter("j", "i_switch:1", "i_limit", "i_one");
  Named("i_plus").set_input(0, "j_exit");
  EXPECT_EQ(Text(),
            "condition:\n"
            "  i_less 0 1 -> 3\n"
            "body:\n"
            "  loop 1 of j_cond 0! sharing 1 2 -> 4\n"
            "  i_plus 4! 2 -> 7\n"
            "next:\n"
            "  0 = 7!\n"
            "predicate 3\n");
  EXPECT_EQ(Text(1),
            "condition:\n"
            "  j_less 4 1 -> 5\n"
            "body:\n"
            "  j_plus 4! 2 -> 6\n"
            "next:\n"
            "  4 = 6!\n"
            "predicate 5\n");
}

TEST_F(ProgramTest, VariableOfAnInnerLoopWhoseExitNothingReadsIsReleasedAfterTheLoop) {
  AddCounter("j", "i_switch:1", "i_limit", "i_one");
  const Instruction& loop = program().loops[0].body[0];
  ASSERT_EQ(loop.action, Instruction::kLoop);
  EXPECT_THAT(loop.releases, ElementsAre(loop.outputs[0]));
}

TEST_F(ProgramTest, InnerLoopThatLoopCondNeedsIsInTheCondition) {
  AddCounter("j", "i_merge", "i_limit", "i_one");
  Named("i_less").set_input(0, "j_exit");
  const LoopCode& code = program().loops[0];
  ASSERT_THAT(code.condition, SizeIs(2));
  EXPECT_EQ(code.condition[0].action, Instruction::kLoop);
}

TEST_F(ProgramTest, ControlEdgesAreRecordedForTheEstimate) {
  AddUnary("effect", "Neg", DT_INT32, {"i_switch:1"});
  AddUnary("pivot", "Identity", DT_INT32, {"effect"});
  Named("i_plus").add_input("^pivot");
  Named("i_plus").add_input("^i_less");
  const LoopCode& code = program().loops[0];
  ASSERT_THAT(code.body, SizeIs(2));
  EXPECT_THAT(code.body[1].after, ElementsAre(~0, 0));
}

TEST_F(ProgramTest, ControlEdgesOfAnInnerLoopAreRecordedForTheEstimate) {
  AddUnary("effect", "Neg", DT_INT32, {"i_switch:1"});
  AddUnary("pivot", "Identity", DT_INT32, {"effect"});
  AddCounter("j", "i_switch:1", "i_limit", "i_one");
  Named("j_enter").add_input("^pivot");
  Named("i_plus").add_input("^j_exit");
  const LoopCode& code = program().loops[0];
  ASSERT_THAT(code.body, SizeIs(3));
  ASSERT_EQ(code.body[1].action, Instruction::kLoop);
  EXPECT_THAT(code.body[1].after, ElementsAre(0));
  EXPECT_THAT(code.body[2].after, ElementsAre(1));
}

}  // namespace
}  // namespace tensor_array_grad
