#include "cc/lists/list_write.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "cc/base/tensorflow_names.h"
#include "cc/testing/fake_element_ops.h"
#include "cc/testing/matchers.h"

namespace tensor_array_grad {
namespace {

constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;

const Tensor kUnknown = TensorOf<int32_t>({}, {-1});

Tensor Lengths(const std::vector<int64_t>& values) { return VecOf(values); }
Tensor Rows(int64_t count, const std::vector<float>& values) {
  return TensorOf<float>({count, static_cast<int64_t>(values.size()) / std::max<int64_t>(count, 1)},
                         values);
}

// The values of the elements of `list`; "unset" for one that is not set.
std::vector<std::string> Elements(const ListVariant& list) {
  std::vector<std::string> out;
  for (int64_t i = 0; i < list.size(); ++i) {
    const ListElement element = list.Get(i);
    out.push_back(element.kind == ListElement::kSet ? element.tensor->SummarizeValue(9) : "unset");
  }
  return out;
}

class ListWriteTest : public testing::Test {
 protected:
  FakeElementOps ops_;
  ListVariant list_;
};

// ---- from a tensor ------------------------------------------------------------------------------

TEST_F(ListWriteTest, FromTensorMakesAnElementOfEachRow) {
  ASSERT_OK(FromTensor(Rows(2, {1, 2, 3, 4}), Ints({2}), ops_, &list_));
  EXPECT_THAT(Elements(list_), testing::ElementsAre("1 2", "3 4"));
  EXPECT_EQ(list_.shape().DebugString(), "[2]");
}

TEST_F(ListWriteTest, FromTensorOfNoRowsIsAnEmptyList) {
  ASSERT_OK(FromTensor(Tensor(DT_FLOAT, {0, 7}), kUnknown, ops_, &list_));
  EXPECT_EQ(list_.size(), 0);
}

TEST_F(ListWriteTest, AlignedRowsAreViewsAndOthersAreCopies) {
  const Tensor aligned(DT_FLOAT, {2, 16}), odd(DT_FLOAT, {2, 3});
  ASSERT_OK(FromTensor(aligned, kUnknown, ops_, &list_));
  EXPECT_TRUE(list_.Get(1).tensor->SharesBufferWith(aligned));
  ASSERT_OK(FromTensor(odd, kUnknown, ops_, &list_));
  EXPECT_FALSE(list_.Get(1).tensor->SharesBufferWith(odd));
  EXPECT_TRUE(list_.Get(1).tensor->IsAligned());
}

TEST_F(ListWriteTest, OnAGpuOnePackMakesAllCopies) {
  ops_.gpu = true;
  ASSERT_OK(FromTensor(Rows(3, {1, 2, 3, 4, 5, 6, 7, 8, 9}), kUnknown, ops_, &list_));
  EXPECT_EQ(ops_.packs, 1);
  EXPECT_THAT(Elements(list_), testing::ElementsAre("1 2 3", "4 5 6", "7 8 9"));
  for (int64_t i = 0; i < 3; ++i) EXPECT_TRUE(list_.Get(i).tensor->IsAligned()) << i;
}

TEST_F(ListWriteTest, FromTensorChecksItsShapes) {
  EXPECT_THAT(FromTensor(TensorOf<float>({}, {1}), kUnknown, ops_, &list_),
              Fails(kInvalid, "Tensor must be at least a vector, but saw shape: []"));
  EXPECT_THAT(FromTensor(Vec({1}), Ints({2}), ops_, &list_),
              Fails(kInvalid, "Specified a list with shape [2] from a tensor with shape []"));
  EXPECT_THAT(FromTensor(Vec({1}), TensorOf<int32_t>({1, 1}, {1}), ops_, &list_),
              Fails(kInvalid, "element_shape must be at most rank 1"));
}

TEST_F(ListWriteTest, FailedCopyIsAnErrorAndTheListStays) {
  ASSERT_OK(FromTensor(Vec({5}), kUnknown, ops_, &list_));
  ops_.allocations_left = 0;
  EXPECT_THAT(FromTensor(Rows(2, {1, 2, 3, 4, 5, 6}), kUnknown, ops_, &list_),
              Fails(absl::StatusCode::kResourceExhausted, "no memory"));
  EXPECT_THAT(Elements(list_), testing::ElementsAre("5"));
}

// ---- split --------------------------------------------------------------------------------------

TEST_F(ListWriteTest, SplitCutsPartsOfTheGivenLengths) {
  for (const bool gpu : {false, true}) {
    ops_.gpu = gpu;
    ASSERT_OK(Split(Vec({1, 2, 3}), kUnknown, Lengths({2, 0, 1}), ops_, &list_));
    EXPECT_THAT(Elements(list_), testing::ElementsAre("1 2", "", "3"));
  }
}

TEST_F(ListWriteTest, SplitChecksLengthsAndShapes) {
  const auto split = [this](const Tensor& lengths) {
    return Split(Vec({1, 2, 3}), kUnknown, lengths, ops_, &list_);
  };
  EXPECT_THAT(split(Lengths({4})), Fails(kInvalid, "slice [0, 4] from tensor with length 3"));
  EXPECT_THAT(split(Lengths({1})), Fails(kInvalid, "Length of tensor: 3 Values used: 1"));
  EXPECT_THAT(split(Lengths({-1, 4})), Fails(kInvalid, "Invalid value in lengths: -1"));
  EXPECT_THAT(split(TensorOf<int64_t>({}, {3})), Fails(kInvalid, "lengths to be a vector"));
  EXPECT_THAT(Split(Vec({1}), Ints({}), Lengths({1}), ops_, &list_),
              Fails(kInvalid, "element_shape to be at least of rank 1"));
  EXPECT_THAT(Split(Vec({1}), Ints({1, 2}), Lengths({1}), ops_, &list_),
              Fails(kInvalid, "is not compatible with element_shape [1,2]"));
}

// ---- scatter ------------------------------------------------------------------------------------

TEST_F(ListWriteTest, ScatterPutsRowsAtTheirIndicesAndTheLaterOfTwoWins) {
  ASSERT_OK(Scatter(Rows(3, {1, 2, 3}), Ints({2, 0, 2}), kUnknown, -1, ops_, &list_));
  EXPECT_THAT(Elements(list_), testing::ElementsAre("2", "unset", "3"));
  ASSERT_OK(Scatter(Rows(1, {1}), Ints({0}), kUnknown, 2, ops_, &list_));
  EXPECT_THAT(Elements(list_), testing::ElementsAre("1", "unset"));
}

TEST_F(ListWriteTest, ScatterChecksIndicesAndSize) {
  const auto scatter = [this](const Tensor& indices, int64_t size) {
    return Scatter(Vec({1}), indices, kUnknown, size, ops_, &list_);
  };
  EXPECT_THAT(scatter(Ints({0}), -2), Fails(kInvalid, "num_elements >= -1, found: -2"));
  EXPECT_THAT(scatter(Ints({-1}), -1), Fails(kInvalid, "must all be non-negative"));
  EXPECT_THAT(scatter(Ints({2}), 2), Fails(kInvalid, "scatter at index 2 in list with size 2"));
  EXPECT_THAT(scatter(Ints({0, 1}), -1), Fails(kInvalid, "Expected: 2 Actual: 1"));
  EXPECT_THAT(scatter(Ints({std::numeric_limits<int32_t>::max()}), -1),
              Fails(kInvalid, "cannot have 2147483648 elements"));
}

class ScatterIntoTest : public ListWriteTest {
 protected:
  absl::Status Into(const Tensor& tensor, const Tensor& indices) {
    return ScatterInto(list_, tensor, indices, ops_, [this](ListVariant** out) {
      ++changes_;
      *out = &list_;
      return absl::OkStatus();
    });
  }

