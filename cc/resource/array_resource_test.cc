#include "cc/resource/array_resource.h"

#include <thread>

#include "cc/array/array_name.h"
#include "cc/base/tensorflow_names.h"
#include "cc/testing/fake_element_ops.h"
#include "cc/testing/matchers.h"
#include "tensorflow/core/framework/resource_handle.h"

namespace tensor_array_grad {
namespace {

using tensorflow::ResourceHandle;
using tensorflow::ResourceMgr;

class ArrayResourceTest : public ::testing::Test {
 protected:
  Tensor Make(int64_t size = 3) {
    ArrayOptions options;
    options.size = size;
    Tensor handle;
    ArrayResource::Create({&manager_, "/device:CPU:0", "step"}, NewForwardName("a"), options,
                          &handle);
    return handle;
  }
  static const ResourceHandle& HandleIn(const Tensor& tensor) {
    return tensor.scalar<ResourceHandle>()();
  }
  static ArrayResource& ArrayOf(const Tensor& handle) {
    return *static_cast<ArrayResource*>(HandleIn(handle).resource().get());
  }
  Tensor Grad(const Tensor& handle, const std::string& source, const TensorShape& prefix = {}) {
    Tensor grad;
    EXPECT_OK(ArrayOf(handle).FindOrCreateGrad(source, prefix, &grad));
    return grad;
  }
  bool Listed(const std::string& name) {
    tensorflow::core::RefCountPtr<ArrayResource> found;
    return FindListed(&manager_, "step", name, &found).ok();
  }
  ResourceMgr manager_;
};

// Holds a tensor as a Stack does, which the end of the step destroys together with its container.
struct Holder : public tensorflow::ResourceBase {
  explicit Holder(Tensor tensor) : held(std::move(tensor)) {}
  std::string DebugString() const override { return "holder"; }
  const Tensor held;
};

TEST_F(ArrayResourceTest, ArraysWhoseLastHandlesAreInTheirContainerAreDestroyedWithIt) {
  const size_t before = ExistingArrays().size();
  for (int i = 0; i < 200; ++i) {
    ASSERT_OK(manager_.Create("step", std::to_string(i), new Holder(Make())));
  }
  EXPECT_EQ(ExistingArrays().size(), before + 200);
  EXPECT_OK(manager_.Cleanup("step"));
  EXPECT_EQ(ExistingArrays().size(), before);
}

TEST_F(ArrayResourceTest, AnArrayIsDestroyedAndUnlistedWithItsLastHandle) {
  const size_t before = ExistingArrays().size();
  std::string name;
  {
    const Tensor handle = Make();
    const Tensor copy = handle;
    name = HandleIn(handle).name();
    EXPECT_TRUE(Listed(name));
    EXPECT_EQ(ExistingArrays().size(), before + 1);
  }
  EXPECT_FALSE(Listed(name));
  EXPECT_EQ(ExistingArrays().size(), before);
}

TEST_F(ArrayResourceTest, AHandlePrintsAsStocksDoes) {
  const Tensor tensor = Make();
  const ResourceHandle& handle = HandleIn(tensor);
  EXPECT_EQ(handle.container(), "step");
  EXPECT_EQ(handle.device(), "/device:CPU:0");
  EXPECT_EQ(handle.maybe_type_name(), "tensorflow::TensorArray");
  EXPECT_EQ(handle.name().rfind("_tensor_arraysa_", 0), 0u);
}

TEST_F(ArrayResourceTest, EqualSourcesShareOneArrayAndOtherSourcesDoNot) {
  const Tensor forward = Make();
  const Tensor first = Grad(forward, "gradients"), again = Grad(forward, "gradients");
  EXPECT_EQ(&ArrayOf(first), &ArrayOf(again));
  EXPECT_TRUE(first.SharesBufferWith(again));  // the handle is not made again
  EXPECT_NE(&ArrayOf(first), &ArrayOf(Grad(forward, "gradients_1")));
  EXPECT_EQ(HandleIn(first).name(), GradName(HandleIn(forward).name(), "gradients"));
}

TEST_F(ArrayResourceTest, AGradientExistsAsLongAsItsForwardArrayOrItsHandle) {
  const size_t before = ExistingArrays().size();
  Tensor grad;
  {
    const Tensor forward = Make();
    Grad(forward, "kept by the forward array");
    EXPECT_EQ(ExistingArrays().size(), before + 2);
    grad = Grad(forward, "kept by its handle");
  }
  EXPECT_EQ(ExistingArrays().size(), before + 1);
  EXPECT_EQ(ArrayOf(grad).store().size(), 3);
}

TEST_F(ArrayResourceTest, AGradientOfAGradientIsAnArrayOfItsOwn) {
  const Tensor forward = Make();
  const Tensor second = Grad(Grad(forward, "gradients"), "gradients_1");
  EXPECT_EQ(HandleIn(second).name(), HandleIn(Grad(forward, "gradients")).name() + "@gradients_1");
  EXPECT_TRUE(ArrayOf(second).store().accumulates());
}

TEST_F(ArrayResourceTest, AClosedGradientIsReplacedAndTheNewOneListed) {
  const Tensor forward = Make();
  const Tensor first = Grad(forward, "g");
  ArrayOf(first).store().Close();
  const Tensor second = Grad(forward, "g");
  EXPECT_NE(&ArrayOf(first), &ArrayOf(second));
  EXPECT_TRUE(Listed(HandleIn(second).name()));
}

TEST_F(ArrayResourceTest, AnotherPrefixForOneSourceIsAnError) {
  const Tensor forward = Make();
  Grad(forward, "g", TensorShape({2}));
  Tensor grad;
  EXPECT_THAT(ArrayOf(forward).FindOrCreateGrad("g", TensorShape({3}), &grad),
              Fails(absl::StatusCode::kInvalidArgument, "shape_to_prepend [2]"));
}

TEST_F(ArrayResourceTest, NamesThatJoinToOneStringAreStillTwoArrays) {
  const Tensor forward = Make();
  const Tensor joined = Grad(forward, "b@c");
  const Tensor nested = Grad(Grad(forward, "b"), "c");
  EXPECT_EQ(HandleIn(joined).name(), HandleIn(nested).name());
  EXPECT_NE(&ArrayOf(joined), &ArrayOf(nested));
}

TEST_F(ArrayResourceTest, MakingAGradientOfAMillionElementsTouchesNone) {
  const Tensor forward = Make(1000000);
  const Tensor grad = Grad(forward, "g");
  EXPECT_EQ(ArrayOf(grad).store().size(), 1000000);
  EXPECT_EQ(ArrayOf(grad).store().TotalBytes(), 0);
}

TEST_F(ArrayResourceTest, RacingCallsWithOneSourceGetOneArray) {
  for (int round = 0; round < 200; ++round) {
    const Tensor forward = Make();
    Tensor grads[4];
    std::vector<std::thread> threads;
    for (Tensor& grad : grads) {
      threads.emplace_back([&] { grad = Grad(forward, "g"); });
    }
    for (std::thread& thread : threads) thread.join();
    for (const Tensor& grad : grads) ASSERT_EQ(&ArrayOf(grad), &ArrayOf(grads[0]));
    ASSERT_TRUE(Listed(HandleIn(grads[0]).name()));
  }
}

TEST_F(ArrayResourceTest, DescribeReportsSizeBytesAndGradients) {
  const Tensor forward = Make(2);
  const Tensor grad = Grad(forward, "g");
  FakeElementOps ops;
  ASSERT_OK(ArrayOf(forward).store().Write(0, Vec({1, 2}), false, ops));
  const introspection::Array described = ArrayOf(forward).Describe();
  EXPECT_EQ(described.dtype, "float");
  EXPECT_EQ(described.size, 2);
  EXPECT_GE(described.bytes, 8);
  EXPECT_FALSE(described.is_gradient);
  EXPECT_EQ(described.gradients.at("g"), HandleIn(grad).name());
}

}  // namespace
}  // namespace tensor_array_grad
