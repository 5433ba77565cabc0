#include "cc/lists/list_read.h"

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "cc/base/tensorflow_names.h"
#include "cc/lists/element_shape.h"
#include "cc/testing/fake_element_ops.h"
#include "cc/testing/matchers.h"

namespace tensor_array_grad {
namespace {

constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;

const Tensor kUnknown = TensorOf<int32_t>({}, {-1});

// The element_shape of an op.
Tensor Sizes(const std::vector<int32_t>& sizes) { return Ints(sizes); }

// A list of `size` elements of `shape`. Element i is set to set[i] if that has a value.
ListVariant ListOf(const PartialTensorShape& shape, int64_t size,
                   const std::vector<std::optional<Tensor>>& set = {}) {
  ListVariant list({DT_FLOAT, shape, -1}, size);
  for (size_t i = 0; i < set.size(); ++i) {
    if (set[i]) list.Set(static_cast<int64_t>(i), *set[i]);
  }
  return list;
}

ListVariant ZerosOf(const ListVariant& list) {
  ListVariant zeros;
  EXPECT_OK(ListVariant::ZerosLike(list, &zeros));
  return zeros;
}

absl::Status NoZerosLike(const Tensor& like, Tensor*) {
  return absl::InternalError("zeros like " + like.DebugString());
}

Tensor Packed(const TensorShape& shape, const std::vector<Piece>& pieces) {
  FakeElementOps ops;
  Tensor out(DT_FLOAT, shape);
  EXPECT_OK(ops.Pack(pieces, &out));
  return out;
}

// ---- one element --------------------------------------------------------------------------------

TEST(ReadElementTest, SetElementIsTheTensorItself) {
  const Tensor one = Vec({1});
  const ListVariant list = ListOf({}, 2, {one});
  ElementValue value;
  ASSERT_OK(ReadElement(list, 0, kUnknown, &value));
  EXPECT_EQ(value.element.kind, ListElement::kSet);
  EXPECT_TRUE(value.element.tensor->SharesBufferWith(one));
}

TEST(ReadElementTest, IndexOutOfRangeNamesIndexAndLength) {
  ElementValue value;
  for (const int64_t index : {-1, 2, 7}) {
    EXPECT_THAT(ReadElement(ListOf({1}, 2), index, kUnknown, &value),
                Fails(kInvalid, "Trying to access element " + std::to_string(index) +
                                    " in a list with 2 elements."));
  }
}

TEST(ReadElementTest, UnsetElementHasTheMergedShapeOfListAndOp) {
  ElementValue value;
  ASSERT_OK(ReadElement(ListOf({-1, 2}, 1), 0, Sizes({3, -1}), &value));
  EXPECT_EQ(value.element.kind, ListElement::kUnset);
  EXPECT_EQ(value.shape, TensorShape({3, 2}));
}

TEST(ReadElementTest, UnsetElementHasTheShapeThatAllOthersHave) {
  ElementValue value;
  ASSERT_OK(ReadElement(ListOf(PartialTensorShape(), 3, {Vec({1, 2})}), 2, kUnknown, &value));
  EXPECT_EQ(value.shape, TensorShape({2}));
}

TEST(ReadElementTest, UnsetElementAmongElementsOfDifferentShapesIsAnError) {
  const ListVariant list = ListOf(PartialTensorShape(), 3, {Vec({1, 2}), Vec({1})});
  ElementValue value;
  EXPECT_THAT(ReadElement(list, 2, kUnknown, &value), Fails(kInvalid, "ncompatible shapes"));
}

TEST(ReadElementTest, UnsetElementOfUnknownShapeIsAnError) {
  ElementValue value;
  EXPECT_THAT(ReadElement(ListOf({-1}, 3), 2, kUnknown, &value),
              Fails(kInvalid, "element_shape is not fully defined: [?] and no list element"));
}

TEST(ReadElementTest, ZerosKeepTheTensorThatTheyAreLike) {
  const Tensor one = Vec({1});
  const ListVariant zeros = ZerosOf(ListOf({-1}, 1, {one}));
  ElementValue value;
  ASSERT_OK(ReadElement(zeros, 0, kUnknown, &value));
  EXPECT_EQ(value.element.kind, ListElement::kZeros);
  EXPECT_TRUE(value.element.tensor->SharesBufferWith(one));
}

TEST(ReadLastTest, EmptyListHasNone) {
  ElementValue value;
  EXPECT_THAT(ReadLast(ListOf({1}, 0), kUnknown, &value),
              Fails(kInvalid, "Trying to pop from an empty list."));
}

TEST(ReadLastTest, OtherElementsDoNotDetermineTheShape) {
  ElementValue value;
  EXPECT_THAT(ReadLast(ListOf({-1}, 2, {Vec({1})}), kUnknown, &value),
              Fails(kInvalid, "element_shape is not fully defined.[?]"));
  ASSERT_OK(ReadLast(ListOf({-1}, 2, {Vec({1})}), Sizes({7}), &value));
  EXPECT_EQ(value.shape, TensorShape({7}));
}

// ---- stack --------------------------------------------------------------------------------------

Tensor Stacked(const ListVariant& list, const Tensor& element_shape = kUnknown) {
  TensorShape element, shape;
  std::vector<Piece> pieces;
  EXPECT_OK(ShapeToStack(list, element_shape, -1, &element));
  EXPECT_OK(StackedShape(element, list.size(), &shape));
  EXPECT_OK(PiecesToStack(list, element, NoZerosLike, &pieces));
  return Packed(shape, pieces);
}

absl::Status ShapeOfStack(const ListVariant& list, const Tensor& element_shape = kUnknown,
                          int64_t num_elements = -1) {
  TensorShape element;
  return ShapeToStack(list, element_shape, num_elements, &element);
}

TEST(StackTest, ElementsFollowEachOtherAndUnsetOnesAreZeros) {
  const ListVariant list = ListOf({-1}, 5, {std::nullopt, Vec({1, 2}), std::nullopt, Vec({3, 4})});
  EXPECT_THAT(Stacked(list), TensorEq(TensorOf<float>({5, 2}, {0, 0, 1, 2, 0, 0, 3, 4, 0, 0})));
}

TEST(StackTest, NeighbouringUnsetElementsAreOnePiece) {
  std::vector<Piece> pieces;
  ASSERT_OK(PiecesToStack(ListOf({2}, int64_t{1} << 30), {2}, NoZerosLike, &pieces));
  ASSERT_EQ(pieces.size(), 1);
  EXPECT_EQ(pieces[0].count, int64_t{1} << 31);
}

TEST(StackTest, ZerosOfAKnownShapeNeedNoValues) {
  const ListVariant zeros = ZerosOf(ListOf({-1}, 3, {std::nullopt, Vec({1, 2})}));
  EXPECT_THAT(Stacked(zeros), TensorEq(TensorOf<float>({3, 2}, {0, 0, 0, 0, 0, 0})));
}

TEST(StackTest, AnElementOfAnotherShapeIsAnError) {
  std::vector<Piece> pieces;
  EXPECT_THAT(PiecesToStack(ListOf({-1}, 1, {Vec({1, 2})}), {3}, NoZerosLike, &pieces),
              Fails(kInvalid, "Incompatible shapes: an element is [2], not [3]"));
}

TEST(StackTest, ShapesThatCannotBeFoundAreErrors) {
  EXPECT_THAT(ShapeOfStack(ListOf({-1}, 0)), Fails(kInvalid, "an empty list with non-fully-"));
  EXPECT_THAT(ShapeOfStack(ListOf({-1}, 3)), Fails(kInvalid, "only contains uninitialized"));
  EXPECT_THAT(ShapeOfStack(ListOf({2}, 3), Sizes({3})), Fails(kInvalid, "ncompatible shapes"));
  EXPECT_THAT(ShapeOfStack(ListOf({2}, 3), kUnknown, 4),
              Fails(kInvalid, "expected a list with 4 elements but got a list with 3 elements."));
  EXPECT_OK(ShapeOfStack(ListOf({-1}, 0), Sizes({1})));
}

// ---- gather -------------------------------------------------------------------------------------

TEST(GatherTest, RepeatedAndUnsetElementsAreReadInTheOrderOfTheIndices) {
  const ListVariant list = ListOf({-1}, 3, {Vec({1}), Vec({2})});
  const std::vector<int32_t> indices{1, 2, 0, 1};
  TensorShape element;
  std::vector<Piece> pieces;
  ASSERT_OK(ShapeToGather(list, kUnknown, indices, &element));
  ASSERT_OK(PiecesToGather(list, element, indices, NoZerosLike, &pieces));
  EXPECT_THAT(Packed({4, 1}, pieces), TensorEq(TensorOf<float>({4, 1}, {2, 0, 1, 2})));
}

TEST(GatherTest, IndexOutOfRangeIsAnErrorInBothHalves) {
  const std::vector<int32_t> past{0, 3}, negative{-1};
  TensorShape element;
  std::vector<Piece> pieces;
  EXPECT_THAT(ShapeToGather(ListOf({-1}, 3), kUnknown, negative, &element),
              Fails(kInvalid, "Trying to gather element -1 in a list with 3 elements."));
  ASSERT_OK(ShapeToGather(ListOf({1}, 3), kUnknown, past, &element));  // the shape is known
  EXPECT_THAT(PiecesToGather(ListOf({1}, 3), element, past, NoZerosLike, &pieces),
              Fails(kInvalid, "Index 3 out o range; list only has 3 elements."));
}

TEST(GatherTest, ShapesThatCannotBeFoundAreErrors) {
  const std::vector<int32_t> none, first{0};
  TensorShape element;
  EXPECT_THAT(ShapeToGather(ListOf({-1}, 1), kUnknown, none, &element),
              Fails(kInvalid, "Tried to gather 0-elements"));
  EXPECT_THAT(ShapeToGather(ListOf({-1}, 1), kUnknown, first, &element),
              Fails(kInvalid, "Tried to gather uninitialized tensors"));
}

// ---- concat -------------------------------------------------------------------------------------

using LeadingDims = std::optional<absl::Span<const int64_t>>;

struct Concatenated {
  absl::Status status;
  Tensor value;
  std::vector<int64_t> lengths;
};

Concatenated Concat(const ListVariant& list, const PartialTensorShape& shape,
                    LeadingDims leading_dims = std::nullopt) {
  Concatenated out;
  out.lengths.resize(list.size());
  ConcatRows rows;
  TensorShape all;
  std::vector<Piece> pieces;
  out.status = ShapeToConcat(list, shape, leading_dims.has_value(), &rows);
  if (!out.status.ok()) return out;
  out.status = PiecesToConcat(list, rows, leading_dims, NoZerosLike, absl::MakeSpan(out.lengths),
                              &all, &pieces);
  if (out.status.ok()) out.value = Packed(all, pieces);
  return out;
}

TEST(ConcatTest, ElementsOfSeveralLengths) {
  const auto got = Concat(ListOf({-1}, 3, {Vec({1, 2}), Vec({}), Vec({3})}), {-1});
  ASSERT_OK(got.status);
  EXPECT_THAT(got.value, TensorEq(Vec({1, 2, 3})));
  EXPECT_THAT(got.lengths, testing::ElementsAre(2, 0, 1));
}

TEST(ConcatTest, UnsetElementsHaveTheLengthOfTheOthersIfThatIsOne) {
  const auto got = Concat(ListOf({-1}, 3, {Vec({1, 2}), std::nullopt, Vec({3, 4})}), {-1});
  ASSERT_OK(got.status);
  EXPECT_THAT(got.value, TensorEq(Vec({1, 2, 0, 0, 3, 4})));
  EXPECT_THAT(Concat(ListOf({-1}, 3, {Vec({1, 2}), std::nullopt, Vec({3})}), {-1}).status,
              Fails(kInvalid, "Concating lists with uninitialized tensors is not supported"));
}

TEST(ConcatTest, LeadingDimsAreTheLengthsOfUnsetElements) {
  const std::vector<int64_t> dims{7, 1}, few{7}, negative{0, -1};
  const ListVariant list = ListOf({-1}, 2, {Vec({1, 2})});
  const auto got = Concat(list, {-1}, dims);
  ASSERT_OK(got.status);
  EXPECT_THAT(got.value, TensorEq(Vec({1, 2, 0})));
  EXPECT_THAT(got.lengths, testing::ElementsAre(2, 1));
  EXPECT_THAT(Concat(list, {-1}, negative).status, Fails(kInvalid, "is -1 at index 1"));
  const ListVariant mixed = ListOf({-1}, 3, {Vec({1, 2}), Vec({3})});
  EXPECT_THAT(Concat(mixed, {-1}, few).status, Fails(kInvalid, "leading_dims has only 1"));
}

TEST(ConcatTest, ShapesThatDoNotFitAreErrors) {
  const std::vector<int64_t> none;
  EXPECT_THAT(Concat(ListOf({-1}, 1, {Vec({1})}), {2}, none).status,
              Fails(kInvalid, "element at index: 0 Expected: 2 Actual: 1"));
  EXPECT_THAT(
      Concat(ListOf(PartialTensorShape(), 1, {TensorOf<float>({}, {1})}), PartialTensorShape())
          .status,
      Fails(kInvalid, "Concat saw a scalar shape at index 0"));
  EXPECT_THAT(Concat(ListOf({}, 0), PartialTensorShape({})).status,
              Fails(kInvalid, "at least vectors, found scalars"));
  EXPECT_THAT(Concat(ListOf({-1, -1}, 0), {-1, -1}).status,
              Fails(kInvalid, "All except the first dimension must be fully defined"));
  EXPECT_THAT(Concat(ListOf({-1, -1}, 1), {-1, -1}).status,
              Fails(kInvalid, "only uninitialized tensors"));
}

TEST(ConcatTest, LengthsThatCannotBeSummedAreAnError) {
  const int64_t most = std::numeric_limits<int64_t>::max();
  const std::vector<int64_t> dims{most, 1};
  EXPECT_THAT(Concat(ListOf({-1}, 2), {-1}, dims).status,
              Fails(kInvalid, "too large to be summed"));
}

}  // namespace
}  // namespace tensor_array_grad
