#include "cc/base/switches.h"

#include <gtest/gtest.h>

#include <cstdlib>

namespace tensor_array_grad {
namespace {

TEST(SwitchesTest, ThreeWordsSayOffInAnyCase) {
  for (const char* value : {"off", "OFF", "0", "false", "False"}) EXPECT_TRUE(SaysOff(value));
  for (const char* value : {"", "on", "1", "no", "offf"}) EXPECT_FALSE(SaysOff(value));
}

TEST(SwitchesTest, AVariableThatIsNotSetIsEmpty) {
  unsetenv("TENSOR_ARRAY_GRAD_TEST");
  EXPECT_EQ(Environment("TENSOR_ARRAY_GRAD_TEST"), "");
  setenv("TENSOR_ARRAY_GRAD_TEST", "x", 1);
  EXPECT_EQ(Environment("TENSOR_ARRAY_GRAD_TEST"), "x");
}

TEST(SwitchesTest, ThePartsThatAreNamedAreLeftOut) {
  setenv("TENSOR_ARRAY_GRAD_WITHOUT", "slice_sum,buffer_cache", 1);
  EXPECT_TRUE(IsLeftOut("slice_sum"));
  EXPECT_TRUE(IsLeftOut("buffer_cache"));
  EXPECT_FALSE(IsLeftOut("buffer"));
  unsetenv("TENSOR_ARRAY_GRAD_WITHOUT");
  EXPECT_FALSE(IsLeftOut("slice_sum"));
}

}  // namespace
}  // namespace tensor_array_grad
