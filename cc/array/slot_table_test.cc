#include "cc/array/slot_table.h"

#include "cc/base/tensorflow_names.h"
#include "cc/testing/matchers.h"

namespace tensor_array_grad {
namespace {

class SlotTableTest : public ::testing::Test {
 protected:
  SlotTableTest() {
    options_.name = "a_0";
    options_.size = 3;
    options_.shapes = std::make_shared<SlotShapes>();
  }

  // Puts `value` into a slot, as a write without a sum does.
  static void Fill(SlotTable& table, int64_t index, Tensor value) {
    table.Make(index, std::max(table.size(), index + 1));
    table.RecordShape(index, value.shape());
    table.Put(index, &value, /*owned=*/true);
  }
  static absl::Status CheckSlot(const SlotTable& table, int64_t index, const TensorShape& shape) {
    bool sums;
    return table.CheckSlot(index, shape, &sums);
  }
  static absl::Status CheckRead(const SlotTable& table, int64_t index) {
    Element element;
    return table.Inspect(index, table.element_shape(), &element);
  }

  ArrayOptions options_;
};

TEST_F(SlotTableTest, AForwardSlotIsWrittenOnceAndThenReadOnce) {
  SlotTable table(options_);
  EXPECT_OK(CheckSlot(table, 1, {2}));
  EXPECT_FALSE(CheckRead(table, 1).ok());
  Fill(table, 1, Vec({1, 2}));
  EXPECT_FALSE(CheckSlot(table, 1, {2}).ok());
  EXPECT_OK(CheckRead(table, 1));
  table.CommitRead(1);
  EXPECT_FALSE(CheckRead(table, 1).ok());
  EXPECT_FALSE(CheckSlot(table, 1, {2}).ok());
}

TEST_F(SlotTableTest, ASlotThatIsNotClearedIsReadAgainButNotWritten) {
  options_.clear_after_read = false;
  SlotTable table(options_);
  Fill(table, 0, Vec({1}));
  table.CommitRead(0);
  EXPECT_OK(CheckRead(table, 0));
  EXPECT_FALSE(CheckSlot(table, 0, {1}).ok());
}

TEST_F(SlotTableTest, OnlyAnAccumulatingSlotWithValuesIsSummed) {
  options_.accumulate = true;
  SlotTable table(options_);
  bool sums = true;
  EXPECT_OK(table.CheckSlot(0, {0}, &sums));
  EXPECT_FALSE(sums);
  Fill(table, 0, Vec({}));
  EXPECT_OK(table.CheckSlot(0, {0}, &sums));
  EXPECT_FALSE(sums);
  Fill(table, 1, Vec({1}));
  EXPECT_OK(table.CheckSlot(1, {1}, &sums));
  EXPECT_TRUE(sums);
  EXPECT_FALSE(CheckSlot(table, 1, {2}).ok());
}

TEST_F(SlotTableTest, AnEmptySlotOfAGradientArrayReadsAsZerosOfItsRecordedShape) {
  options_.accumulate = true;
  options_.shapes->Record(2, 1, TensorShape({4}));
  SlotTable table(options_);
  Element element;
  EXPECT_OK(table.Inspect(2, table.element_shape(), &element));
  EXPECT_EQ(element.source, nullptr);
  EXPECT_EQ(element.shape, TensorShape({4}));
  EXPECT_FALSE(CheckRead(table, 0).ok());
  options_.dtype = DT_STRING;
  SlotTable strings(options_);
  EXPECT_FALSE(CheckRead(strings, 2).ok());
}

TEST_F(SlotTableTest, AWriteBeyondTheEndGrowsOnlyADynamicArray) {
  SlotTable fixed(options_);
  EXPECT_FALSE(fixed.CheckWriteIndex(3).ok());
  options_.dynamic_size = true;
  SlotTable dynamic(options_);
  EXPECT_OK(dynamic.CheckWriteIndex(3));
  EXPECT_FALSE(dynamic.CheckWriteIndex(-1).ok());
  EXPECT_FALSE(dynamic.CheckWriteIndex(kMaxSize).ok());
  Fill(dynamic, 7, Vec({1}));
  EXPECT_EQ(dynamic.size(), 8);
}

TEST_F(SlotTableTest, FreezeMakesTheSizeFinal) {
  options_.dynamic_size = true;
  SlotTable table(options_);
  ArrayOptions gradient;
  ASSERT_OK(table.Freeze(TensorShape({5}), &gradient));
  EXPECT_FALSE(table.CheckWriteIndex(3).ok());
  EXPECT_EQ(gradient.size, 3);
  EXPECT_FALSE(gradient.dynamic_size);
  EXPECT_TRUE(gradient.accumulate);
}

TEST_F(SlotTableTest, TheFirstShapeIsTheArraysIfAllAreIdentical) {
  options_.identical_element_shapes = true;
  SlotTable table(options_);
  EXPECT_TRUE(table.FirstShapeCounts());
  Fill(table, 0, Vec({1, 2}));
  EXPECT_FALSE(table.FirstShapeCounts());
  EXPECT_FALSE(table.CheckElementShape(1, {3}, table.element_shape()).ok());
}

TEST_F(SlotTableTest, ABlockLeavesTheTableWithItsLastSlot) {
  SlotTable table(options_);
  const Tensor value(tensorflow::DT_FLOAT, {2, 8});  // what CommitRead requires of its caller
  std::list<Block> blocks;
  blocks.emplace_back(value);
  for (int64_t i = 0; i < 2; ++i) {
    table.Make(i, 3);
    table.PutPart(i, &blocks.front(), i);
  }
  table.TakeOver(&blocks);
  EXPECT_TRUE(blocks.empty());
  EXPECT_EQ(table.TotalBytes(), 64);
  Element element;
  ASSERT_OK(table.Inspect(1, PartialTensorShape(), &element));
  EXPECT_EQ(element.begin, 8);
  EXPECT_EQ(element.count, 8);
  table.CommitRead(0);
  EXPECT_EQ(table.TotalBytes(), 64);
  table.CommitRead(1);
  EXPECT_EQ(table.TotalBytes(), 0);
}

TEST_F(SlotTableTest, ABlockThatNoSlotRefersToStaysWithTheCaller) {
  SlotTable table(options_);
  std::list<Block> blocks;
  blocks.emplace_back(Tensor(tensorflow::DT_FLOAT, {0, 8}));
  table.TakeOver(&blocks);
  EXPECT_EQ(blocks.size(), 1);
}

TEST_F(SlotTableTest, ASlotKeepsAnElementWithoutValuesWhenAnotherOneIsAdded) {
  options_.accumulate = true;
  SlotTable table(options_);
  Fill(table, 0, Vec({}));
  std::list<Block> blocks;
  blocks.emplace_back(Tensor(tensorflow::DT_FLOAT, {1, 0}));
  table.PutPart(0, &blocks.front(), 0);
  EXPECT_EQ(blocks.front().live, 0);
}

TEST_F(SlotTableTest, ASumMayBeMadeInABufferThatTheSlotOwns) {
  options_.accumulate = true;
  SlotTable table(options_);
  Fill(table, 0, Vec({1}));
  bool owned = false;
  EXPECT_EQ(table.DataOf(0, &owned).NumElements(), 1);
  EXPECT_TRUE(owned);
  Tensor shared = Vec({2});
  table.Put(0, &shared, /*owned=*/false);
  EXPECT_THAT(shared, TensorEq(Vec({1})));
  EXPECT_THAT(table.DataOf(0, &owned), TensorEq(Vec({2})));
  EXPECT_FALSE(owned);
}

}  // namespace
}  // namespace tensor_array_grad
