#include "cc/lists/list_variant.h"

#include <cstdint>
#include <string>

#include "cc/base/counters.h"
#include "cc/base/tensorflow_names.h"
#include "cc/testing/matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tensorflow/core/framework/variant.h"
#include "tensorflow/core/framework/variant_op_registry.h"

namespace tensor_array_grad {
namespace {

using ::testing::HasSubstr;

float FirstOf(const ListElement& element) { return element.tensor->flat<float>()(0); }

absl::Status AddFirst(const Tensor& a, const Tensor& b, Tensor* out) {
  *out = Vec({a.flat<float>()(0) + b.flat<float>()(0)});
  return absl::OkStatus();
}

TEST(ListVariantTest, SpecIsSharedBetweenVersionsUntilTheShapeChanges) {
  const ListVariant list({DT_FLOAT, {-1, 2}, -1}, 3);
  ListVariant other = list;
  EXPECT_EQ(&other.shape(), &list.shape());
  other.BecomeSum({-1, 2});
  EXPECT_EQ(&other.shape(), &list.shape());
  other.BecomeSum({4, 2});
  EXPECT_EQ(other.shape().DebugString(), "[4,2]");
  EXPECT_EQ(list.shape().DebugString(), "[?,2]");
}

TEST(ListVariantTest, SumHasBothAddendsAndTheMergedShape) {
  ListVariant a({DT_FLOAT, {-1}, -1}, 3), b({DT_FLOAT, {1}, -1}, 3), sum;
  a.Set(0, Vec({1}));
  a.Set(1, Vec({2}));
  b.Set(1, Vec({3}));
  ASSERT_TRUE(ListVariant::Add(a, b, AddFirst, &sum).ok());
  EXPECT_EQ(FirstOf(sum.Get(0)), 1);
  EXPECT_EQ(FirstOf(sum.Get(1)), 5);
  EXPECT_EQ(sum.Get(2).kind, ListElement::kUnset);
  EXPECT_EQ(sum.shape().DebugString(), "[1]");
}

TEST(ListVariantTest, SumsAndZerosHaveNoBoundAsStocksHaveNone) {
  const ListVariant list({DT_FLOAT, {1}, 5}, 1);
  ListVariant sum, zeros;
  ASSERT_TRUE(ListVariant::Add(list, list, AddFirst, &sum).ok());
  ASSERT_TRUE(ListVariant::ZerosLike(list, &zeros).ok());
  EXPECT_EQ(sum.max_num_elements(), -1);
  EXPECT_EQ(zeros.max_num_elements(), -1);
}

TEST(ListVariantTest, ForEachVisitsNoZeroThatASetElementHides) {
  ListVariant list({DT_FLOAT, PartialTensorShape(), -1}, 3), zeros;
  list.Set(0, Vec({1, 2}));
  list.Set(1, Vec({3}));
  ASSERT_TRUE(ListVariant::ZerosLike(list, &zeros).ok());
  zeros.Set(0, Vec({4, 5, 6}));
  std::string seen;
  ASSERT_TRUE(zeros
                  .ForEach([&](int64_t index, const Tensor& value) {
                    seen += std::to_string(index) + value.shape().DebugString();
                    return absl::OkStatus();
                  })
                  .ok());
  EXPECT_EQ(seen, "0[3]1[1]");
}

TEST(ListVariantTest, ListsThatDifferCannotBeAdded) {
  const ListVariant list({DT_FLOAT, {2}, -1}, 3);
  ListVariant sum;
  EXPECT_THAT(
      ListVariant::Add(list, ListVariant({tensorflow::DT_INT32, {2}, -1}, 3), AddFirst, &sum)
          .message(),
      HasSubstr("different dtypes. One is float and the other is int32"));
  EXPECT_THAT(ListVariant::Add(list, ListVariant({DT_FLOAT, {3}, -1}, 3), AddFirst, &sum).message(),
              HasSubstr("incompatible element shapes. One is [2] and the other is [3]"));
  EXPECT_THAT(ListVariant::Add(list, ListVariant({DT_FLOAT, {2}, -1}, 4), AddFirst, &sum).message(),
              HasSubstr("different lengths. One is 3 and the other is 4"));
}

TEST(ListVariantTest, ZerosOfAKnownShapeHoldNoReferenceToTheOriginal) {
  ListVariant list({DT_FLOAT, {2}, -1}, 2), zeros;
  Tensor value = Vec({1, 2});
  list.Set(1, value);
  ASSERT_TRUE(ListVariant::ZerosLike(list, &zeros).ok());
  list = ListVariant();
  EXPECT_TRUE(value.RefCountIsOne());
  EXPECT_EQ(zeros.size(), 2);
  EXPECT_EQ(zeros.Get(1).kind, ListElement::kUnset);
}

TEST(ListVariantTest, ZerosOfAnUnknownShapeRememberEachElementsShape) {
  ListVariant list({DT_FLOAT, PartialTensorShape(), -1}, 3), zeros, again;
  list.Set(1, Vec({1, 2}));
  ASSERT_TRUE(ListVariant::ZerosLike(list, &zeros).ok());
  ASSERT_TRUE(ListVariant::ZerosLike(zeros, &again).ok());
  for (const ListVariant& each : {zeros, again}) {
    EXPECT_EQ(each.Get(0).kind, ListElement::kUnset);
    ASSERT_EQ(each.Get(1).kind, ListElement::kZeros);
    EXPECT_EQ(each.Get(1).tensor->shape().DebugString(), "[2]");
  }
}

TEST(ListVariantTest, ASetElementHidesTheZeroAndASumKeepsBoth) {
  ListVariant list({DT_FLOAT, PartialTensorShape(), -1}, 3), zeros, one = list, sum;
  list.Set(0, Vec({1, 2}));
  list.Set(1, Vec({3}));
  ASSERT_TRUE(ListVariant::ZerosLike(list, &zeros).ok());
  one.Set(0, Vec({7, 8}));
  ASSERT_TRUE(ListVariant::Add(zeros, one, AddFirst, &sum).ok());
  EXPECT_EQ(FirstOf(sum.Get(0)), 7);
  EXPECT_EQ(sum.Get(1).kind, ListElement::kZeros);
  sum.Resize(1);
  sum.Resize(2);
  EXPECT_EQ(sum.Get(1).kind, ListElement::kUnset);
}

TEST(ListVariantTest, SumHasTheZerosOfEitherAddend) {
  ListVariant list({DT_FLOAT, PartialTensorShape(), -1}, 2), zeros, sum;
  const ListVariant unset = list;
  list.Set(1, Vec({3}));
  ASSERT_TRUE(ListVariant::ZerosLike(list, &zeros).ok());
  ASSERT_TRUE(ListVariant::Add(unset, zeros, AddFirst, &sum).ok());
  EXPECT_EQ(sum.Get(0).kind, ListElement::kUnset);
  EXPECT_EQ(sum.Get(1).kind, ListElement::kZeros);
  ASSERT_TRUE(ListVariant::Add(zeros, unset, AddFirst, &sum).ok());
  EXPECT_EQ(sum.Get(0).kind, ListElement::kUnset);
  EXPECT_EQ(sum.Get(1).kind, ListElement::kZeros);
}

TEST(ListVariantTest, StringsHaveNoZerosUnlessNoneIsSet) {
  ListVariant list({DT_STRING, PartialTensorShape(), -1}, 2), zeros;
  EXPECT_TRUE(ListVariant::ZerosLike(list, &zeros).ok());
  list.Set(0, Tensor(tensorflow::tstring("a")));
  EXPECT_THAT(ListVariant::ZerosLike(list, &zeros).message(),
              HasSubstr("zeros_like for unsupported dtype string"));
}

TEST(ListVariantTest, StockListsAreConvertedAndCounted) {
  tensorflow::TensorList stock;
  stock.element_dtype = DT_FLOAT;
  stock.element_shape = {1};
  stock.max_num_elements = 4;
  stock.tensors() = {Tensor(tensorflow::DT_INVALID), Vec({6})};
  const int64_t before = ReadCounters()["lists.stock_lists_converted"];
  const ListVariant list = ListVariant::FromStock(stock);
  EXPECT_EQ(ReadCounters()["lists.stock_lists_converted"] - before, 1);
  EXPECT_EQ(list.size(), 2);
  EXPECT_EQ(list.max_num_elements(), 4);
  EXPECT_EQ(list.Get(0).kind, ListElement::kUnset);
  EXPECT_EQ(FirstOf(list.Get(1)), 6);
  EXPECT_TRUE(list.Get(1).tensor->SharesBufferWith(stock.tensors()[1]));
}

TEST(ListVariantTest, DeviceCopiesCopyEveryTensorInEveryDirection) {
  ListVariant list({DT_FLOAT, {1}, -1}, 3);
  list.Set(2, Vec({8}));
  const Variant from = list;
  for (const auto direction :
       {tensorflow::HOST_TO_DEVICE, tensorflow::DEVICE_TO_HOST, tensorflow::DEVICE_TO_DEVICE}) {
    int copies = 0;
    Variant to;
    ASSERT_TRUE(
        tensorflow::VariantDeviceCopy(direction, from, &to, [&](const Tensor& tensor, Tensor* out) {
          ++copies;
          *out = Vec({tensor.flat<float>()(0) + 1});
          return absl::OkStatus();
        }).ok());
    EXPECT_EQ(copies, 1);
    EXPECT_EQ(FirstOf(to.get<ListVariant>()->Get(2)), 9);
    EXPECT_EQ(to.get<ListVariant>()->size(), 3);
  }
}

TEST(ListVariantTest, HasTheNamesOfStocksLists) {
  const tensorflow::TensorList stock;
  EXPECT_EQ(ListVariant().TypeName(), stock.TypeName());
  EXPECT_EQ(ListVariant().DebugString(), stock.DebugString());
}

TEST(ListVariantTest, TypeIndexIsTheOneThatTheGenericFunctionWouldMake) {
  const char* const name = typeid(ListVariant).name();
  EXPECT_EQ(tensorflow::TypeIndex::Make<ListVariant>().hash_code(), tensorflow::Hash64(name));
  EXPECT_STREQ(tensorflow::TypeIndex::Make<ListVariant>().name(), name);
}

}  // namespace
}  // namespace tensor_array_grad
