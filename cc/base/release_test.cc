#include "cc/base/release.h"

#include <gtest/gtest.h>

#include <utility>

#include "cc/base/tensorflow_names.h"
#include "tensorflow/core/framework/variant.h"
#include "tensorflow/core/framework/variant_tensor_data.h"

namespace tensor_array_grad {
namespace {

int freed = 0;

// A variant's value that owns a tensor.
struct Box {
  Box() = default;
  explicit Box(Tensor tensor) : inside(std::move(tensor)) {}
  Box(const Box&) = default;
  Box(Box&&) = default;
  Box& operator=(const Box&) = default;
  Box& operator=(Box&&) = default;
  ~Box() {
    if (!inside.IsInitialized()) return;
    ++freed;
    Release(std::move(inside));
  }

  std::string TypeName() const { return "Box"; }
  void Encode(tensorflow::VariantTensorData*) const {}
  bool Decode(const tensorflow::VariantTensorData&) { return false; }
  std::string DebugString() const { return "Box"; }

  Tensor inside;
};

TEST(ReleaseTest, ATensorInATensorInATensorIsFreedWithoutAStackOverflow) {
  constexpr int kDepth = 1000000;
  freed = 0;
  Tensor outermost(tensorflow::DT_FLOAT, TensorShape({}));
  for (int i = 0; i < kDepth; ++i) {
    Tensor next(DT_VARIANT, TensorShape({}));
    next.scalar<Variant>()() = Box(std::move(outermost));
    outermost = std::move(next);
  }
  Release(std::move(outermost));
  EXPECT_EQ(freed, kDepth);
}

TEST(ReleaseTest, TensorWithAnotherReferenceIsNotFreed) {
  Tensor inside(tensorflow::DT_FLOAT, TensorShape({3}));
  Tensor outside(DT_VARIANT, TensorShape({}));
  outside.scalar<Variant>()() = Box(inside);
  Release(std::move(outside));
  EXPECT_EQ(inside.NumElements(), 3);
  EXPECT_TRUE(inside.RefCountIsOne());
}

}  // namespace
}  // namespace tensor_array_grad
