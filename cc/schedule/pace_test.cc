#include "cc/schedule/pace.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <utility>

namespace tensor_array_grad {
namespace {

constexpr double kUs = 1000;

int64_t now = 0;
int64_t Now() { return now; }
int64_t busy_threads = 1;
int64_t BusyNow() { return now * busy_threads; }

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
    for (;; ++at) {
      choice = pace->Look(at, nodes * static_cast<double>(at));
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

Pace MadePace(const LoopCode& code, const TrailingCode* trailing = nullptr, RunStart start = {},
              bool stays = false) {
  return {2, start, code, trailing, 10, stays, {Now, BusyNow}};
}

TEST(PaceTest, HeavyIndependentInstructionsAreTimedAndHandedBack) {
  const LoopCode code = CodeOf(4, /*chained=*/false);
  Pace pace = MadePace(code);
  const Decision decision(code, 4, &pace);
  EXPECT_EQ(decision.choice, Choice::kExecutor);
  EXPECT_EQ(decision.at, 1 + 2);
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
  EXPECT_EQ(decision.at, 1 + 2);
}

TEST(PaceTest, LoopWithATrailingHalfIsTimedAndGetsASecondThread) {
  const LoopCode code = CodeOf(4, /*chained=*/true);
  TrailingCode trailing;
  trailing.is_trailing = {false, false, true, true};
  Pace pace = MadePace(code, &trailing);
  const Decision decision(code, 4, &pace);
  EXPECT_EQ(decision.choice, Choice::kTwoThreads);
  EXPECT_EQ(decision.at, 1 + 2);
  EXPECT_EQ(pace.Look(3, 0), Choice::kTwoThreads);
}

TEST(PaceTest, HeavyRecurrencesOfWhichHalfCouldTrailAreHandedBack) {
  const LoopCode code = CodeOf(2, /*chained=*/false);
  for (const auto& [keeps_half, choice] :
       {std::pair(false, Choice::kTwoThreads), {true, Choice::kExecutor}}) {
    TrailingCode trailing;
    trailing.is_trailing = {false, true};
    trailing.keeps_half = keeps_half;
    Pace pace = MadePace(code, &trailing);
    EXPECT_EQ(Decision(code, 4, &pace).choice, choice);
  }
}

TEST(PaceTest, LoopOfManyNodesIsNotHandedBackAndNoInstructionIsTimed) {
  const LoopCode code = CodeOf(4, /*chained=*/false);
  Pace pace = MadePace(code);
  const Decision decision(code, 1e6, &pace);
  EXPECT_EQ(decision.choice, Choice::kOneThread);
  EXPECT_EQ(decision.at, 1 + 15);
  EXPECT_EQ(decision.timed, 0);
}

TEST(PaceTest, LightIterationsAreTimedLonger) {
  const LoopCode code = CodeOf(4, /*chained=*/false);
  Pace pace = MadePace(code);
  const Decision decision(code, 0, &pace, [](int64_t) { return 20.0; });
  EXPECT_EQ(decision.choice, Choice::kExecutor);
  EXPECT_EQ(decision.at, 1 + 15 + 16);
  EXPECT_EQ(decision.timed, 16);
}

TEST(PaceTest, OneSlowIterationDoesNotMakeALightLoopHeavy) {
  const LoopCode code = CodeOf(4, /*chained=*/false);
  Pace pace = MadePace(code);
  const Decision decision(code, 0, &pace, [](int64_t i) { return i == 0 ? 900.0 : 20.0; });
  EXPECT_EQ(decision.at, 1 + 2 + 15 + 16);
  EXPECT_EQ(decision.timed, 2 + 16);
}

// Four instructions, one after the other, and one beside them: a gain of at most 1.25.
LoopCode WithOneBeside() {
  LoopCode code = CodeOf(4, /*chained=*/true);
  code.body.emplace_back();
  code.body.back().inputs = {{1}};
  return code;
}

TEST(PaceTest, AsManyHeavyIterationsAreTimedAsTakeLongEnough) {
  const LoopCode code = WithOneBeside();
  for (const auto& [us, timed] : {std::pair(50.0, 8), {100.0, 4}, {1000.0, 2}}) {
    Pace pace = MadePace(code);
    const Decision decision(code, 5, &pace, [us = us](int64_t) { return us; });
    EXPECT_EQ(decision.choice, Choice::kExecutor);
    EXPECT_FALSE(pace.is_clear());
    EXPECT_EQ(decision.timed, timed);
    EXPECT_EQ(decision.at, 1 + timed);
  }
}

// How a run begins that is to confirm kExecutor, for a loop whose iterations took `us`; 0:
// iteration 0 cannot confirm anything.
RunStart ToConfirm(double us) { return {std::nullopt, false, /*confirms=*/true, us * kUs}; }

TEST(PaceTest, OneHeavyIterationConfirmsAClearChoice) {
  const LoopCode code = CodeOf(4, /*chained=*/false);
  for (const auto& [start, timed] : {std::pair(RunStart(), 2), {ToConfirm(0), 1}}) {
    Pace pace = MadePace(code, nullptr, start);
    const Decision decision(code, 5, &pace);
    EXPECT_EQ(decision.choice, Choice::kExecutor);
    EXPECT_EQ(decision.timed, timed);
    EXPECT_TRUE(pace.is_clear());
  }
}

TEST(PaceTest, TheFirstIterationConfirmsTheExecutorIfItIsLikeTheOthers) {
  const LoopCode code = CodeOf(4, /*chained=*/false);
  for (const auto& [typical, at] :
       {std::pair(1590.0, 2), {1610.0, 1}, {2000.0, 1}, {2490.0, 1}, {2510.0, 2}}) {
    Pace pace = MadePace(code, nullptr, ToConfirm(typical));
    const Decision decision(code, 5, &pace);
    EXPECT_EQ(decision.choice, Choice::kExecutor);
    EXPECT_EQ(decision.at, at) << typical;
    EXPECT_TRUE(pace.is_clear());
    EXPECT_NEAR(pace.gain(), 1.998, 0.001);
    // The next run that confirms looks at iteration 1.
    EXPECT_NEAR(pace.iteration_ns(), at == 1 ? 0 : 2000 * kUs, 1);
  }
}

TEST(PaceTest, TheTimeOfAnIterationIsThatOfItsInstructions) {
  const LoopCode code = CodeOf(4, /*chained=*/false);
  Pace pace = MadePace(code);
  for (int64_t i = 0; !pace.measured_choice(); ++i) {
    pace.Look(i, 4.0 * static_cast<double>(i));
    if (pace.measured_choice()) break;
    for (int task = 0; pace.task_ns() != nullptr && task < 4; ++task) {
      pace.task_ns()[task] += (100 + static_cast<double>(i)) * kUs;
    }
    now += static_cast<int64_t>(1000 * kUs);  // more than the instructions
  }
  EXPECT_NEAR(pace.iteration_ns(), 4 * 101.5 * kUs, 1);  // of iterations 1 and 2
}

TEST(PaceTest, AFirstIterationThatIsShortConfirmsNothing) {
  const LoopCode code = CodeOf(4, /*chained=*/false);
  Pace pace = MadePace(code, nullptr, ToConfirm(390));
  EXPECT_EQ(Decision(code, 5, &pace, [](int64_t) { return 390.0; }).at, 1 + 2);
  Pace light = MadePace(code, nullptr, ToConfirm(20));
  EXPECT_EQ(Decision(code, 0, &light, [](int64_t) { return 20.0; }).at, 1 + 15 + 16);
}

TEST(PaceTest, AFirstIterationWithoutAClearGainConfirmsNothing) {
  const LoopCode code = WithOneBeside();
  Pace pace = MadePace(code, nullptr, ToConfirm(2000));
  const Decision decision(code, 5, &pace);
  EXPECT_EQ(decision.choice, Choice::kExecutor);
  EXPECT_EQ(decision.at, 1 + 1);
  EXPECT_FALSE(pace.is_clear());
}

// Each instruction waits only for that of the iteration before: iterations run beside each other,
// which one iteration alone does not.
TEST(PaceTest, OneIterationConfirmsNoGainOfSeveral) {
  LoopCode code = CodeOf(2, /*chained=*/true);
  code.next.clear();
  code.variables.clear();
  Pace first = MadePace(code);
  EXPECT_EQ(Decision(code, 2, &first).choice, Choice::kExecutor);
  EXPECT_TRUE(first.is_clear());
  Pace pace = MadePace(code, nullptr, ToConfirm(2000));
  EXPECT_EQ(Decision(code, 2, &pace).at, 1 + 1);
}

TEST(PaceTest, TheGainOfAConfirmedChoiceIsThatOfManyIterations) {
  LoopCode code = CodeOf(4, /*chained=*/false);
  code.body[1].inputs = {{1}};  // each pair waits for nothing of the iteration before
  code.body[0].outputs = {1};
  code.body[3].inputs = {{2}};
  code.body[2].outputs = {2};
  const auto made = [&](RunStart start) {
    return Pace(16, start, code, nullptr, 10, false, {Now, BusyNow});
  };
  Pace first = made({});
  EXPECT_EQ(Decision(code, 4, &first).at, 1 + 2);
  Pace pace = made(ToConfirm(2000));
  EXPECT_EQ(Decision(code, 4, &pace).at, 1);
  EXPECT_GT(pace.gain(), 3);  // 2 within an iteration
  EXPECT_DOUBLE_EQ(pace.gain(), first.gain());
}

TEST(PaceTest, AFirstIterationForWhichTwoThreadsAreFasterConfirmsNothing) {
  LoopCode code = CodeOf(3, /*chained=*/true);  // and one beside: 4/3 on two threads
  code.body.emplace_back();
  TrailingCode trailing;
  trailing.is_trailing = {false, false, true, true};
  for (const bool has_trailing : {true, false}) {
    Pace pace = MadePace(code, has_trailing ? &trailing : nullptr, ToConfirm(2000));
    std::optional<Choice> choice;
    int64_t i = 0;
    for (; !choice; choice = pace.measured_choice()) {
      pace.Look(i, 0);
      for (int task = 0; pace.task_ns() != nullptr && task < 4; ++task) {
        pace.task_ns()[task] += (task < 2 ? 500 : task == 2 ? 250 : 750) * kUs;
      }
      if (!pace.measured_choice()) {
        now += static_cast<int64_t>(2000 * kUs);
        ++i;
      }
    }
    EXPECT_EQ(*choice, has_trailing ? Choice::kTwoThreads : Choice::kExecutor);
    EXPECT_EQ(i, has_trailing ? 2 : 1);
  }
}

// The run ends before iterations are timed again.
TEST(PaceTest, NothingRemainsOfAFirstIterationThatConfirmsNothing) {
  const LoopCode code = CodeOf(4, /*chained=*/false);
  for (const double typical : {1000.0, 4000.0}) {
    Pace pace = MadePace(code, nullptr, ToConfirm(typical));
    for (int64_t i = 0; i < 4; ++i) {
      pace.Look(i, 5.0 * static_cast<double>(i));
      const double us = i == 0 ? 2000 : 5;
      for (int task = 0; pace.task_ns() != nullptr && task < 4; ++task) {
        pace.task_ns()[task] += us / 4 * kUs;
      }
      now += static_cast<int64_t>(us * kUs);
    }
    pace.End(4, 20);
    EXPECT_EQ(pace.measured_choice(), std::nullopt) << typical;
    EXPECT_EQ(pace.gain(), 1);
    EXPECT_FALSE(pace.was_too_short());
  }
}

TEST(PaceTest, AnUnclearGainOfKernelsThatKeepAllThreadsBusyIsNone) {
  const LoopCode code = WithOneBeside();
  busy_threads = 2;
  Pace pace = MadePace(code);
  EXPECT_EQ(Decision(code, 5, &pace).choice, Choice::kOneThread);
  busy_threads = 1;
}

TEST(PaceTest, IterationsThatBecomeHeavyAreTimedSoon) {
  const LoopCode code = CodeOf(4, /*chained=*/false);
  for (int64_t light : {1, 2, 3, 6}) {
    Pace pace = MadePace(code);
    const Decision decision(code, 4, &pace,
                            [light](int64_t i) { return i < light ? 5.0 : 2000.0; });
    EXPECT_EQ(decision.choice, Choice::kExecutor);
    EXPECT_LE(decision.at, 2 * light + 3);
  }
}

// A run of `iterations` iterations of 2 ms, of which the first of four instructions takes
// `first_us`.
template <typename Made>
std::optional<Choice> ChoiceOfShortRun(int64_t iterations, Made* pace, double first_us = 500) {
  for (int64_t i = 0; i <= iterations; ++i) {
    pace->Look(i, 4.0 * static_cast<double>(i));
    if (i == iterations) break;
    if (double* const ns = pace->task_ns()) {
      ns[0] += first_us * kUs;
      for (int task = 1; task < 4; ++task) ns[task] += (2000 - first_us) / 3 * kUs;
    }
    now += static_cast<int64_t>(2000 * kUs);
  }
  pace->End(iterations, 4.0 * static_cast<double>(iterations));
  return pace->measured_choice();
}

TEST(PaceTest, ARunThatEndsEarlyIsDecidedByWhatWasTimed) {
  const LoopCode code = CodeOf(4, /*chained=*/false);
  Pace of_two = MadePace(code);
  EXPECT_EQ(ChoiceOfShortRun(2, &of_two), Choice::kExecutor);
  EXPECT_FALSE(of_two.was_too_short());
  Pace of_one = MadePace(code);
  EXPECT_EQ(ChoiceOfShortRun(1, &of_one), std::nullopt);
  EXPECT_TRUE(of_one.was_too_short());
  Pace of_none = MadePace(code);
  EXPECT_EQ(ChoiceOfShortRun(0, &of_none), std::nullopt);
  EXPECT_FALSE(of_none.was_too_short());
}

// Runs of 100 us per iteration. That of 3 ends where that of 4 begins to time more iterations.
TEST(PaceTest, OnlyIterationsThatRanAreTimed) {
  const LoopCode code = CodeOf(4, /*chained=*/false);
  for (const int64_t iterations : {3, 4}) {
    Pace pace = MadePace(code);
    for (int64_t i = 0; i < iterations; ++i) {
      pace.Look(i, 4.0 * static_cast<double>(i));
      for (int task = 0; pace.task_ns() != nullptr && task < 4; ++task) {
        pace.task_ns()[task] += 25 * kUs;
      }
      now += static_cast<int64_t>(100 * kUs);
    }
    pace.Look(iterations, 4.0 * static_cast<double>(iterations));
    pace.End(iterations, 4.0 * static_cast<double>(iterations));
    EXPECT_EQ(pace.measured_choice(), Choice::kExecutor);
    EXPECT_NEAR(pace.gain(), iterations == 3 ? 1.906 : 1.921, 0.001);
  }
}

TEST(PaceTest, ARunMayBeMeasuredFromItsFirstIteration) {
  const LoopCode code = CodeOf(4, /*chained=*/false);
  Pace of_one = MadePace(code, nullptr, {std::nullopt, /*from_first=*/true});
  EXPECT_EQ(ChoiceOfShortRun(1, &of_one), Choice::kExecutor);
  Pace of_none = MadePace(code, nullptr, {std::nullopt, true});
  EXPECT_EQ(ChoiceOfShortRun(0, &of_none), std::nullopt);
  EXPECT_FALSE(of_none.was_too_short());  // nothing is known
  Pace longer = MadePace(code, nullptr, {std::nullopt, true});
  EXPECT_EQ(Decision(code, 4, &longer).at, 2);
}

TEST(PaceTest, TheChoiceForLaterRunsSupposesThatTheyAreAsShort) {
  const LoopCode code = CodeOf(4, /*chained=*/false);
  TrailingCode trailing;
  trailing.is_trailing = {false, true, true, true};
  for (const int64_t iterations : {1, 2, 5, 6, 100}) {
    Pace pace = MadePace(code, &trailing, {std::nullopt, /*from_first=*/true}, /*stays=*/true);
    // Two threads take at least 0.875 of one, and a second one is used from 0.9 on.
    const bool pays = iterations >= 6;
    EXPECT_EQ(ChoiceOfShortRun(iterations, &pace, /*first_us=*/250),
              pays ? Choice::kTwoThreads : Choice::kOneThread)
        << iterations;
    EXPECT_EQ(pace.gain() > 1, pays) << iterations;
  }
}

TEST(PaceTest, ALoopThatStaysIsMeasuredOnlyForASecondThread) {
  const LoopCode code = CodeOf(4, /*chained=*/false);
  Pace pace = MadePace(code, nullptr, {}, /*stays=*/true);
  for (int64_t i = 0; i < 3000; ++i) EXPECT_EQ(pace.Look(i, 0), Choice::kOneThread);
  EXPECT_FALSE(pace.measured_choice());
  TrailingCode trailing;
  trailing.is_trailing = {false, false, true, true};
  Pace divided = MadePace(code, &trailing, {}, /*stays=*/true);
  EXPECT_EQ(Decision(code, 4, &divided).choice, Choice::kTwoThreads);
}

TEST(PaceTest, LoopIsMeasuredAgainAfterAThousandIterations) {
  const LoopCode code = CodeOf(4, /*chained=*/false);
  Pace pace = MadePace(code);
  const Decision first(code, 1e6, &pace);
  for (int64_t i = first.at + 1; i < first.at + 1000; ++i) {
    EXPECT_EQ(pace.Look(i, 17e6), Choice::kOneThread);
    now += 2'000'000;
  }
  EXPECT_EQ(pace.task_ns(), nullptr);
  EXPECT_EQ(pace.Look(first.at + 1000, 17e6), Choice::kOneThread);
  EXPECT_NE(pace.task_ns(), nullptr);
}

TEST(PaceTest, RunThatBeginsWithTwoThreadsIsMeasuredAfterAThousandIterations) {
  const LoopCode code = CodeOf(4, /*chained=*/true);
  const TrailingCode trailing;
  Pace pace = MadePace(code, &trailing, {Choice::kTwoThreads, false});
  for (int64_t i = 0; i < 1000; ++i) EXPECT_EQ(pace.Look(i, 0), Choice::kTwoThreads);
  EXPECT_FALSE(pace.measured_choice());
  // Iteration 1000 waits for the second thread, and may be slower.
  for (int64_t i = 1000; i < 1016; ++i) EXPECT_EQ(pace.Look(i, 0), Choice::kOneThread);
  EXPECT_FALSE(pace.measured_choice());
  EXPECT_EQ(pace.Look(1016, 1e9), Choice::kOneThread);
  EXPECT_EQ(pace.measured_choice(), Choice::kOneThread);
}

TEST(PaceTest, OneThreadIsNeverMeasured) {
  const LoopCode code = CodeOf(1, /*chained=*/false);
  for (const RunStart start : {RunStart{Choice::kTwoThreads}, ToConfirm(2000)}) {
    Pace pace(1, start, code, nullptr, 10, false, {});
    for (int64_t i = 0; i < 3000; ++i) {
      EXPECT_EQ(pace.Look(i, 0), Choice::kOneThread);
    }
    EXPECT_FALSE(pace.measured_choice());
  }
}

}  // namespace
}  // namespace tensor_array_grad
