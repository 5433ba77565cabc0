#include "cc/run/pace.h"

#include <gtest/gtest.h>

#include <cstdint>

namespace tensor_array_grad {
namespace {

constexpr double kUs = 1000;

int64_t now = 0;
int64_t Now() { return now; }

TEST(ChoiceMemoryTest, EachRepeatedChoiceHoldsForMoreRuns) {
  ChoiceMemory memory;
  const auto unmeasured = [&memory](Choice choice) {
    int runs = 0;
    while (memory.Next() == choice) ++runs;
    return runs;
  };
  for (const Choice choice : {Choice::kExecutor, Choice::kTwoThreads}) {
    EXPECT_EQ(unmeasured(choice), 0);
    for (int runs : {1, 2, 4, 8, 16, 32, 64, 64, 64}) {
      memory.Record(choice);
      EXPECT_EQ(unmeasured(choice), runs);
    }
    memory.Record(Choice::kOneThread);
    EXPECT_EQ(unmeasured(choice), 0);
    memory.Record(choice);
    EXPECT_EQ(unmeasured(choice), 1);
  }
}

TEST(ChoiceMemoryTest, ChoicesOfRunsAtTheSameTimeCountOnce) {
  ChoiceMemory memory;
  for (int i = 0; i < 7; ++i) memory.Record(Choice::kExecutor);
  EXPECT_EQ(memory.Next(), Choice::kExecutor);
  EXPECT_EQ(memory.Next(), Choice::kOneThread);
}

TEST(ChoiceMemoryTest, AnotherChoiceReplacesTheRememberedOne) {
  ChoiceMemory memory;
  memory.Record(Choice::kTwoThreads);
  memory.Record(Choice::kTwoThreads);
  memory.Record(Choice::kExecutor);
  EXPECT_EQ(memory.Next(), Choice::kExecutor);
  EXPECT_EQ(memory.Next(), Choice::kOneThread);
}

// A body of instructions. If `chained`, each of them reads what the one before it has written.
LoopCode CodeOf(int instructions, bool chained) {
  LoopCode code;
  code.variables = {0};
  code.body.resize(instructions);
  for (int i = 0; chained && i < instructions; ++i) {
    code.body[i].inputs = {{i}};
    code.body[i].outputs = {i + 1};
  }
  if (chained) code.next = {{{instructions}, 0}};
  return code;
}

// The decision of `pace` on `code`. Iteration i takes us(i) microseconds, divided evenly among the
// instructions, and runs `nodes` nodes.
struct Decision {
  template <typename Us>
  Decision(const LoopCode& code, double nodes, Pace* pace, Us us) : at(0) {
    constexpr double kBefore = 1e6;  // nodes that ran before, which must not count
    for (;; ++at) {
      const double so_far = kBefore + nodes * static_cast<double>(at);
      choice = pace->Look(at, so_far);
      if (pace->measured_choice()) return;
      if (double* const ns = pace->task_ns()) {
        ++timed;
        for (size_t i = 0; i < code.body.size(); ++i) {
          ns[i] += us(at) * kUs / static_cast<double>(code.body.size());
        }
      }
      now += static_cast<int64_t>(us(at) * kUs);
    }
  }
  Decision(const LoopCode& code, double nodes, Pace* pace)
      : Decision(code, nodes, pace, [](int64_t) { return 2000.0; }) {}

