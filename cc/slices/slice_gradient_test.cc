#include "cc/slices/slice_gradient.h"

#include <limits>

#include "cc/base/tensorflow_names.h"
#include "cc/slices/slice_gradient_sum.h"
#include "cc/testing/matchers.h"
#include "tensorflow/core/framework/variant.h"

namespace tensor_array_grad {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Tensor Floats(const TensorShape& shape, const std::vector<float>& values) {
  return TensorOf(shape, values);
}

class SliceGradientTest : public ::testing::Test {
 protected:
  using Op = SliceGradientOp;

  absl::Status Read(const std::vector<Tensor>& inputs) {
    EXPECT_EQ(op_.num_inputs(), static_cast<int>(inputs.size()));
    std::vector<const Tensor*> pointers;
    for (const Tensor& input : inputs) pointers.push_back(&input);
    gradient_ = SliceGradient();
    return ReadSliceGradient(op_, pointers, &gradient_);
  }
  // The gradient as the tensor that stock makes.
  std::vector<float> Dense() const {
    Tensor all = Floats(gradient_.whole, std::vector<float>(gradient_.whole.num_elements()));
    cpu::AddRows(gradient_.values, gradient_.box, gradient_.starts, cpu::OnThisThread, &all);
    return ValuesOf(all);
  }
  void Fails(const std::vector<Tensor>& inputs, const std::string& text) {
    const absl::Status status = Read(inputs);
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(status.message()), HasSubstr(text));
  }

  Op op_{Op::kPad};
  SliceGradient gradient_;
};

TEST_F(SliceGradientTest, AStridedSliceIsOneRow) {
  // x[-1, ::-2] of x[2, 3]
  op_ = Op(Op::kStridedSlice);
  op_.masks.shrink_axis = 1;
  op_.masks.begin = op_.masks.end = 2;
  ASSERT_OK(Read({Ints({2, 3}), Ints({-1, 0}), Ints({0, 0}), Ints({1, -2}), Floats({2}, {5, 6})}));
  EXPECT_THAT(Dense(), ElementsAre(0, 0, 0, 6, 0, 5));
}

TEST_F(SliceGradientTest, AStridedSliceThatDoesNotFitIsAnError) {
  op_ = Op(Op::kStridedSlice);
  op_.masks.shrink_axis = 1;
  Fails({Ints({2, 3}), Ints({2}), Ints({3}), Ints({1}), Floats({3}, {1, 2, 3})}, "out of bounds");
  Fails({Ints({2, 3}), Ints({0}), Ints({1}), Ints({1}), Floats({2}, {1, 2})},
        "shape of dy was [2]");
  Fails({Tensor(3), Ints({0}), Ints({1}), Ints({1}), Floats({2}, {1, 2})}, "shape must be 1-D");
}

TEST_F(SliceGradientTest, PaddingSurroundsARow) {
  op_ = Op(Op::kPad);
  ASSERT_OK(Read({Floats({1, 2}, {5, 6}), TensorOf<int32_t>({2, 2}, {1, 0, 0, 1})}));
  EXPECT_EQ(gradient_.whole, TensorShape({2, 3}));
  EXPECT_THAT(Dense(), ElementsAre(0, 0, 0, 5, 6, 0));
  Fails({Floats({2}, {5, 6}), TensorOf<int32_t>({1, 2}, {-1, 0})}, "non-negative");
  Fails({Floats({2}, {5, 6}), TensorOf<int32_t>({2, 2}, {0, 0, 0, 0})}, "rank of inputs");
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
  Fails({Floats({3}, {1, 2, 3}), TensorOf<int64_t>({1, 2}, {kMost, kMost})}, "too large");
}

TEST_F(SliceGradientTest, SegmentsAreSummedAndNegativeOnesLeftOut) {
  op_ = Op(Op::kSegmentSum);
  const Tensor data = Floats({4, 2}, {1, 2, 3, 4, 5, 6, 7, 8});
  ASSERT_OK(Read({data, Ints({2, 0, 2, -1}), Tensor(3)}));
  EXPECT_EQ(gradient_.starts.size(), 2u);
  EXPECT_THAT(Dense(), ElementsAre(3, 4, 0, 0, 6, 8));
  Fails({data, Ints({2, 0, 3, -1}), Tensor(3)}, "segment_ids[2] = 3 is out of range [0, 3)");
  Fails({data, Ints({1, 2}), Tensor(3)}, "does not start with");
  Fails({data, Ints({0, 0, 0, 0}), Tensor(-1)}, "must not be negative");
}

