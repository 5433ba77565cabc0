#include "cc/base/counters.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace tensor_array_grad {
namespace {

Counter first("test.first");
Counter twin("test.twin"), other_twin("test.twin");

TEST(CountersTest, AddedEventsAreReadByName) {
  first.Add();
  first.Add(6);
  EXPECT_EQ(ReadCounters()["test.first"], 7);
}

TEST(CountersTest, CountersOfOneNameAreSummed) {
  twin.Add(1);
  other_twin.Add(10);
  EXPECT_EQ(ReadCounters()["test.twin"], 11);
}

TEST(CountersTest, ANameHasOneCounter) {
  CounterNamed("test.named").Add(2);
  CounterNamed("test.other").Add(4);
  EXPECT_EQ(&CounterNamed("test.named"), &CounterNamed("test.named"));
  EXPECT_EQ(ReadCounters()["test.named"], 2);
  EXPECT_EQ(ReadCounters()["test.other"], 4);
}

TEST(CountersTest, NoConcurrentAddIsLost) {
  static Counter raced("test.raced");
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([] {
      for (int i = 0; i < 10000; ++i) raced.Add();
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(raced.value(), 40000);
}

}  // namespace
}  // namespace tensor_array_grad
