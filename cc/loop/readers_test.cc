#include "cc/loop/readers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <utility>
#include <vector>

namespace tensor_array_grad {
namespace {

using Copies = std::vector<std::pair<int, int>>;

// What registers hold after `moves`, where register r starts with the value r.
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
  EXPECT_EQ(InOrderFrom100({{0, 1}, {1, 2}, {2, 3}, {9, 0}}).size(), 4);  // no register in between
}

TEST(InOrderTest, ASwapGoesThroughOneRegister) {
  ExpectAllAtOnce({{0, 1}, {1, 0}});
  EXPECT_EQ(InOrderFrom100({{0, 1}, {1, 0}}).size(), 3);
}

TEST(InOrderTest, SeveralCyclesAndCopiesOutOfThem) {
  ExpectAllAtOnce({{0, 1}, {1, 2}, {2, 0}, {0, 5}, {3, 4}, {4, 3}, {7, 6}});
}

TEST(InOrderTest, EveryPermutationOfFive) {
  std::vector<int> targets{0, 1, 2, 3, 4};
  do {
    Copies copies;
    for (int i = 0; i < 5; ++i) copies.push_back({i, targets[i]});
    ExpectAllAtOnce(copies);
  } while (std::next_permutation(targets.begin(), targets.end()));
}

}  // namespace
}  // namespace tensor_array_grad
