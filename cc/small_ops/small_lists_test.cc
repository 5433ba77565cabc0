#include "cc/small_ops/small_tables.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "cc/base/tensorflow_names.h"
#include "cc/lists/element_shape.h"
#include "cc/lists/list_variant.h"
#include "cc/lists/loop_stack.h"
#include "cc/testing/matchers.h"
#include "cc/testing/small_op_under_test.h"
#include "tensorflow/core/framework/variant.h"

namespace tensor_array_grad {
namespace {

template <typename T>
Tensor Holding(T value) {
  Tensor tensor(DT_VARIANT, {});
  tensor.scalar<Variant>()() = std::move(value);
  return tensor;
}

// A list of three float vectors of size two. Only element 1 is set.
class SmallListsTest : public testing::Test {
 protected:
  SmallListsTest() { list_.Set(Holding(AList({DT_FLOAT, PartialTensorShape({2}), -1}))); }

  static ListVariant AList(ListSpec spec) {
    ListVariant list(std::move(spec), 3);
    list.Set(1, Vec({1, 2}));
    return list;
  }
  const ListVariant& list() { return *list_.tensor()->scalar<Variant>()().get<ListVariant>(); }

  static SmallOp OpFor(const std::string& op, const std::vector<DataType>& inputs,
                       DataType element_dtype = DT_FLOAT, bool may_grow = false) {
    GraphUnderTest graph;
    tensorflow::NodeDef& node = AddNode(op, inputs, &graph);
    GraphUnderTest::Set(node, "element_dtype", element_dtype);
    GraphUnderTest::Set(node, "resize_if_index_out_of_bounds", may_grow);
    GraphUnderTest::Set(node, "T", inputs[0]);  // of ZerosLike and AddN
    GraphUnderTest::Set(node, "N", static_cast<int>(inputs.size()));
    GraphUnderTest::Set(node, "shape_type", inputs.size() > 3 ? inputs[3] : DT_INT32);
    return SmallOpOf(graph);
  }

  bool Get(int32_t index, Value* result, DataType dtype = DT_FLOAT) {
    Value at = Number(index), shape = Of(Ints({2}));
    return Call(OpFor("TensorListGetItem", {DT_VARIANT, DT_INT32, DT_INT32}, dtype),
                {{&list_, false}, {&at, false}, {&shape, false}}, result);
  }

