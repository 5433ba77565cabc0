#include "cc/slices/slice_adder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "cc/base/counters.h"
#include "cc/base/tensorflow_names.h"
#include "cc/testing/matchers.h"
#include "tensorflow/core/framework/attr_value_util.h"
#include "tensorflow/core/framework/node_def.pb.h"
#include "tensorflow/core/framework/tensor_util.h"

namespace tensor_array_grad {
namespace {

using tensorflow::NodeDef;
using testing::HasSubstr;

// Adds gradients of x[i] to a sum. Some of them come before the sum in the order of AddN.
class SliceAdderTest : public testing::Test {
 protected:
  // Adds the gradient of x[index] to the addends. x has `rows` numbers.
  void AddIndex(int32_t index, float gradient, int32_t rows = 3) {
    SliceGradientOp op(SliceGradientOp::kStridedSlice);
    op.masks.shrink_axis = 1;
    op.AppendTo(&addends_);
    for (const Tensor& input : {Ints({rows}), Ints({index}), Ints({index + 1}), Ints({1})}) {
      inputs_.push_back(input);
    }
    inputs_.push_back(Tensor(gradient));
  }

  // Adds the gradient of tf.gather(x, [index]), where x has three numbers.
  void AddGather(int32_t index, float gradient) {
    SliceGradientOp(SliceGradientOp::kSegmentSum).AppendTo(&addends_);
    for (const Tensor& input : {Vec({gradient}), Ints({index}), Tensor(3)}) {
      inputs_.push_back(input);
    }
  }

  absl::Status Add(int before = 0) {
    NodeDef node;
    (*node.mutable_attr())["addends"] = addends_;
    tensorflow::SetAttrValue(before, &(*node.mutable_attr())["before"]);
    tensorflow::SetAttrValue(operand_, &(*node.mutable_attr())["operand"]);
    SliceAdder adder;
    std::vector<const Tensor*> inputs{&sum_};
    for (const Tensor& input : inputs_) inputs.push_back(&input);
    TF_RETURN_IF_ERROR(SliceAdder::Of(tensorflow::AttrSlice(node),
                                      static_cast<int>(inputs.size()) + missing_inputs_, &adder));
    SliceAdder::Terms terms;
    TF_RETURN_IF_ERROR(adder.Read("the_sum", inputs, &terms));
    values_ = terms.values();
    if (terms.broadcast) {
      return adder.Broadcast(terms, Tensor(sum_), cpu::OnThisThread, &sum_);
    }
    return SliceAdder::Add(terms, cpu::OnThisThread, &sum_);
  }

