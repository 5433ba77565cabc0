#include "cc/slices/basic_slice.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <random>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "cc/base/tensorflow_names.h"
#include "cc/testing/matchers.h"
#include "tensorflow/core/util/strided_slice_op.h"

namespace tensor_array_grad {
namespace {

using Indices = std::vector<int64_t>;

template <typename T>
Tensor VectorOf(const Indices& indices) {
  return TensorOf<T>({static_cast<int64_t>(indices.size())},
                     std::vector<T>(indices.begin(), indices.end()));
}

// Reads x[begin:end] with strides of one, where x has the shape `shape`.
bool Read(const TensorShape& shape, const Indices& begin, const Indices& end,
          const SliceMasks& masks, BasicSlice* slice) {
  const Indices ones(begin.size(), 1);
  return slice->Read(shape, VectorOf<int32_t>(begin), VectorOf<int32_t>(end),
                     VectorOf<int32_t>(ones), masks);
}

SliceMasks Shrink(int32_t mask) {
  SliceMasks masks;
  masks.shrink_axis = mask;
  return masks;
}

TEST(BasicSliceTest, AnIndexNamesOneRow) {
  BasicSlice slice;
  ASSERT_TRUE(Read({4, 3}, {-1}, {0}, Shrink(1), &slice));
  EXPECT_EQ(slice.begin[0], 3);
  EXPECT_EQ(slice.size[0], 1);
  EXPECT_EQ(slice.size[1], 3);
  EXPECT_EQ(slice.elements, 3);
  EXPECT_EQ(slice.ShapeOfResult(), TensorShape({3}));
}

// x[..., newaxis, 1]
TEST(BasicSliceTest, AnEllipsisAndANewAxisGiveDimensionsOfTheResult) {
  BasicSlice slice;
  SliceMasks masks = Shrink(4);
  masks.ellipsis = 1;
  masks.new_axis = 2;
  ASSERT_TRUE(Read({4, 3, 2}, {0, 0, 1}, {0, 0, 2}, masks, &slice));
  EXPECT_EQ(slice.ShapeOfResult(), TensorShape({4, 3, 1}));
  EXPECT_EQ(slice.begin[2], 1);
  EXPECT_EQ(slice.size[2], 1);
  EXPECT_EQ(slice.elements, 12);
}

TEST(BasicSliceTest, ARowHasAllOtherDimensionsInTheirPlaces) {
  BasicSlice slice;
  ASSERT_TRUE(Read({4, 3, 1}, {1}, {2}, Shrink(1), &slice));
  EXPECT_TRUE(slice.IsRow());
  ASSERT_TRUE(Read({4, 3, 1}, {1}, {2}, {}, &slice));
  EXPECT_FALSE(slice.IsRow());
  // x[1, newaxis, :, 0] has the rank of a row, but its dimension of size one is in another place.
  SliceMasks masks = Shrink(1 | 8);
  masks.new_axis = 2;
  masks.begin = masks.end = 4;
  ASSERT_TRUE(Read({4, 3, 1}, {1, 0, 0, 0}, {2, 0, 0, 1}, masks, &slice));
  EXPECT_EQ(slice.ShapeOfResult(), TensorShape({1, 3}));
  EXPECT_FALSE(slice.IsRow());
}

TEST(BasicSliceTest, IndicesOutOfRangeAreLeftToTheKernel) {
  BasicSlice slice;
  for (const int64_t index : {-5, 4, std::numeric_limits<int>::min()}) {
    EXPECT_FALSE(Read({4, 3}, {index}, {0}, Shrink(1), &slice)) << index;
  }
}

TEST(BasicSliceTest, TheGreatestAndTheLeastIndexAreOutOfRangeToo) {
  BasicSlice slice;
  const Tensor any = VectorOf<int64_t>({0}), one = VectorOf<int64_t>({1});
  for (const int64_t index :
       {std::numeric_limits<int64_t>::max(), std::numeric_limits<int64_t>::min()}) {
    EXPECT_FALSE(slice.Read({4, 3}, VectorOf<int64_t>({index}), any, one, Shrink(1))) << index;
    EXPECT_TRUE(
        slice.Read({4, 3}, VectorOf<int64_t>({index}), VectorOf<int64_t>({index}), one, {}));
    EXPECT_EQ(slice.elements, 0);
  }
}

TEST(BasicSliceTest, OtherFormsAreNotRead) {
  BasicSlice slice;
  SliceMasks two_ellipses;
  two_ellipses.ellipsis = 3;
  EXPECT_FALSE(Read({4}, {0, 0}, {1, 1}, two_ellipses, &slice));
  SliceMasks new_axes;
  new_axes.new_axis = 0xff;
  EXPECT_FALSE(Read({4}, Indices(8, 0), Indices(8, 0), new_axes, &slice))
      << "a result of rank nine";
  EXPECT_FALSE(Read({4}, {0, 0}, {1, 1}, {}, &slice)) << "more indices than dimensions";
  EXPECT_FALSE(Read({4}, {0}, {1, 1}, {}, &slice));
  const Tensor one = VectorOf<int32_t>({1}), two = VectorOf<int32_t>({2});
  EXPECT_FALSE(slice.Read({4}, one, two, two, {})) << "a stride of two";
  EXPECT_FALSE(slice.Read({4}, one, VectorOf<int64_t>({2}), one, {})) << "of two types";
  EXPECT_FALSE(slice.Read({4}, Vec({1}), Vec({2}), Vec({1}), {})) << "of floats";
  EXPECT_FALSE(slice.Read({4}, Tensor(1), Tensor(2), Tensor(1), {})) << "of scalars";
  EXPECT_FALSE(Read({1, 1, 1, 1, 1, 1, 1, 1, 1}, {0}, {1}, {}, &slice)) << "nine dimensions";
}

// The slice that TensorFlow's ValidateStridedSliceOp reads, or its error.
struct Stock {
  Stock(const TensorShape& shape, const Tensor& begins, const Tensor& ends, const Tensor& strides,
        const SliceMasks& masks) {
    bool unused;
    status = tensorflow::ValidateStridedSliceOp(
        &begins, &ends, strides, shape, masks.begin, masks.end, masks.ellipsis, masks.new_axis,
        masks.shrink_axis, &part, &result, &unused, &unused, &unused, &begin, &end, &stride);
  }