  int changes_ = 0;
};

TEST_F(ScatterIntoTest, SetsElementsAndGrows) {
  list_ = ListVariant({DT_FLOAT, {}, -1}, 1);
  ASSERT_OK(Into(Vec({1, 2}), Ints({0, 2})));
  EXPECT_THAT(Elements(list_), testing::ElementsAre("1", "unset", "2"));
}

TEST_F(ScatterIntoTest, BadArgumentsChangeNothing) {
  list_ = ListVariant({DT_FLOAT, {}, -1}, 1);
  EXPECT_THAT(Into(Ints({1}), Ints({0})), Fails(kInvalid, "input tensor type: int32"));
  EXPECT_THAT(Into(Vec({1}), Ints({0, 1})), Fails(kInvalid, "but saw: 2 vs. 1"));
  EXPECT_THAT(Into(Vec({1, 2}), Ints({0, -1})), Fails(kInvalid, "non-negative"));
  EXPECT_THAT(Into(Vec({1}), TensorOf<int32_t>({1, 1}, {0})), Fails(kInvalid, "to be a vector"));
  EXPECT_EQ(changes_, 0);
  EXPECT_THAT(Elements(list_), testing::ElementsAre("unset"));
}

// ---- many lists ---------------------------------------------------------------------------------

TEST_F(ListWriteTest, PushRowsAppendsARowToEachList) {
  std::vector<ListVariant> lists(2, ListVariant({DT_FLOAT, {2}, -1}, 1));
  ASSERT_OK(PushRows(Rows(2, {1, 2, 3, 4}), ops_, absl::MakeSpan(lists)));
  EXPECT_THAT(Elements(lists[0]), testing::ElementsAre("unset", "1 2"));
  EXPECT_THAT(Elements(lists[1]), testing::ElementsAre("unset", "3 4"));
}

TEST_F(ListWriteTest, CheckRowNamesTheList) {
  const ListVariant list({DT_FLOAT, {2}, -1}, 0);
  EXPECT_OK(CheckRow(7, list, DT_FLOAT, {2}));
  EXPECT_THAT(CheckRow(7, list, DT_FLOAT, {3}),
              Fails(kInvalid, "at index 7. Op element shape: [3]"));
  EXPECT_THAT(CheckRow(7, list, DT_INT32, {2}), Fails(kInvalid, "at index 7; op elements int32"));
  EXPECT_THAT(CheckRow(7, ListVariant({DT_FLOAT, {2}, -1}, 2147483647), DT_FLOAT, {2}),
              Fails(kInvalid, "cannot have 2147483648 elements"));
}

}  // namespace
}  // namespace tensor_array_grad