TEST_F(SliceGradientTest, SegmentsMayBeTransposedAndReshaped) {
  op_ = Op(Op::kSegmentSum);
  op_.transposed = op_.reshaped = true;
  const Tensor data = Floats({1, 2}, {5, 6});
  // A tensor [3, 2] with the row at 1, transposed to [2, 3] and reshaped to [2, 3, 1].
  ASSERT_OK(Read({data, Ints({1}), Tensor(3), Ints({1, 0}), Ints({2, -1, 1})}));
  EXPECT_EQ(gradient_.whole, TensorShape({2, 3, 1}));
  EXPECT_THAT(Dense(), ElementsAre(0, 5, 0, 0, 6, 0));
  Fails({data, Ints({1}), Tensor(3), Ints({1, 1}), Ints({6})}, "is twice in");
  Fails({data, Ints({1}), Tensor(3), Ints({1}), Ints({6})}, "vector of size 2");
  Fails({data, Ints({1}), Tensor(3), Ints({1, 0}), Ints({5})}, "the requested shape has 5");
  ASSERT_OK(Read({data, Ints({1}), Tensor(3), Ints({1, 0}), Tensor(-1)}));
  EXPECT_EQ(gradient_.whole, TensorShape({6}));
  const Tensor huge = TensorOf<int64_t>({3}, {int64_t{1} << 32, int64_t{1} << 32, -1});
  Fails({data, Ints({1}), Tensor(3), Ints({1, 0}), huge}, "more than 2^63");
  ASSERT_OK(Read({Floats({0, 2}, {}), Ints({}), Tensor(0), Ints({1, 0}), Ints({-1, 0})}));
  EXPECT_EQ(gradient_.whole, TensorShape({2, 0}));
}

TEST_F(SliceGradientTest, IndicesMayNameRowsAndNumbers) {
  op_ = Op(Op::kScatter);
  ASSERT_OK(Read({TensorOf<int32_t>({2, 1}, {1, 1}), Floats({2, 2}, {1, 2, 3, 4}), Ints({2, 2})}));
  EXPECT_THAT(Dense(), ElementsAre(0, 0, 4, 6));
  ASSERT_OK(Read({TensorOf<int32_t>({1, 2}, {1, 0}), Floats({1}, {7}), Ints({2, 2})}));
  EXPECT_THAT(Dense(), ElementsAre(0, 0, 7, 0));
  Fails({TensorOf<int32_t>({1, 2}, {0, 2}), Floats({1}, {7}), Ints({2, 2})},
        "indices[0] = [0, 2] does not index into shape [2,2]");
  Fails({TensorOf<int32_t>({1, 3}, {0, 0, 0}), Floats({1}, {7}), Ints({2, 2})}, "has 3 numbers");
  Fails({TensorOf<int32_t>({1, 1}, {0}), Floats({1}, {7}), Ints({2, 2})}, "updates have shape [1]");
  Fails({Tensor(1), Floats({2}, {7, 8}), Ints({2, 2})}, "rank at least one");
  Fails({Ints({1}), Floats({2}, {7, 8}), Ints({2, 2})}, "updates have shape [2]");
  Fails({TensorOf<int32_t>({2, 0}, {}), Floats({2, 2}, {1, 2, 3, 4}), Ints({2})}, "empty output");
}

TEST_F(SliceGradientTest, GradientsWithoutElementsAreRead) {
  op_ = Op(Op::kSegmentSum);
  ASSERT_OK(Read({Floats({0, 2}, {}), Ints({}), Tensor(3)}));
  EXPECT_EQ(Dense(), std::vector<float>(6));
  ASSERT_OK(Read({Floats({2, 0}, {}), Ints({0, 7}), Tensor(3)}));
  EXPECT_THAT(Dense(), ElementsAre());
}

