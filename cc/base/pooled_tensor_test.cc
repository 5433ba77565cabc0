#include "cc/base/pooled_tensor.h"

#include <gtest/gtest.h>

#include "cc/base/block_pool.h"
#include "cc/base/tensorflow_names.h"
#include "tensorflow/core/framework/allocation_description.pb.h"
#include "tensorflow/core/framework/tensor_description.pb.h"

namespace tensor_array_grad {
namespace {

TEST(PooledTensorTest, HoldsValuesOfItsShape) {
  Tensor tensor;
  ASSERT_TRUE(MakePooledTensor(tensorflow::DT_DOUBLE, TensorShape({3, 8}), &tensor));
  EXPECT_EQ(tensor.shape(), TensorShape({3, 8}));
  EXPECT_TRUE(tensor.IsAligned());
  EXPECT_EQ(IsPooled(tensor.data()), kPools);
  EXPECT_TRUE(tensor.RefCountIsOne());
  for (int i = 0; i < 24; ++i) tensor.flat<double>()(i) = i;
  const Tensor row = tensor.Slice(1, 2);
  EXPECT_FALSE(tensor.RefCountIsOne());
  tensor = Tensor();
  EXPECT_EQ(row.flat<double>()(4), 12.0);  // the slice keeps the block
}

TEST(PooledTensorTest, IsDescribedAsOtherTensorsAre) {
  Tensor tensor;
  ASSERT_TRUE(MakePooledTensor(tensorflow::DT_INT32, TensorShape({}), &tensor));
  EXPECT_EQ(tensor.AllocatedBytes(), 4u);
  tensorflow::TensorDescription description;
  tensor.FillDescription(&description);
  EXPECT_EQ(description.allocation_description().requested_bytes(), 4);
}

TEST(PooledTensorTest, LargeEmptyAndObjectTensorsAreLeftToTensorFlow) {
  Tensor tensor;
  for (const auto& [dtype, shape] :
       {std::make_pair(tensorflow::DT_FLOAT, TensorShape({1025})),
        std::make_pair(tensorflow::DT_COMPLEX128, TensorShape({4096})),
        std::make_pair(tensorflow::DT_FLOAT, TensorShape({int64_t{1} << 40})),
        std::make_pair(tensorflow::DT_FLOAT, TensorShape({0})),
        std::make_pair(tensorflow::DT_STRING, TensorShape({1})),
        std::make_pair(tensorflow::DT_VARIANT, TensorShape({}))}) {
    EXPECT_FALSE(MakePooledTensor(dtype, shape, &tensor)) << shape.DebugString();
  }
  EXPECT_TRUE(MakePooledTensor(tensorflow::DT_FLOAT, TensorShape({1024}), &tensor));
}

}  // namespace
}  // namespace tensor_array_grad
