#include "cc/compile/readers.h"
#include "cc/compile/compiler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "cc/testing/frames_under_test.h"

namespace tensor_array_grad {
namespace {

using Copies = std::vector<std::pair<int, int>>;

// The contents of the registers after `moves`. Register r starts with the value r.
std::map<int, int> After(const std::vector<Move>& moves) {
  std::map<int, int> registers;
  const auto value = [&](int reg) { return registers.count(reg) ? registers[reg] : reg; };
  for (const Move& move : moves) registers[move.to] = value(move.from.reg);
  return registers;
}

std::vector<Move> InOrderFrom100(const Copies& copies) {
  int next = 100;
  return InOrder(copies, [&next] { return next++; });
}

void ExpectAllAtOnce(const Copies& copies) {
  std::map<int, int> got = After(InOrderFrom100(copies));
  for (const auto& [from, to] : copies) {
    EXPECT_EQ(got.count(to) ? got[to] : to, from) << from << " -> " << to;
  }
}

TEST(InOrderTest, ACopyToItselfIsNoMove) { EXPECT_TRUE(InOrderFrom100({{3, 3}}).empty()); }

TEST(InOrderTest, AShiftReadsEachVariableBeforeItIsReplaced) {
  ExpectAllAtOnce({{0, 1}, {1, 2}, {2, 3}, {9, 0}});
  EXPECT_EQ(InOrderFrom100({{0, 1}, {1, 2}, {2, 3}, {9, 0}}).size(), 4);  // no additional register
}

TEST(InOrderTest, ASwapTakesOneMoreRegister) {
  ExpectAllAtOnce({{0, 1}, {1, 0}});
  EXPECT_EQ(InOrderFrom100({{0, 1}, {1, 0}}).size(), 3);
}

TEST(InOrderTest, MovesOfSeveralCyclesActLikeSimultaneousCopies) {
  ExpectAllAtOnce({{0, 1}, {1, 2}, {2, 0}, {0, 5}, {3, 4}, {4, 3}, {7, 6}});
}

TEST(InOrderTest, MovesOfEveryPermutationOfFiveActLikeSimultaneousCopies) {
  std::vector<int> targets{0, 1, 2, 3, 4};
  do {
    Copies copies;
    for (int i = 0; i < 5; ++i) copies.push_back({i, targets[i]});
    ExpectAllAtOnce(copies);
  } while (std::next_permutation(targets.begin(), targets.end()));
}

TEST(InOrderTest, ALongShiftTakesOneMovePerCopyInEitherOrder) {
  Copies up, down;
  for (int i = 0; i < 50; ++i) {
    up.push_back({i, i + 1});
    down.push_back({i + 1, i});
  }
  for (const Copies& copies : {up, down}) {
    ExpectAllAtOnce(copies);
    EXPECT_EQ(InOrderFrom100(copies).size(), 50);
  }
}

// A loop i whose body computes `value`. Tests add its readers.
class LastReaderTest : public testing::Test, protected FramesUnderTest {
 protected:
  LastReaderTest() {
    for (const char* name : {"zero", "ten", "step"}) Placeholder(name, tensorflow::DT_INT32);
    AddCounter("i", "zero", "ten", "step");
    AddUnary("value", "Neg", tensorflow::DT_INT32, {"i_switch:1"});
  }

  // Adds `readers` nodes that read `value`, and after them a sum that reads it `times` times.
  void AddReaders(int readers, int times) {
    std::vector<std::string> inputs(times, "value");
    for (int i = 0; i < readers; ++i) {
      AddUnary(absl::StrCat("reader", i), "Neg", tensorflow::DT_INT32, {"value"});
      inputs.push_back(absl::StrCat("^reader", i));
    }
    AddSum("sum", inputs);
  }

  // The instruction of the node `name` in the body.
  const Instruction& InstructionOf(const std::string& name) {
    if (program_.loops.empty()) program_ = Compile(FrameNamed("i")).value();
    for (const Instruction& instruction : program_.loops[0].body) {
      if (program_.nodes[instruction.node]->name() == name) return instruction;
    }
    ADD_FAILURE() << "no instruction " << name;
    return program_.loops[0].body.front();
  }

  int LastReads() {
    int count = 0;
    const int value = InstructionOf("value").outputs[0];
    for (const Instruction& instruction : program_.loops[0].body) {
      for (const Read& read : instruction.inputs) count += read.reg == value && read.last;
    }
    return count;
  }

 private:
  Program program_;
};

TEST_F(LastReaderTest, OnlyTheLastOfSeveralReadersIsLast) {
  AddReaders(5, 1);
  EXPECT_EQ(LastReads(), 1);
  EXPECT_TRUE(InstructionOf("sum").inputs[0].last);
  EXPECT_TRUE(InstructionOf("sum").releases.empty());
}

TEST_F(LastReaderTest, InstructionThatReadsAValueTwiceReleasesItAfterwards) {
  AddReaders(5, 2);
  EXPECT_EQ(LastReads(), 0);
  EXPECT_THAT(InstructionOf("sum").releases,
              testing::ElementsAre(InstructionOf("value").outputs[0]));
}

TEST_F(LastReaderTest, LastOfManyReadersIsLast) {
  AddReaders(100, 1);
  EXPECT_EQ(LastReads(), 1);
  EXPECT_TRUE(InstructionOf("sum").inputs[0].last);
}

TEST_F(LastReaderTest, LastOfManyReadersThatReadsAValueSeveralTimesDoesNotWriteIt) {
  AddReaders(100, 10);
  EXPECT_EQ(LastReads(), 0);
  EXPECT_THAT(InstructionOf("sum").releases,
              testing::ElementsAre(InstructionOf("value").outputs[0]));
}

TEST_F(LastReaderTest, ReadersInBranchesThatExcludeEachOtherAreBothLast) {
  Placeholder("p0", tensorflow::DT_BOOL);
  AddVariableOf("i", "p", tensorflow::DT_BOOL, "p0", "p_switch:1");
  AddUnary("s", "Switch", tensorflow::DT_INT32, {"value", "p_switch:1"});
  AddUnary("left", "Neg", tensorflow::DT_INT32, {"s"});
  AddUnary("right", "Neg", tensorflow::DT_INT32, {"s:1"});
  EXPECT_EQ(LastReads(), 2);
}

}  // namespace
}  // namespace tensor_array_grad
