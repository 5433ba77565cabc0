#include "cc/lists/list_checks.h"

#include <cstdint>

#include "cc/base/tensorflow_names.h"
#include "cc/lists/element_shape.h"
#include "cc/testing/matchers.h"

namespace tensor_array_grad {
namespace {

constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;

TEST(ListChecksTest, PushNeedsTheDtypeTheShapeAndRoom) {
  const ListSpec spec{DT_FLOAT, {1}, 2};
  EXPECT_OK(CheckPush(spec, 1, Vec({1})));
  EXPECT_THAT(CheckPush(spec, 1, Vec({1, 2})), Fails(kInvalid, "incompatible shape"));
  EXPECT_THAT(CheckPush(spec, 1, TensorOf<int32_t>({1}, {1})),
              Fails(kInvalid, "op elements int32 but list elements float"));
  EXPECT_THAT(CheckPush(spec, 2, Vec({1})),
              Fails(kInvalid, "full list list size: 2 max_num_elements: 2"));
  EXPECT_THAT(CheckPush({DT_FLOAT, {1}, -1}, kMaxListSize, Vec({1})),
              Fails(kInvalid, "cannot have 2147483648 elements"));
}

TEST(ListChecksTest, SetNeedsTheShapeAndAnIndexInTheList) {
  const PartialTensorShape shape({1});
  EXPECT_OK(CheckSet(shape, 2, 1, Vec({1})));
  EXPECT_THAT(CheckSet(shape, 2, 1, Vec({})), Fails(kInvalid, "shape: [0] list shape: [1]"));
  for (const int64_t index : {-1, 2}) {
    EXPECT_THAT(CheckSet(shape, 2, index, Vec({1})), Fails(kInvalid, "in a list with 2 elements"));
  }
}

TEST(ListChecksTest, AGrowingListTakesAnyIndexUpToTheLargest) {
  const PartialTensorShape shape({1});
  EXPECT_OK(CheckSet(shape, 0, 0, Vec({1}), /*grows=*/true));
  EXPECT_OK(CheckSet(shape, 2, kMaxListSize - 1, Vec({1}), /*grows=*/true));
  EXPECT_THAT(CheckSet(shape, 2, kMaxListSize, Vec({1}), /*grows=*/true),
              Fails(kInvalid, "cannot have 2147483648 elements"));
  EXPECT_THAT(CheckSet(shape, 2, -1, Vec({1}), /*grows=*/true), Fails(kInvalid, "element -1"));
}

TEST(ElementShapeTest, AVectorHasSizesAndMinusOneAloneIsAnUnknownRank) {
  PartialTensorShape shape;
  ASSERT_OK(ShapeFromTensor(TensorOf<int64_t>({2}, {3, -1}), &shape));
  EXPECT_EQ(shape.DebugString(), "[3,?]");
  ASSERT_OK(ShapeFromTensor(TensorOf<int32_t>({}, {-1}), &shape));
  EXPECT_TRUE(shape.unknown_rank());
  EXPECT_THAT(ShapeFromTensor(TensorOf<int32_t>({}, {2}), &shape), Fails(kInvalid, "-1"));
  EXPECT_THAT(ShapeFromTensor(Vec({2}), &shape), Fails(kInvalid, "found float"));
  EXPECT_THAT(ShapeFromTensor(TensorOf<int32_t>({1, 1}, {2}), &shape), Fails(kInvalid, "rank 2"));
}

TEST(ElementShapeTest, StackedShapeRejectsMoreValuesThanATensorCanHave) {
  TensorShape shape;
  ASSERT_OK(StackedShape({2, 3}, 7, &shape));
  EXPECT_EQ(shape, TensorShape({7, 2, 3}));
  EXPECT_THAT(StackedShape({int64_t{1} << 40}, int64_t{1} << 40, &shape),
              Fails(kInvalid, "more than 2**63 - 1 values"));
}

TEST(ElementShapeTest, RowOfAScalarIsAnError) {
  TensorShape row;
  ASSERT_OK(RowShape(Tensor(DT_FLOAT, {0, 7}), &row));
  EXPECT_EQ(row, TensorShape({7}));
  EXPECT_THAT(RowShape(TensorOf<float>({}, {1}), &row), Fails(kInvalid, "at least a vector"));
}

TEST(ElementShapeTest, MergedShapesMustAgree) {
  ShapeMerger merger(PartialTensorShape({-1, 2}));
  ASSERT_OK(merger.Add({1, 2}));
  ASSERT_OK(merger.Add({1, 2}));
  EXPECT_EQ(merger.shape().DebugString(), "[1,2]");
  EXPECT_THAT(merger.Add({3, 2}), Fails(kInvalid, "ncompatible shapes"));
}

}  // namespace
}  // namespace tensor_array_grad
