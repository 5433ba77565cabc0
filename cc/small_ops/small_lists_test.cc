#include "cc/small_ops/small_tables.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "cc/base/tensorflow_names.h"
#include "cc/lists/list_variant.h"
#include "cc/testing/matchers.h"
#include "cc/testing/small_op_under_test.h"
#include "tensorflow/core/framework/variant.h"

namespace tensor_array_grad {
namespace {

// A list of three float vectors of size two. Only element 1 is set.
class SmallListsTest : public testing::Test {
 protected:
  SmallListsTest() { list_.Set(Holding(AList({DT_FLOAT, PartialTensorShape({2}), -1}))); }

  static ListVariant AList(ListSpec spec) {
    ListVariant list(std::move(spec), 3);
    list.Set(1, Vec({1, 2}));
    return list;
  }
  static Tensor Holding(ListVariant list) {
    Tensor tensor(DT_VARIANT, {});
    tensor.scalar<Variant>()() = std::move(list);
    return tensor;
  }
  const ListVariant& list() { return *list_.tensor()->scalar<Variant>()().get<ListVariant>(); }

  static SmallOp OpFor(const std::string& op, const std::vector<DataType>& inputs,
                       DataType element_dtype = DT_FLOAT) {
    GraphUnderTest graph;
    tensorflow::NodeDef& node = AddNode(op, inputs, &graph);
    GraphUnderTest::Set(node, "element_dtype", element_dtype);
    GraphUnderTest::Set(node, "T", inputs[0]);  // of ZerosLike and AddN
    GraphUnderTest::Set(node, "N", static_cast<int>(inputs.size()));
    GraphUnderTest::Set(node, "shape_type", inputs.size() > 3 ? inputs[3] : DT_INT32);
    return SmallOpOf(graph);
  }

  bool Get(int32_t index, Value* result, DataType dtype = DT_FLOAT) {
    Value at, shape;
    at.SetScalar(index);
    shape.Set(Ints({2}));
    return OpFor("TensorListGetItem", {DT_VARIANT, DT_INT32, DT_INT32}, dtype)(
        {{&list_, false}, {&at, false}, {&shape, false}}, result);
  }

  // Returns whether the small op set the element. list_ is then its result.
  bool SetItem(int32_t index, const Tensor& item, bool last = true, DataType dtype = DT_FLOAT) {
    Value at, value, result;
    at.SetScalar(index);
    value.Set(item);
    const SmallOp op = OpFor("TensorListSetItem", {DT_VARIANT, DT_INT32, dtype}, dtype);
    const bool done = op({{&list_, last}, {&at, false}, {&value, true}}, &result);
    if (done) list_.Assign(&result, true);
    return done;
  }

  bool Accumulate(int32_t index, const Tensor& item, const Tensor& shape = Ints({2}),
                  int32_t size = 3, DataType dtype = DT_FLOAT) {
    Value at, value, sizes, count, result;
    at.SetScalar(index);
    value.Set(item);
    sizes.Set(shape);
    count.SetScalar(size);
    const SmallOp op = OpFor("TensorArrayGrad>ListAccumulate",
                             {DT_VARIANT, DT_INT32, dtype, shape.dtype(), DT_INT32}, dtype);
    const bool done = op(
        {{&list_, true}, {&at, false}, {&value, true}, {&sizes, false}, {&count, false}}, &result);
    if (done) list_.Assign(&result, true);
    return done;
  }

  // Adds `item` to a list like `like`.
  bool AccumulateLike(int32_t index, const Tensor& item, const Tensor& like) {
    Value at, value, other, result;
    at.SetScalar(index);
    value.Set(item);
    other.Set(like);
    const SmallOp op = OpFor("TensorArrayGrad>ListAccumulateLike",
                             {DT_VARIANT, DT_INT32, DT_FLOAT, DT_VARIANT}, DT_FLOAT);
    const bool done = op({{&list_, true}, {&at, false}, {&value, true}, {&other, false}}, &result);
    if (done) list_.Assign(&result, true);
    return done;
  }

  bool AddList(const Tensor& added, bool last = true) {
    Value other, result;
    other.Set(added);
    const SmallOp op = OpFor("AddN", {DT_VARIANT, DT_VARIANT}, DT_VARIANT);
    const bool done = op({{&list_, last}, {&other, true}}, &result);
    if (done) list_.Assign(&result, true);
    return done;
  }

