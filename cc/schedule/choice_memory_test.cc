#include "cc/schedule/choice_memory.h"

#include <gtest/gtest.h>

#include <optional>

namespace tensor_array_grad {
namespace {

constexpr double kIterationNs = 2'000'000;

// The number of runs, one after the other, that begin with the remembered choice, if it is
// `choice`. The run after them, which is measured, has then begun.
int Unmeasured(ChoiceMemory* memory, Choice choice) {
  int runs = 0;
  while (memory->Next().choice == choice) ++runs;
  return runs;
}

TEST(ChoiceMemoryTest, EachRepeatedChoiceHoldsForMoreRuns) {
  ChoiceMemory memory;
  for (const Choice choice : {Choice::kExecutor, Choice::kTwoThreads, Choice::kOneThread}) {
    EXPECT_EQ(memory.Next().choice, std::nullopt);
    for (int runs : {1, 2, 4, 8, 16, 32, 64, 64, 64}) {
      memory.Record(choice, /*is_clear=*/false, kIterationNs);
      EXPECT_EQ(Unmeasured(&memory, choice), runs);
    }
    memory.RecordNone(false);
  }
}

TEST(ChoiceMemoryTest, AClearChoiceHoldsForManyMoreRuns) {
  ChoiceMemory memory;
  for (int runs : {1, 32, 1024, 1024}) {
    memory.Record(Choice::kExecutor, /*is_clear=*/true, kIterationNs);
    EXPECT_EQ(Unmeasured(&memory, Choice::kExecutor), runs);
  }
  memory.Record(Choice::kExecutor, false, kIterationNs);
  EXPECT_EQ(Unmeasured(&memory, Choice::kExecutor), 64);
}

TEST(ChoiceMemoryTest, ChoicesOfRunsAtTheSameTimeCountOnceOrTwice) {
  for (const bool is_clear : {false, true}) {
    ChoiceMemory memory;
    for (int i = 0; i < 7; ++i) memory.Record(Choice::kExecutor, is_clear, kIterationNs);
    EXPECT_EQ(Unmeasured(&memory, Choice::kExecutor), is_clear ? 32 : 1);
  }
  ChoiceMemory memory;
  memory.Record(Choice::kExecutor, /*is_clear=*/false, kIterationNs);
  memory.Record(Choice::kExecutor, /*is_clear=*/true, kIterationNs);
  EXPECT_EQ(Unmeasured(&memory, Choice::kExecutor), 1);
}

TEST(ChoiceMemoryTest, RunsBesideAMeasuredOneFollowTheLastChoice) {
  ChoiceMemory memory;
  for (int run = 0; run < 100; ++run) EXPECT_EQ(memory.Next().choice, std::nullopt);
  memory.Record(Choice::kExecutor, false, kIterationNs);
  EXPECT_EQ(Unmeasured(&memory, Choice::kExecutor), 1);
  EXPECT_EQ(Unmeasured(&memory, Choice::kExecutor), 16);  // then the measured one has failed
  EXPECT_EQ(memory.Next().choice, Choice::kExecutor);
  memory.Record(Choice::kExecutor, false, kIterationNs);
  EXPECT_EQ(Unmeasured(&memory, Choice::kExecutor), 2);
}

TEST(ChoiceMemoryTest, AfterARunThatWasTooShortTheNextIsMeasured) {
  ChoiceMemory memory;
  memory.Record(Choice::kExecutor, false, kIterationNs);
  EXPECT_EQ(Unmeasured(&memory, Choice::kExecutor), 1);
  for (const bool is_heavy : {true, false}) {
    memory.RecordNone(is_heavy);
    const RunStart start = memory.Next();
    EXPECT_EQ(start.choice, std::nullopt);
    EXPECT_EQ(start.from_first, is_heavy);
  }
}

TEST(ChoiceMemoryTest, AnotherChoiceReplacesTheRememberedOne) {
  ChoiceMemory memory;
  memory.Record(Choice::kTwoThreads, true, kIterationNs);
  memory.Record(Choice::kTwoThreads, true, kIterationNs);
  memory.Record(Choice::kExecutor, true, kIterationNs);
  EXPECT_EQ(Unmeasured(&memory, Choice::kExecutor), 1);
}

// How the next run starts that is measured.
RunStart NextMeasured(ChoiceMemory* memory) {
  RunStart start;
  do {
    start = memory->Next();
  } while (start.choice);
  return start;
}

TEST(ChoiceMemoryTest, AClearChoiceIsConfirmed) {
  ChoiceMemory memory;
  EXPECT_FALSE(NextMeasured(&memory).confirms);
  for (const bool is_clear : {true, true, false}) {
    memory.Record(Choice::kExecutor, is_clear, kIterationNs);
    EXPECT_EQ(NextMeasured(&memory).confirms, is_clear);
  }
}

TEST(ChoiceMemoryTest, AFirstIterationConfirmsNoTwoThreads) {
  ChoiceMemory memory;
  memory.Record(Choice::kExecutor, /*is_clear=*/true, kIterationNs);
  EXPECT_EQ(NextMeasured(&memory).typical_ns, kIterationNs);
  memory.Record(Choice::kTwoThreads, /*is_clear=*/true, kIterationNs);
  const RunStart start = NextMeasured(&memory);
  EXPECT_TRUE(start.confirms);
  EXPECT_EQ(start.typical_ns, 0);
}

TEST(ChoiceMemoryTest, TheTimeOfAnIterationIsThatOfTheLastChoiceThatCounted) {
  ChoiceMemory memory;
  for (const double ns : {1000.0, 2000.0, 3000.0}) {  // at the same time: two count
    memory.Record(Choice::kExecutor, /*is_clear=*/true, ns);
  }
  EXPECT_EQ(NextMeasured(&memory).typical_ns, 2000);
  memory.Record(Choice::kExecutor, /*is_clear=*/true, /*iteration_ns=*/0);
  const RunStart start = NextMeasured(&memory);
  EXPECT_TRUE(start.confirms);
  EXPECT_EQ(start.typical_ns, 0);
}

TEST(ChoiceMemoryTest, AFirstIterationConfirmsNothingAfterAnUnclearChoice) {
  ChoiceMemory memory;
  memory.Record(Choice::kExecutor, /*is_clear=*/false, kIterationNs);
  const RunStart start = NextMeasured(&memory);
  EXPECT_FALSE(start.confirms);
  EXPECT_EQ(start.typical_ns, 0);
}

TEST(ChoiceMemoryTest, AFirstIterationConfirmsNothingAfterARunThatWasTooShort) {
  for (const bool is_heavy : {true, false}) {
    ChoiceMemory memory;
    memory.Record(Choice::kExecutor, /*is_clear=*/true, kIterationNs);
    memory.RecordNone(is_heavy);
    const RunStart start = NextMeasured(&memory);
    EXPECT_EQ(start.from_first, is_heavy);
    EXPECT_EQ(start.confirms, !is_heavy);
    EXPECT_EQ(start.typical_ns, 0);
  }
}

}  // namespace
}  // namespace tensor_array_grad