  tensorflow::AttrValue addends_;
  std::vector<Tensor> inputs_;
  Tensor sum_ = Vec({1, 2, 3});
  int64_t values_ = 0;
  int missing_inputs_ = 0;
  int operand_ = -1;
};

TEST_F(SliceAdderTest, RowsAreAddedToTheirParts) {
  AddIndex(1, 10);
  AddIndex(-1, 20);
  const int64_t rows = ReadCounters()["slice_sums.rows"];
  ASSERT_OK(Add());
  EXPECT_THAT(sum_, TensorEq(Vec({1, 12, 23})));
  EXPECT_EQ(values_, 2);
  EXPECT_EQ(ReadCounters()["slice_sums.rows"], rows + 2);
}

TEST_F(SliceAdderTest, TermsAfterTheSumAreAddedToItOneByOne) {
  const float big = 1 << 24;
  sum_ = Vec({big, 0, 0});
  AddIndex(0, 1);
  AddIndex(0, 1);
  ASSERT_OK(Add());
  EXPECT_THAT(sum_, TensorEq(Vec({big, 0, 0}))) << "(2^24 + 1) + 1 rounds twice";
}

TEST_F(SliceAdderTest, TermsBeforeTheSumAreSummedFirst) {
  const float big = 1 << 24;
  sum_ = Vec({big, 5, 0});
  AddIndex(0, 1);
  AddIndex(0, 1);
  ASSERT_OK(Add(/*before=*/2));
  EXPECT_THAT(sum_, TensorEq(Vec({big + 2, 5, 0}))) << "2^24 + (1 + 1) is exact";
}

// Stock copies the values of a slice, but adds those of a gather to zeros: 0 + -0 is 0.
TEST_F(SliceAdderTest, ARowOfAGatherHasNoNegativeZero) {
  AddIndex(0, -0.0F);
  AddGather(1, -0.0F);
  for (const int before : {0, 2}) {
    sum_ = Vec({-0.0F, -0.0F, -0.0F});
    ASSERT_OK(Add(before));
    EXPECT_TRUE(std::signbit(sum_.vec<float>()(0)));
    EXPECT_FALSE(std::signbit(sum_.vec<float>()(1)));
    EXPECT_TRUE(std::signbit(sum_.vec<float>()(2)));
  }
}

TEST_F(SliceAdderTest, AnotherShapeIsAddNsError) {
  AddIndex(1, 10, /*rows=*/4);
  EXPECT_THAT(Add(), Fails(absl::StatusCode::kInvalidArgument,
                           "Inputs to operation the_sum of type AddN must have the same size and "
                           "shape.  Input 0: [3] != input 1: [4]"));
  EXPECT_THAT(sum_, TensorEq(Vec({1, 2, 3})));
}

TEST_F(SliceAdderTest, AnAddBroadcastsTheSum) {
  AddIndex(1, 10);
  AddIndex(1, 5);
  for (operand_ = 0; operand_ < 2; ++operand_) {
    sum_ = Vec({7});
    ASSERT_OK(Add(/*before=*/2));
    EXPECT_THAT(sum_, TensorEq(Vec({7, 22, 7})));
    sum_ = TensorOf<float>({2, 1}, {1, 2});
    ASSERT_OK(Add(/*before=*/2));
    EXPECT_THAT(sum_, TensorEq(TensorOf<float>({2, 3}, {1, 16, 1, 2, 17, 2})));
  }
}

TEST_F(SliceAdderTest, AnAddBroadcastsTheGradient) {
  AddIndex(0, 10, /*rows=*/1);
  operand_ = 0;
  ASSERT_OK(Add(/*before=*/1));
  EXPECT_THAT(sum_, TensorEq(Vec({11, 12, 13})));
}

TEST_F(SliceAdderTest, AnAddOfOneShapeIsInPlace) {
  AddIndex(1, 10);
  operand_ = 1;
  const void* const data = sum_.data();
  ASSERT_OK(Add(/*before=*/1));
  EXPECT_THAT(sum_, TensorEq(Vec({1, 12, 3})));
  EXPECT_EQ(sum_.data(), data);
}

TEST_F(SliceAdderTest, ShapesThatCannotBeBroadcastAreAddsError) {
  AddIndex(1, 10, /*rows=*/4);
  for (operand_ = 0; operand_ < 2; ++operand_) {
    EXPECT_THAT(Add(/*before=*/1), Fails(absl::StatusCode::kInvalidArgument,
                                         operand_ == 0 ? "Incompatible shapes: [3] vs. [4]"
                                                       : "Incompatible shapes: [4] vs. [3]"));
  }
  EXPECT_THAT(sum_, TensorEq(Vec({1, 2, 3})));
}

TEST_F(SliceAdderTest, AddendsOfAnAddAreASumOfTheirOwn) {
  AddIndex(1, 10);
  operand_ = 0;
  EXPECT_THAT(Add(), Fails(absl::StatusCode::kInvalidArgument,
                           "An Add sums all 1 addends before it adds `sum`, not 0"));
}

TEST_F(SliceAdderTest, AnotherDtypeIsAnError) {
  AddIndex(1, 10);
  inputs_.back() = Tensor(10.0);
  EXPECT_THAT(Add(), Fails(absl::StatusCode::kInvalidArgument,
                           "the_sum: gradients of double cannot be added to float"));
}

TEST_F(SliceAdderTest, AttributesThatDoNotFitAreErrors) {
  AddIndex(1, 10);
  EXPECT_THAT(Add(/*before=*/2),
              Fails(absl::StatusCode::kInvalidArgument, "There are fewer addends than 2"));
  missing_inputs_ = 1;
  EXPECT_THAT(Add(), Fails(absl::StatusCode::kInvalidArgument, "The addends need 5 inputs, not 6"));
  addends_.mutable_list()->add_i(0);
  EXPECT_THAT(Add(), Fails(absl::StatusCode::kInvalidArgument, "8 numbers for each addend"));
}

// Compares AddOneLine with Read and Add.
class OneRunTest : public testing::Test {
 protected:
  // Returns whether AddOneLine added the addend. Expects that its sum is then that of Add, and
  // otherwise unchanged.
  bool Add(const SliceGradientOp& addend, std::vector<Tensor> inputs, const Tensor& sum,
           int64_t most = 1000) {
    NodeDef node;
    addend.AppendTo(&(*node.mutable_attr())["addends"]);
    tensorflow::SetAttrValue(0, &(*node.mutable_attr())["before"]);
    SliceAdder adder;
    EXPECT_OK(
        SliceAdder::Of(tensorflow::AttrSlice(node), static_cast<int>(inputs.size()) + 1, &adder));
    std::vector<const Tensor*> all{&sum};
    for (const Tensor& input : inputs) all.push_back(&input);
    Tensor one = tensorflow::tensor::DeepCopy(sum), other = tensorflow::tensor::DeepCopy(sum);
    const int64_t rows = ReadCounters()["slice_sums.rows"];
    const bool found = adder.AddOneLine(all, most, &one);
    EXPECT_EQ(ReadCounters()["slice_sums.rows"], rows + (found ? 1 : 0));
    SliceAdder::Terms terms;
    const absl::Status read = adder.Read("", all, &terms);
    if (!found) {
      EXPECT_THAT(one, TensorEq(sum));
      return false;
    }
    EXPECT_OK(read);
    EXPECT_OK(SliceAdder::Add(terms, cpu::OnThisThread, &other));
    EXPECT_EQ(one.tensor_data(), other.tensor_data()) << "in all bits";
    return true;
  }

