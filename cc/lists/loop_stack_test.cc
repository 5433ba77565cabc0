#include "cc/lists/loop_stack.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "cc/base/tensorflow_names.h"
#include "cc/lists/list_codec.h"
#include "cc/testing/list_decoder.h"
#include "tensorflow/core/framework/tensor.pb.h"
#include "tensorflow/core/framework/variant.h"

namespace tensor_array_grad {
namespace {

using testing::ElementsAre;

LoopStack Two() { return LoopStack({{DT_FLOAT, {}, -1}, {DT_INT32, {}, -1}}, 2); }

LoopStackRow::Values Row(int i) { return {Tensor(static_cast<float>(i)), Tensor(10 * i)}; }

// Pops all rows and returns the values of the second list.
std::vector<int> Drained(LoopStack all) {
  std::vector<int> values;
  while (all.size() > 0) values.push_back(all.Pop()[1].scalar<int>()());
  return values;
}

TEST(LoopStackTest, TheLastRowIsPoppedFirst) {
  LoopStack all = Two();
  for (int i = 0; i < 3; ++i) all.Push(Row(i));
  EXPECT_EQ(all.size(), 3);
  const LoopStackRow::Values last = all.Pop();
  ASSERT_EQ(last.size(), 2u);
  EXPECT_EQ(last[0].scalar<float>()(), 2);
  EXPECT_EQ(last[1].scalar<int>()(), 20);
  EXPECT_THAT(Drained(all), ElementsAre(10, 0));
}

TEST(LoopStackTest, AVersionKeepsItsRowsIfOtherVersionsChange) {
  LoopStack all = Two();
  for (int i = 0; i < 3; ++i) all.Push(Row(i));
  LoopStack shorter = all;
  shorter.Pop();
  LoopStack forked = shorter;
  forked.Push(Row(7));
  shorter.Pop();
  EXPECT_THAT(Drained(all), ElementsAre(20, 10, 0));
  EXPECT_THAT(Drained(shorter), ElementsAre(0));
  EXPECT_THAT(Drained(forked), ElementsAre(70, 10, 0));
  forked = all;
  all = Two();
  EXPECT_THAT(Drained(forked), ElementsAre(20, 10, 0));
}

TEST(LoopStackTest, PopMovesTheTensorsOfARowThatNoOtherVersionShares) {
  LoopStack all = Two();
  all.Push(Row(1));
  EXPECT_TRUE(all.Pop()[0].RefCountIsOne());
  all.Push(Row(1));
  const LoopStack other = all;
  EXPECT_FALSE(all.Pop()[0].RefCountIsOne());
  EXPECT_THAT(Drained(other), ElementsAre(10));
}

TEST(LoopStackTest, OnlyTheValuesOfListsThatAreKeptArePushed) {
  LoopStack all({{DT_INT32, {}, -1}, {DT_FLOAT, {}, -1}}, /*kept=*/1);
  EXPECT_EQ(all.specs().size(), 2u);
  EXPECT_EQ(all.kept(), 1u);
  for (int i = 0; i < 3; ++i) all.Push({Tensor(i)});
  const LoopStackRow::Values last = all.Pop();
  ASSERT_EQ(last.size(), 1u);
  EXPECT_EQ(last[0].scalar<int>()(), 2);
  EXPECT_EQ(all.size(), 2);
}

TEST(LoopStackTest, AStackThatKeepsNothingCountsItsRows) {
  LoopStack all({{DT_FLOAT, {}, -1}}, /*kept=*/0);
  for (int i = 0; i < 3; ++i) all.Push({});
  const LoopStack before = all;
  EXPECT_TRUE(all.Pop().empty());
  EXPECT_EQ(all.size(), 2);
  EXPECT_EQ(before.size(), 3);
}

TEST(LoopStackTest, AMillionRowsAreFreedWithoutRecursion) {
  LoopStack all = Two();
  for (int i = 0; i < 1'000'000; ++i) all.Push(Row(i));
  LoopStack half = all;
  for (int i = 0; i < 500'000; ++i) half.Pop();
  all = Two();
  EXPECT_EQ(half.size(), 500'000);
}

TEST(LoopStackTest, NestedLoopStacksAreFreedWithoutRecursion) {
  LoopStack inner({{DT_VARIANT, {}, -1}}, 1);
  for (int depth = 0; depth < 200'000; ++depth) {
    Tensor holder(DT_VARIANT, {});
    holder.scalar<Variant>()() = inner;
    LoopStack outer({{DT_VARIANT, {}, -1}}, 1);
    outer.Push({holder});
    inner = outer;
  }
  EXPECT_EQ(inner.size(), 1);
}

TEST(LoopStackTest, ThreadsMayPopVersionsOfOneStack) {
  LoopStack all = Two();
  for (int i = 0; i < 1'000; ++i) all.Push(Row(i));
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([version = all]() mutable {
      for (int i = 999; i >= 0; --i) EXPECT_EQ(version.Pop()[1].scalar<int>()(), 10 * i);
    });
  }
  all = Two();
  for (std::thread& thread : threads) thread.join();
}

TEST(LoopStackTest, RowsAreEncodedAndDecoded) {
  LoopStack all({{DT_FLOAT, tensorflow::PartialTensorShape({-1, 2}), 7}, {DT_INT32, {}, -1}}, 2);
  for (int i = 0; i < 3; ++i) all.Push(Row(i));
  tensorflow::VariantTensorData data;
  all.Encode(&data);
  EXPECT_EQ(data.type_name(), LoopStack::kTypeName);
  LoopStack read;
  ASSERT_TRUE(read.Decode(data));
  EXPECT_EQ(read.size(), 3);
  ASSERT_EQ(read.specs().size(), 2u);
  EXPECT_EQ(read.specs()[0].dtype, DT_FLOAT);
  EXPECT_EQ(read.specs()[0].max_num_elements, 7);
  EXPECT_EQ(read.specs()[0].shape.DebugString(), "[?,2]");
  EXPECT_THAT(Drained(read), ElementsAre(20, 10, 0));
}

TEST(LoopStackTest, ListsThatAreNotKeptAreEncodedAndDecoded) {
  for (const size_t kept : {0, 1}) {
    LoopStack all({{DT_INT32, {}, -1}, {DT_FLOAT, {}, 7}}, kept);
    for (int i = 0; i < 3; ++i) all.Push(LoopStackRow::Values(kept, Tensor(i)));
    tensorflow::VariantTensorData data;
    all.Encode(&data);
    EXPECT_EQ(data.tensors_size(), 2 + 3 * static_cast<int>(kept));
    LoopStack read;
    ASSERT_TRUE(read.Decode(data));
    EXPECT_EQ(read.size(), 3);
    EXPECT_EQ(read.kept(), kept);
    ASSERT_EQ(read.specs().size(), 2u);
    EXPECT_EQ(read.specs()[1].max_num_elements, 7);
    const LoopStackRow::Values last = read.Pop();
    ASSERT_EQ(last.size(), kept);
    if (kept == 1) {
      EXPECT_EQ(last[0].scalar<int>()(), 2);
    }
  }
}

TEST(LoopStackTest, MoreRowsThanAListCanHaveAreNotDecoded) {
  LoopStack all({{DT_FLOAT, {}, -1}}, /*kept=*/0), read;
  tensorflow::VariantTensorData data;
  all.Encode(&data);
  for (const auto& [size, good] : {std::pair("\177", true),
                                   {"\377\377\377\377\7", true},       // 2^31 - 1
                                   {"\200\200\200\200\10", false}}) {  // 2^31
    data.set_metadata(std::string("\2\1\0", 3) + size);
    EXPECT_EQ(read.Decode(data), good);
  }
}

TEST(LoopStackTest, AnEmptyStackIsReadBackFromTheProtoOfAConstant) {
  DecodeListsAsOurs();  // the specs are written as lists
  Tensor holder(DT_VARIANT, {}), parsed;
  holder.scalar<Variant>()() = Two();
  tensorflow::TensorProto proto;
  holder.AsProtoTensorContent(&proto);
  ASSERT_TRUE(parsed.FromProto(proto));
  const auto* const read = parsed.scalar<Variant>()().get<LoopStack>();
  ASSERT_NE(read, nullptr);
  EXPECT_EQ(read->specs().size(), 2u);
  EXPECT_EQ(read->size(), 0);
}

// Copies `from` as TensorFlow does between devices; each value becomes one more, -1 is an error.
absl::Status CopyToDevice(const LoopStack& from, Variant* to) {
  auto add_one = [](const Tensor& value, Tensor* out) {
    if (value.dtype() == DT_FLOAT) return *out = value, absl::OkStatus();
    const int number = value.scalar<int>()();
    *out = Tensor(number + 1);
    return number < 0 ? absl::InternalError("no way") : absl::OkStatus();
  };
  return tensorflow::VariantDeviceCopy(tensorflow::HOST_TO_DEVICE, Variant(from), to, add_one);
}

TEST(LoopStackTest, EveryValueIsCopiedToAnotherDevice) {
  LoopStack all = Two();
  Variant copied;
  ASSERT_TRUE(CopyToDevice(all, &copied).ok());
  EXPECT_EQ(copied.get<LoopStack>()->size(), 0);
  EXPECT_EQ(copied.get<LoopStack>()->specs().size(), 2u);
  for (int i = 0; i < 3; ++i) all.Push(Row(i));
  ASSERT_TRUE(CopyToDevice(all, &copied).ok());
  EXPECT_THAT(Drained(*copied.get<LoopStack>()), ElementsAre(21, 11, 1));
  EXPECT_THAT(Drained(all), ElementsAre(20, 10, 0));
  all.Push(Row(-1));
  EXPECT_FALSE(CopyToDevice(all, &copied).ok());
  LoopStack one({{DT_INT32, {}, -1}, {DT_FLOAT, {}, -1}}, /*kept=*/1);
  one.Push({Tensor(4)});
  ASSERT_TRUE(CopyToDevice(one, &copied).ok());
  one = *copied.get<LoopStack>();
  EXPECT_EQ(one.kept(), 1u);
  EXPECT_EQ(one.Pop()[0].scalar<int>()(), 5);
  LoopStack counting({{DT_FLOAT, {}, -1}}, /*kept=*/0);
  counting.Push({});
  ASSERT_TRUE(CopyToDevice(counting, &copied).ok());
  EXPECT_EQ(copied.get<LoopStack>()->size(), 1);
}

TEST(LoopStackTest, ACopyToADeviceMayEndAfterTheCall) {
  constexpr int kValues = 12, kRows = 3;  // more values than Values holds without an allocation
  LoopStack all(std::vector<ListSpec>(kValues, {DT_INT32, {}, -1}), kValues);
  for (int i = 0; i < kRows; ++i) {
    LoopStackRow::Values row;
    for (int k = 0; k < kValues; ++k) row.push_back(Tensor(100 * i + k));
    all.Push(std::move(row));
  }
  std::vector<std::pair<Tensor, Tensor*>> begun;
  const auto begin = [&](const Tensor& value, Tensor* out) {
    begun.emplace_back(value, out);
    return absl::OkStatus();
  };
  Variant copied;
  ASSERT_TRUE(
      tensorflow::VariantDeviceCopy(tensorflow::HOST_TO_DEVICE, Variant(all), &copied, begin).ok());
  for (const auto& [value, out] : begun) *out = value;
  LoopStack* const copy = copied.get<LoopStack>();
  for (int i = kRows - 1; i >= 0; --i) {
    const LoopStackRow::Values row = copy->Pop();
    ASSERT_EQ(row.size(), kValues);
    for (int k = 0; k < kValues; ++k) EXPECT_EQ(row[k].scalar<int>()(), 100 * i + k);
  }
}

TEST(LoopStackTest, InvalidDataIsNotDecoded) {
  LoopStack all = Two();
  all.Push(Row(1));
  const auto refuses = [&](auto spoil) {
    tensorflow::VariantTensorData data;
    all.Encode(&data);
    spoil(&data);
    LoopStack read = all;
    const bool refused = !read.Decode(data);
    EXPECT_THAT(Drained(read), ElementsAre(10));
    return refused;
  };
  const auto metadata = [](std::string bytes) {
    return [bytes](tensorflow::VariantTensorData* data) { data->set_metadata(bytes); };
  };
  // The bytes are {format, lists, kept, size}; {2, 2, 2, 1} would be valid.
  for (const char* bytes :
       {"", "\2", "\2\2", "\2\2\2", "\1\2\1", "\3\2\2\1", "\2\2\2\2", "\2\3\2\1", "\2\2\3\1",
        "\2\2\1\1", "\2\2\2\1\1", "\2\2\2\377\377\377\377\377\377\377\377\377\1",
        "\2\377\377\377\377\377\377\377\377\377\1\2\1"}) {
    EXPECT_TRUE(refuses(metadata(bytes))) << bytes;
  }
  EXPECT_TRUE(refuses([](auto* data) { *data->add_tensors() = Tensor(1); }));
  EXPECT_TRUE(refuses([](auto* data) { data->tensors_[0] = Tensor(1); }));
  EXPECT_TRUE(refuses([](auto* data) { data->tensors_[0] = Tensor(DT_VARIANT, {}); }));
  EXPECT_TRUE(refuses([](auto* data) { data->tensors_[1] = Tensor(1); }));
  EXPECT_TRUE(refuses([](auto* data) { data->tensors_[2] = Tensor(1); }));
}

TEST(LoopStackTest, InvalidSpecOfAListThatIsNotKeptIsNotDecoded) {
  tensorflow::VariantTensorData data;
  LoopStack({{DT_INT32, {}, -1}, {DT_FLOAT, {}, -1}}, /*kept=*/1).Encode(&data);
  LoopStack read;
  ASSERT_TRUE(read.Decode(data));
  data.tensors_[1] = Tensor(1);
  EXPECT_FALSE(read.Decode(data));
}

}  // namespace
}  // namespace tensor_array_grad
