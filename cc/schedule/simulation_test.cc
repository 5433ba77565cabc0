#include "cc/schedule/simulation.h"

#include <gtest/gtest.h>

#include <limits>
#include <utility>
#include <vector>

namespace tensor_array_grad {
namespace {

constexpr double kUs = 1000;
constexpr int kIterations = 24;

using Tasks = std::vector<Task>;

Task Of(double ns, std::vector<int> reads = {}) { return {ns, std::move(reads), {}}; }

// `tasks`, of which the first one reads task `last` of the previous iteration.
Tasks Made(Tasks tasks, int last) {
  tasks[0].reads_previous = {last};
  return tasks;
}

TEST(SimulationTest, AChainTakesItsTimeOnAnyNumberOfThreads) {
  const Tasks tasks = Made({Of(1 * kUs), Of(20 * kUs, {0}), Of(30 * kUs, {1})}, 2);
  for (int threads : {1, 2, 128}) EXPECT_DOUBLE_EQ(SimulatedNs(tasks, threads, 10), 51 * kUs);
}

TEST(SimulationTest, NoTasksTakeNoTime) { EXPECT_EQ(SimulatedNs({}, 2, 10), 0); }

TEST(SimulationTest, TasksWithoutTimeTakeNoTime) {
  EXPECT_EQ(SimulatedNs(Made({Of(0), Of(0, {0})}, 1), 2, 10), 0);
}

TEST(SimulationTest, OneThreadTakesTheTimeOfAllTasks) {
  const Tasks tasks = Made({Of(5 * kUs), Of(40 * kUs, {0}), Of(1 * kUs, {0})}, 0);
  EXPECT_DOUBLE_EQ(SimulatedNs(tasks, 1, 10), 46 * kUs);
}

// The thread keeps the last heavy reader of a task. Another thread takes the other one after
// kWakeNs.
TEST(SimulationTest, TheLastHeavyReaderStaysOnTheThread) {
  const Tasks last = Made({Of(10 * kUs), Of(20 * kUs, {0}), Of(50 * kUs, {0}), Of(0, {1, 2})}, 3);
  EXPECT_DOUBLE_EQ(SimulatedNs(last, 2, 10), 60 * kUs);
  const Tasks first = Made({Of(10 * kUs), Of(50 * kUs, {0}), Of(20 * kUs, {0}), Of(0, {1, 2})}, 3);
  // The thread that keeps the task of 20 us is not free before the other one has been woken.
  EXPECT_DOUBLE_EQ(SimulatedNs(first, 2, 10), 60 * kUs + kWakeNs);
}

TEST(SimulationTest, AThreadThatEndsItsTaskTakesTheNextOneBeforeAnotherWakes) {
  const double side = kWakeNs / 5;  // light
  const Tasks tasks = Made({Of(10 * kUs), Of(side, {0}), Of(20 * kUs, {0}), Of(0, {1, 2})}, 3);
  EXPECT_DOUBLE_EQ(SimulatedNs(tasks, 2, 10), 30 * kUs + side);
}

TEST(SimulationTest, LightTasksStayOnTheirThread) {
  Tasks tasks = Made(Tasks(9), 0);
  for (Task& task : tasks) task.ns = kHeavyTaskNs - 1;
  for (int i = 1; i < 9; ++i) tasks[i].reads = {0};
  tasks[0].reads_previous = {1, 2, 3, 4, 5, 6, 7, 8};
  EXPECT_DOUBLE_EQ(SimulatedNs(tasks, 8, 10), 9 * (kHeavyTaskNs - 1));
}

// A counter and a heavy task in each iteration.
Tasks Map() { return Made({Of(1 * kUs), Of(100 * kUs, {0})}, 0); }

TEST(SimulationTest, IterationsOverlap) {
  EXPECT_NEAR(SimulatedNs(Map(), 2, 10), 51 * kUs, 3 * kUs);
  EXPECT_NEAR(SimulatedNs(Map(), 4, 10), 26 * kUs, 3 * kUs);
}

TEST(SimulationTest, OneIterationOverlapsWithNone) {
  EXPECT_DOUBLE_EQ(SimulatedNs(Map(), 8, 10, 1), 101 * kUs);
  EXPECT_NEAR(SimulatedNs(Map(), 8, 10, 2), 53 * kUs, 5 * kUs);
}

TEST(SimulationTest, ParallelIterationsLimitTheOverlap) {
  EXPECT_DOUBLE_EQ(SimulatedNs(Map(), 8, 1), 101 * kUs);
  EXPECT_NEAR(SimulatedNs(Map(), 8, 2), 53 * kUs, 5 * kUs);
  const double all = SimulatedNs(Map(), 8, kIterations);
  EXPECT_EQ(SimulatedNs(Map(), 8, std::numeric_limits<int>::max()), all);
}

TEST(SimulationTest, ManyTasksAreSimulatedInFewerIterations) {
  Tasks tasks(50'000);
  tasks[0] = {1 * kUs, {}, {49'999}};
  for (int i = 1; i < 50'000; ++i) tasks[i] = Of(1 * kUs, {i - 1});
  EXPECT_DOUBLE_EQ(SimulatedNs(tasks, 2, 10), 50'000 * kUs);
}

}  // namespace
}  // namespace tensor_array_grad
