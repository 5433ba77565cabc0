#include "cc/small_ops/small_tables.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "cc/base/counters.h"
#include "cc/base/slice_gradient_op.h"
#include "cc/base/tensorflow_names.h"
#include "cc/testing/matchers.h"
#include "cc/testing/small_op_under_test.h"
#include "tensorflow/core/framework/resource_var.h"

namespace tensor_array_grad {
namespace {

class SmallIndexingTest : public SmallOpTest {
 protected:
  NodeDef& Slice(int32_t shrink_axis_mask) {
    NodeDef& node = Node("StridedSlice", {DT_FLOAT, DT_INT32, DT_INT32, DT_INT32});
    Set(node, "T", DT_FLOAT);
    Set(node, "Index", DT_INT32);
    Set(node, "shrink_axis_mask", shrink_axis_mask);
    return node;
  }

  bool HasSmallOp() { return SmallOpOf(*this) != nullptr; }
};

TEST_F(SmallIndexingTest, AnUnalignedRowIsCopied) {
  Slice(1);
  const Tensor x = Counted({3, 2});
  ASSERT_TRUE(Call({x, Ints({-1}), Ints({0}), Ints({1})}));
  EXPECT_THAT(result(), TensorEq(Vec({4, 5})));
  EXPECT_FALSE(result().SharesBufferWith(x));
}

TEST_F(SmallIndexingTest, AnAlignedRowSharesTheBufferAsTheKernelsDoes) {
  Slice(1);
  const Tensor x = Counted({3, 16});
  ASSERT_TRUE(Call({x, Ints({1}), Ints({2}), Ints({1})}));
  EXPECT_TRUE(result().SharesBufferWith(x));
  EXPECT_EQ(result().shape(), TensorShape({16}));
  EXPECT_EQ(result().flat<float>()(0), 16);
}

TEST_F(SmallIndexingTest, APartOfAVectorIsSharedIfBothEndsAreAligned) {
  Slice(0);
  const Tensor x = Counted({64});
  ASSERT_TRUE(Call({x, Ints({16}), Ints({48}), Ints({1})}));
  EXPECT_TRUE(result().SharesBufferWith(x));
  ASSERT_TRUE(Call({x, Ints({16}), Ints({47}), Ints({1})}));
  EXPECT_FALSE(result().SharesBufferWith(x));
  EXPECT_EQ(result().flat<float>()(30), 46);
}

TEST_F(SmallIndexingTest, ColumnsAndBlocksAreCopiedRunByRun) {
  Slice(2);
  const Tensor x = Counted({2, 3, 2});
  ASSERT_TRUE(Call({x, Ints({0, 1}), Ints({2, 0}), Ints({1, 1})}));
  EXPECT_THAT(result(), TensorEq(TensorOf<float>({2, 2}, {2, 3, 8, 9})));
  ASSERT_TRUE(Call({x, Ints({1, 2, 0}), Ints({2, 0, 1}), Ints({1, 1, 1})}));
  EXPECT_THAT(result(), TensorEq(TensorOf<float>({1, 1}, {10})));
  ASSERT_TRUE(
      Call({Counted({2, 3, 2, 2}), Ints({0, 1, 1, 0}), Ints({2, 0, 2, 1}), Ints({1, 1, 1, 1})}));
  EXPECT_THAT(result(), TensorEq(TensorOf<float>({2, 1, 1}, {6, 18})));
}

TEST_F(SmallIndexingTest, ABlockOfSeveralRowsOfEachMatrixIsCopied) {
  Slice(0);
  ASSERT_TRUE(Call({Counted({2, 3, 2}), Ints({0, 1}), Ints({2, 3}), Ints({1, 1})}));
  EXPECT_THAT(result(), TensorEq(TensorOf<float>({2, 2, 2}, {2, 3, 4, 5, 8, 9, 10, 11})));
}

TEST_F(SmallIndexingTest, NumberBecomesATensorOnlyOnDemand) {
  Slice(1);
  ASSERT_TRUE(Call({Counted({5}), Ints({3}), Ints({4}), Ints({1})}));
  EXPECT_TRUE(result_.is_number());
  float number = 0;
  EXPECT_TRUE(result_.Get(&number));
  EXPECT_EQ(number, 3);
}

TEST_F(SmallIndexingTest, ErrorsAndOtherSlicesAreLeftToTheKernel) {
  Slice(1);
  const Tensor x = Counted({3, 2});
  EXPECT_FALSE(Call({x, Ints({3}), Ints({4}), Ints({1})})) << "out of range";
  EXPECT_FALSE(Call({Counted({3, 0}), Ints({0}), Ints({1}), Ints({1})})) << "nothing";
  EXPECT_FALSE(Call({x, Ints({0}), Ints({1}), Ints({2})})) << "a stride";
  EXPECT_FALSE(Call({Tensor(1.f), Ints({}), Ints({}), Ints({})})) << "a scalar";
  EXPECT_FALSE(Call({Counted({2, kMostSmallElements + 1}), Ints({0}), Ints({1}), Ints({1})}));
  EXPECT_FALSE(Call({Tensor(tensorflow::DT_STRING, {2}), Ints({0}), Ints({1}), Ints({1})}));
}

TEST_F(SmallIndexingTest, ASliceOfAllElementsSharesTheBuffer) {
  Slice(1);
  const Tensor x = Counted({1, 3});
  ASSERT_TRUE(Call({x, Ints({0}), Ints({1}), Ints({1})}));
  EXPECT_THAT(result(), TensorEq(Vec({0, 1, 2})));
  EXPECT_TRUE(result().SharesBufferWith(x));
  const Tensor one = Vec({5});
  ASSERT_TRUE(Call({one, Ints({0}), Ints({1}), Ints({1})}));
  EXPECT_EQ(result().dims(), 0);
  EXPECT_TRUE(result().SharesBufferWith(one)) << "a sum's order may depend on it";
}

TEST_F(SmallIndexingTest, ANewDimensionSharesTheBufferToo) {
  Set(Slice(0), "new_axis_mask", 2);
  const Tensor x = Vec({1, 2});
  ASSERT_TRUE(Call({x, Ints({0, 0}), Ints({2, 0}), Ints({1, 1})}));
  EXPECT_THAT(result(), TensorEq(TensorOf<float>({2, 1}, {1, 2})));
  EXPECT_TRUE(result().SharesBufferWith(x));
}

// A StridedSliceGrad with an index in dimension 1.
class SmallSliceGradientTest : public SmallIndexingTest {
 protected:
  SmallSliceGradientTest() {
    NodeDef& node = Node("StridedSliceGrad", {DT_INT32, DT_INT32, DT_INT32, DT_INT32, DT_FLOAT});
    Set(node, "T", DT_FLOAT);
    Set(node, "Index", DT_INT32);
    Set(node, "shrink_axis_mask", 2);
  }
};

// The gradient of x[0:2, 1].
TEST_F(SmallSliceGradientTest, ZerosSurroundTheGradient) {
  ASSERT_TRUE(Call({Ints({3, 2}), Ints({0, 1}), Ints({2, 2}), Ints({1, 1}), Vec({7, -0.f})}));
  EXPECT_THAT(result(), TensorEq(TensorOf<float>({3, 2}, {0, 7, 0, 0, 0, 0})));
  EXPECT_TRUE(std::signbit(ValuesOf(result())[3])) << "copied, not added to a zero";
}

TEST_F(SmallSliceGradientTest, ErrorsAndOtherSlicesAreLeftToTheKernel) {
  const Tensor dy = Vec({7, 8}), begin = Ints({0, 1}), end = Ints({2, 2}), ones = Ints({1, 1});
  EXPECT_FALSE(Call({Ints({3, 2}), begin, end, ones, Vec({7})})) << "of another shape";
  EXPECT_FALSE(Call({Ints({3, 2}), begin, end, Ints({2, 1}), Vec({7})})) << "a stride";
  EXPECT_FALSE(Call({Ints({3, 2}), Ints({0, 2}), end, ones, dy})) << "out of range";
  EXPECT_FALSE(Call({Ints({-3, 2}), begin, end, ones, dy})) << "no shape";
  EXPECT_FALSE(Call({Ints({3, kMostSmallElements}), begin, end, ones, dy})) << "large";
  EXPECT_FALSE(Call({Ints({}), Ints({}), Ints({}), Ints({}), Tensor(1.f)})) << "of a scalar";
}

TEST_F(SmallIndexingTest, ARowIsGathered) {
  NodeDef& node = Node("GatherV2", {DT_FLOAT, DT_INT32, DT_INT32});
  Set(node, "Tparams", DT_FLOAT);
  Set(node, "Tindices", DT_INT32);
  Set(node, "Taxis", DT_INT32);
  const Tensor x = Counted({3, 16});
  ASSERT_TRUE(Call({x, Tensor(1), Tensor(0)}));
  EXPECT_EQ(result().shape(), TensorShape({16}));
  EXPECT_EQ(result().flat<float>()(15), 31);
  EXPECT_FALSE(result().SharesBufferWith(x));
  ASSERT_TRUE(Call({Counted({4}), Tensor(2), Tensor(0)}));
  EXPECT_TRUE(result_.is_number());
  EXPECT_FALSE(Call({x, Tensor(1), Tensor(1)})) << "another axis";
  EXPECT_FALSE(Call({x, Ints({1}), Tensor(0)})) << "a vector of indices";
  EXPECT_FALSE(Call({Tensor(1.f), Tensor(0), Tensor(0)})) << "of a scalar";
  EXPECT_FALSE(Call({Counted({3, 0}), Tensor(0), Tensor(0)})) << "of nothing";
  for (const int index : {-1, 3}) EXPECT_FALSE(Call({x, Tensor(index), Tensor(0)})) << index;
}

// A resource that is no variable.
class Other : public tensorflow::ResourceBase {
 public:
  std::string DebugString() const override { return "Other"; }
};

TEST_F(SmallIndexingTest, ARowOfAVariableIsGatheredOnceTheKernelHasPreparedIt) {
  NodeDef& node = Node("ResourceGather", {DT_RESOURCE, DT_INT32});
  Set(node, "dtype", DT_FLOAT);
  Set(node, "Tindices", DT_INT32);
  tensorflow::core::RefCountPtr<tensorflow::Var> variable(new tensorflow::Var(DT_FLOAT));
  *variable->tensor() = Counted({3, 2});
  variable->is_initialized = true;
  Tensor handle(DT_RESOURCE, {});
  variable->Ref();
  handle.scalar<tensorflow::ResourceHandle>()() =
      tensorflow::ResourceHandle::MakeRefCountingHandle(variable.get(), "CPU:0", {}, {});
  EXPECT_FALSE(Call({handle, Tensor(1)}));
  variable->copy_on_read_mode.store(true);
  ASSERT_TRUE(Call({handle, Tensor(1)}));
  EXPECT_THAT(result(), TensorEq(Vec({2, 3})));
  EXPECT_FALSE(Call({handle, Tensor(3)})) << "out of range";
  variable->is_initialized = false;
  EXPECT_FALSE(Call({handle, Tensor(1)}));
  EXPECT_FALSE(Call({Tensor(DT_RESOURCE, {}), Tensor(1)})) << "no variable";
  handle.scalar<tensorflow::ResourceHandle>()() =
      tensorflow::ResourceHandle::MakeRefCountingHandle(new Other, "CPU:0", {}, {});
  EXPECT_FALSE(Call({handle, Tensor(1)})) << "another resource";
}

// AddSlices of x, which has three numbers, and of the gradient of x[1].
class SmallSumTest : public SmallIndexingTest {
 protected:
  SmallSumTest() {
    NodeDef& node = Node("TensorArrayGrad>AddSlices",
                         {DT_FLOAT, DT_INT32, DT_INT32, DT_INT32, DT_INT32, DT_FLOAT});
    SliceGradientOp gradient(SliceGradientOp::kStridedSlice);
    gradient.masks.shrink_axis = 1;
    gradient.AppendTo(&(*node.mutable_attr())["addends"]);
    Set(node, "Targs",
        std::vector<tensorflow::DataType>{DT_INT32, DT_INT32, DT_INT32, DT_INT32, DT_FLOAT});
    Set(node, "T", DT_FLOAT);
    Set(node, "before", 0);
    node_ = &node;
  }
  std::vector<Tensor> InputsFor(Tensor x) {
    return {std::move(x), Ints({3}), Ints({1}), Ints({2}), Ints({1}), Tensor(10.f)};
  }

