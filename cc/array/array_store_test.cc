#include "cc/array/array_store.h"

#include "cc/base/tensorflow_names.h"
#include "cc/testing/fake_element_ops.h"
#include "cc/testing/matchers.h"

namespace tensor_array_grad {
namespace {

using ::testing::ElementsAre;
constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;

ArrayOptions Forward(int64_t size) {
  ArrayOptions options;
  options.name = "a_0";
  options.size = size;
  return options;
}
ArrayOptions Keeping(int64_t size) {
  ArrayOptions options = Forward(size);
  options.clear_after_read = false;
  return options;
}
ArrayOptions Accumulating(int64_t size) {
  ArrayOptions options = Forward(size);
  options.accumulate = true;
  return options;
}

class ArrayStoreTest : public ::testing::Test {
 protected:
  absl::Status Write(ArrayStore& store, int64_t index, const Tensor& value) {
    return store.Write(index, value, /*exclusive=*/false, ops_);
  }
  // The element at `index`, or the failure as a test error.
  Tensor Read(ArrayStore& store, int64_t index) {
    Tensor value;
    EXPECT_OK(store.Read(index, ops_, &value));
    return value;
  }
  absl::Status ReadStatus(ArrayStore& store, int64_t index) {
    Tensor value;
    return store.Read(index, ops_, &value);
  }
  FakeElementOps ops_;
};

// -- write and read ---------------------------------------------------------------------------

TEST_F(ArrayStoreTest, AWrittenTensorIsReadWithoutACopy) {
  ArrayStore store(Forward(2));
  const Tensor value = Vec({1, 2});
  ASSERT_OK(Write(store, 1, value));
  EXPECT_TRUE(Read(store, 1).SharesBufferWith(value));
  EXPECT_EQ(ops_.allocations, 0);
}

TEST_F(ArrayStoreTest, AReadElementIsClearedAndItsMemoryFree) {
  ArrayStore store(Forward(1));
  ASSERT_OK(Write(store, 0, Vec({1, 2})));
  EXPECT_GT(store.TotalBytes(), 0);
  Read(store, 0);
  EXPECT_EQ(store.TotalBytes(), 0);
  EXPECT_THAT(ReadStatus(store, 0), Fails(kInvalid, "index 0 twice because it was cleared"));
  EXPECT_THAT(Write(store, 0, Vec({1, 2})), Fails(kInvalid, "already been read"));
}

TEST_F(ArrayStoreTest, WithoutClearingReadsRepeatAndWritesAreStillRefused) {
  ArrayStore store(Keeping(1));
  ASSERT_OK(Write(store, 0, Vec({1})));
  EXPECT_THAT(Read(store, 0), TensorEq(Vec({1})));
  EXPECT_THAT(Read(store, 0), TensorEq(Vec({1})));
  EXPECT_THAT(Write(store, 0, Vec({1})), Fails(kInvalid, "already been read"));
}

TEST_F(ArrayStoreTest, ASecondWriteToAForwardArrayIsRefused) {
  ArrayStore store(Forward(1));
  ASSERT_OK(Write(store, 0, Vec({1})));
  EXPECT_THAT(Write(store, 0, Vec({2})), Fails(kInvalid, "index 0 because it has already been w"));
  EXPECT_THAT(Read(store, 0), TensorEq(Vec({1})));
}

TEST_F(ArrayStoreTest, IndicesOutOfRangeAreNamed) {
  ArrayStore store(Forward(3));
  EXPECT_THAT(Write(store, 3, Vec({1})), Fails(kInvalid, "index 3 but array is not resizeable"));
  EXPECT_THAT(Write(store, -1, Vec({1})), Fails(kInvalid, "index -1"));
  EXPECT_THAT(ReadStatus(store, 3), Fails(kInvalid, "from index 3 but array size is: 3"));
  EXPECT_THAT(ReadStatus(store, -1), Fails(kInvalid, "from index -1"));
}

TEST_F(ArrayStoreTest, ADynamicArrayGrowsToTheHighestIndexWritten) {
  ArrayOptions options = Forward(0);
  options.dynamic_size = true;
  ArrayStore store(options);
  ASSERT_OK(Write(store, 2000000, Vec({1})));
  EXPECT_EQ(store.size(), 2000001);
  EXPECT_THAT(Write(store, kMaxSize, Vec({1})), Fails(kInvalid, "2147483647"));
  EXPECT_THAT(Write(store, -1, Vec({1})), Fails(kInvalid, "index -1"));
  EXPECT_EQ(store.size(), 2000001);
}

TEST_F(ArrayStoreTest, ARefusedWriteDoesNotGrowADynamicArrayNorPinItsShape) {
  ArrayOptions options = Forward(1);
  options.dynamic_size = true;
  options.identical_element_shapes = true;
  options.element_shape = PartialTensorShape({-1});
  ArrayStore store(options);
  EXPECT_THAT(Write(store, 5, TensorOf<float>({1, 1}, {1})), Fails(kInvalid, "inferred element"));
  EXPECT_EQ(store.size(), 1);
  ASSERT_OK(Write(store, 0, Vec({1, 2})));  // the first valid one fixes the shape
  EXPECT_THAT(Write(store, 1, Vec({1})), Fails(kInvalid, "[2]"));
}

TEST_F(ArrayStoreTest, TheLargestArrayTakesNoMemoryOfItsOwn) {
  ArrayOptions options = Forward(kMaxSize);
  options.element_shape = PartialTensorShape({1});
  ArrayStore store(options);
  ASSERT_OK(Write(store, kMaxSize - 1, Vec({7})));
  EXPECT_THAT(Read(store, kMaxSize - 1), TensorEq(Vec({7})));
  EXPECT_THAT(Read(store, kMaxSize - 2), TensorEq(Vec({0})));
}

TEST_F(ArrayStoreTest, AnUnwrittenElementReadsAsZerosIfTheShapeIsKnown) {
  ArrayOptions options = Keeping(2);
  options.element_shape = PartialTensorShape({2});
  ArrayStore store(options);
  EXPECT_THAT(Read(store, 0), TensorEq(Vec({0, 0})));
  EXPECT_THAT(Read(store, 0), TensorEq(Vec({0, 0})));
  EXPECT_THAT(Write(store, 0, Vec({1, 2})), Fails(kInvalid, "already been read"));
  ArrayStore unknown(Forward(1));
  EXPECT_THAT(ReadStatus(unknown, 0), Fails(kInvalid, "not fully defined"));
}

TEST_F(ArrayStoreTest, AZeroWithoutValuesTakesNoMemory) {
  ArrayOptions options = Forward(1);
  options.element_shape = PartialTensorShape({3, 0});
  ArrayStore store(options);
  ops_.allocations_left = 0;
  EXPECT_EQ(Read(store, 0).shape(), TensorShape({3, 0}));
}

TEST_F(ArrayStoreTest, AnUnwrittenElementOfADtypeWithoutZerosIsAnError) {
  ArrayOptions options = Forward(1);
  options.dtype = tensorflow::DT_STRING;
  options.element_shape = PartialTensorShape({2});
  ArrayStore store(options);
  EXPECT_THAT(ReadStatus(store, 0), Fails(kInvalid, "TensorSetZero type not supported: string"));
  ASSERT_OK(Write(store, 0, Tensor(tensorflow::DT_STRING, TensorShape({2}))));
}

TEST_F(ArrayStoreTest, AFailedReadOfZerosLeavesTheSlotUnread) {
  ArrayOptions options = Forward(1);
  options.element_shape = PartialTensorShape({2});
  ArrayStore store(options);
  ops_.allocations_left = 0;
  EXPECT_EQ(ReadStatus(store, 0).code(), absl::StatusCode::kResourceExhausted);
  ops_.allocations_left = 1;
  EXPECT_THAT(Read(store, 0), TensorEq(Vec({0, 0})));
}

TEST_F(ArrayStoreTest, AClosedArrayHoldsNothingAndRefusesEverything) {
  ArrayStore store(Forward(1));
  ASSERT_OK(Write(store, 0, Vec({1})));
  store.Close();
  store.Close();
  EXPECT_EQ(store.TotalBytes(), 0);
  int64_t size;
  EXPECT_THAT(store.Size(&size), Fails(kInvalid, "a_0 has already been closed"));
  EXPECT_THAT(ReadStatus(store, 0), Fails(kInvalid, "closed"));
  EXPECT_THAT(Write(store, 0, Vec({1})), Fails(kInvalid, "closed"));
  ArrayOptions gradient;
  EXPECT_THAT(store.Freeze({}, &gradient), Fails(kInvalid, "closed"));
}

// -- sums -------------------------------------------------------------------------------------

TEST_F(ArrayStoreTest, TheSecondAddendIsSummedIntoAFreshBuffer) {
  ArrayStore store(Accumulating(1));
  const Tensor first = Vec({1, 2});
  ASSERT_OK(Write(store, 0, first));
  ASSERT_OK(Write(store, 0, Vec({10, 20})));
  EXPECT_THAT(first, TensorEq(Vec({1, 2})));  // the caller's tensor has not changed
  EXPECT_THAT(Read(store, 0), TensorEq(Vec({11, 22})));
}

TEST_F(ArrayStoreTest, AHundredAddendsTakeOneBuffer) {
  ArrayStore store(Accumulating(1));
  for (int i = 0; i < 100; ++i) ASSERT_OK(Write(store, 0, Vec({1, 2})));
  EXPECT_THAT(Read(store, 0), TensorEq(Vec({100, 200})));
  EXPECT_EQ(ops_.allocations, 1);
  EXPECT_EQ(ops_.adds, 99);
}

TEST_F(ArrayStoreTest, ASumIsMadeInABufferThatNoOtherTensorShares) {
  ArrayStore store(Accumulating(2));
  ASSERT_OK(store.Write(0, Vec({1}), /*exclusive=*/true, ops_));
  ASSERT_OK(Write(store, 0, Vec({2})));
  ASSERT_OK(Write(store, 1, Vec({1})));
  ASSERT_OK(store.Write(1, Vec({3}), /*exclusive=*/true, ops_));
  EXPECT_THAT(Read(store, 0), TensorEq(Vec({3})));
  EXPECT_THAT(Read(store, 1), TensorEq(Vec({4})));
  EXPECT_EQ(ops_.allocations, 0);
}

TEST_F(ArrayStoreTest, AnAddendOfAnotherShapeOrADtypeWithoutSumsIsRefused) {
  ArrayStore store(Accumulating(1));
  ASSERT_OK(Write(store, 0, Vec({1, 2})));
  EXPECT_THAT(Write(store, 0, Vec({1})),
              Fails(kInvalid, "existing shape is [2] but the new input shape is [1]"));
  EXPECT_THAT(Read(store, 0), TensorEq(Vec({1, 2})));
  ArrayOptions options = Accumulating(1);
  options.dtype = tensorflow::DT_BOOL;
  ArrayStore bools(options);
  ASSERT_OK(Write(bools, 0, TensorOf<bool>({1}, {true})));
  EXPECT_THAT(Write(bools, 0, TensorOf<bool>({1}, {true})), Fails(kInvalid, "not supported: bool"));
}

TEST_F(ArrayStoreTest, AFailedAllocationLeavesTheSumAsItWas) {
  ArrayStore store(Accumulating(1));
  ASSERT_OK(Write(store, 0, Vec({1})));
  ops_.allocations_left = 0;
  EXPECT_EQ(Write(store, 0, Vec({2})).code(), absl::StatusCode::kResourceExhausted);
  ops_.allocations_left = 9;
  ASSERT_OK(Write(store, 0, Vec({4})));
  EXPECT_THAT(Read(store, 0), TensorEq(Vec({5})));
}

TEST_F(ArrayStoreTest, IntegersWrap) {
  ArrayOptions options = Accumulating(1);
  options.dtype = tensorflow::DT_INT8;
  ArrayStore store(options);
  for (int i = 0; i < 3; ++i) ASSERT_OK(Write(store, 0, TensorOf<int8_t>({1}, {100})));
  EXPECT_THAT(ValuesOf<int8_t>(Read(store, 0)), ElementsAre(44));
}

// -- gather and scatter -----------------------------------------------------------------------

class BulkTest : public ArrayStoreTest {
 protected:
  absl::Status Scatter(ArrayStore& store, const std::vector<int32_t>& indices,
                       const Tensor& value) {
    return store.Scatter(indices, value, ops_);
  }
  absl::Status Gather(ArrayStore& store, const std::vector<int32_t>& indices, Tensor* value) {
    return store.Gather(indices, PartialTensorShape(), ops_, value);
  }
  Tensor Gathered(ArrayStore& store, const std::vector<int32_t>& indices) {
    Tensor value;
    EXPECT_OK(Gather(store, indices, &value));
    return value;
  }
};

TEST_F(BulkTest, StackOfAnUnstackedTensorIsThatTensor) {
  ArrayStore store(Forward(3));
  const Tensor value = TensorOf<float>({3, 2}, {1, 2, 3, 4, 5, 6});
  ASSERT_OK(Scatter(store, {0, 1, 2}, value));
  const Tensor stacked = Gathered(store, {0, 1, 2});
  EXPECT_TRUE(stacked.SharesBufferWith(value));
  EXPECT_THAT(stacked, TensorEq(value));
  EXPECT_EQ(ops_.allocations, 0);
  EXPECT_EQ(store.TotalBytes(), 0);
}

TEST_F(BulkTest, AnyOtherOrderIsPackedInOneCallWithRunsJoined) {
  ArrayStore store(Keeping(4));
  ASSERT_OK(Scatter(store, {0, 1, 2, 3}, TensorOf<float>({4, 1}, {1, 2, 3, 4})));
  EXPECT_THAT(Gathered(store, {2, 3, 0, 1}), TensorEq(TensorOf<float>({4, 1}, {3, 4, 1, 2})));
  EXPECT_EQ(ops_.packs, 1);
  EXPECT_EQ(ops_.pieces_packed, 2);
}

TEST_F(BulkTest, AGatherOfAPartAndOfATensorOfItsOwnHasBoth) {
  ArrayStore store(Forward(3));
  ASSERT_OK(Scatter(store, {0, 1}, TensorOf<float>({2, 2}, {1, 2, 3, 4})));
  ASSERT_OK(Write(store, 2, Vec({5, 6})));
  EXPECT_THAT(Gathered(store, {1, 2}), TensorEq(TensorOf<float>({2, 2}, {3, 4, 5, 6})));
}

TEST_F(BulkTest, AScatterTouchesNoSlotButThoseOfItsIndices) {
  ArrayStore store(Accumulating(3));
  const std::vector<int32_t> memory = {0, 1, 2};  // the span of indices ends before the 2
  for (int i = 0; i < 3; ++i) ASSERT_OK(Write(store, i, Vec({1})));
  ASSERT_OK(store.Scatter(absl::MakeSpan(memory).first(2), TensorOf<float>({2, 1}, {5, 5}), ops_));
  ASSERT_OK(Write(store, 2, Vec({1})));
  EXPECT_THAT(Gathered(store, {0, 1, 2}), TensorEq(TensorOf<float>({3, 1}, {6, 6, 2})));
}

TEST_F(BulkTest, RowsAreReadAlignedOrCopied) {
  ArrayStore store(Forward(4));
  Tensor wide(tensorflow::DT_FLOAT, TensorShape({2, 16}));
  wide.flat<float>().setConstant(3);
  ASSERT_OK(Scatter(store, {0, 1}, wide));
  EXPECT_TRUE(Read(store, 1).SharesBufferWith(wide));
  EXPECT_EQ(ops_.allocations, 0);
  ASSERT_OK(Scatter(store, {2, 3}, TensorOf<float>({2, 3}, {1, 2, 3, 4, 5, 6})));
  const Tensor row = Read(store, 3);
  EXPECT_TRUE(row.IsAligned());
  EXPECT_THAT(row, TensorEq(Vec({4, 5, 6})));
}

TEST_F(BulkTest, AScatterThatFailsAnywhereChangesNothing) {
  ArrayStore store(Forward(3));
  ASSERT_OK(Write(store, 1, Vec({9})));
  const Tensor value = TensorOf<float>({3, 1}, {1, 2, 3});
  EXPECT_THAT(Scatter(store, {0, 2, 1}, value), Fails(kInvalid, "index 1"));
  EXPECT_THAT(Scatter(store, {0, 2, 0}, value), Fails(kInvalid, "index 0"));
  EXPECT_THAT(Scatter(store, {0, 2, -1}, value), Fails(kInvalid, "index -1"));
  EXPECT_THAT(Scatter(store, {0, 2, 7}, value), Fails(kInvalid, "(7 vs. 3)"));
  EXPECT_THAT(Scatter(store, {0, 2}, value), Fails(kInvalid, "saw: 2 vs. 3"));
  EXPECT_THAT(ReadStatus(store, 0), Fails(kInvalid, "not fully defined"));
  EXPECT_THAT(ReadStatus(store, 2), Fails(kInvalid, "not fully defined"));
}

TEST_F(BulkTest, ARepeatedIndexIsSummedInAGradientArray) {
  ArrayStore store(Accumulating(3));
  ASSERT_OK(Write(store, 2, Vec({100})));
  ASSERT_OK(Scatter(store, {0, 2, 0, 1}, TensorOf<float>({4, 1}, {1, 2, 3, 4})));
  EXPECT_THAT(Gathered(store, {0, 1, 2}), TensorEq(TensorOf<float>({3, 1}, {4, 4, 102})));
}

TEST_F(BulkTest, AScatteredSumThatFindsNoMemoryLeavesAllAsItWas) {
  ArrayStore store(Accumulating(3));
  for (int i = 0; i < 3; ++i) ASSERT_OK(Write(store, i, Vec({1})));
  ASSERT_OK(Write(store, 0, Vec({1})));  // slot 0 has a sum in a buffer of its own
  ops_.allocations_left = 1;             // of the two that are needed
  EXPECT_EQ(Scatter(store, {0, 1, 2}, TensorOf<float>({3, 1}, {5, 5, 5})).code(),
            absl::StatusCode::kResourceExhausted);
  ops_.allocations_left = 9;
  EXPECT_THAT(Gathered(store, {0, 1, 2}), TensorEq(TensorOf<float>({3, 1}, {2, 1, 1})));
}

TEST_F(BulkTest, AScatteredSumThatFindsNoMemoryFixesNoElementShape) {
  ArrayOptions options = Accumulating(1);
  options.identical_element_shapes = true;
  ArrayStore store(options);
  ops_.allocations_left = 0;
  EXPECT_EQ(Scatter(store, {0, 0}, TensorOf<float>({2, 1}, {5, 5})).code(),
            absl::StatusCode::kResourceExhausted);
  ASSERT_OK(Write(store, 0, Vec({1, 2})));
}

TEST_F(BulkTest, AGatherThatFailsReadsNothing) {
  ArrayStore store(Forward(3));
  ASSERT_OK(Write(store, 0, Vec({1})));
  ASSERT_OK(Write(store, 1, Vec({1, 2})));
  Tensor value;
  EXPECT_THAT(Gather(store, {0, 1}, &value), Fails(kInvalid, "index 1 has shape: [2]"));
  EXPECT_THAT(Gather(store, {0, 0}, &value), Fails(kInvalid, "twice"));
  EXPECT_THAT(Gather(store, {0, 5}, &value), Fails(kInvalid, "index 5"));
  ops_.allocations_left = 0;
  ASSERT_OK(Write(store, 2, Vec({7})));
  EXPECT_EQ(Gather(store, {0, 2}, &value).code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(Read(store, 0), TensorEq(Vec({1})));
}

TEST_F(BulkTest, GatheredSumsAreNotChangedByLaterOnes) {
  ArrayOptions options = Accumulating(2);
  ArrayStore store(options);
  for (int i = 0; i < 2; ++i) ASSERT_OK(Write(store, i, Vec({1})));
  ASSERT_OK(Write(store, 0, Vec({1})));
  const Tensor one = Gathered(store, {0});
  EXPECT_THAT(Write(store, 0, Vec({1})), Fails(kInvalid, "already been read"));
  EXPECT_THAT(one, TensorEq(TensorOf<float>({1, 1}, {2})));
}

TEST_F(BulkTest, UnwrittenElementsOfAGatherAreZeros) {
  ArrayOptions options = Forward(3);
  options.element_shape = PartialTensorShape({2});
  ArrayStore store(options);
  ASSERT_OK(Write(store, 1, Vec({1, 2})));
  EXPECT_THAT(Gathered(store, {0, 1, 2}), TensorEq(TensorOf<float>({3, 2}, {0, 0, 1, 2, 0, 0})));
}

TEST_F(BulkTest, AGatherOfUnwrittenElementsUsesItsElementShape) {
  ArrayStore store(Keeping(2));
  ASSERT_OK(Write(store, 0, Vec({1, 2})));
  Tensor value;
  ASSERT_OK(store.Gather({0, 1}, PartialTensorShape({2}), ops_, &value));
  EXPECT_THAT(value, TensorEq(TensorOf<float>({2, 2}, {1, 2, 0, 0})));
  EXPECT_THAT(Read(store, 1), TensorEq(Vec({0, 0})));
}

TEST_F(BulkTest, AConcatThatNoMemoryCanHoldIsRefusedAtOnce) {
  ArrayOptions options = Forward(kMaxSize);
  options.element_shape = PartialTensorShape({1});
  ArrayStore store(options);
  Tensor value;
  std::vector<int64_t> lengths;
  EXPECT_THAT(store.Concat(PartialTensorShape(), ops_, &value, &lengths),
              Fails(absl::StatusCode::kResourceExhausted, "2147483647 elements"));
}

TEST_F(BulkTest, AnEmptyGatherNeedsAShape) {
  ArrayStore store(Forward(3));
  Tensor value;
  EXPECT_THAT(Gather(store, {}, &value), Fails(absl::StatusCode::kUnimplemented, "size zero"));
  ASSERT_OK(Write(store, 0, Vec({1, 2})));
  EXPECT_EQ(Gathered(store, {}).shape(), TensorShape({0, 2}));
  store.Close();  // a closed array has no elements whose shape could be used
  EXPECT_THAT(Gather(store, {}, &value), Fails(absl::StatusCode::kUnimplemented, "size zero"));
}

TEST_F(BulkTest, UnstackAndStackOfAHundredThousandRowsAllocateNothing) {
  constexpr int n = 100000;
  ArrayStore store(Forward(n));
  Tensor value(tensorflow::DT_FLOAT, TensorShape({n, 16}));
  value.flat<float>().setConstant(1);
  std::vector<int32_t> all(n);
  for (int i = 0; i < n; ++i) all[i] = i;
  ASSERT_OK(Scatter(store, all, value));
  EXPECT_TRUE(Gathered(store, all).SharesBufferWith(value));
  EXPECT_EQ(ops_.allocations, 0);
}

// -- concat and split -------------------------------------------------------------------------

TEST_F(BulkTest, ConcatOfASplitTensorMakesNoCopy) {
  ArrayStore store(Forward(3));
  const Tensor value = TensorOf<float>({4, 1}, {1, 2, 3, 4});
  ASSERT_OK(store.Split(value, {1, 0, 3}, ops_));
  Tensor joined;
  std::vector<int64_t> lengths;
  ASSERT_OK(store.Concat(PartialTensorShape(), ops_, &joined, &lengths));
  EXPECT_TRUE(joined.SharesBufferWith(value));
  EXPECT_THAT(joined, TensorEq(value));
  EXPECT_THAT(lengths, ElementsAre(1, 0, 3));
}

TEST_F(BulkTest, ASplitThatFailsChangesNothing) {
  ArrayStore store(Forward(2));
  const Tensor value = TensorOf<float>({2, 1}, {1, 2});
  EXPECT_THAT(store.Split(value, {-1, 3}, ops_), Fails(kInvalid, "lengths[0] is -1"));
  EXPECT_THAT(store.Split(value, {1, 2}, ops_), Fails(kInvalid, "sum of lengths is 3"));
  EXPECT_THAT(store.Split(value, {kMaxSize, int64_t{9223372036854775807}}, ops_),
              Fails(kInvalid, "2**63"));
  EXPECT_THAT(store.Split(value, {2}, ops_), Fails(kInvalid, "(2 vs. 1)"));
  EXPECT_THAT(store.Split(Tensor(1.0f), {}, ops_), Fails(kInvalid, "at least a vector"));
  ArrayOptions gradient;
  ASSERT_OK(store.Freeze({}, &gradient));
  EXPECT_EQ(gradient.marked_size, -1);
}

TEST_F(BulkTest, AGradientArrayConcatenatesTheMarkedPiecesOrAllSlots) {
  ArrayStore forward(Forward(2));
  ASSERT_OK(forward.Split(Vec({1, 2, 3}), {1, 2}, ops_));
  ArrayOptions options;
  ASSERT_OK(forward.Freeze({}, &options));
  EXPECT_EQ(options.marked_size, 2);
  ArrayStore gradient(options);
  Tensor value;
  std::vector<int64_t> lengths;
  ASSERT_OK(gradient.Concat(PartialTensorShape(), ops_, &value, &lengths));
  EXPECT_THAT(value, TensorEq(Vec({0, 0, 0})));
  EXPECT_THAT(lengths, ElementsAre(1, 2));
  ArrayStore never_split(Accumulating(1));
  ASSERT_OK(Write(never_split, 0, Vec({4, 5})));
  ASSERT_OK(never_split.Concat(PartialTensorShape(), ops_, &value, &lengths));
  EXPECT_THAT(value, TensorEq(Vec({4, 5})));
}

TEST_F(BulkTest, AConcatThatFailsReadsNothing) {
  ArrayStore store(Forward(2));
  ASSERT_OK(Write(store, 0, Vec({1})));
  ASSERT_OK(Write(store, 1, Tensor(2.0f)));
  Tensor value;
  std::vector<int64_t> lengths;
  EXPECT_THAT(store.Concat(PartialTensorShape(), ops_, &value, &lengths),
              Fails(kInvalid, "scalar shape at index 1"));
  EXPECT_THAT(Read(store, 0), TensorEq(Vec({1})));
}

TEST_F(BulkTest, AConcatChecksTheShapeThatItIsPassed) {
  ArrayStore store(Forward(1));
  ASSERT_OK(Write(store, 0, TensorOf<float>({1, 2}, {1, 2})));
  Tensor value;
  std::vector<int64_t> lengths;
  EXPECT_THAT(
      store.Concat(PartialTensorShape({3}), ops_, &value, &lengths),
      Fails(kInvalid,
            "TensorArray a_0: TensorArray was passed element_shape_except0 [3] but index 0 has "
            "(excepting dimension 0) shape: [2] which does not match."));
}

TEST_F(BulkTest, AnEmptyConcatTakesTheShapeOfARowFromTheElementShape) {
  ArrayOptions options = Forward(0);
  options.element_shape = PartialTensorShape({-1, 2});
  ArrayStore store(options);
  Tensor value;
  std::vector<int64_t> lengths;
  for (const PartialTensorShape& passed : {PartialTensorShape(), PartialTensorShape({-1})}) {
    ASSERT_OK(store.Concat(passed, ops_, &value, &lengths));
    EXPECT_EQ(value.shape(), TensorShape({0, 2}));
  }
  EXPECT_THAT(store.Concat(PartialTensorShape({-1, -1}), ops_, &value, &lengths),
              Fails(kInvalid, "rank"));
}

// -- gradients --------------------------------------------------------------------------------

TEST_F(ArrayStoreTest, FreezingFixesTheSizeAndDescribesTheGradient) {
  ArrayOptions options = Forward(1);
  options.dynamic_size = true;
  ArrayStore forward(options);
  ASSERT_OK(Write(forward, 2, Vec({1, 2})));
  ArrayOptions gradient;
  ASSERT_OK(forward.Freeze({}, &gradient));
  EXPECT_THAT(Write(forward, 3, Vec({1, 2})), Fails(kInvalid, "not resizeable and size is: 3"));
  ArrayStore store(gradient);
  EXPECT_EQ(store.size(), 3);
  EXPECT_THAT(Write(store, 2, Vec({5})), Fails(kInvalid, "existing shape is [2]"));
  EXPECT_THAT(Read(store, 2), TensorEq(Vec({0, 0})));
  EXPECT_THAT(ReadStatus(store, 0), Fails(kInvalid, "not fully defined"));
}

TEST_F(ArrayStoreTest, AGradientKnowsForwardShapesAsTheyWereWhenItWasMade) {
  ArrayStore forward(Forward(2));
  ASSERT_OK(Write(forward, 0, Vec({1, 2})));
  ArrayOptions options;
  ASSERT_OK(forward.Freeze(TensorShape({3}), &options));
  ArrayStore gradient(options);
  ASSERT_OK(Write(forward, 1, Vec({1})));
  EXPECT_EQ(Read(gradient, 0).shape(), TensorShape({3, 2}));
  EXPECT_THAT(ReadStatus(gradient, 1), Fails(kInvalid, "not fully defined"));
}

TEST_F(ArrayStoreTest, ShapesThatCannotBeJoinedLeaveTheSizeFree) {
  ArrayOptions options = Forward(0);
  options.dynamic_size = true;
  options.element_shape = PartialTensorShape({int64_t{1} << 40});
  ArrayStore forward(options);
  ArrayOptions gradient;
  EXPECT_THAT(forward.Freeze(TensorShape({int64_t{1} << 40}), &gradient), Fails(kInvalid, "a_0"));
  EXPECT_THAT(forward.Split(TensorOf<float>({0}, {}), {}, ops_), Fails(absl::StatusCode::kOk, ""));
}

TEST_F(ArrayStoreTest, AReadPastTheEndOfAGradientArrayGrowsItsSizeOnly) {
  ArrayOptions options = Accumulating(1);
  options.element_shape = PartialTensorShape({1});
  ArrayStore store(options);
  EXPECT_THAT(Read(store, 2000000000), TensorEq(Vec({0})));
  EXPECT_EQ(store.size(), 2000000001);
  EXPECT_THAT(ReadStatus(store, kMaxSize), Fails(kInvalid, "index 2147483647"));
}

TEST_F(ArrayStoreTest, TheGradientOfASummingArrayIsReadOncePerAddend) {
  ArrayStore first(Accumulating(1));
  ArrayOptions options;
  ASSERT_OK(first.Freeze({}, &options));
  ArrayStore second(options);
  ASSERT_OK(Write(second, 0, Vec({3})));
  EXPECT_THAT(Read(second, 0), TensorEq(Vec({3})));
  EXPECT_THAT(Read(second, 0), TensorEq(Vec({3})));
}

}  // namespace
}  // namespace tensor_array_grad
