#include "cc/schedule/loop_cost.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <tuple>
#include <utility>
#include <vector>

#include "cc/schedule/simulation.h"

namespace tensor_array_grad {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr double kUs = 1000;

// An iteration of independent tasks, which do not depend on the previous iteration either.
IterationCost Independent(int tasks, double ns, int threads) {
  IterationCost cost;
  cost.tasks.resize(tasks);
  for (Task& task : cost.tasks) task.ns = ns;
  cost.nodes = tasks;
  cost.threads = threads;
  return cost;
}

// One chain through all tasks and on to the next iteration.
IterationCost Chain(int tasks, double ns, int threads) {
  IterationCost cost = Independent(tasks, ns, threads);
  for (int i = 1; i < tasks; ++i) cost.tasks[i].reads = {i - 1};
  cost.tasks[0].reads_previous = {tasks - 1};
  return cost;
}

bool ExecutorWins(const IterationCost& cost) { return Fastest(cost).choice == Choice::kExecutor; }

TEST(LoopCostTest, ExecutorWithOneThreadIsNeverFaster) {
  EXPECT_FALSE(ExecutorWins(Independent(8, 1000 * kUs, 1)));
  EXPECT_FALSE(MayBeFaster(1e9, 1, 1, true));
}

TEST(LoopCostTest, HeavyIndependentTasksAreHandedBackWithTwoThreadsOrMore) {
  for (int threads : {2, 4, 16, 128}) {
    EXPECT_TRUE(ExecutorWins(Independent(4, 100 * kUs, threads))) << threads;
  }
}

TEST(LoopCostTest, LightIndependentTasksAreNotHandedBack) {
  for (int threads : {2, 4, 128}) EXPECT_FALSE(ExecutorWins(Independent(20, 100, threads)));
  EXPECT_FALSE(ExecutorWins(Independent(20, 400, 2)));
  EXPECT_FALSE(ExecutorWins(Independent(20, 400, 16)));  // light tasks stay on their thread
}

TEST(LoopCostTest, HeavyChainIsNotHandedBackWithAnyNumberOfThreads) {
  for (int threads : {2, 8, 128}) {
    EXPECT_FALSE(ExecutorWins(Chain(10, 1 * kUs, threads))) << threads;
    EXPECT_FALSE(ExecutorWins(Chain(10, 1000 * kUs, threads))) << threads;
  }
}

TEST(LoopCostTest, IterationsOverlapIfOnlyALightTaskIsCarried) {
  // A counter and one heavy task per iteration that depends on the counter, as in map_fn.
  IterationCost cost = Independent(2, 0, 2);
  cost.tasks[0] = {50, {}, {0}};
  cost.tasks[1] = {400 * kUs, {0}, {}};
  EXPECT_TRUE(ExecutorWins(cost));
  cost.parallel_iterations = 1;  // then the next iteration waits for the heavy task
  EXPECT_FALSE(ExecutorWins(cost));
}

TEST(LoopCostTest, ChainsThatDoNotMeetRunSideBySide) {
  // Two chains of 5 tasks of 10 us each.
  IterationCost cost = Chain(5, 10 * kUs, 4);
  IterationCost other = Chain(5, 10 * kUs, 4);
  for (Task task : other.tasks) {
    for (int& i : task.reads) i += 5;
    for (int& i : task.reads_previous) i += 5;
    cost.tasks.push_back(task);
  }
  cost.nodes = 10;
  for (int threads : {2, 4}) {
    cost.threads = threads;
    const double start = kWakeNs / 24;  // of the second thread, once
    EXPECT_DOUBLE_EQ(ExecutorNs(cost), 50 * kUs + start + 10 * kNodeNs);
  }
  cost.threads = 1;
  EXPECT_DOUBLE_EQ(ExecutorNs(cost), 100 * kUs + 10 * kNodeNs);
}

// A chain that parts into two tasks of `side` after each of its tasks of `ns`.
IterationCost Diamonds(int count, double ns, double side) {
  IterationCost cost = Independent(3 * count, ns, 2);
  for (int i = 0; i < count; ++i) {
    Task* const top = &cost.tasks[3 * i];
    if (i > 0) top[0].reads = {3 * i - 2, 3 * i - 1};
    top[1] = {side, {3 * i}, {}};
    top[2] = {side, {3 * i}, {}};
  }
  cost.tasks[0].reads_previous = {3 * count - 2, 3 * count - 1};
  return cost;
}

TEST(LoopCostTest, WhereChainsPartAThreadMustBeWoken) {
  const double sides = 8 * kUs + kWakeNs;
  EXPECT_DOUBLE_EQ(ExecutorNs(Diamonds(8, 20 * kUs, 8 * kUs)),
                   8 * (20 * kUs + sides) + 24 * kNodeNs);
  EXPECT_FALSE(ExecutorWins(Diamonds(8, 20 * kUs, 8 * kUs)));
  EXPECT_TRUE(ExecutorWins(Diamonds(8, 20 * kUs, 30 * kUs)));
  // Light tasks do not leave their thread.
  EXPECT_DOUBLE_EQ(ExecutorNs(Diamonds(8, 20 * kUs, 1 * kUs)), 8 * 22 * kUs + 24 * kNodeNs);
}

TEST(LoopCostTest, MayBeFasterIsNeverStricterThanTheEstimates) {
  for (int threads : {2, 3, 8, 64, 128}) {
    for (double us : {0.1, 0.5, 1.0, 5.0, 50.0}) {
      IterationCost cost = Independent(7, us * kUs, threads);
      if (Fastest(cost).choice != Choice::kOneThread) {
        EXPECT_TRUE(MayBeFaster(7 * us * kUs, 7, threads, false)) << threads << " " << us;
      }
      cost.is_trailing = {false, false, false, true, true, true, true};
      if (Fastest(cost).choice != Choice::kOneThread) {
        EXPECT_TRUE(MayBeFaster(7 * us * kUs, 7, threads, true)) << threads << " " << us;
      }
    }
  }
}

// A chain of main tasks of `main` in total, and a trailing task of `trailing` that reads the last
// of them.
IterationCost WithTrailing(double main, double trailing, int threads) {
  IterationCost cost = Chain(30, main / 30, threads);
  cost.tasks.push_back({trailing, {29}, {30}});
  cost.is_trailing.assign(30, false);
  cost.is_trailing.push_back(true);
  cost.nodes = 61;
  return cost;
}

TEST(LoopCostTest, TwoThreadsTakeAsLongAsTheLongerPartAndTheHandOver) {
  EXPECT_NEAR(TwoThreadsNs(WithTrailing(60 * kUs, 40 * kUs, 2)), 60 * kUs + kSecondThreadNs, 1);
  EXPECT_NEAR(TwoThreadsNs(WithTrailing(40 * kUs, 70 * kUs, 8)), 70 * kUs + kSecondThreadNs, 1);
}

TEST(LoopCostTest, ARunOfFewIterationsTakesTwoThreadsLonger) {
  IterationCost cost = WithTrailing(60 * kUs, 40 * kUs, 2);
  for (const auto& [iterations, ns, choice] :
       {std::tuple(1, 100 * kUs, Choice::kOneThread), {2, 80 * kUs, Choice::kTwoThreads}}) {
    cost.iterations = iterations;
    EXPECT_DOUBLE_EQ(TwoThreadsNs(cost), ns + kSecondThreadNs);
    EXPECT_EQ(Fastest(cost).choice, choice);
  }
}

TEST(LoopCostTest, OneIterationDoesNotRunBesideTheNext) {
  IterationCost cost = Independent(2, 1000 * kUs, 4);  // a counter, and what reads it
  cost.tasks[0].ns = 1 * kUs;
  cost.tasks[1].reads = {0};
  EXPECT_TRUE(ExecutorWins(cost));
  cost.iterations = 1;
  EXPECT_FALSE(ExecutorWins(cost));
}

TEST(LoopCostTest, SecondThreadIsUsedIfItSavesATenth) {
  for (int threads : {2, 8, 128}) {
    EXPECT_EQ(Fastest(WithTrailing(60 * kUs, 40 * kUs, threads)).choice, Choice::kTwoThreads)
        << threads;
    EXPECT_EQ(Fastest(WithTrailing(95 * kUs, 5 * kUs, threads)).choice, Choice::kOneThread)
        << threads;
    EXPECT_EQ(Fastest(WithTrailing(5 * kUs, 95 * kUs, threads)).choice, Choice::kOneThread)
        << threads;
    EXPECT_EQ(Fastest(WithTrailing(3 * kUs, 3 * kUs, threads)).choice, Choice::kOneThread)
        << threads;
  }
  EXPECT_EQ(Fastest(WithTrailing(60 * kUs, 40 * kUs, 1)).choice, Choice::kOneThread);
}

TEST(LoopCostTest, SecondThreadDoesNotHelpTasksThatKeepTheThreadsBusy) {
  IterationCost cost = WithTrailing(60 * kUs, 40 * kUs, 2);
  cost.nodes = 200;  // too many for the executor
  for (const auto& [busy, choice, ns] : {std::tuple(126 * kUs, Choice::kTwoThreads, 63 * kUs),
                                         {170 * kUs, Choice::kTwoThreads, 85 * kUs},
                                         {182 * kUs, Choice::kOneThread, 100 * kUs}}) {
    cost.busy_ns = busy;
    EXPECT_EQ(Fastest(cost).choice, choice) << busy;
    EXPECT_NEAR(Fastest(cost).gain, 100 * kUs / ns, 1e-3) << busy;
  }
  cost.threads = 16;  // the tasks leave most of them alone
  EXPECT_EQ(Fastest(cost).choice, Choice::kTwoThreads);
}

TEST(LoopCostTest, ALightTrailingPartWaitsForOthers) {
  IterationCost cost = WithTrailing(30 * kUs, 19 * kUs, 2);
  for (const auto& [iterations, alone] :
       {std::pair(1000, 0.004), {40, 0.1}, {4, 1.0}, {3, 1.0}, {1, 1.0}}) {
    cost.iterations = iterations;
    EXPECT_NEAR(TwoThreadsNs(cost), (30 + 19 * alone) * kUs + kSecondThreadNs, 1) << iterations;
  }
  cost = WithTrailing(30 * kUs, 21 * kUs, 2);
  cost.iterations = 10;
  EXPECT_NEAR(TwoThreadsNs(cost), 32.1 * kUs + kSecondThreadNs, 1);
}

TEST(LoopCostTest, TheExecutorGetsHeavyRecurrencesThatTwoThreadsCouldShare) {
  for (const auto& [us, choice] : {std::pair(20, Choice::kTwoThreads),
                                   {30, Choice::kTwoThreads},
                                   {200, Choice::kExecutor},
                                   {2000, Choice::kExecutor}}) {
    IterationCost cost = Independent(2, us * kUs, 2);
    cost.nodes = 10;
    for (int i = 0; i < 2; ++i) cost.tasks[i].reads_previous = {i};
    cost.is_trailing = {false, true};
    EXPECT_EQ(Fastest(cost).choice, Choice::kTwoThreads) << us << ": a sum";
    cost.keeps_half = true;
    EXPECT_EQ(Fastest(cost).choice, choice) << us;
    cost.stays = true;
    EXPECT_EQ(Fastest(cost).choice, Choice::kTwoThreads) << us;
  }
}

TEST(LoopCostTest, ExecutorMustBeFasterThanTwoThreads) {
  // Four chains of 50 us; one of them is trailing. The executor with two threads takes about 100 us
  // per iteration, two threads 150 us.
  IterationCost cost = Independent(4, 50 * kUs, 2);
  for (int i = 0; i < 4; ++i) cost.tasks[i].reads_previous = {i};
  cost.is_trailing = {false, false, false, true};
  EXPECT_EQ(Fastest(cost).choice, Choice::kExecutor);
  cost.busy_ns = 300 * kUs;  // of two threads: the executor too takes 150 us at least
  EXPECT_EQ(Fastest(cost).choice, Choice::kTwoThreads);
  cost.busy_ns = 0;
  cost.is_trailing = {false, false, true, true};
  EXPECT_EQ(Fastest(cost).choice, Choice::kTwoThreads);  // 100 us too
}

TEST(LoopCostTest, AnUnclearGainIsNoneIfTheTasksKeepTheThreadsBusy) {
  IterationCost cost = Chain(4, 1000 * kUs, 2);
  cost.tasks.push_back({1000 * kUs, {0}, {}});  // beside the chain: a gain of 1.25
  for (const auto& [busy_threads, wins] : {std::pair(1.0, true), {1.8, true}, {2.0, false}}) {
    cost.busy_ns = busy_threads * 5000 * kUs;
    EXPECT_EQ(ExecutorWins(cost), wins) << busy_threads;
  }
}

TEST(LoopCostTest, AClearGainIsEnoughWhateverIsBusy) {
  IterationCost cost = Independent(8, 1000 * kUs, 4);
  cost.busy_ns = 4 * 8000 * kUs;
  EXPECT_TRUE(ExecutorWins(cost));
}

TEST(LoopCostTest, TasksReadTheLastWritersOfTheirRegisters) {
  // while 0 < 1: 3 = f(0), 4 = g(3, 1), 0 = 4
  LoopCode code;
  code.variables = {0};
  code.condition.resize(1);
  code.condition[0].inputs = {{0}, {1}};
  code.condition[0].outputs = {2};
  code.body.resize(2);
  code.body[0].inputs = {{0}};
  code.body[0].outputs = {3};
  code.body[1].inputs = {{3}, {1}};
  code.body[1].outputs = {4};
  code.body[1].after = {~0};
  code.next = {{{4}, 0}};
  const std::vector<Task> tasks = TasksOf(code);
  ASSERT_EQ(tasks.size(), 3);
  EXPECT_THAT(tasks[0].reads, IsEmpty());
  EXPECT_THAT(tasks[0].reads_previous, ElementsAre(2));
  EXPECT_THAT(tasks[1].reads_previous, ElementsAre(2));
  EXPECT_THAT(tasks[2].reads, ElementsAre(1, 0));
  EXPECT_THAT(tasks[2].reads_previous, IsEmpty());
}

TEST(LoopCostTest, TheBodyWaitsForTheCondition) {
  // while 0 < 1: 0 = f(0), and the condition takes as long as the body
  LoopCode code;
  code.variables = {0};
  code.condition.resize(1);
  code.condition[0].inputs = {{0}, {1}};
  code.condition[0].outputs = {2};
  code.predicate = 2;
  code.body.resize(1);
  code.body[0].inputs = {{0}};
  code.body[0].outputs = {3};
  code.next = {{{3}, 0}};
  IterationCost cost;
  cost.tasks = TasksOf(code);
  EXPECT_THAT(cost.tasks[1].reads, ElementsAre(0));
  for (Task& task : cost.tasks) task.ns = 100 * kUs;
  cost.threads = 2;
  EXPECT_FALSE(ExecutorWins(cost));
}

TEST(LoopCostTest, AValueThatWasAnotherVariablesIsOfAnIterationBefore) {
  // 0, 1 = 1, f(0)
  LoopCode code;
  code.variables = {0, 1};
  code.body.resize(1);
  code.body[0].inputs = {{0}};
  code.body[0].outputs = {2};
  code.next = {{{1}, 0}, {{2}, 1}};
  EXPECT_THAT(TasksOf(code)[0].reads_previous, ElementsAre(0));
}

TEST(LoopCostTest, GuardedTasksReadTheBranch) {
  LoopCode code;
  code.body.resize(2);
  code.body[0].action = Instruction::kBranch;
  code.body[0].sides = {5, 6};
  code.body[1].guards = {6};
  EXPECT_THAT(TasksOf(code)[1].reads, ElementsAre(0));
}

}  // namespace
}  // namespace tensor_array_grad
