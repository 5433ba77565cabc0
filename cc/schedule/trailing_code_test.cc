#include "cc/schedule/trailing_code.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <set>
#include <utility>
#include <vector>

namespace tensor_array_grad {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// Registers of the code under test: variables, constants, and what instructions write.
enum { kI, kH, kSum, kOther, kLimit, kWeights, kLess, kNextI, kNextH, kProduct, kNextSum };

Instruction Kernel(int node, std::vector<Read> inputs, int output) {
  Instruction instruction;
  instruction.node = node;
  instruction.inputs.assign(inputs.begin(), inputs.end());
  instruction.outputs = {output};
  return instruction;
}

// A loop with an instruction per line, whose node is the number of the line:
//
//     0: while less = i < limit:
//     1:     i' = i + 1
//     2:     h' = f(h, weights)         the last read of h
//     3:     product = g(h', weights)   the last read of h' except for the move
//     4:     sum' = sum + product       the last reads of both
LoopCode SummingLoop() {
  LoopCode code;
  code.variables = {kI, kH, kSum};
  code.condition = {Kernel(0, {{kI}, {kLimit}}, kLess)};
  code.predicate = kLess;
  code.body = {Kernel(1, {{kI, true}}, kNextI), Kernel(2, {{kH, true}, {kWeights}}, kNextH),
               Kernel(3, {{kNextH}, {kWeights}}, kProduct),
               Kernel(4, {{kSum, true}, {kProduct, true}}, kNextSum)};
  code.next = {{{kNextI, true}, kI}, {{kNextH, true}, kH}, {{kNextSum, true}, kSum}};
  return code;
}

std::unique_ptr<const TrailingCode> Divide(const LoopCode& code, std::set<int> pinned = {},
                                           std::set<int> light = {}) {
  return DivideTrailing(
      code, [&](const Instruction& instruction) { return pinned.count(instruction.node) == 0; },
      [&](const Instruction& instruction) { return light.count(instruction.node) != 0; });
}

std::vector<int> NodesOf(const std::vector<Instruction>& code) {
  std::vector<int> nodes;
  for (const Instruction& instruction : code) nodes.push_back(instruction.node);
  return nodes;
}

std::vector<int> RegistersOf(const std::vector<Read>& reads) {
  std::vector<int> registers;
  for (const Read& read : reads) registers.push_back(read.reg);
  return registers;
}

TEST(TrailingCodeTest, SumAndWhatOnlyTheSumNeedsTrail) {
  const auto divided = Divide(SummingLoop());
  ASSERT_NE(divided, nullptr);
  EXPECT_THAT(NodesOf(divided->body), ElementsAre(3, 4));
  EXPECT_THAT(NodesOf(divided->main.body), ElementsAre(1, 2));
  EXPECT_THAT(NodesOf(divided->main.condition), ElementsAre(0));
  EXPECT_THAT(divided->is_trailing, ElementsAre(false, false, true, true));
  EXPECT_THAT(divided->variables, ElementsAre(kSum));
  EXPECT_THAT(divided->constants, ElementsAre(kWeights));
  ASSERT_EQ(divided->next.size(), 1);
  EXPECT_EQ(divided->next[0].to, kSum);
  ASSERT_EQ(divided->main.next.size(), 2);
  EXPECT_EQ(divided->main.next[1].to, kH);
}

TEST(TrailingCodeTest, HandedOverValueThatIsTheNextValueOfAMainVariableIsCopied) {
  const auto divided = Divide(SummingLoop());
  ASSERT_NE(divided, nullptr);
  ASSERT_THAT(RegistersOf(divided->handed_over), ElementsAre(kNextH));
  EXPECT_FALSE(divided->handed_over[0].last);
}

TEST(TrailingCodeTest, MainPartKeepsAHandedOverVariable) {
  LoopCode code = SummingLoop();
  code.body[1].inputs[0].last = false;
  code.body[2].inputs = {{kH, true}, {kWeights}};  // product = g(h, weights)
  code.body.insert(code.body.begin() + 3, Kernel(5, {{kNextH}}, kOther));  // nothing reads it
  code.body[3].releases = {kH, kLess};
  const auto divided = Divide(code);
  ASSERT_NE(divided, nullptr);
  ASSERT_THAT(RegistersOf(divided->handed_over), ElementsAre(kH));
  EXPECT_TRUE(divided->handed_over[0].last);
  EXPECT_FALSE(divided->main.body[1].inputs[0].last);
  EXPECT_THAT(NodesOf(divided->main.body), ElementsAre(1, 2, 5));
  EXPECT_THAT(divided->main.body[2].releases, ElementsAre(kLess));
  EXPECT_TRUE(divided->main.body[0].inputs[0].last) << "i is not handed over";
}

TEST(TrailingCodeTest, ConditionKeepsAHandedOverValueOfItsOwn) {
  LoopCode code = SummingLoop();
  code.condition[0].releases = {kLess};
  code.body[2].inputs = {{kLess}, {kWeights}};
  const auto divided = Divide(code);
  ASSERT_NE(divided, nullptr);
  EXPECT_THAT(RegistersOf(divided->handed_over), ElementsAre(kLess));
  EXPECT_THAT(divided->main.condition[0].releases, IsEmpty());
}

TEST(TrailingCodeTest, VariableThatTheConditionReadsDoesNotTrail) {
  LoopCode code = SummingLoop();
  code.condition[0].inputs = {{kSum}, {kLimit}};
  // The counter is now the only variable that nothing else reads.
  const auto divided = Divide(code);
  ASSERT_NE(divided, nullptr);
  EXPECT_THAT(divided->variables, ElementsAre(kI));
  EXPECT_THAT(NodesOf(divided->body), ElementsAre(1));
}

TEST(TrailingCodeTest, VariablesThatReadEachOtherDoNotTrail) {
  LoopCode code = SummingLoop();
  code.body[1].inputs.push_back({kSum});  // h' = f(h, weights, sum)
  EXPECT_EQ(Divide(code), nullptr);
}

TEST(TrailingCodeTest, PinnedInstructionAndAllThatItReadsStayOnTheFirstThread) {
  EXPECT_EQ(Divide(SummingLoop(), /*pinned=*/{4}), nullptr);
  const auto divided = Divide(SummingLoop(), /*pinned=*/{3});
  ASSERT_NE(divided, nullptr);
  EXPECT_THAT(NodesOf(divided->body), ElementsAre(4));
  EXPECT_THAT(RegistersOf(divided->handed_over), ElementsAre(kProduct));
  EXPECT_TRUE(divided->handed_over[0].last);
}

TEST(TrailingCodeTest, InstructionsInBranchesInnerLoopsAndMergesDoNotTrail) {
  LoopCode guarded = SummingLoop();
  guarded.body[3].guards = {0};
  EXPECT_EQ(Divide(guarded), nullptr);
  for (Instruction::Action action :
       {Instruction::kBranch, Instruction::kMerge, Instruction::kLoop}) {
    LoopCode code = SummingLoop();
    code.body[3].action = action;
    EXPECT_EQ(Divide(code), nullptr) << action;
  }
}

TEST(TrailingCodeTest, InstructionThatNoVariableNeedsKeepsItsInputsOnTheFirstThread) {
  LoopCode code = SummingLoop();
  code.body.push_back(Kernel(5, {{kProduct}}, kOther));
  const auto divided = Divide(code);
  ASSERT_NE(divided, nullptr);
  EXPECT_THAT(NodesOf(divided->main.body), ElementsAre(1, 2, 3, 5));
  EXPECT_THAT(NodesOf(divided->body), ElementsAre(4));
  code.body.push_back(Kernel(6, {{kSum}}, kOther + 100));  // reads the variable itself
  EXPECT_EQ(Divide(code), nullptr);
}

TEST(TrailingCodeTest, ValueForWhichAControlEdgeWaitsIsComputedOnTheFirstThread) {
  LoopCode code = SummingLoop();
  code.awaited = {kProduct};
  const auto divided = Divide(code);
  ASSERT_NE(divided, nullptr);
  EXPECT_THAT(NodesOf(divided->body), ElementsAre(4));
  code.awaited = {kSum};  // iteration k + 1 waits for the sum of iteration k
  EXPECT_EQ(Divide(code), nullptr);
}

TEST(TrailingCodeTest, ValueOfAMainAndATrailingVariableIsMovedByTheMainPart) {
  LoopCode code = SummingLoop();
  code.variables.push_back(kOther);
  code.next[1].from.last = false;
  code.next.push_back({{kNextH, true}, kOther});  // nothing reads this variable
  const auto divided = Divide(code);
  ASSERT_NE(divided, nullptr);
  EXPECT_THAT(divided->variables, ElementsAre(kSum, kOther));
  ASSERT_EQ(divided->main.next.size(), 2);
  EXPECT_TRUE(divided->main.next[1].from.last);
  EXPECT_FALSE(divided->handed_over[0].last);
}

TEST(TrailingCodeTest, LoopThatExchangesVariablesIsNotDivided) {
  LoopCode code = SummingLoop();
  constexpr int kTemporary = 99;
  code.next.insert(code.next.begin(), {{kH, true}, kTemporary});
  EXPECT_EQ(Divide(code), nullptr);
}

TEST(TrailingCodeTest, VariableThatOnlyASumReadsIsHandedOver) {
  // before' = h, and sum' = sum + g(before). `before` does not trail, because sum' depends on it.
  LoopCode code = SummingLoop();
  code.variables.push_back(kOther);
  code.body[1].inputs[0].last = false;
  code.body[2].inputs = {{kOther, true}, {kWeights}};
  code.next.insert(code.next.begin() + 1, {{kH, true}, kOther});
  const auto divided = Divide(code);
  ASSERT_NE(divided, nullptr);
  EXPECT_THAT(divided->variables, ElementsAre(kSum));
  ASSERT_THAT(RegistersOf(divided->handed_over), ElementsAre(kOther));
  EXPECT_TRUE(divided->handed_over[0].last);
}

// A loop with recurrences that do not read each other, and a counter, which is light:
//
//     1: i' = i + 1
//     2: v0' = f(v0, weights)
//     3: v1' = f(v1, weights) ...
LoopCode Recurrences(int count) {
  constexpr int kFirst = 100;
  LoopCode code = SummingLoop();
  code.variables = {kI};
  code.body.resize(1);
  code.next.resize(1);
  for (int i = 0; i < count; ++i) {
    const int variable = kFirst + 2 * i, next = variable + 1;
    code.variables.push_back(variable);
    code.body.push_back(Kernel(2 + i, {{variable, true}, {kWeights}}, next));
    code.next.push_back({{next, true}, variable});
  }
  return code;
}

TEST(TrailingCodeTest, HalfOfTheRecurrencesTrailAndOneAtLeast) {
  for (const auto& [count, trailing] :
       {std::pair(1, std::vector<int>{2}), {2, {3}}, {3, {3, 4}}, {4, {4, 5}}, {5, {4, 5, 6}}}) {
    const auto divided = Divide(Recurrences(count), {}, /*light=*/{1});
    ASSERT_NE(divided, nullptr) << count;
    EXPECT_EQ(NodesOf(divided->body), trailing);
    EXPECT_EQ(divided->main.body.size(), 1 + count - trailing.size());
    EXPECT_EQ(divided->next.size(), trailing.size());
    EXPECT_EQ(divided->main.next.size(), 1 + count - trailing.size());
    EXPECT_THAT(divided->handed_over, IsEmpty());
    EXPECT_EQ(divided->keeps_half, count > 1);
  }
}

TEST(TrailingCodeTest, AMainRecurrenceKeepsNoOther) {
  // sum' = sum + g(h'): h is a main variable, although all but its sum is light.
  LoopCode code = SummingLoop();
  code.variables.push_back(kOther);
  code.body.push_back(Kernel(5, {{kOther, true}, {kWeights}}, 100));
  code.next.push_back({{100, true}, kOther});
  const auto divided = Divide(code, {}, /*light=*/{1, 2});
  ASSERT_NE(divided, nullptr);
  EXPECT_THAT(NodesOf(divided->body), ElementsAre(3, 4, 5));
  EXPECT_FALSE(divided->keeps_half);
}

TEST(TrailingCodeTest, LightInstructionsAreNoHalf) {
  const auto divided = Divide(Recurrences(4), {}, /*light=*/{1, 2, 3});
  ASSERT_NE(divided, nullptr);
  EXPECT_THAT(NodesOf(divided->body), ElementsAre(5));
  const auto all_light = Divide(Recurrences(3), {}, /*light=*/{1, 2, 3, 4});
  ASSERT_NE(all_light, nullptr);
  EXPECT_THAT(NodesOf(all_light->body), ElementsAre(3, 4)) << "the counter is one of four";
}

TEST(TrailingCodeTest, WhatTwoRecurrencesReadIsHandedOver) {
  LoopCode code = Recurrences(2);
  code.body.insert(code.body.begin() + 1, Kernel(9, {{kI}}, kProduct));
  code.body[0].inputs[0].last = false;
  code.body[2].inputs[1] = {kProduct};
  code.body[3].inputs[1] = {kProduct, true};
  const auto divided = Divide(code, {}, /*light=*/{1, 9});
  ASSERT_NE(divided, nullptr);
  EXPECT_THAT(NodesOf(divided->main.body), ElementsAre(1, 9, 2));
  EXPECT_THAT(NodesOf(divided->body), ElementsAre(3));
  EXPECT_THAT(RegistersOf(divided->handed_over), ElementsAre(kProduct));
}

TEST(TrailingCodeTest, AMainThreadThatHasWorkKeepsNoRecurrence) {
  LoopCode code = Recurrences(4);
  EXPECT_THAT(NodesOf(Divide(code)->body), ElementsAre(2, 3, 4, 5)) << "the counter is work";
  code.body.push_back(Kernel(9, {{kLess}}, kOther));  // no variable needs it
  EXPECT_THAT(NodesOf(Divide(code, {}, /*light=*/{1})->body), ElementsAre(2, 3, 4, 5));
  EXPECT_THAT(NodesOf(Divide(code, {}, /*light=*/{1, 9})->body), ElementsAre(4, 5));
}

}  // namespace
}  // namespace tensor_array_grad
