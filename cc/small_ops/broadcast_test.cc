#include "cc/small_ops/broadcast.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "cc/base/tensorflow_names.h"
#include "tensorflow/core/util/bcast.h"

namespace tensor_array_grad {
namespace {

using testing::ElementsAre;

// The elements of operand `operand` that ForEachLine gives for the elements of the result, in
// order.
std::vector<int64_t> ElementsOf(const Broadcast& broadcast, int operand) {
  std::vector<int64_t> elements;
  broadcast.ForEachLine([&](const int64_t* at) {
    for (int64_t i = 0; i < broadcast.line(); ++i) {
      elements.push_back(at[operand] + (broadcast.repeats(operand) ? 0 : i));
    }
  });
  return elements;
}

TEST(BroadcastTest, ARowAndAColumnMakeAMatrix) {
  const TensorShape row({3}), column({2, 1});
  Broadcast broadcast;
  ASSERT_TRUE(broadcast.Read({&row, &column}));
  EXPECT_EQ(broadcast.shape(), TensorShape({2, 3}));
  EXPECT_EQ(broadcast.elements(), 6);
  EXPECT_THAT(ElementsOf(broadcast, 0), ElementsAre(0, 1, 2, 0, 1, 2));
  EXPECT_THAT(ElementsOf(broadcast, 1), ElementsAre(0, 0, 0, 1, 1, 1));
}

TEST(BroadcastTest, DimensionsThatAreStretchedAlikeAreOneLine) {
  const TensorShape whole({5, 4, 8}), rows({5, 1, 1});
  Broadcast broadcast;
  ASSERT_TRUE(broadcast.Read({&whole, &rows}));
  EXPECT_EQ(broadcast.line(), 32);
  EXPECT_FALSE(broadcast.repeats(0));
  EXPECT_TRUE(broadcast.repeats(1));
}

TEST(BroadcastTest, ShapesThatCannotBeBroadcastAreRejected) {
  const TensorShape two({2}), three({3}), none({0}), nine({1, 1, 1, 1, 1, 1, 1, 1, 1});
  Broadcast broadcast;
  EXPECT_FALSE(broadcast.Read({&two, &three}));
  EXPECT_FALSE(broadcast.Read({&two, &none}));
  EXPECT_FALSE(broadcast.Read({&none, &none}));
  EXPECT_FALSE(broadcast.Read({&nine, &two}));
}

// The operand's element by definition: in each dimension the index of the result, or 0 where the
// operand is stretched.
int64_t ElementAt(int64_t element, const TensorShape& result, const TensorShape& operand) {
  int64_t found = 0, step = 1;
  for (int d = result.dims() - 1, own = operand.dims() - 1; own >= 0; --d, --own) {
    const int64_t index = element % result.dim_size(d);
    element /= result.dim_size(d);
    if (operand.dim_size(own) > 1) found += index * step;
    step *= operand.dim_size(own);
  }
  return found;
}

TEST(BroadcastTest, RandomShapesAreStretchedAsTensorFlowDoes) {
  std::mt19937 random(11);
  int read = 0;
  for (int i = 0; i < 5'000; ++i) {
    TensorShape shapes[3];
    for (TensorShape& shape : shapes) {
      for (int d = static_cast<int>(random() % 5); d > 0; --d) {
        const int size = static_cast<int>(random() % 5);
        shape.AddDim(size == 4 ? 1 : size);
      }
    }
    const tensorflow::BCastList<3> stock(
        {shapes[0].dim_sizes(), shapes[1].dim_sizes(), shapes[2].dim_sizes()});
    Broadcast broadcast;
    const bool empty = stock.IsValid() && TensorShape(stock.output_shape()).num_elements() == 0;
    ASSERT_EQ(broadcast.Read({&shapes[0], &shapes[1], &shapes[2]}), stock.IsValid() && !empty);
    if (!stock.IsValid() || empty) continue;
    ++read;
    ASSERT_EQ(broadcast.shape(), TensorShape(stock.output_shape()));
    ASSERT_EQ(broadcast.elements(), broadcast.shape().num_elements());
    for (int operand = 0; operand < 3; ++operand) {
      const std::vector<int64_t> elements = ElementsOf(broadcast, operand);
      ASSERT_EQ(static_cast<int64_t>(elements.size()), broadcast.elements());
      for (size_t e = 0; e < elements.size(); ++e) {
        ASSERT_EQ(elements[e],
                  ElementAt(static_cast<int64_t>(e), broadcast.shape(), shapes[operand]));
      }
    }
  }
  EXPECT_GT(read, 500);
}

}  // namespace
}  // namespace tensor_array_grad