  Value list_;
};

TEST_F(SmallListsTest, AnElementThatIsSetIsRead) {
  Value result;
  ASSERT_TRUE(Get(1, &result));
  EXPECT_THAT(*result.tensor(), TensorEq(Vec({1, 2})));
  EXPECT_EQ(result.tensor()->data(), list().Get(1).tensor->data());
}

TEST_F(SmallListsTest, OtherReadsAreLeftToTheKernel) {
  Value result;
  EXPECT_FALSE(Get(0, &result)) << "not set";
  EXPECT_FALSE(Get(3, &result)) << "out of range";
  EXPECT_FALSE(Get(-1, &result)) << "out of range";
  EXPECT_FALSE(Get(1, &result, DT_INT32)) << "of another type";
  list_.Set(Vec({1}));
  EXPECT_FALSE(Get(1, &result)) << "no list";
  list_.SetScalar(1);
  EXPECT_FALSE(Get(1, &result)) << "no list";
  list_.Set(Tensor(DT_VARIANT, {}));
  EXPECT_FALSE(Get(1, &result)) << "nothing in the variant";
}

TEST_F(SmallListsTest, AnElementIsSetInPlace) {
  const ListVariant* const before = &list();
  ASSERT_TRUE(SetItem(2, Vec({3, 4})));
  EXPECT_EQ(&list(), before);
  EXPECT_THAT(*list().Get(2).tensor, TensorEq(Vec({3, 4})));
  ASSERT_TRUE(SetItem(1, Vec({5, 6})));
  EXPECT_THAT(*list().Get(1).tensor, TensorEq(Vec({5, 6})));
}

TEST_F(SmallListsTest, AListThatIsReadAgainOrSharedIsNotChanged) {
  EXPECT_FALSE(SetItem(2, Vec({3, 4}), /*last=*/false));
  const Tensor held = *list_.tensor();
  EXPECT_FALSE(SetItem(2, Vec({3, 4})));
  EXPECT_FALSE(Accumulate(2, Vec({3, 4})));
  EXPECT_EQ(list().Get(2).kind, ListElement::kUnset);
}

TEST_F(SmallListsTest, AListIsNotPutIntoItself) {
  list_.Set(Holding(ListVariant(ListSpec{DT_VARIANT, {}, -1}, 1)));
  Value at, result;
  at.SetScalar(0);
  const SmallOp op = OpFor("TensorListSetItem", {DT_VARIANT, DT_INT32, DT_VARIANT}, DT_VARIANT);
  EXPECT_FALSE(op({{&list_, false}, {&at, false}, {&list_, true}}, &result));
  EXPECT_FALSE(op({{&list_, true}, {&at, false}, {&list_, true}}, &result));
}

TEST_F(SmallListsTest, AnItemIsAddedToAListLikeAnother) {
  const Tensor like = Holding(AList({DT_FLOAT, PartialTensorShape({2}), 5}));
  ASSERT_TRUE(AccumulateLike(1, Vec({3, 4}), like));
  EXPECT_THAT(*list().Get(1).tensor, TensorEq(Vec({4, 6})));
  ASSERT_TRUE(AccumulateLike(0, Vec({3, 4}), like));
  EXPECT_THAT(*list().Get(0).tensor, TensorEq(Vec({3, 4})));
  EXPECT_FALSE(AccumulateLike(3, Vec({3, 4}), like)) << "out of range";
  EXPECT_FALSE(AccumulateLike(0, Vec({3}), like)) << "of another shape";
  EXPECT_FALSE(AccumulateLike(0, Vec({3, 4}), Vec({1}))) << "no list";
  EXPECT_FALSE(AccumulateLike(0, Vec({3, 4}), Holding(AList({DT_FLOAT, {}, -1}))));
  EXPECT_FALSE(AccumulateLike(
      0, Vec({3, 4}), Holding(ListVariant(ListSpec{DT_FLOAT, PartialTensorShape({2}), -1}, 4))));
}

TEST_F(SmallListsTest, ZerosOfAListHaveNoElements) {
  Value result;
  const SmallOp zeros_like = OpFor("ZerosLike", {DT_VARIANT});
  ASSERT_TRUE(zeros_like({{&list_, false}}, &result));
  const auto* const zeros = result.tensor()->scalar<Variant>()().get<ListVariant>();
  ASSERT_NE(zeros, nullptr);
  EXPECT_EQ(zeros->size(), 3);
  EXPECT_TRUE(zeros->has_nothing());
  EXPECT_TRUE(zeros->shape().IsIdenticalTo(PartialTensorShape({2})));
  EXPECT_FALSE(list().has_nothing());
  list_.Set(Holding(AList({DT_FLOAT, {}, -1})));
  EXPECT_FALSE(zeros_like({{&list_, false}}, &result)) << "each element has a shape of its own";
  list_.Set(Vec({1}));
  EXPECT_FALSE(zeros_like({{&list_, false}}, &result)) << "no list";
  EXPECT_FALSE(OpFor("ZerosLike", {DT_FLOAT}).exists());
}

TEST_F(SmallListsTest, AListWithoutElementsIsAddedInPlace) {
  const ListSpec spec{DT_FLOAT, PartialTensorShape({2}), -1};
  const ListVariant* const before = &list();
  ASSERT_TRUE(AddList(Holding(ListVariant(spec, 3))));
  EXPECT_EQ(&list(), before);
  EXPECT_THAT(*list().Get(1).tensor, TensorEq(Vec({1, 2})));
  EXPECT_FALSE(AddList(Holding(ListVariant(spec, 3)), /*last=*/false)) << "read again";
  EXPECT_FALSE(AddList(Holding(AList(spec)))) << "an element";
  EXPECT_FALSE(AddList(Holding(ListVariant(spec, 4)))) << "of another length";
  EXPECT_FALSE(AddList(Holding(ListVariant(ListSpec{DT_FLOAT, {}, -1}, 3)))) << "another shape";
  EXPECT_FALSE(AddList(Vec({1}))) << "no list";
  list_.Set(Holding(AList({DT_FLOAT, PartialTensorShape({2}), 5})));
  EXPECT_FALSE(AddList(Holding(ListVariant(spec, 3)))) << "the sum has no max_num_elements";
}

TEST_F(SmallListsTest, OtherItemsAreLeftToTheKernel) {
  EXPECT_FALSE(SetItem(3, Vec({3, 4}))) << "out of range, or the list grows";
  EXPECT_FALSE(SetItem(-1, Vec({3, 4})));
  EXPECT_FALSE(SetItem(0, Vec({3}))) << "of another shape";
  EXPECT_FALSE(SetItem(0, Ints({3, 4}), true, DT_INT32)) << "of another type";
}

TEST_F(SmallListsTest, AnItemIsAddedToAnElementOrTakesItsPlace) {
  const Tensor before = *list().Get(1).tensor, item = Vec({10, 20});
  ASSERT_TRUE(Accumulate(1, item));
  EXPECT_THAT(*list().Get(1).tensor, TensorEq(Vec({11, 22})));
  EXPECT_THAT(before, TensorEq(Vec({1, 2}))) << "another tensor shares it";
  ASSERT_TRUE(Accumulate(0, item));
  EXPECT_EQ(list().Get(0).tensor->data(), item.data());
  ASSERT_TRUE(Accumulate(0, item, TensorOf<int64_t>({1}, {2})));
  EXPECT_THAT(*list().Get(0).tensor, TensorEq(Vec({20, 40})));
}

TEST_F(SmallListsTest, ItemsOfEveryDtypeThatHasASumAreAdded) {
  const auto sum = [&](const auto& values, const Tensor& item) {
    const DataType dtype = item.dtype();
    ListVariant held({dtype, PartialTensorShape({2}), -1}, 3);
    held.Set(1, VecOf(values));
    list_.Set(Holding(std::move(held)));
    EXPECT_TRUE(Accumulate(1, item, Ints({2}), 3, dtype)) << DataTypeString(dtype);
    return *list().Get(1).tensor;
  };
  using tensorflow::complex64;
  const auto half = [](float x) { return static_cast<Eigen::half>(x); };
  EXPECT_THAT(sum(std::vector<double>{1, 2}, VecOf<double>({0.5, 3})),
              TensorEq(VecOf<double>({1.5, 5})));
  EXPECT_THAT(
      sum(std::vector<Eigen::half>{half(1), half(2)}, VecOf<Eigen::half>({half(1), half(3)})),
      TensorEq(VecOf<Eigen::half>({half(2), half(5)})));
  EXPECT_THAT(sum(std::vector<complex64>{{1, 2}, 0}, VecOf<complex64>({{1, 1}, {0, 1}})),
              TensorEq(VecOf<complex64>({{2, 3}, {0, 1}})));
  EXPECT_THAT(sum(std::vector<int32_t>{2147483647, 1}, VecOf<int32_t>({1, 1})),
              TensorEq(VecOf<int32_t>({-2147483647 - 1, 2})));
  EXPECT_THAT(sum(std::vector<uint8_t>{255, 1}, VecOf<uint8_t>({1, 1})),
              TensorEq(VecOf<uint8_t>({0, 2})));
}

TEST_F(SmallListsTest, ItemsWithoutSumOrOfAnotherDtypeAreLeftToTheKernel) {
  ListVariant held({tensorflow::DT_BOOL, PartialTensorShape({2}), -1}, 3);
  held.Set(1, VecOf<bool>({true, false}));
  list_.Set(Holding(std::move(held)));
  EXPECT_FALSE(Accumulate(1, VecOf<bool>({true, true}), Ints({2}), 3, tensorflow::DT_BOOL));
  list_.Set(Holding(AList({DT_FLOAT, PartialTensorShape({2}), -1})));
  EXPECT_FALSE(Accumulate(1, Tensor(tensorflow::DT_HALF, {2})));
  EXPECT_THAT(*list().Get(1).tensor, TensorEq(Vec({1, 2})));
}

TEST_F(SmallListsTest, SumsThatChangeTheSpecOrFailAreLeftToTheKernel) {
  const Tensor item = Vec({10, 20});
  EXPECT_FALSE(Accumulate(3, item)) << "out of range";
  EXPECT_FALSE(Accumulate(1, Vec({1}))) << "of another shape";
  EXPECT_FALSE(Accumulate(1, item, Ints({3}))) << "lists of two shapes";
  EXPECT_FALSE(Accumulate(1, item, Ints({-1}))) << "a list of vectors of any size";
  EXPECT_FALSE(Accumulate(1, item, Ints({1, 2}))) << "of two ranks";
  EXPECT_FALSE(Accumulate(1, item, Tensor(-1))) << "a list of any shape";
  EXPECT_FALSE(Accumulate(1, item, Ints({2}), 4)) << "of two sizes";
  EXPECT_THAT(*list().Get(1).tensor, TensorEq(Vec({1, 2})));
  list_.Set(Holding(AList({DT_FLOAT, PartialTensorShape({2}), 5})));
  EXPECT_FALSE(Accumulate(1, item)) << "the sum of the kernel has no max_num_elements";
}

TEST_F(SmallListsTest, ListsOfUnknownShapesAreSummedToo) {
  list_.Set(Holding(AList({DT_FLOAT, PartialTensorShape(), -1})));
  EXPECT_FALSE(Accumulate(1, Vec({1, 2}), Ints({2})));
  EXPECT_TRUE(Accumulate(1, Vec({1, 2}), Tensor(-1)));
  EXPECT_FALSE(Accumulate(1, Vec({1}), Tensor(-1))) << "the element has another shape";
  list_.Set(Holding(AList({DT_FLOAT, PartialTensorShape({-1}), -1})));
  EXPECT_TRUE(Accumulate(1, Vec({1, 2}), Ints({-1})));
  EXPECT_THAT(*list().Get(1).tensor, TensorEq(Vec({2, 4})));
}

TEST_F(SmallListsTest, LengthAndElementShapeAreThoseOfTheList) {
  Value result;
  int32_t length = 0;
  ASSERT_TRUE(OpFor("TensorListLength", {DT_VARIANT})({{&list_, false}}, &result));
  EXPECT_TRUE(result.Get(&length) && length == 3);
  const SmallOp shape = OpFor("TensorListElementShape", {DT_VARIANT});
  ASSERT_TRUE(shape({{&list_, false}}, &result));
  EXPECT_THAT(ValuesOf<int32_t>(*result.tensor()), testing::ElementsAre(2));
  list_.Set(Holding(AList({DT_FLOAT, PartialTensorShape(), -1})));
  EXPECT_FALSE(shape({{&list_, false}}, &result)) << "the kernel outputs the scalar -1";
}

}  // namespace
}  // namespace tensor_array_grad
