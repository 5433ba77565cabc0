#include "cc/base/mutable_tensors.h"

#include "cc/base/counters.h"
#include "cc/base/element_ops.h"
#include "cc/base/tensorflow_names.h"
#include "cc/testing/fake_element_ops.h"
#include "cc/testing/matchers.h"

namespace tensor_array_grad {
namespace {

using tensorflow::tstring;

Tensor Kept(const Tensor& value, FakeElementOps& ops) {
  Tensor kept;
  EXPECT_OK(KeepValues(value, ops, &kept));
  return kept;
}

// The flag stays set to the end of the process.
TEST(MutableTensorsTest, SharedBuffersAreCopiedOnceTheFlagIsSet) {
  FakeElementOps ops;
  Tensor variable(tensorflow::DT_FLOAT, TensorShape({3}));
  variable.flat<float>().setConstant(1);
  if (!HasMutableTensors()) {
    EXPECT_TRUE(Kept(variable, ops).SharesBufferWith(variable));
    EXPECT_EQ(ops.allocations, 0);
  }

  NoteMutableTensors();
  EXPECT_TRUE(HasMutableTensors());
  EXPECT_GT(ReadCounters()["tensors.change_in_place"], 0);
  const Tensor read = variable, row = variable.Slice(1, 3);
  const Tensor kept = Kept(read, ops), kept_row = Kept(row, ops);
  variable.flat<float>().setConstant(2);
  EXPECT_EQ(ValuesOf(kept), std::vector<float>(3, 1.f));
  EXPECT_EQ(ValuesOf(kept_row), std::vector<float>(2, 1.f));
  EXPECT_EQ(ops.allocations, 2);
  EXPECT_EQ(ops.packs, 2);

  Tensor word(tensorflow::DT_STRING, TensorShape({1}));
  word.flat<tstring>()(0) = "first";
  const Tensor kept_word = Kept(Tensor(word), ops);
  EXPECT_EQ(ops.packs, 3);
  word.flat<tstring>()(0) = "then";
  EXPECT_EQ(kept_word.flat<tstring>()(0), "first");
}

TEST(MutableTensorsTest, UnsharedAndEmptyTensorsAreNotCopied) {
  NoteMutableTensors();
  FakeElementOps ops;
  const Tensor alone(tensorflow::DT_FLOAT, TensorShape({3}));
  EXPECT_TRUE(Kept(alone, ops).SharesBufferWith(alone));
  const Tensor empty(tensorflow::DT_FLOAT, TensorShape({0, 3})), again = empty;
  EXPECT_EQ(Kept(again, ops).shape(), empty.shape());
  EXPECT_EQ(ops.allocations, 0);
}

TEST(MutableTensorsTest, FailedCopyIsAnError) {
  NoteMutableTensors();
  FakeElementOps ops;
  ops.allocations_left = 0;
  const Tensor value(tensorflow::DT_FLOAT, TensorShape({3})), read = value;
  Tensor kept;
  EXPECT_THAT(KeepValues(read, ops, &kept),
              Fails(absl::StatusCode::kResourceExhausted, "no memory left"));
}

}  // namespace
}  // namespace tensor_array_grad
