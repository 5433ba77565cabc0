#include "cc/array/slot_shapes.h"

#include "cc/base/tensorflow_names.h"
#include "cc/testing/matchers.h"

namespace tensor_array_grad {
namespace {

// "none", or the shape of slot `index` as of `epoch`.
std::string Look(const SlotShapes& shapes, int64_t index, SlotShapes::Epoch epoch) {
  bool found = false;
  TensorShape shape;
  const absl::Status status = shapes.Find(index, epoch, &found, &shape);
  if (!status.ok()) return std::string(status.message());
  return found ? shape.DebugString() : "none";
}

TEST(SlotShapesTest, TheFirstShapeOfASlotStays) {
  SlotShapes shapes;
  shapes.Record(3, 1, TensorShape({2}));
  shapes.Record(3, 1, TensorShape({5}));
  EXPECT_EQ(Look(shapes, 3, SlotShapes::kNow), "[2]");
  EXPECT_EQ(Look(shapes, 2, SlotShapes::kNow), "none");
}

TEST(SlotShapesTest, AFrozenEpochExcludesLaterShapes) {
  SlotShapes shapes;
  shapes.Record(0, 1, TensorShape({2}));
  const SlotShapes::Epoch before = shapes.Freeze();
  shapes.Record(1, 1, TensorShape({2}));
  EXPECT_EQ(Look(shapes, 0, before), "[2]");
  EXPECT_EQ(Look(shapes, 1, before), "none");
  EXPECT_EQ(Look(shapes, 1, SlotShapes::kNow), "[2]");
}

TEST(SlotShapesTest, AGradientsSlotHasThePrefixBeforeTheForwardShape) {
  auto forward = std::make_shared<SlotShapes>();
  forward->Record(0, 2, TensorShape({3}));
  const SlotShapes::Epoch frozen = forward->Freeze();
  SlotShapes gradient(forward, frozen, TensorShape({7, 1}));
  EXPECT_EQ(Look(gradient, 1, SlotShapes::kNow), "[7,1,3]");
  EXPECT_EQ(Look(gradient, 2, SlotShapes::kNow), "none");
  gradient.Record(2, 1, TensorShape({4}));
  EXPECT_EQ(Look(gradient, 2, SlotShapes::kNow), "[4]");
}

TEST(SlotShapesTest, ShapesThatCannotBeJoinedAreAnError) {
  auto forward = std::make_shared<SlotShapes>();
  forward->Record(0, 1, TensorShape({int64_t{1} << 40}));
  SlotShapes gradient(forward, forward->Freeze(), TensorShape({int64_t{1} << 40}));
  bool found = false;
  TensorShape shape;
  EXPECT_FALSE(gradient.Find(0, SlotShapes::kNow, &found, &shape).ok());
}

TEST(SlotShapesTest, CommonIsTheOneShapeOfAllSlotsAsOfAnEpoch) {
  SlotShapes shapes;
  EXPECT_FALSE(shapes.Common(SlotShapes::kNow).has_value());
  shapes.Record(0, 5, TensorShape({2}));
  const SlotShapes::Epoch one_shape = shapes.Freeze();
  shapes.Record(5, 1, TensorShape({3}));
  EXPECT_EQ(shapes.Common(one_shape)->DebugString(), "[2]");
  EXPECT_FALSE(shapes.Common(SlotShapes::kNow).has_value());
}

TEST(SlotShapesTest, CommonOfAnEpochCountsAllThatWasRecordedInIt) {
  SlotShapes shapes;
  const SlotShapes::Epoch none = shapes.Freeze();
  shapes.Record(0, 1, TensorShape({2}));
  const SlotShapes::Epoch one = shapes.Freeze();
  shapes.Record(1, 1, TensorShape({3}));
  const SlotShapes::Epoch two = shapes.Freeze();
  EXPECT_FALSE(shapes.Common(none).has_value());
  EXPECT_EQ(shapes.Common(one)->DebugString(), "[2]");
  EXPECT_FALSE(shapes.Common(two).has_value());
}

TEST(SlotShapesTest, CommonCountsTheSlotsOfTheForwardArrayToo) {
  auto forward = std::make_shared<SlotShapes>();
  forward->Record(0, 1, TensorShape({2}));
  SlotShapes same(forward, forward->Freeze(), TensorShape());
  EXPECT_EQ(same.Common(SlotShapes::kNow)->DebugString(), "[2]");
  same.Record(1, 1, TensorShape({3}));
  EXPECT_FALSE(same.Common(SlotShapes::kNow).has_value());
}

}  // namespace
}  // namespace tensor_array_grad
