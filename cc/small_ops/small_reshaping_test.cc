#include "cc/small_ops/small_tables.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "cc/base/tensorflow_names.h"
#include "cc/testing/matchers.h"
#include "cc/testing/small_op_under_test.h"

namespace tensor_array_grad {
namespace {

class SmallReshapingTest : public SmallOpTest {
 protected:
  // A node `op` whose inputs are float, except for those in `integers`, which are int32.
  NodeDef& Node(const std::string& op, int inputs, const std::vector<int>& integers = {}) {
    std::vector<DataType> types(inputs, DT_FLOAT);
    for (int i : integers) types[i] = DT_INT32;
    NodeDef& node = SmallOpTest::Node(op, types);
    Set(node, "T", DT_FLOAT);
    return node;
  }
};

TEST_F(SmallReshapingTest, AReshapeSharesTheBuffer) {
  Set(Node("Reshape", 2, {1}), "Tshape", DT_INT32);
  const Tensor x = Counted({3, 2});
  for (const auto& [sizes, shape] : std::vector<std::pair<std::vector<int32_t>, TensorShape>>{
           {{6}, {6}}, {{-1}, {6}}, {{2, -1, 1}, {2, 3, 1}}}) {
    ASSERT_TRUE(Call({x, Ints(sizes)}));
    EXPECT_EQ(result().shape(), shape);
    EXPECT_TRUE(result().SharesBufferWith(x));
  }
  ASSERT_TRUE(Call({Tensor(5.f), Ints({-1, 1})}));
  EXPECT_THAT(result(), TensorEq(TensorOf<float>({1, 1}, {5})));
  ASSERT_TRUE(Call({Tensor(5.f), Ints({})}));
  EXPECT_EQ(result().dims(), 0);
}

TEST_F(SmallReshapingTest, ReshapesThatFailAreLeftToTheKernel) {
  Set(Node("Reshape", 2, {1}), "Tshape", DT_INT32);
  const Tensor x = Counted({3, 2});
  for (const std::vector<int32_t>& sizes :
       std::vector<std::vector<int32_t>>{{5},
                                         {-1, -1},
                                         {-2},
                                         {4, -1},
                                         {0, -1},
                                         {1 << 30, 1 << 30, 1 << 30},
                                         std::vector<int32_t>(254, 1)}) {
    EXPECT_FALSE(Call({x, Ints(sizes)})) << testing::PrintToString(sizes);
  }
  EXPECT_FALSE(Call({x, Tensor(6)})) << "a scalar";
  EXPECT_FALSE(Call({Tensor(5.f), Ints({-1, -1})})) << "of which the first could be 1";
}

TEST_F(SmallReshapingTest, SqueezeRemovesDimensionsOfSizeOneAndSharesTheBuffer) {
  Node("Squeeze", 1);
  const Tensor x = Counted({1, 3, 1, 2});
  ASSERT_TRUE(Call({x}));
  EXPECT_EQ(result().shape(), TensorShape({3, 2}));
  EXPECT_TRUE(result().SharesBufferWith(x));
  ASSERT_TRUE(Call({Vec({5})}));
  EXPECT_EQ(result().dims(), 0);
}

TEST_F(SmallReshapingTest, SqueezeRemovesTheGivenDimensions) {
  Set(Node("Squeeze", 1), "squeeze_dims", std::vector<int32_t>{-2});
  ASSERT_TRUE(Call({Counted({1, 3, 1, 2})}));
  EXPECT_EQ(result().shape(), TensorShape({1, 3, 2}));
  EXPECT_FALSE(Call({Counted({2, 2})})) << "a dimension of size two";
  EXPECT_FALSE(Call({Counted({1})})) << "no such dimension";
  EXPECT_FALSE(Call({Tensor(tensorflow::DT_VARIANT, {2, 1, 2})})) << "an error";
}

TEST_F(SmallReshapingTest, ExpandDimsAddsOneAndSharesTheBuffer) {
  Node("ExpandDims", 2, {1});
  const Tensor x = Counted({3, 2});
  ASSERT_TRUE(Call({x, Tensor(-1)}));
  EXPECT_EQ(result().shape(), TensorShape({3, 2, 1}));
  EXPECT_TRUE(result().SharesBufferWith(x));
  ASSERT_TRUE(Call({x, Tensor(1)}));
  EXPECT_EQ(result().shape(), TensorShape({3, 1, 2}));
  EXPECT_FALSE(Call({x, Tensor(3)})) << "out of range";
  EXPECT_FALSE(Call({x, Tensor(-4)})) << "out of range";
  EXPECT_FALSE(Call({x, Ints({0})})) << "no scalar";
  EXPECT_FALSE(Call({Tensor(tensorflow::DT_VARIANT, {2}), Tensor(0)})) << "an error";
  EXPECT_FALSE(Call({Tensor(1.f), Tensor(0)}))
      << "a float keeps its buffer, which the order of a sum depends on";
}

TEST_F(SmallReshapingTest, AnIntegerBecomesAVectorOfOne) {
  Set(Node("ExpandDims", 2, {0, 1}), "T", DT_INT32);
  for (const int axis : {0, -1}) {
    ASSERT_TRUE(Call({Tensor(7), Tensor(axis)}));
    EXPECT_EQ(result().shape(), TensorShape({1}));
    EXPECT_EQ(ValuesOf<int32_t>(result()), std::vector<int32_t>{7});
  }
  EXPECT_FALSE(Call({Tensor(7), Tensor(1)})) << "out of range";
}

TEST_F(SmallReshapingTest, AnIntegerIsReshapedToAVectorOfOne) {
  NodeDef& node = Node("Reshape", 2, {0, 1});
  Set(node, "T", DT_INT32);
  Set(node, "Tshape", DT_INT32);
  for (const int size : {1, -1}) {
    ASSERT_TRUE(Call({Tensor(7), Ints({size})}));
    EXPECT_EQ(result().shape(), TensorShape({1}));
    EXPECT_EQ(ValuesOf<int32_t>(result()), std::vector<int32_t>{7});
  }
  const Tensor number(7);
  ASSERT_TRUE(Call({number, Ints({1})}));
  EXPECT_FALSE(result().SharesBufferWith(number));  // its buffer is that of the next index
  EXPECT_FALSE(Call({Tensor(7), Ints({2})}));
}

TEST_F(SmallReshapingTest, TheBufferOfAnIndexIsUsedAgainUnlessSomethingSharesIt) {
  Set(Node("ExpandDims", 2, {0, 1}), "T", DT_INT32);
  const SmallOp op = SmallOpOf(*this);
  Value axis = Of(Tensor(0)), index;
  const auto set = [&](int32_t to) {
    Value number = Number(to);
    ASSERT_TRUE(tensor_array_grad::Call(op, {{&number, true}, {&axis, false}}, &index));
  };
  set(1);
  const void* const buffer = index.tensor()->data();
  index.ReleaseTensor();
  set(2);
  EXPECT_EQ(index.tensor()->data(), buffer);
  EXPECT_EQ(ValuesOf<int32_t>(*index.tensor()), std::vector<int32_t>{2});
  const Tensor held = *index.tensor();
  set(3);
  EXPECT_EQ(ValuesOf<int32_t>(held), std::vector<int32_t>{2});
  EXPECT_EQ(ValuesOf<int32_t>(*index.tensor()), std::vector<int32_t>{3});
}

TEST_F(SmallReshapingTest, IntegersArePacked) {
  NodeDef& node = Node("Pack", 2, {0, 1});
  Set(node, "N", 2);
  Set(node, "T", DT_INT32);
  ASSERT_TRUE(Call({Tensor(7), Tensor(8)}));
  EXPECT_EQ(result().shape(), TensorShape({2}));
  EXPECT_EQ(ValuesOf<int32_t>(result()), (std::vector<int32_t>{7, 8}));
  EXPECT_FALSE(Call({Tensor(7), Ints({8})})) << "of two shapes";
}

TEST_F(SmallReshapingTest, TensorsArePackedAlongTheFirstAxis) {
  Set(Node("Pack", 2), "N", 2);
  ASSERT_TRUE(Call({Vec({1, 2}), Vec({3, 4})}));
  EXPECT_THAT(result(), TensorEq(TensorOf<float>({2, 2}, {1, 2, 3, 4})));
  ASSERT_TRUE(Call({Tensor(1.f), Tensor(2.f)}));
  EXPECT_THAT(result(), TensorEq(Vec({1, 2})));
}

TEST_F(SmallReshapingTest, TensorsArePackedAlongTheLastAxis) {
  NodeDef& node = Node("Pack", 2);
  Set(node, "N", 2);
  Set(node, "axis", -1);
  ASSERT_TRUE(Call({Vec({1, 2}), Vec({3, 4})}));
  EXPECT_THAT(result(), TensorEq(TensorOf<float>({2, 2}, {1, 3, 2, 4})));
  EXPECT_FALSE(Call({Vec({1, 2}), Vec({3})})) << "of two shapes";
  EXPECT_FALSE(Call({Counted({0}), Counted({0})})) << "nothing";
  const Tensor large = Counted({kMostSmallElements / 2 + 1});
  EXPECT_FALSE(Call({large, large}));
  EXPECT_FALSE(Call({Tensor(DT_STRING, {2}), Tensor(DT_STRING, {2})})) << "strings";
}

TEST_F(SmallReshapingTest, PackOfOneTensorIsLeftToTheKernel) {
  Set(Node("Pack", 1), "N", 1);
  EXPECT_FALSE(Call({Vec({1, 2})})) << "the kernel shares the buffer";
}

TEST_F(SmallReshapingTest, TensorsAreConcatenatedAlongAnyAxis) {
  Set(Node("ConcatV2", 3, {2}), "N", 2);
  const Tensor x = Counted({2, 2}), y = TensorOf<float>({2, 1}, {8, 9});
  ASSERT_TRUE(Call({x, y, Tensor(1)}));
  EXPECT_THAT(result(), TensorEq(TensorOf<float>({2, 3}, {0, 1, 8, 2, 3, 9})));
  ASSERT_TRUE(Call({x, TensorOf<float>({1, 2}, {8, 9}), Tensor(-2)}));
  EXPECT_THAT(result(), TensorEq(TensorOf<float>({3, 2}, {0, 1, 2, 3, 8, 9})));
  EXPECT_FALSE(Call({x, y, Tensor(0)})) << "other dimensions differ";
  EXPECT_FALSE(Call({x, Vec({1}), Tensor(0)})) << "ranks differ";
  EXPECT_FALSE(Call({x, Counted({2, 0}), Tensor(1)})) << "nothing";
  EXPECT_FALSE(Call({x, y, Tensor(2)})) << "out of range";
  EXPECT_FALSE(Call({x, Counted({2, kMostSmallElements / 2}), Tensor(1)})) << "large";
  EXPECT_FALSE(Call({Tensor(1.f), Tensor(1.f), Tensor(0)})) << "scalars";
}

TEST_F(SmallReshapingTest, ATensorIsSplitAlongAllAxesButTheFirst) {
  Set(Node("Split", 2, {0}), "num_split", 2);
  ASSERT_TRUE(Call({Tensor(-1), Counted({2, 4})}));
  EXPECT_THAT(result(), TensorEq(TensorOf<float>({2, 2}, {0, 1, 4, 5})));
  EXPECT_THAT(*second_.tensor(), TensorEq(TensorOf<float>({2, 2}, {2, 3, 6, 7})));
  EXPECT_FALSE(Call({Tensor(0), Counted({2, 4})})) << "the kernel may share the buffer";
  EXPECT_FALSE(Call({Tensor(1), Counted({2, 3})})) << "an error";
  EXPECT_FALSE(Call({Tensor(2), Counted({2, 4})})) << "out of range";
  EXPECT_FALSE(Call({Tensor(1), Counted({0, 4})})) << "nothing";
  EXPECT_FALSE(Call({Tensor(1), Counted({1, kMostSmallElements + 2})})) << "large";
}

TEST_F(SmallReshapingTest, SplitIntoOnePartIsLeftToTheKernel) {
  Set(Node("Split", 2, {0}), "num_split", 1);
  EXPECT_FALSE(Call({Tensor(1), Counted({2, 4})})) << "the kernel shares the buffer";
}

TEST_F(SmallReshapingTest, BroadcastToRepeatsDimensionsOfSizeOne) {
  Set(Node("BroadcastTo", 2, {1}), "Tidx", DT_INT32);
  const Tensor column = TensorOf<float>({2, 1}, {1, 2});
  ASSERT_TRUE(Call({column, Ints({2, 2})}));
  EXPECT_THAT(result(), TensorEq(TensorOf<float>({2, 2}, {1, 1, 2, 2})));
  ASSERT_TRUE(Call({Vec({1, 2}), Ints({2, 2})}));
  EXPECT_THAT(result(), TensorEq(TensorOf<float>({2, 2}, {1, 2, 1, 2})));
  EXPECT_FALSE(Call({column, Ints({2, 1})})) << "the kernel shares the buffer";
  EXPECT_FALSE(Call({column, Ints({4, 1})})) << "an error";
  EXPECT_FALSE(Call({column, Ints({2, -1})})) << "an error";
  EXPECT_FALSE(Call({column, Ints({2, kMostSmallElements})})) << "large";
  EXPECT_FALSE(Call({Counted({1, 2, 1, 2, 1, 2}), Ints({2, 2, 2, 2, 2, 2})})) << "an error";
}

TEST_F(SmallReshapingTest, TileRepeatsDimensionsOfSizeOne) {
  Set(Node("Tile", 2, {1}), "Tmultiples", DT_INT32);
  const Tensor column = TensorOf<float>({2, 1}, {1, 2});
  ASSERT_TRUE(Call({column, Ints({1, 3})}));
  EXPECT_THAT(result(), TensorEq(TensorOf<float>({2, 3}, {1, 1, 1, 2, 2, 2})));
  EXPECT_FALSE(Call({column, Ints({2, 3})})) << "a dimension of size two";
  EXPECT_FALSE(Call({column, Ints({1, 1})})) << "the kernel shares the buffer";
  EXPECT_FALSE(Call({column, Ints({1})})) << "an error";
  EXPECT_FALSE(Call({column, Ints({1, 0})})) << "nothing";
  EXPECT_FALSE(Call({Tensor(tensorflow::DT_QINT32, {1, 2}), Ints({2, 1})})) << "an error";
  constexpr int32_t kMost = std::numeric_limits<int32_t>::max();
  EXPECT_FALSE(Call({Counted({1, 1, 8}), Ints({kMost, kMost, 1})})) << "2^65 elements";
  EXPECT_FALSE(Call({Counted({1, 4}), TensorOf<int64_t>({2}, {int64_t{1} << 62, 1})}));
}

}  // namespace
}  // namespace tensor_array_grad