  // Calls the op with operands that hold the only references.
  bool CallOwning(std::vector<Tensor> inputs) {
    const SmallOp op = SmallOpOf(*this);
    std::vector<Value> values(inputs.size());
    std::vector<Operand> operands;
    for (size_t i = 0; i < inputs.size(); ++i) {
      values[i].Set(std::move(inputs[i]));
      inputs[i] = Tensor();
      operands.push_back({&values[i], true});
    }
    return tensor_array_grad::Call(op, operands, &result_);
  }

  NodeDef* node_;
};

TEST_F(SmallSumTest, TheSumIsChangedInPlace) {
  const int64_t in_place = ReadCounters()["slice_sums.in_place"];
  Tensor x = Vec({1, 2, 3});
  const void* const buffer = x.data();
  std::vector<Tensor> inputs = InputsFor(std::move(x));
  x = Tensor();
  ASSERT_TRUE(CallOwning(std::move(inputs)));
  EXPECT_THAT(result(), TensorEq(Vec({1, 12, 3})));
  EXPECT_EQ(result().data(), buffer);
  EXPECT_EQ(ReadCounters()["slice_sums.in_place"], in_place + 1);
}

TEST_F(SmallSumTest, AnAddOfOneShapeIsChangedInPlaceAndOfAnotherIsLeftToTheKernel) {
  Set(*node_, "before", 1);
  Set(*node_, "operand", 0);
  ASSERT_TRUE(CallOwning(InputsFor(Vec({1, 2, 3}))));
  EXPECT_THAT(result(), TensorEq(Vec({1, 12, 3})));
  EXPECT_FALSE(CallOwning(InputsFor(Vec({1}))));
}

TEST_F(SmallSumTest, SumThatAnotherTensorSharesIsLeftToTheKernel) {
  const Tensor x = Vec({1, 2, 3});
  EXPECT_FALSE(Call(InputsFor(x)));
  EXPECT_THAT(x, TensorEq(Vec({1, 2, 3})));
}

TEST_F(SmallIndexingTest, GatherWithBatchDimensionsHasNoSmallOp) {
  NodeDef& node = Node("GatherV2", {DT_FLOAT, DT_INT32, DT_INT32});
  Set(node, "Tparams", DT_FLOAT);
  Set(node, "Tindices", DT_INT32);
  Set(node, "Taxis", DT_INT32);
  Set(node, "batch_dims", 1);
  EXPECT_FALSE(HasSmallOp());
}

}  // namespace
}  // namespace tensor_array_grad