  int Pick(int below) { return static_cast<int>(random_() % below); }
  Tensor Random(const TensorShape& shape) {
    Tensor tensor(tensorflow::DT_FLOAT, shape);
    for (int64_t i = 0; i < tensor.NumElements(); ++i) {
      const float number = Pick(2) == 0 ? -0.0F : static_cast<float>(Pick(100)) / 7;
      static_cast<float*>(tensor.data())[i] = number;
    }
    return tensor;
  }

  std::mt19937 random_{3};
};

TEST_F(OneRunTest, RandomSlicesGiveTheSumOfTheirTerms) {
  int found = 0;
  for (int i = 0; i < 4'000; ++i) {
    std::vector<int32_t> sizes, begin, end, ones;
    TensorShape whole, part;
    int32_t shrink = 0;
    for (int d = 0, dims = 1 + Pick(3); d < dims; ++d) {
      const int size = 1 + Pick(3), from = Pick(size);
      const bool shrunk = Pick(2) == 0;
      const int to = shrunk ? from + 1 : from + 1 + Pick(size - from);
      sizes.push_back(size);
      begin.push_back(from);
      end.push_back(to);
      ones.push_back(1);
      whole.AddDim(size);
      if (!shrunk) part.AddDim(to - from);
      shrink |= shrunk ? 1 << d : 0;
    }
    SliceGradientOp addend(SliceGradientOp::kStridedSlice);
    addend.masks.shrink_axis = shrink;
    found +=
        Add(addend, {Ints(sizes), Ints(begin), Ints(end), Ints(ones), Random(part)}, Random(whole));
  }
  EXPECT_GT(found, 2'000);
  EXPECT_LT(found, 3'900) << "some have several lines";
}

TEST_F(OneRunTest, RandomRowsGiveTheSumOfTheirTerms) {
  int found = 0;
  const SliceGradientOp addend(SliceGradientOp::kSegmentSum);
  for (int i = 0; i < 2'000; ++i) {
    const int rows = 1 + Pick(4), ids = 1 + Pick(2);
    TensorShape whole({rows}), data;
    std::vector<int32_t> id;
    for (int k = 0; k < ids; ++k) id.push_back(Pick(rows + 1) - 1);
    const bool scalar = ids == 1 && Pick(2) == 0;
    if (!scalar) data.AddDim(ids);
    for (int d = Pick(3); d > 0; --d) {
      const int size = 1 + Pick(3);
      whole.AddDim(size);
      data.AddDim(size);
    }
    found +=
        Add(addend, {Random(data), scalar ? Tensor(id[0]) : Ints(id), Tensor(rows)}, Random(whole));
  }
  EXPECT_GT(found, 500);
  EXPECT_LT(found, 1'500) << "some have several rows, and some a negative index";
}

TEST_F(OneRunTest, OtherAddendsAreNotAdded) {
  const SliceGradientOp addend(SliceGradientOp::kSegmentSum);
  const Tensor sum = Vec({1, 2, 3}), row = Vec({10});
  EXPECT_TRUE(Add(addend, {row, Ints({1}), Tensor(3)}, sum));
  EXPECT_FALSE(Add(addend, {row, Ints({1}), Tensor(3)}, sum, /*most=*/0));
  EXPECT_FALSE(Add(addend, {row, Ints({1}), Tensor(2)}, sum)) << "of another shape";
  EXPECT_FALSE(Add(addend, {row, Ints({3}), Tensor(3)}, sum)) << "out of range";
  EXPECT_FALSE(Add(addend, {TensorOf<double>({1}, {10}), Ints({1}), Tensor(3)}, sum));
  EXPECT_FALSE(Add(addend, {Vec({10, 20}), Ints({1}), Tensor(3)}, sum)) << "an error";
}

TEST_F(OneRunTest, AddendsWithIndicesOfOtherDtypesAreNotAdded) {
  const SliceGradientOp row_of(SliceGradientOp::kSegmentSum);
  const SliceGradientOp slice_of(SliceGradientOp::kStridedSlice);
  const Tensor sum = Vec({1, 2, 3}), row = Vec({10}), at = Ints({1}), end = Ints({2});
  EXPECT_FALSE(Add(row_of, {row, Vec({1}), Tensor(3)}, sum));
  EXPECT_FALSE(Add(row_of, {row, at, Tensor(3.f)}, sum));
  EXPECT_TRUE(Add(slice_of, {Ints({3}), at, end, at, row}, sum));
  EXPECT_FALSE(Add(slice_of, {Vec({3}), at, end, at, row}, sum));
  EXPECT_FALSE(Add(slice_of, {Ints({3}), Vec({1}), end, at, row}, sum));
  EXPECT_FALSE(Add(slice_of, {TensorOf<int64_t>({1}, {3}), at, end, at, row}, sum));
}

TEST_F(OneRunTest, RowsOfOtherDtypesAreAdded) {
  const SliceGradientOp addend(SliceGradientOp::kSegmentSum);
  using tensorflow::complex64;
  EXPECT_TRUE(Add(addend, {TensorOf<double>({1, 2}, {0.5, -0.0}), Ints({1}), Tensor(2)},
                  TensorOf<double>({2, 2}, {1, 2, 3, -0.0})));
  EXPECT_TRUE(Add(addend, {TensorOf<complex64>({1, 1}, {{1, 2}}), Ints({0}), Tensor(2)},
                  TensorOf<complex64>({2, 1}, {{3, 4}, {5, 6}})));
  EXPECT_TRUE(
      Add(addend, {TensorOf<float>({1, 0}, {}), Ints({1}), Tensor(2)}, TensorOf<float>({2, 0}, {})))
      << "of no values";
}

}  // namespace
}  // namespace tensor_array_grad
