#include "cc/base/loop_record.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>

namespace tensor_array_grad {
namespace {

using introspection::Loop;

Loop Named(const std::string& name) {
  Loop loop;
  loop.id = NewLoopId();
  loop.name = name;
  return loop;
}

TEST(LoopRecord, IsFoundByItsId) {
  const auto added = AddLoop(Named("a"));
  const int64_t id = added->Describe().id;
  EXPECT_EQ(LoopOf(id), added);
  EXPECT_EQ(AllLoops().back(), added);
  added->Leave("reason: detail");
  EXPECT_EQ(LoopOf(id)->Describe().left, "reason: detail");
}

TEST(LoopRecord, AnUnknownIdHasARecordThatIsInNoList) {
  const size_t before = AllLoops().size();
  const auto unknown = LoopOf(-5);
  ASSERT_NE(unknown, nullptr);
  unknown->AddRun(3, 5);
  EXPECT_EQ(unknown->counts.iterations, 3);
  EXPECT_NE(LoopOf(-5), unknown);
  EXPECT_EQ(AllLoops().size(), before);
}

TEST(LoopRecord, IsDescribedWithItsCounts) {
  LoopRecord record(Named("a"));
  record.AddRun(3, 2'000'000'000);
  EXPECT_EQ(record.Describe().gain, 1);
  record.counts.two_threads = 4;
  record.counts.handed_back = 5;
  record.counts.passed_on = 6;
  record.counts.passed_by = 7;
  record.counts.gain = 1.5;
  const Loop loop = record.Describe();
  EXPECT_EQ(loop.name, "a");
  EXPECT_EQ(loop.runs, 1);
  EXPECT_EQ(loop.iterations, 3);
  EXPECT_EQ(loop.seconds, 2);
  EXPECT_EQ(loop.two_threads, 4);
  EXPECT_EQ(loop.handed_back, 5);
  EXPECT_EQ(loop.passed_on, 6);
  EXPECT_EQ(loop.passed_by, 7);
  EXPECT_EQ(loop.gain, 1.5);
}

TEST(LoopRecord, CountsRunsInOneKernel) {
  LoopRecord record(Named("a"));
  record.AddRun(3, 50);
  record.AddRun(0, 7);
  EXPECT_EQ(record.counts.runs, 2);
  EXPECT_EQ(record.counts.iterations, 3);
  EXPECT_EQ(record.counts.ns, 57);
  EXPECT_EQ(record.counts.executor_runs, 0);
}

TEST(LoopRecord, CountsWhatTheExecutorDoes) {
  LoopRecord record(Named("a"));
  for (int iteration = 0; iteration < 4; ++iteration) record.EvaluatesCondition(7, iteration);
  record.EndsInExecutor(7);
  EXPECT_EQ(record.counts.executor_runs, 1);
  EXPECT_EQ(record.counts.conditions, 4);
  const int64_t ns = record.counts.executor_ns;
  EXPECT_GT(ns, 0);
  record.EndsInExecutor(7);  // no run of the step is left
  EXPECT_EQ(record.counts.executor_ns, ns);
}

TEST(LoopRecord, CountsTimeUntilTheLastOfSeveralRunsOfAStepHasEnded) {
  LoopRecord record(Named("a"));
  for (int run = 0; run < 2; ++run) record.EvaluatesCondition(7, 0);
  record.EndsInExecutor(7);
  const int64_t of_first = record.counts.executor_ns;
  record.EvaluatesCondition(7, 1);
  const int64_t of_second = record.counts.executor_ns;
  EXPECT_GT(of_second, of_first);
  record.EndsInExecutor(7);
  const int64_t of_both = record.counts.executor_ns;
  EXPECT_GT(of_both, of_second);
  record.EndsInExecutor(7);  // no run of the step is left
  EXPECT_EQ(record.counts.executor_ns, of_both);
  EXPECT_EQ(record.counts.executor_runs, 2);
}

TEST(LoopRecord, ARunThatFailsHasATimeAndDoesNotDisturbTheNextStep) {
  LoopRecord record(Named("a"));
  record.EvaluatesCondition(7, 0);
  EXPECT_EQ(record.counts.executor_ns, 0);
  record.EvaluatesCondition(7, 1);  // and no end
  EXPECT_GT(record.counts.executor_ns, 0);
  record.EvaluatesCondition(8, 0);
  record.EndsInExecutor(8);
  EXPECT_EQ(record.counts.executor_runs, 2);
  EXPECT_GT(record.counts.executor_ns, 0);
}

TEST(LoopRecord, TheLocatorIsAskedOnce) {
  int asked = 0;
  SetLocator([&asked](const Loop& loop) {
    ++asked;
    return std::pair<std::string, std::string>(loop.name + ".py:3", "all of it");
  });
  const auto record = AddLoop(Named("a"));
  SetLocator(nullptr);
  EXPECT_EQ(asked, 1);
  EXPECT_EQ(record->line(), "a.py:3");
  EXPECT_EQ(record->Describe().trace, "all of it");
  EXPECT_EQ(AddLoop(Named("b"))->line(), "");
}

TEST(LoopRecord, OnlyTheNewestAreKept) {
  const int64_t first = AddLoop(Named("first"))->Describe().id;
  for (int i = 0; i < 10'000; ++i) AddLoop(Named("a"));
  EXPECT_EQ(AllLoops().size(), 10'000U);
  EXPECT_GT(AllLoops().front()->Describe().id, first);
}

}  // namespace
}  // namespace tensor_array_grad
