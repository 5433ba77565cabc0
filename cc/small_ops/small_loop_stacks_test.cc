#include "cc/small_ops/small_tables.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "cc/base/tensorflow_names.h"
#include "cc/lists/loop_stack.h"
#include "cc/small_ops/small_op.h"
#include "cc/testing/graph_under_test.h"
#include "cc/testing/matchers.h"
#include "tensorflow/core/framework/variant.h"

namespace tensor_array_grad {
namespace {

// Calls the small op of a push or a pop of rows that have a float vector and an int32 number.
class SmallLoopStacksTest : public testing::Test, protected GraphUnderTest {
 protected:
  SmallLoopStacksTest() {
    Placeholder("rows", DT_VARIANT);
    Placeholder("x", DT_FLOAT);
    Placeholder("n", DT_INT32);
    Set(Add("push", "TensorArrayGrad>PushLoopStack", {"rows", "x", "n"}), "T",
        std::vector<DataType>{DT_FLOAT, DT_INT32});
    SetPopped({DT_FLOAT});
    SetPopped({DT_FLOAT, DT_INT32});
    rows_.Set(Holding(LoopStack({{DT_FLOAT, PartialTensorShape({2}), -1}, {DT_INT32, {}, 2}}, 2)));
  }

  void SetPopped(const std::vector<DataType>& types) {
    Set(Add("pop" + std::to_string(types.size()), "TensorArrayGrad>PopLoopStack", {"rows"}), "T",
        types);
  }

  static Tensor Holding(LoopStack rows) {
    Tensor tensor(DT_VARIANT, {});
    tensor.scalar<Variant>()() = std::move(rows);
    return tensor;
  }

  // Returns whether the small op ran. rows_ is then its result.
  bool Push(const Tensor& x, int32_t n, bool last = true) {
    Value vector, number, result;
    vector.Set(x);
    number.SetScalar(n);
    const SmallOp op = SmallOpFor(*Find("push"), tensorflow::cpu_allocator());
    const bool done = op({{&rows_, last}, {&vector, true}, {&number, false}}, &result);
    if (done) rows_.Assign(&result, true);
    return done;
  }
  bool Pop(Value* x, Value* n, const std::string& node = "pop2") {
    Value result;
    const SmallOp op = SmallOpFor(*Find(node), tensorflow::cpu_allocator());
    std::vector<Value*> results{&result, x, n};
    results.resize(1 + op.dtypes.size());
    const Operand rows{&rows_, true};
    const bool done = op({&rows, 1}, results);
    if (done) rows_.Assign(&result, true);
    return done;
  }

  int64_t size() { return rows_.tensor()->scalar<Variant>()().get<LoopStack>()->size(); }