  absl::Status status;
  TensorShape part, result;  // with all dimensions; as StridedSlice outputs it
  absl::InlinedVector<int64_t, 4> begin, end, stride;
};

TEST(BasicSliceTest, RandomSlicesAreThoseThatTensorFlowReads) {
  std::mt19937 random(7);
  const auto pick = [&](int below) { return static_cast<int>(random() % below); };
  int read = 0, indices_read = 0, new_axes_read = 0, ellipses_read = 0;
  for (int i = 0; i < 20'000; ++i) {
    TensorShape shape;
    const int dims = 1 + pick(4);
    for (int d = 0; d < dims; ++d) shape.AddDim(pick(5));
    const int count = pick(dims + 3);
    Indices begin, end, strides;
    for (int d = 0; d < count; ++d) {
      begin.push_back(pick(13) - 6);
      end.push_back(pick(13) - 6);
      strides.push_back(pick(12) == 0 ? pick(5) - 2 : 1);
    }
    SliceMasks masks;
    masks.begin = pick(3) == 0 ? pick(1 << dims) : 0;
    masks.end = pick(3) == 0 ? pick(1 << dims) : 0;
    masks.shrink_axis = pick(2) == 0 ? pick(1 << dims) : 0;
    masks.ellipsis = pick(3) == 0 ? 1 << pick(dims + 2) : 0;
    masks.new_axis = pick(3) == 0 ? pick(1 << (dims + 2)) : 0;
    const Tensor begins = VectorOf<int64_t>(begin), ends = VectorOf<int64_t>(end),
                 all_strides = VectorOf<int64_t>(strides);
    BasicSlice slice;
    if (!slice.Read(shape, begins, ends, all_strides, masks)) continue;
    const Stock stock(shape, begins, ends, all_strides, masks);
    ASSERT_TRUE(stock.status.ok()) << stock.status;
    EXPECT_EQ(slice.ShapeOfResult(), stock.result);
    EXPECT_EQ(slice.elements, stock.part.num_elements());
    for (int d = 0; d < dims; ++d) {
      EXPECT_EQ(slice.size[d], stock.part.dim_size(d));
      EXPECT_TRUE(slice.elements == 0 || slice.begin[d] == stock.begin[d]);
    }
    ++read;
    indices_read += masks.shrink_axis != 0;
    new_axes_read += masks.new_axis != 0;
    ellipses_read += masks.ellipsis != 0;
  }
  EXPECT_GT(read, 5'000);
  EXPECT_GT(indices_read, 1'000);
  EXPECT_GT(new_axes_read, 1'000);
  EXPECT_GT(ellipses_read, 1'000);
}

}  // namespace
}  // namespace tensor_array_grad
