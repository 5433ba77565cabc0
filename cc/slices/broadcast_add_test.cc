#include "cc/slices/broadcast_add.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "cc/base/tensorflow_names.h"
#include "cc/testing/matchers.h"

namespace tensor_array_grad {
namespace {

// The gradient `value` of x[row], where x has three numbers.
SliceGradient NumberAt(int64_t row, float value, bool from_zero = false) {
  SliceGradient gradient;
  gradient.whole = TensorShape({3});
  gradient.values = Tensor(value);
  gradient.starts = {row};
  gradient.from_zero = from_zero;
  return gradient;
}

Tensor Sum(const Tensor& left, const Tensor& right) {
  Tensor sum;
  EXPECT_TRUE(BroadcastAdd(left, right, cpu::OnThisThread, &sum).ok());
  return sum;
}

TEST(DenseSumTest, RowsAreCopiedUnlessStockAddsThemToZeros) {
  for (const bool from_zero : {false, true}) {
    Tensor sum;
    ASSERT_OK(DenseSum({NumberAt(1, -0.0F, from_zero)}, cpu::OnThisThread, &sum));
    EXPECT_THAT(sum, TensorEq(Vec({0, 0, 0})));
    EXPECT_EQ(std::signbit(sum.vec<float>()(1)), !from_zero);
    EXPECT_FALSE(std::signbit(sum.vec<float>()(0)));
  }
}

TEST(DenseSumTest, TermsAreAddedAsFullTensors) {
  Tensor sum;
  ASSERT_OK(
      DenseSum({NumberAt(0, 1), NumberAt(2, -0.0F), NumberAt(0, 2)}, cpu::OnThisThread, &sum));
  EXPECT_THAT(sum, TensorEq(Vec({3, 0, 0})));
  EXPECT_FALSE(std::signbit(sum.vec<float>()(2))) << "-0 + 0 of the other terms";
}

TEST(BroadcastAddTest, DimensionsOfSizeOneAreRepeated) {
  const Tensor column = TensorOf<float>({2, 1}, {10, 20}), row = Vec({1, 2, 3});
  const Tensor both = TensorOf<float>({2, 3}, {11, 12, 13, 21, 22, 23});
  EXPECT_THAT(Sum(column, row), TensorEq(both));
  EXPECT_THAT(Sum(row, column), TensorEq(both));
  EXPECT_THAT(Sum(Tensor(1.F), row), TensorEq(Vec({2, 3, 4})));
  EXPECT_EQ(Sum(Tensor(DT_FLOAT, {0, 1}), row).shape(), TensorShape({0, 3}));
}

TEST(BroadcastAddTest, ShapesThatDoNotFitAreAddsError) {
  Tensor sum;
  EXPECT_THAT(BroadcastAdd(Vec({1, 2}), Vec({1, 2, 3}), cpu::OnThisThread, &sum),
              Fails(absl::StatusCode::kInvalidArgument, "Incompatible shapes: [2] vs. [3]"));
}

TEST(BroadcastAddTest, MoreDimensionsThanAddTakesAreItsError) {
  const Tensor left(DT_FLOAT, {2, 1, 2, 1, 2, 1, 2, 1, 2, 1});
  const Tensor right(DT_FLOAT, {1, 2, 1, 2, 1, 2, 1, 2, 1, 2});
  Tensor sum;
  EXPECT_THAT(BroadcastAdd(left, right, cpu::OnThisThread, &sum),
              Fails(absl::StatusCode::kUnimplemented,
                    "Broadcast between [2,1,2,1,2,1,2,1,2,1] and [1,2,1,2,1,2,1,2,1,2] is not "
                    "supported yet."));
}

}  // namespace
}  // namespace tensor_array_grad
