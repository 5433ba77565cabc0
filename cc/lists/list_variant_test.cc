#include "cc/lists/list_variant.h"

#include <cstdint>
#include <string>

#include "cc/core/counters.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tensorflow/core/framework/tensor.pb.h"
#include "tensorflow/core/framework/variant.h"
#include "tensorflow/core/framework/variant_op_registry.h"

namespace tensor_array_grad {
namespace {

using ::tensorflow::DT_FLOAT;
using ::tensorflow::DT_STRING;
using ::tensorflow::DT_VARIANT;
using ::tensorflow::PartialTensorShape;
using ::tensorflow::Tensor;
using ::tensorflow::Variant;
using ::testing::HasSubstr;

Tensor Vec(std::initializer_list<float> values) {
  Tensor tensor(DT_FLOAT, {static_cast<int64_t>(values.size())});
  std::copy(values.begin(), values.end(), tensor.flat<float>().data());
  return tensor;
}

float FirstOf(const ListElement& element) { return element.tensor->flat<float>()(0); }

absl::Status AddFirst(const Tensor& a, const Tensor& b, Tensor* out) {
  *out = Vec({a.flat<float>()(0) + b.flat<float>()(0)});
  return absl::OkStatus();
}

// Through the proto and the decode registry, as constants and remote calls go.
Variant RoundTrip(const ListVariant& list) {
  Tensor tensor(DT_VARIANT, {});
  tensor.scalar<Variant>()() = list;
  tensorflow::TensorProto proto;
  tensor.AsProtoField(&proto);
  Tensor back;
  EXPECT_TRUE(back.FromProto(proto));
  return back.scalar<Variant>()();
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

TEST(ListVariantTest, StringsHaveNoZerosUnlessNoneIsSet) {
  ListVariant list({DT_STRING, PartialTensorShape(), -1}, 2), zeros;
  EXPECT_TRUE(ListVariant::ZerosLike(list, &zeros).ok());
  list.Set(0, Tensor(tensorflow::tstring("a")));
  EXPECT_THAT(ListVariant::ZerosLike(list, &zeros).message(),
              HasSubstr("zeros_like for unsupported dtype string"));
}

TEST(ListVariantTest, EncodedListsComeBackTheSame) {
  ListVariant list({DT_FLOAT, {-1}, 9}, 70), zeros;
  list.Set(3, Vec({1, 2}));
  list.Set(69, Vec({4}));
  ASSERT_TRUE(ListVariant::ZerosLike(list, &zeros).ok());
  zeros.Set(0, Vec({5}));
  const Variant back = RoundTrip(zeros);
  const ListVariant* const decoded = back.get<ListVariant>();
  ASSERT_NE(decoded, nullptr) << back.TypeName();
  EXPECT_EQ(decoded->dtype(), DT_FLOAT);
  EXPECT_EQ(decoded->size(), 70);
  EXPECT_EQ(decoded->max_num_elements(), -1);
  EXPECT_EQ(decoded->shape().DebugString(), "[?]");
  EXPECT_EQ(FirstOf(decoded->Get(0)), 5);
  EXPECT_EQ(decoded->Get(3).kind, ListElement::kZeros);
  EXPECT_EQ(decoded->Get(3).tensor->NumElements(), 2);
  EXPECT_EQ(decoded->Get(69).tensor->NumElements(), 1);
  EXPECT_EQ(decoded->Get(4).kind, ListElement::kUnset);
}

TEST(ListVariantTest, TheBoundIsEncoded) {
  const Variant back = RoundTrip(ListVariant({DT_FLOAT, {}, 9}, 0));
  ASSERT_NE(back.get<ListVariant>(), nullptr);
  EXPECT_EQ(back.get<ListVariant>()->max_num_elements(), 9);
}

TEST(ListVariantTest, NestedListsAndUnknownRanksAreEncodedToo) {
  ListVariant inner({DT_STRING, PartialTensorShape(), -1}, 1);
  inner.Set(0, Tensor(tensorflow::tstring("deep")));
  Tensor boxed(DT_VARIANT, {});
  boxed.scalar<Variant>()() = inner;
  ListVariant outer({DT_VARIANT, {}, -1}, 2);
  outer.Set(1, boxed);
  const Variant back = RoundTrip(outer);
  const ListVariant* const decoded = back.get<ListVariant>();
  ASSERT_NE(decoded, nullptr);
  const auto* const deep = decoded->Get(1).tensor->scalar<Variant>()().get<ListVariant>();
  ASSERT_NE(deep, nullptr);
  EXPECT_TRUE(deep->shape().unknown_rank());
  EXPECT_EQ(deep->Get(0).tensor->scalar<tensorflow::tstring>()(), "deep");
}

TEST(ListVariantTest, DamagedEncodingsAreRefused) {
  ListVariant list({DT_FLOAT, {1}, -1}, 40);
  list.Set(2, Vec({1}));
  list.Set(39, Vec({2}));
  tensorflow::VariantTensorData data;
  list.Encode(&data);
  std::string metadata;
  data.get_metadata(&metadata);
  ListVariant decoded;
  ASSERT_TRUE(decoded.Decode(data));
  for (size_t length = 0; length + 1 < metadata.size(); ++length) {
    tensorflow::VariantTensorData cut = data;
    cut.set_metadata(metadata.substr(0, length));
    decoded.Decode(cut);  // whatever it answers, it must not crash
  }
  tensorflow::VariantTensorData cut = data;
  cut.set_metadata(metadata.substr(0, 3));
  EXPECT_FALSE(decoded.Decode(cut));
  tensorflow::VariantTensorData extra = data;
  *extra.add_tensors() = Vec({3});
  EXPECT_FALSE(decoded.Decode(extra));
  tensorflow::VariantTensorData other_dtype;
  other_dtype.set_metadata(metadata);
  for (int i = 0; i < 2; ++i) *other_dtype.add_tensors() = Tensor(int64_t{1});
  EXPECT_FALSE(decoded.Decode(other_dtype));
  EXPECT_EQ(decoded.size(), 40);
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

TEST(ListVariantTest, TypeIndexIsTheOneThatTheGenericFunctionWouldMake) {
  const char* const name = typeid(ListVariant).name();
  EXPECT_EQ(tensorflow::TypeIndex::Make<ListVariant>().hash_code(), tensorflow::Hash64(name));
  EXPECT_STREQ(tensorflow::TypeIndex::Make<ListVariant>().name(), name);
}

}  // namespace
}  // namespace tensor_array_grad