  Value rows_;
};

TEST_F(SmallLoopStacksTest, RowsArePoppedInReverse) {
  EXPECT_TRUE(Push(TensorOf<float>({2}, {1, 2}), 10));
  EXPECT_TRUE(Push(TensorOf<float>({2}, {3, 4}), 20));
  EXPECT_EQ(size(), 2);
  Value x, n;
  for (const int i : {1, 0}) {
    ASSERT_TRUE(Pop(&x, &n));
    EXPECT_THAT(*x.tensor(), TensorEq(TensorOf<float>({2}, {2.f * i + 1, 2.f * i + 2})));
    EXPECT_THAT(*n.tensor(), TensorEq(Tensor(int32_t{10 * (i + 1)})));
    EXPECT_EQ(size(), i);
  }
}

TEST_F(SmallLoopStacksTest, AValueThatNothingReadsIsDropped) {
  EXPECT_TRUE(Push(TensorOf<float>({2}, {1, 2}), 10));
  Value n;
  ASSERT_TRUE(Pop(nullptr, &n));
  EXPECT_THAT(*n.tensor(), TensorEq(Tensor(int32_t{10})));
  EXPECT_EQ(size(), 0);
}

TEST_F(SmallLoopStacksTest, ARowSharesTheBufferOfAValue) {
  const Tensor value = TensorOf<float>({2}, {1, 2});
  EXPECT_TRUE(Push(value, 10));
  Value x, n;
  ASSERT_TRUE(Pop(&x, &n));
  EXPECT_TRUE(x.tensor()->SharesBufferWith(value));
}

TEST_F(SmallLoopStacksTest, ListThatIsNotKeptStillRejectsValues) {
  rows_.Set(Holding(LoopStack({{DT_FLOAT, PartialTensorShape({2}), -1}, {DT_INT32, {}, 2}}, 1)));
  const Tensor value = TensorOf<float>({2}, {1, 2});
  EXPECT_TRUE(Push(value, 10));
  EXPECT_TRUE(Push(value, 20));
  EXPECT_FALSE(Push(value, 30));  // one more than the bound of the int32 list
  Value x, n;
  EXPECT_FALSE(Pop(&x, &n));  // asks for both values
  ASSERT_TRUE(Pop(&x, &n, "pop1"));
  EXPECT_TRUE(x.tensor()->SharesBufferWith(value));
  EXPECT_EQ(size(), 1);
}

TEST_F(SmallLoopStacksTest, ValuesThatAListRejectsAreLeftToTheKernel) {
  EXPECT_FALSE(Push(TensorOf<float>({3}, {1, 2, 3}), 10));  // another shape
  EXPECT_FALSE(Push(TensorOf<int32_t>({2}, {1, 2}), 10));   // another dtype
  EXPECT_EQ(size(), 0);
  for (int i = 0; i < 2; ++i) EXPECT_TRUE(Push(TensorOf<float>({2}, {1, 2}), i));
  EXPECT_FALSE(Push(TensorOf<float>({2}, {1, 2}), 2));  // one more than the bound of the int32 list
  EXPECT_EQ(size(), 2);
}

TEST_F(SmallLoopStacksTest, EmptyStackAndOtherTypesAreLeftToTheKernel) {
  Value x, n;
  EXPECT_FALSE(Pop(&x, &n));
  EXPECT_TRUE(Push(TensorOf<float>({2}, {1, 2}), 10));
  EXPECT_FALSE(Pop(&x, &n, "pop1"));
  EXPECT_EQ(size(), 1);
}

TEST_F(SmallLoopStacksTest, StackThatAnotherTensorSharesIsLeftToTheKernel) {
  const Tensor held = *rows_.tensor();
  EXPECT_FALSE(Push(TensorOf<float>({2}, {1, 2}), 10));
  EXPECT_EQ(held.scalar<Variant>()().get<LoopStack>()->size(), 0);
}

TEST_F(SmallLoopStacksTest, StackThatIsReadAgainIsLeftToTheKernel) {
  EXPECT_FALSE(Push(TensorOf<float>({2}, {1, 2}), 10, /*last=*/false));
  EXPECT_EQ(size(), 0);
}

TEST_F(SmallLoopStacksTest, StackPushedOntoItselfIsLeftToTheKernel) {
  Set(Add("own", "TensorArrayGrad>PushLoopStack", {"rows", "rows"}), "T",
      std::vector<DataType>{DT_VARIANT});
  rows_.Set(Holding(LoopStack({{DT_VARIANT, {}, -1}}, 1)));
  const SmallOp op = SmallOpFor(*Find("own"), tensorflow::cpu_allocator());
  Value result;
  EXPECT_FALSE(op({{&rows_, true}, {&rows_, true}}, &result));
  EXPECT_EQ(size(), 0);
}

TEST_F(SmallLoopStacksTest, InputsThatAreNoLoopStackAreLeftToTheKernel) {
  Value x, n;
  rows_.SetScalar(int32_t{1});
  EXPECT_FALSE(Pop(&x, &n));
  rows_.Set(Tensor(DT_VARIANT, TensorShape({})));
  EXPECT_FALSE(Pop(&x, &n));
}

}  // namespace
}  // namespace tensor_array_grad
