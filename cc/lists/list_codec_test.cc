#include "cc/lists/list_codec.h"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "cc/base/tensorflow_names.h"
#include "cc/testing/list_decoder.h"
#include "cc/testing/matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tensorflow/core/framework/tensor.pb.h"
#include "tensorflow/core/framework/types.pb.h"
#include "tensorflow/core/framework/variant.h"
#include "tensorflow/core/framework/variant_tensor_data.h"

namespace tensor_array_grad {
namespace {

using ::tensorflow::VariantTensorData;

Tensor Boxed(Variant variant) {
  Tensor tensor(DT_VARIANT, {});
  tensor.scalar<Variant>()() = std::move(variant);
  return tensor;
}

// The list of stock's that is equal to `list`, if none of its elements is kZeros.
tensorflow::TensorList StockOf(const ListVariant& list) {
  tensorflow::TensorList stock;
  stock.element_dtype = list.dtype();
  stock.element_shape = list.shape();
  stock.max_num_elements = list.max_num_elements();
  for (int64_t i = 0; i < list.size(); ++i) {
    const Tensor* const set = list.Get(i).tensor;
    stock.tensors().push_back(set == nullptr ? Tensor(DT_INVALID) : *set);
  }
  return stock;
}

template <typename List>
std::string Bytes(const List& list) {
  VariantTensorData data;
  list.Encode(&data);
  return data.SerializeAsString();
}

// The list in `bytes`, as stock reads it.
tensorflow::TensorList ReadByStock(const std::string& bytes) {
  VariantTensorData data;
  EXPECT_TRUE(data.ParseFromString(bytes));
  tensorflow::TensorList stock;
  EXPECT_TRUE(stock.Decode(data));
  return stock;
}

bool ReadByUs(const std::string& bytes, ListVariant* list) {
  VariantTensorData data;
  return data.ParseFromString(bytes) && list->Decode(data);
}

// Serialises `tensor` and reads it back through the proto and TensorFlow's registry, as is done for
// files and for messages to other processes.
bool RoundTrip(const Tensor& tensor, Tensor* back) {
  tensorflow::TensorProto proto;
  tensor.AsProtoField(&proto);
  return back->FromProto(proto);
}

std::vector<DataType> AllDtypes() {
  std::vector<DataType> all;
  for (int i = 1; i < tensorflow::DataType_ARRAYSIZE; ++i) {
    // Resources need a device. The rest are types that no tensor of this release can have.
    const auto dtype = static_cast<DataType>(i);
    if (tensorflow::DataType_IsValid(i) &&
        (tensorflow::DataTypeSize(dtype) > 0 || dtype == DT_STRING || dtype == DT_VARIANT)) {
      all.push_back(dtype);
    }
  }
  return all;
}

// An element of any dtype. If it consists of bytes, they are not all the same.
Tensor ElementOf(DataType dtype) {
  if (dtype == DT_VARIANT) return Boxed(ListVariant({DT_FLOAT, {2}, -1}, 3));
  Tensor element(dtype, {2});
  if (dtype == DT_STRING) {
    element.vec<tensorflow::tstring>()(1) = "b";
  } else {
    auto* const bytes = static_cast<char*>(element.data());
    for (size_t i = 0; i < element.TotalBytes(); ++i) bytes[i] = dtype == tensorflow::DT_BOOL;
    bytes[0] = 1;
  }
  return element;
}

class EachDtype : public ::testing::TestWithParam<DataType> {};

TEST_P(EachDtype, IsWrittenAsStockWritesItAndReadByBoth) {
  ListVariant list({GetParam(), PartialTensorShape(), 9}, 4);
  list.Set(1, ElementOf(GetParam()));
  list.Set(3, ElementOf(GetParam()));
  const std::string bytes = Bytes(list);
  EXPECT_EQ(bytes, Bytes(StockOf(list)));
  EXPECT_EQ(Bytes(ReadByStock(bytes)), bytes);
  ListVariant read;
  ASSERT_TRUE(ReadByUs(bytes, &read));
  EXPECT_EQ(Bytes(read), bytes);
  EXPECT_EQ(read.size(), 4);
  EXPECT_EQ(read.Get(0).kind, ListElement::kUnset);
  EXPECT_EQ(read.Get(1).kind, ListElement::kSet);
}

INSTANTIATE_TEST_SUITE_P(ListCodecTest, EachDtype, ::testing::ValuesIn(AllDtypes()),
                         [](const auto& dtype) { return tensorflow::DataTypeString(dtype.param); });

TEST(ListCodecTest, EverySizeBoundAndShapeIsWrittenAsStockWritesIt) {
  for (const int64_t size : {0, 1, 7, 200}) {
    for (const int32_t bound : {-1, 0, 300}) {
      for (const PartialTensorShape& shape :
           {PartialTensorShape(), PartialTensorShape({}), PartialTensorShape({-1, 2}),
            PartialTensorShape({5, 0})}) {
        ListVariant list({DT_FLOAT, shape, bound}, size);
        for (int64_t i = 0; i < size; i += 3) list.Set(i, Vec({static_cast<float>(i)}));
        const std::string bytes = Bytes(list);
        EXPECT_EQ(bytes, Bytes(StockOf(list)));
        ListVariant read;
        ASSERT_TRUE(ReadByUs(bytes, &read));
        EXPECT_EQ(Bytes(read), bytes);
        EXPECT_TRUE(read.shape().IsIdenticalTo(shape));
        EXPECT_EQ(read.max_num_elements(), bound);
      }
    }
  }
}

TEST(ListCodecTest, HandlesOfResourcesAreWrittenAsStockWritesThem) {
  tensorflow::ResourceHandle handle;
  handle.set_device("/job:localhost/replica:0/task:0/device:CPU:0");
  handle.set_name("a_table");
  Tensor element(tensorflow::DT_RESOURCE, {});
  element.scalar<tensorflow::ResourceHandle>()() = handle;
  ListVariant list({tensorflow::DT_RESOURCE, {}, -1}, 1), read;
  list.Set(0, element);
  EXPECT_EQ(Bytes(list), Bytes(StockOf(list)));
  ASSERT_TRUE(ReadByUs(Bytes(list), &read));
  EXPECT_EQ(read.Get(0).tensor->scalar<tensorflow::ResourceHandle>()().name(), "a_table");
}

TEST(ListCodecTest, ZerosAreWrittenAsZerosAndUnsetElementsAsUnset) {
  ListVariant list({DT_FLOAT, PartialTensorShape(), -1}, 5), zeros;
  list.Set(1, Vec({1, 2}));
  list.Set(2, Vec({3, 4}));
  list.Set(4, Vec({5}));
  ASSERT_TRUE(ListVariant::ZerosLike(list, &zeros).ok());
  zeros.Set(2, Vec({7}));
  const tensorflow::TensorList stock = ReadByStock(Bytes(zeros));
  ASSERT_EQ(stock.tensors().size(), 5u);
  EXPECT_EQ(stock.tensors()[0].dtype(), DT_INVALID);
  EXPECT_EQ(stock.tensors()[1].SummarizeValue(9), "0 0");
  EXPECT_EQ(stock.tensors()[2].SummarizeValue(9), "7");
  EXPECT_EQ(stock.tensors()[3].dtype(), DT_INVALID);
  EXPECT_EQ(stock.tensors()[4].SummarizeValue(9), "0");
}

TEST(ListCodecTest, ZerosOfListsInListsAreListsOfZeros) {
  ListVariant inner({DT_FLOAT, PartialTensorShape(), -1}, 2), zeros;
  inner.Set(1, Vec({1, 2}));
  ListVariant outer({DT_VARIANT, {}, -1}, 3);
  outer.Set(0, Boxed(inner));
  outer.Set(2, Boxed(StockOf(inner)));
  ASSERT_TRUE(ListVariant::ZerosLike(outer, &zeros).ok());
  ListVariant read;
  DecodeListsAsOurs();
  ASSERT_TRUE(ReadByUs(Bytes(zeros), &read));
  EXPECT_EQ(read.Get(1).kind, ListElement::kUnset);
  for (const int64_t i : {0, 2}) {
    ASSERT_EQ(read.Get(i).kind, ListElement::kSet);
    const auto* const deep = read.Get(i).tensor->scalar<Variant>()().get<ListVariant>();
    ASSERT_NE(deep, nullptr);
    EXPECT_EQ(deep->Get(0).kind, ListElement::kUnset);
    EXPECT_EQ(deep->Get(1).tensor->SummarizeValue(9), "0 0");
  }
}

TEST(ListCodecTest, ZerosThatOnlyAKernelCanMakeAreWrittenAsUnset) {
  ListVariant list({DT_VARIANT, {}, -1}, 2), zeros;
  list.Set(0, Boxed(3));
  ASSERT_TRUE(ListVariant::ZerosLike(list, &zeros).ok());
  EXPECT_EQ(ReadByStock(Bytes(zeros)).tensors()[0].dtype(), DT_INVALID);
}

TEST(ListCodecTest, EncodedElementsAreSharedWithTheList) {
  ListVariant list({DT_FLOAT, {1}, -1}, 1);
  list.Set(0, Vec({1}));
  VariantTensorData data;
  list.Encode(&data);
  EXPECT_TRUE(data.tensors(0).SharesBufferWith(*list.Get(0).tensor));
}

TEST(ListCodecTest, TensorFlowDecodesListsToOurs) {
  ListVariant inner({DT_STRING, PartialTensorShape(), -1}, 1);
  inner.Set(0, Tensor(tensorflow::tstring("deep")));
  ListVariant outer({DT_VARIANT, {}, -1}, 2);
  outer.Set(1, Boxed(inner));
  DecodeListsAsOurs();
  for (const Variant& variant : {Variant(outer), Variant(StockOf(outer))}) {
    Tensor back;
    ASSERT_TRUE(RoundTrip(Boxed(variant), &back));
    const auto* const list = back.scalar<Variant>()().get<ListVariant>();
    ASSERT_NE(list, nullptr);
    const auto* const deep = list->Get(1).tensor->scalar<Variant>()().get<ListVariant>();
    ASSERT_NE(deep, nullptr);
    EXPECT_EQ(deep->Get(0).tensor->scalar<tensorflow::tstring>()(), "deep");
  }
}

TEST(ListCodecTest, ListsWithMoreUnsetElementsThanAProtoHoldsAreReadByNothing) {
  const ListVariant list({DT_FLOAT, {}, -1}, int64_t{1} << 30);
  VariantTensorData data;
  list.Encode(&data);
  EXPECT_EQ(data.type_name(), kUnwritten);
  Tensor back;
  EXPECT_FALSE(RoundTrip(Boxed(list), &back));
}

TEST(ListCodecTest, ListsWhoseZerosFindNoMemoryAreReadByNothing) {
  const Tensor huge(DT_FLOAT, {int64_t{1} << 44});  // has a shape and no values
  ASSERT_FALSE(huge.IsInitialized());
  ListVariant list({DT_FLOAT, PartialTensorShape(), -1}, 2), zeros;
  list.Set(0, Vec({1}));
  list.Set(1, huge);
  ASSERT_TRUE(ListVariant::ZerosLike(list, &zeros).ok());
  VariantTensorData data;
  zeros.Encode(&data);
  EXPECT_EQ(data.type_name(), kUnwritten);
  EXPECT_EQ(data.tensors_size(), 0);
}

// Metadata of a list: the numbers as varints, then `rest`.
std::string Metadata(std::initializer_list<uint64_t> numbers, const std::string& rest = "") {
  std::string metadata;
  for (uint64_t number : numbers) {
    for (; number >= 128; number >>= 7) metadata += static_cast<char>((number & 127) | 128);
    metadata += static_cast<char>(number);
  }
  return metadata + rest;
}

bool IsRead(const std::string& metadata, const std::vector<Tensor>& tensors) {
  VariantTensorData data;
  data.set_metadata(metadata);
  for (const Tensor& tensor : tensors) *data.add_tensors() = tensor;
  ListVariant list({DT_FLOAT, {}, -1}, 77);
  const bool read = list.Decode(data);
  EXPECT_EQ(list.size() == 77, !read);
  return read;
}

TEST(ListCodecTest, InvalidDataIsNotDecoded) {
  constexpr uint64_t kMost = ~uint64_t{0}, kUnbounded = kMost;
  const Tensor one = Vec({1});
  ASSERT_TRUE(IsRead(Metadata({2, 0, 2, DT_FLOAT, kUnbounded}), {one}));
  ASSERT_TRUE(IsRead(Metadata({1, 1, DT_FLOAT, 9}, "\x12\x02\x08\x05"), {one}));
  for (const std::string& metadata :
       {std::string(), Metadata({kMost}), Metadata({2, 0}),                  // no indices
        Metadata({2, 2, 0, DT_FLOAT, 9}), Metadata({2, 1, 1, DT_FLOAT, 9}),  // not rising
        Metadata({2, 0, 3, DT_FLOAT, 9}), Metadata({2, 0, kMost, DT_FLOAT, 9}),
        Metadata({2, 2, 3, DT_FLOAT, 9}),  // out of range
        Metadata({0, 0, 9}), Metadata({0, 99, 9}), Metadata({0, kMost, 9}),
        Metadata({0, DT_FLOAT + (uint64_t{1} << 32), 9}), Metadata({0, tensorflow::DT_INT32, 9}),
        Metadata({0, DT_FLOAT}), Metadata({0, DT_FLOAT, kMost - 1}),
        Metadata({0, DT_FLOAT, uint64_t{1} << 31}), Metadata({0, DT_FLOAT, 9}, "\xff\xff"),
        Metadata({0, DT_FLOAT, 9}, "\x12\x0b\x08" + Metadata({kMost - 4}))}) {
    EXPECT_FALSE(IsRead(metadata, {one})) << ::testing::PrintToString(metadata);
  }
}

}  // namespace
}  // namespace tensor_array_grad