  int64_t at;  // the decision was made before this iteration
  int timed = 0;
  Choice choice = Choice::kOneThread;
};

Pace MadePace(const LoopCode& code, const TrailingCode* trailing = nullptr,
              Choice first = Choice::kOneThread, bool stays = false) {
  return {2, first, code, trailing, 10, stays, Now};
}

TEST(PaceTest, HeavyIndependentInstructionsAreTimedAndHandedBack) {
  const LoopCode code = CodeOf(4, /*chained=*/false);
  Pace pace = MadePace(code);
  const Decision decision(code, 4, &pace);
  EXPECT_EQ(decision.choice, Choice::kExecutor);
  EXPECT_EQ(decision.at, 1 + 1 + 2);
  EXPECT_EQ(decision.timed, 2);
  EXPECT_EQ(pace.task_ns(), nullptr);
}

TEST(PaceTest, TheReasonOfAHandBackIsKnown) {
  LoopCode code = CodeOf(4, /*chained=*/false);
  code.condition.resize(1);
  for (int i = 0; i < 4; ++i) code.body[i].node = 10 + i;
  Pace pace = MadePace(code);
  int64_t iteration = 0;
  while (!pace.measured_choice()) {
    pace.Look(iteration, 5.0 * static_cast<double>(iteration));
    ++iteration;
    if (double* const ns = pace.task_ns()) {
      const double times[] = {0, 100 * kUs, 500 * kUs, 200 * kUs, 200 * kUs};
      for (int i = 0; i < 5; ++i) ns[i] += times[i];
    }
    now += static_cast<int64_t>(1000 * kUs);
  }
  EXPECT_EQ(*pace.measured_choice(), Choice::kExecutor);
  EXPECT_GT(pace.gain(), 1 / kHandBackRatio);
  EXPECT_LT(pace.gain(), 2);  // two threads
  const auto [share, node] = pace.Heaviest();
  EXPECT_DOUBLE_EQ(share, 0.5);
  EXPECT_EQ(node, 11);
}

TEST(PaceTest, ChainIsTimedAndNotHandedBack) {
  const LoopCode code = CodeOf(4, /*chained=*/true);
  Pace pace = MadePace(code);
  const Decision decision(code, 4, &pace);
  EXPECT_EQ(decision.choice, Choice::kOneThread);
  EXPECT_EQ(decision.at, 1 + 1 + 2);
}

TEST(PaceTest, LoopWithATrailingHalfIsTimedAndGetsASecondThread) {
  const LoopCode code = CodeOf(4, /*chained=*/true);
  TrailingCode trailing;
  trailing.is_trailing = {false, false, true, true};
  Pace pace = MadePace(code, &trailing);
  const Decision decision(code, 4, &pace);
  EXPECT_EQ(decision.choice, Choice::kTwoThreads);
  EXPECT_EQ(decision.at, 1 + 1 + 2);
  EXPECT_EQ(pace.Look(5, 0), Choice::kTwoThreads);
}

TEST(PaceTest, LoopOfManyNodesIsNotHandedBackAndNoInstructionIsTimed) {
  const LoopCode code = CodeOf(4, /*chained=*/false);
  Pace pace = MadePace(code);
  const Decision decision(code, 1e6, &pace);
  EXPECT_EQ(decision.choice, Choice::kOneThread);
  EXPECT_EQ(decision.at, 1 + 1);
  EXPECT_EQ(decision.timed, 0);
}

TEST(PaceTest, LightIterationsAreTimedLonger) {
  const LoopCode code = CodeOf(4, /*chained=*/false);
  Pace pace = MadePace(code);
  const Decision decision(code, 0, &pace, [](int64_t) { return 50.0; });
  EXPECT_EQ(decision.choice, Choice::kExecutor);
  EXPECT_EQ(decision.at, 1 + 1 + 16 + 16);
  EXPECT_EQ(decision.timed, 16);
}

TEST(PaceTest, OneSlowIterationDoesNotMakeALightLoopHeavy) {
  const LoopCode code = CodeOf(4, /*chained=*/false);
  Pace pace = MadePace(code);
  const Decision decision(code, 0, &pace, [](int64_t i) { return i == 1 ? 900.0 : 50.0; });
  EXPECT_EQ(decision.at, 1 + 1 + 2 + 16 + 16);
  EXPECT_EQ(decision.timed, 2 + 16);
}

TEST(PaceTest, ALoopThatStaysIsMeasuredOnlyForASecondThread) {
  const LoopCode code = CodeOf(4, /*chained=*/false);
  Pace pace = MadePace(code, nullptr, Choice::kOneThread, /*stays=*/true);
  for (int64_t i = 0; i < 3000; ++i) EXPECT_EQ(pace.Look(i, 0), Choice::kOneThread);
  EXPECT_FALSE(pace.measured_choice());
  TrailingCode trailing;
  trailing.is_trailing = {false, false, true, true};
  Pace divided = MadePace(code, &trailing, Choice::kOneThread, /*stays=*/true);
  EXPECT_EQ(Decision(code, 4, &divided).choice, Choice::kTwoThreads);
}

TEST(PaceTest, LoopIsMeasuredAgainAfterAThousandIterations) {
  const LoopCode code = CodeOf(4, /*chained=*/false);
  Pace pace = MadePace(code);
  const Decision first(code, 1e6, &pace);
  for (int64_t i = 3; i < 2 + 1000 + 1; ++i) {
    EXPECT_EQ(pace.Look(i, 1e9), Choice::kOneThread);
  }
  EXPECT_EQ(pace.task_ns(), nullptr);
  now += 2'000'000;
  EXPECT_EQ(pace.Look(2 + 1000 + 1, 1e9), Choice::kOneThread);
  EXPECT_NE(pace.task_ns(), nullptr);
}

TEST(PaceTest, RunThatBeginsWithTwoThreadsIsMeasuredAfterAThousandIterations) {
  const LoopCode code = CodeOf(4, /*chained=*/true);
  const TrailingCode trailing;
  Pace pace = MadePace(code, &trailing, Choice::kTwoThreads);
  for (int64_t i = 0; i < 1000; ++i) EXPECT_EQ(pace.Look(i, 0), Choice::kTwoThreads);
  EXPECT_FALSE(pace.measured_choice());
  // Iteration 1000 waits for the second thread and is not timed.
  for (int64_t i = 1000; i < 1018; ++i) EXPECT_EQ(pace.Look(i, 0), Choice::kOneThread);
  EXPECT_FALSE(pace.measured_choice());
  EXPECT_EQ(pace.Look(1018, 1e9), Choice::kOneThread);
  EXPECT_EQ(pace.measured_choice(), Choice::kOneThread);
}

TEST(PaceTest, OneThreadIsNeverMeasured) {
  const LoopCode code = CodeOf(1, /*chained=*/false);
  Pace pace(1, Choice::kTwoThreads, code, nullptr, 10);
  for (int64_t i = 0; i < 3000; ++i) {
    EXPECT_EQ(pace.Look(i, 0), Choice::kOneThread);
  }
  EXPECT_FALSE(pace.measured_choice());
}

}  // namespace
}  // namespace tensor_array_grad