TEST_F(SliceGradientTest, RowNumbersOfASegmentSumMayBeInt16) {
  op_ = Op(Op::kSegmentSum);
  const Tensor rows = Floats({3, 1}, {1, 2, 3}), ids = TensorOf<int16_t>({3}, {1, -1, 1});
  ASSERT_OK(Read({rows, ids, Tensor(2)}));
  EXPECT_THAT(Dense(), ElementsAre(0, 4));
  Fails({rows, TensorOf<int16_t>({3}, {0, 2, 0}), Tensor(2)}, "[1] = 2 is out of range [0, 2)");
  Fails({rows, ids, TensorOf<int16_t>({}, {2})}, "Input 2");
}

TEST_F(SliceGradientTest, OnlyGradientsOfGathersAreAddedToZeros) {
  const Tensor row = Floats({1}, {-0.0F});
  op_ = Op(Op::kSegmentSum);
  ASSERT_OK(Read({row, Ints({1}), Tensor(3)}));
  EXPECT_TRUE(gradient_.from_zero);
  op_ = Op(Op::kScatter);
  ASSERT_OK(Read({Ints({1}), row, Ints({3})}));
  EXPECT_TRUE(gradient_.from_zero);
  op_ = Op(Op::kStridedSlice);
  ASSERT_OK(Read({Ints({3}), Ints({1}), Ints({2}), Ints({1}), row}));
  EXPECT_FALSE(gradient_.from_zero) << "stock copies -0";
  op_ = Op(Op::kPad);
  ASSERT_OK(Read({row, TensorOf<int32_t>({1, 2}, {1, 1})}));
  EXPECT_FALSE(gradient_.from_zero);
}

TEST_F(SliceGradientTest, OtherDtypesAreRefused) {
  const Tensor number(1), real(1.0F), text(tensorflow::DT_STRING, {1});
  const Tensor rows = Floats({1}, {1}), ints = Ints({0}), longs = TensorOf<int64_t>({1}, {0});
  op_ = Op(Op::kSegmentSum);
  Fails({rows, rows, number}, "Input 1 of the gradient of a slice cannot be of float");
  Fails({rows, ints, real}, "Input 2");
  Fails({text, ints, number}, "cannot be of string");
  op_ = Op(Op::kPad);
  Fails({rows, text}, "Input 1 of the gradient of a slice cannot be of string");
  op_ = Op(Op::kScatter);
  Fails({rows, rows, ints}, "Input 0");
  op_ = Op(Op::kStridedSlice);
  Fails({ints, ints, ints, longs, rows}, "Input 3 of the gradient of a slice cannot be of int64");
  Fails({ints, text, ints, ints, rows}, "Input 1");
}

TEST_F(SliceGradientTest, ZerosHaveNoRow) {
  op_ = Op(Op::kZeros);
  ASSERT_OK(Read({Floats({2, 1}, {1, 2})}));
  EXPECT_THAT(Dense(), ElementsAre(0, 0));
  EXPECT_EQ(gradient_.values.NumElements(), 0);
}

TEST_F(SliceGradientTest, AFillOfZerosHasNoRow) {
  op_ = Op(Op::kFill);
  ASSERT_OK(Read({Ints({2, 1}), Floats({}, {0})}));
  EXPECT_THAT(Dense(), ElementsAre(0, 0));
  EXPECT_EQ(gradient_.whole, TensorShape({2, 1}));
  Fails({Tensor(2), Floats({}, {0})}, "dims must represent a vector, got shape []");
  Fails({Ints({-2}), Floats({}, {0})}, "-2");
}

TEST_F(SliceGradientTest, ASumHasItsTerms) {
  SliceGradientSum sum;
  for (float value : {1.0F, 2.0F}) {
    SliceGradient& term = sum.terms.emplace_back();
    term.values = Floats({1}, {value});
  }
  Tensor held(tensorflow::DT_VARIANT, {});
  held.scalar<tensorflow::Variant>()() = std::move(sum);
  SliceGradients terms(1);
  ASSERT_OK(ReadTerms(Op(Op::kSum), {&held}, &terms));
  ASSERT_EQ(terms.size(), 3u);
  EXPECT_EQ(terms[2].values.flat<float>()(0), 2);
  for (const Tensor& other : {Tensor(tensorflow::DT_VARIANT, TensorShape({})), Tensor(1)}) {
    const absl::Status status = ReadTerms(Op(Op::kSum), {&other}, &terms);
    EXPECT_THAT(std::string(status.message()), HasSubstr("A sum of gradients of slices is needed"));
  }
}