  // Returns whether the small op changed the list in place, given also `inputs`. list_ is then its
  // result.
  bool Change(const SmallOp& op, std::vector<Value> inputs, bool last = true) {
    std::vector<Operand> operands = {{&list_, last}};
    for (Value& input : inputs) operands.push_back({&input, true});
    Value result;
    const bool done = Call(op, operands, &result);
    if (done) list_.Assign(&result, true);
    return done;
  }
  bool SetItem(int32_t index, const Tensor& item, bool last = true, DataType dtype = DT_FLOAT) {
    return Change(OpFor("TensorListSetItem", {DT_VARIANT, DT_INT32, dtype}, dtype),
                  {Number(index), Of(item)}, last);
  }
  bool Accumulate(int32_t index, const Tensor& item, const Tensor& shape = Ints({2}),
                  int32_t size = 3, DataType dtype = DT_FLOAT) {
    return Change(OpFor("TensorArrayGrad>ListAccumulate",
                        {DT_VARIANT, DT_INT32, dtype, shape.dtype(), DT_INT32}, dtype),
                  {Number(index), Of(item), Of(shape), Number(size)});
  }
  // Adds `item` to a list like `like`.
  bool AccumulateLike(int32_t index, const Tensor& item, const Tensor& like) {
    return Change(OpFor("TensorArrayGrad>ListAccumulateLike",
                        {DT_VARIANT, DT_INT32, DT_FLOAT, DT_VARIANT}, DT_FLOAT),
                  {Number(index), Of(item), Of(like)});
  }
  bool AddList(const Tensor& added, bool last = true) {
    return Change(OpFor("AddN", {DT_VARIANT, DT_VARIANT}, DT_VARIANT), {Of(added)}, last);
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
  EXPECT_FALSE(Call(op, {{&list_, false}, {&at, false}, {&list_, true}}, &result));
  EXPECT_FALSE(Call(op, {{&list_, true}, {&at, false}, {&list_, true}}, &result));
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
  EXPECT_FALSE(AccumulateLike(
      0, Vec({3, 4}), Holding(ListVariant(ListSpec{DT_FLOAT, PartialTensorShape({2}), -1}, 4))));
  ASSERT_TRUE(AccumulateLike(0, Vec({3, 4}), Holding(AList({DT_FLOAT, {}, -1}))));
  EXPECT_THAT(*list().Get(0).tensor, TensorEq(Vec({6, 8})));
  EXPECT_TRUE(list().shape().IsIdenticalTo(PartialTensorShape({2})));
}

TEST_F(SmallListsTest, ZerosOfAListHaveNoElements) {
  Value result;
  const SmallOp zeros_like = OpFor("ZerosLike", {DT_VARIANT});
  ASSERT_TRUE(Call(zeros_like, {{&list_, false}}, &result));
  const auto* const zeros = result.tensor()->scalar<Variant>()().get<ListVariant>();
  ASSERT_NE(zeros, nullptr);
  EXPECT_EQ(zeros->size(), 3);
  EXPECT_TRUE(zeros->has_nothing());
  EXPECT_TRUE(zeros->shape().IsIdenticalTo(PartialTensorShape({2})));
  EXPECT_FALSE(list().has_nothing());
  list_.Set(Holding(AList({DT_FLOAT, {}, -1})));
  EXPECT_FALSE(Call(zeros_like, {{&list_, false}}, &result))
      << "each element has a shape of its own";
  list_.Set(Vec({1}));
  EXPECT_FALSE(Call(zeros_like, {{&list_, false}}, &result)) << "no list";
  EXPECT_EQ(OpFor("ZerosLike", {DT_FLOAT}), nullptr);
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

TEST_F(SmallListsTest, AListGrowsIfTheOpAllowsIt) {
  const SmallOp op =
      OpFor("TensorListSetItem", {DT_VARIANT, DT_INT32, DT_FLOAT}, DT_FLOAT, /*may_grow=*/true);
  ASSERT_TRUE(Change(op, {Number(5), Of(Vec({3, 4}))}));
  EXPECT_EQ(list().size(), 6);
  EXPECT_THAT(*list().Get(5).tensor, TensorEq(Vec({3, 4})));
  EXPECT_EQ(list().Get(4).kind, ListElement::kUnset);
  EXPECT_FALSE(Change(op, {Number(-1), Of(Vec({3, 4}))}));
  EXPECT_FALSE(Change(op, {Number(6), Of(Vec({3}))})) << "of another shape";
}

TEST_F(SmallListsTest, OtherItemsAreLeftToTheKernel) {
  EXPECT_FALSE(SetItem(3, Vec({3, 4}))) << "out of range";
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

TEST_F(SmallListsTest, SumsThatFailAreLeftToTheKernel) {
  const Tensor item = Vec({10, 20});
  EXPECT_FALSE(Accumulate(3, item)) << "out of range";
  EXPECT_FALSE(Accumulate(1, Vec({1}))) << "of another shape";
  EXPECT_FALSE(Accumulate(1, item, Ints({3}))) << "lists of two shapes";
  EXPECT_FALSE(Accumulate(1, item, Ints({1, 2}))) << "of two ranks";
  EXPECT_FALSE(Accumulate(1, item, Ints({2}), 4)) << "of two sizes";
  EXPECT_FALSE(Accumulate(1, item, Ints({2}), -1)) << "of no size";
  EXPECT_THAT(*list().Get(1).tensor, TensorEq(Vec({1, 2})));
}

TEST_F(SmallListsTest, SumHasTheMergedShapeAndNoBound) {
  for (const Tensor& shape : {Ints({2}), Ints({-1}), Tensor(-1)}) {
    for (const PartialTensorShape& own :
         {PartialTensorShape({2}), PartialTensorShape({-1}), PartialTensorShape()}) {
      list_.Set(Holding(AList({DT_FLOAT, own, 5})));
      ASSERT_TRUE(Accumulate(1, Vec({10, 20}), shape));
      EXPECT_THAT(*list().Get(1).tensor, TensorEq(Vec({11, 22})));
      EXPECT_EQ(list().max_num_elements(), -1);
      PartialTensorShape merged, added;
      ASSERT_OK(ShapeFromTensor(shape, &added));
      ASSERT_OK(own.MergeWith(added, &merged));
      EXPECT_TRUE(list().shape().IsIdenticalTo(merged));
    }
  }
  list_.Set(Holding(AList({DT_FLOAT, PartialTensorShape(), -1})));
  EXPECT_FALSE(Accumulate(1, Vec({1}), Tensor(-1))) << "the element has another shape";
}

TEST_F(SmallListsTest, LengthAndElementShapeAreThoseOfTheList) {
  Value result;
  int32_t length = 0;
  ASSERT_TRUE(Call(OpFor("TensorListLength", {DT_VARIANT}), {{&list_, false}}, &result));
  EXPECT_TRUE(result.Get(&length) && length == 3);
  const SmallOp shape = OpFor("TensorListElementShape", {DT_VARIANT});
  ASSERT_TRUE(Call(shape, {{&list_, false}}, &result));
  EXPECT_THAT(ValuesOf<int32_t>(*result.tensor()), testing::ElementsAre(2));
  list_.Set(Holding(AList({DT_FLOAT, PartialTensorShape(), -1})));
  ASSERT_TRUE(Call(shape, {{&list_, false}}, &result));
  EXPECT_THAT(*result.tensor(), TensorEq(Tensor(-1))) << "an unknown rank";
}

// Calls the small op of a push or a pop of rows that have a float vector and an int32 number.
class SmallLoopStacksTest : public testing::Test, protected GraphUnderTest {
 protected:
  SmallLoopStacksTest() {
    Placeholder("rows", DT_VARIANT);
    Placeholder("x", DT_FLOAT);
    Placeholder("n", DT_INT32);
    Set(Add("push", "TensorArrayGrad>PushLoopStack", {"rows", "x", "n"}), "T",
        std::vector<DataType>{DT_FLOAT, DT_INT32});
    SetPopped({DT_FLOAT});
    SetPopped({DT_FLOAT, DT_INT32});
    rows_.Set(Holding(LoopStack({{DT_FLOAT, PartialTensorShape({2}), -1}, {DT_INT32, {}, 2}}, 2)));
  }

  void SetPopped(const std::vector<DataType>& types) {
    Set(Add("pop" + std::to_string(types.size()), "TensorArrayGrad>PopLoopStack", {"rows"}), "T",
        types);
  }

  // Returns whether the small op ran. rows_ is then its result.
  bool Push(const Tensor& x, int32_t n, bool last = true) {
    Value vector = Of(x), number = Number(n), result;
    const SmallOp op = SmallOpFor(*Find("push"), tensorflow::cpu_allocator());
    const bool done = Call(op, {{&rows_, last}, {&vector, true}, {&number, false}}, &result);
    if (done) rows_.Assign(&result, true);
    return done;
  }
  bool Pop(Value* x, Value* n, const std::string& node = "pop2") {
    Value result;
    const SmallOp op = SmallOpFor(*Find(node), tensorflow::cpu_allocator());
    std::vector<Value*> results{&result, x, n};
    results.resize(Find(node)->num_outputs());
    const Operand rows{&rows_, true};
    const bool done = op({&rows, 1}, results);
    if (done) rows_.Assign(&result, true);
    return done;
  }

  int64_t size() { return rows_.tensor()->scalar<Variant>()().get<LoopStack>()->size(); }

  Value rows_;
};

TEST_F(SmallLoopStacksTest, RowsArePoppedInReverse) {
  EXPECT_TRUE(Push(Vec({1, 2}), 10));
  EXPECT_TRUE(Push(TensorOf<float>({2}, {3, 4}), 20));
  EXPECT_EQ(size(), 2);
  Value x, n;
  for (const int i : {1, 0}) {
    ASSERT_TRUE(Pop(&x, &n));
    EXPECT_THAT(*x.tensor(), TensorEq(TensorOf<float>({2}, {2.f * i + 1, 2.f * i + 2})));
    EXPECT_THAT(*n.tensor(), TensorEq(Tensor(int32_t{10 * (i + 1)})));
    EXPECT_EQ(size(), i);
  }
}

TEST_F(SmallLoopStacksTest, AValueThatNothingReadsIsDropped) {
  EXPECT_TRUE(Push(Vec({1, 2}), 10));
  Value n;
  ASSERT_TRUE(Pop(nullptr, &n));
  EXPECT_THAT(*n.tensor(), TensorEq(Tensor(int32_t{10})));
  EXPECT_EQ(size(), 0);
}

TEST_F(SmallLoopStacksTest, ARowSharesTheBufferOfAValue) {
  const Tensor value = Vec({1, 2});
  EXPECT_TRUE(Push(value, 10));
  Value x, n;
  ASSERT_TRUE(Pop(&x, &n));
  EXPECT_TRUE(x.tensor()->SharesBufferWith(value));
}

TEST_F(SmallLoopStacksTest, ListThatIsNotKeptStillRejectsValues) {
  rows_.Set(Holding(LoopStack({{DT_FLOAT, PartialTensorShape({2}), -1}, {DT_INT32, {}, 2}}, 1)));
  const Tensor value = Vec({1, 2});
  EXPECT_TRUE(Push(value, 10));
  EXPECT_TRUE(Push(value, 20));
  EXPECT_FALSE(Push(value, 30));  // one more than the bound of the int32 list
  Value x, n;
  EXPECT_FALSE(Pop(&x, &n));  // asks for both values
  ASSERT_TRUE(Pop(&x, &n, "pop1"));
  EXPECT_TRUE(x.tensor()->SharesBufferWith(value));
  EXPECT_EQ(size(), 1);
}

TEST_F(SmallLoopStacksTest, ValuesThatAListRejectsAreLeftToTheKernel) {
  EXPECT_FALSE(Push(Vec({1, 2, 3}), 10));                  // another shape
  EXPECT_FALSE(Push(TensorOf<int32_t>({2}, {1, 2}), 10));  // another dtype
  EXPECT_EQ(size(), 0);
  for (int i = 0; i < 2; ++i) EXPECT_TRUE(Push(Vec({1, 2}), i));
  EXPECT_FALSE(Push(Vec({1, 2}), 2));  // one more than the bound of the int32 list
  EXPECT_EQ(size(), 2);
}

TEST_F(SmallLoopStacksTest, EmptyStackAndOtherTypesAreLeftToTheKernel) {
  Value x, n;
  EXPECT_FALSE(Pop(&x, &n));
  EXPECT_TRUE(Push(Vec({1, 2}), 10));
  EXPECT_FALSE(Pop(&x, &n, "pop1"));
  EXPECT_EQ(size(), 1);
}

TEST_F(SmallLoopStacksTest, StackThatAnotherTensorSharesIsLeftToTheKernel) {
  const Tensor held = *rows_.tensor();
  EXPECT_FALSE(Push(Vec({1, 2}), 10));
  EXPECT_EQ(held.scalar<Variant>()().get<LoopStack>()->size(), 0);
}

TEST_F(SmallLoopStacksTest, StackThatIsReadAgainIsLeftToTheKernel) {
  EXPECT_FALSE(Push(Vec({1, 2}), 10, /*last=*/false));
  EXPECT_EQ(size(), 0);
}

TEST_F(SmallLoopStacksTest, StackPushedOntoItselfIsLeftToTheKernel) {
  Set(Add("own", "TensorArrayGrad>PushLoopStack", {"rows", "rows"}), "T",
      std::vector<DataType>{DT_VARIANT});
  rows_.Set(Holding(LoopStack({{DT_VARIANT, {}, -1}}, 1)));
  const SmallOp op = SmallOpFor(*Find("own"), tensorflow::cpu_allocator());
  Value result;
  EXPECT_FALSE(Call(op, {{&rows_, true}, {&rows_, true}}, &result));
  EXPECT_EQ(size(), 0);
}

TEST_F(SmallLoopStacksTest, InputsThatAreNoLoopStackAreLeftToTheKernel) {
  Value x, n;
  rows_.SetScalar(int32_t{1});
  EXPECT_FALSE(Pop(&x, &n));
  rows_.Set(Tensor(DT_VARIANT, TensorShape({})));
  EXPECT_FALSE(Pop(&x, &n));
}

}  // namespace
}  // namespace tensor_array_grad
