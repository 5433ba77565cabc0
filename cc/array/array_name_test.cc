#include "cc/array/array_name.h"

#include <gtest/gtest.h>

namespace tensor_array_grad {
namespace {

TEST(ArrayNameTest, TwoArraysOfOneBaseHaveDifferentNames) {
  const std::string first = NewForwardName("ta"), second = NewForwardName("ta");
  EXPECT_EQ(first.rfind("_tensor_arraysta_", 0), 0u);
  EXPECT_NE(first, second);
}

TEST(ArrayNameTest, AGradientIsNamedAfterItsForwardArrayAndSource) {
  EXPECT_EQ(GradName("_tensor_arraysta_0", "gradients"), "_tensor_array_gradsta_0@gradients");
  EXPECT_EQ(GradName("_tensor_array_gradsta_0@a", "b"), "_tensor_array_gradsta_0@a@b");
}

TEST(ArrayNameTest, TheShortNameHasNoPrefix) {
  EXPECT_EQ(ShortName("_tensor_arraysta_0"), "ta_0");
  EXPECT_EQ(ShortName("_tensor_array_gradsta_0@g"), "ta_0@g");
  EXPECT_EQ(ShortName("anything"), "anything");
}

}  // namespace
}  // namespace tensor_array_grad