// A term with two rows of two values each, 1 2 and 3 4. Both go along columns of a tensor [3, 2].
SliceGradient TwoRows() {
  SliceGradient term;
  term.whole = TensorShape({3, 2});
  term.values = Floats({4}, {1, 2, 3, 4});
  term.starts = {5, 2};
  term.box = {{2}, {-2}};
  term.from_zero = true;
  return term;
}

bool IsDecoded(const SliceGradient& term, SliceGradientSum* read) {
  SliceGradientSum sum;
  sum.terms = {term, TwoRows()};
  tensorflow::VariantTensorData data;
  sum.Encode(&data);
  EXPECT_EQ(data.type_name(), SliceGradientSum::kTypeName);
  return read->Decode(data);
}

TEST(SliceGradientSumTest, IsEncodedAndDecoded) {
  SliceGradientSum read;
  ASSERT_TRUE(IsDecoded(TwoRows(), &read));
  ASSERT_EQ(read.terms.size(), 2u);
  const SliceGradient& term = read.terms[0];
  EXPECT_EQ(term.whole, TensorShape({3, 2}));
  EXPECT_THAT(ValuesOf(term.values), ElementsAre(1, 2, 3, 4));
  EXPECT_THAT(term.starts, ElementsAre(5, 2));
  EXPECT_THAT(term.box.sizes, ElementsAre(2));
  EXPECT_THAT(term.box.steps, ElementsAre(-2));
  EXPECT_TRUE(term.from_zero);
}

TEST(SliceGradientSumTest, ConstFoldingCanStoreIt) {
  Tensor holder(tensorflow::DT_VARIANT, {}), parsed;
  SliceGradientSum sum;
  sum.terms = {TwoRows()};
  holder.scalar<tensorflow::Variant>()() = sum;
  tensorflow::TensorProto proto;
  holder.AsProtoTensorContent(&proto);
  ASSERT_TRUE(parsed.FromProto(proto));
  EXPECT_NE(parsed.scalar<tensorflow::Variant>()().get<SliceGradientSum>(), nullptr);
}

TEST(SliceGradientSumTest, RowsOutsideOfTheTensorAreRefused) {
  SliceGradientSum read;
  const auto refused = [&](auto change) {
    SliceGradient term = TwoRows();
    change(&term);
    EXPECT_FALSE(IsDecoded(term, &read));
  };
  refused([](SliceGradient* term) { term->starts[0] = 6; });
  refused([](SliceGradient* term) { term->starts[1] = 1; });
  refused([](SliceGradient* term) { term->starts[1] = std::numeric_limits<int64_t>::min(); });
  refused([](SliceGradient* term) { term->box.steps[0] = std::numeric_limits<int64_t>::max(); });
  refused([](SliceGradient* term) { term->box.sizes = {-2}; });
  refused([](SliceGradient* term) { term->box.sizes = {4}; });
  refused([](SliceGradient* term) { term->box.steps.clear(); });
  refused([](SliceGradient* term) { term->starts.push_back(5); });
  refused([](SliceGradient* term) { term->values = Floats({3}, {1, 2, 3}); });
}

TEST(SliceGradientSumTest, InvalidDataAreRejected) {
  SliceGradientSum sum, read;
  tensorflow::VariantTensorData data;
  EXPECT_FALSE(read.Decode(data));
  sum.terms = {TwoRows()};
  sum.Encode(&data);
  for (const Tensor& layout :
       {Ints({1}), TensorOf<int64_t>({1}, {7}), TensorOf<int64_t>({0}, {}),
        TensorOf<int64_t>({1}, {-1}), TensorOf<int64_t>({10}, {2, 3, 2, 1, 2, 1, -2, 2, 5, 2})}) {
    tensorflow::VariantTensorData odd;
    *odd.add_tensors() = data.tensors(0);
    *odd.add_tensors() = layout;
    EXPECT_FALSE(read.Decode(odd));
  }
  *data.add_tensors() = Tensor(1);
  EXPECT_FALSE(read.Decode(data));
}

}  // namespace
}  // namespace tensor_array_grad
