#include "cc/base/log.h"

#include <gtest/gtest.h>

#include <new>

namespace tensor_array_grad {
namespace {

TEST(LogTest, TheEnvironmentsValueNamesTheLevel) {
  EXPECT_EQ(ParseLogLevel("1"), LogLevel::kLoops);
  EXPECT_EQ(ParseLogLevel("2"), LogLevel::kRewrites);
  EXPECT_EQ(ParseLogLevel("3"), LogLevel::kPrograms);
  for (const char* const other : {"0", "", "4", "10", "on"}) {
    EXPECT_EQ(ParseLogLevel(other), LogLevel::kNone) << other;
  }
  EXPECT_EQ(ParseLogLevel(nullptr), LogLevel::kNone);
}

TEST(LogTest, ALineStartsWithTheLibrarysName) {
  testing::internal::CaptureStderr();
  LogLine("loop while: runs in one kernel");
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "tensor_array_grad: loop while: runs in one kernel\n");
}

TEST(LogTest, AReportThatGetsNoMemoryIsNoFailure) {
  bool called = false;
  IfMemoryAllows([&] {
    called = true;
    throw std::bad_alloc();
  });
  EXPECT_TRUE(called);
}

}  // namespace
}  // namespace tensor_array_grad
