#include "cc/resource/stack_resource.h"

#include "cc/base/counters.h"
#include "cc/base/tensorflow_names.h"
#include "cc/testing/fake_element_ops.h"
#include "cc/testing/matchers.h"
#include "tensorflow/core/framework/resource_handle.h"

namespace tensor_array_grad {
namespace {

using tensorflow::ResourceHandle;
using tensorflow::ResourceMgr;

constexpr absl::StatusCode kInvalid = absl::StatusCode::kInvalidArgument;

class StackResourceTest : public ::testing::Test {
 protected:
  Tensor Make(DataType dtype = DT_FLOAT, int64_t most = 100) {
    Tensor handle;
    StackResource::Create({&manager_, "/device:CPU:0", "step"}, "s", dtype, most, &handle);
    return handle;
  }
  static StackResource& StackOf(const Tensor& handle) {
    return *static_cast<StackResource*>(handle.scalar<ResourceHandle>()().resource().get());
  }
  static int64_t Existing() { return ReadCounters().at("stacks.existing"); }
  ResourceMgr manager_;
};

TEST_F(StackResourceTest, TheLastValuePushedIsPoppedFirstAndSharesItsBuffer) {
  const Tensor handle = Make();
  StackResource& stack = StackOf(handle);
  const Tensor first = Vec({1, 2}), second = Vec({3});
  EXPECT_OK(stack.Push({first}));
  EXPECT_OK(stack.Push({second}));
  EXPECT_EQ(stack.MemoryUsed(), 12);
  StackResource::Element popped;
  EXPECT_OK(stack.Pop(&popped));
  EXPECT_TRUE(popped.tensor.SharesBufferWith(second));
  EXPECT_OK(stack.Pop(&popped));
  EXPECT_TRUE(popped.tensor.SharesBufferWith(first));
  EXPECT_EQ(stack.MemoryUsed(), 0);
}

TEST_F(StackResourceTest, AStackIsDestroyedAndUnlistedWithItsLastHandle) {
  const int64_t before = Existing();
  const Tensor value = Vec({1, 2});
  std::string name;
  {
    const Tensor handle = Make();
    const Tensor copy = handle;
    name = handle.scalar<ResourceHandle>()().name();
    EXPECT_EQ(name.rfind("_stackss_", 0), 0u);
    EXPECT_OK(StackOf(handle).Push({value}));
    EXPECT_FALSE(value.RefCountIsOne());
    tensorflow::core::RefCountPtr<StackResource> found;
    EXPECT_OK(FindListed(&manager_, "step", name, &found));
    EXPECT_EQ(found.get(), &StackOf(handle));
  }
  tensorflow::core::RefCountPtr<StackResource> found;
  EXPECT_FALSE(FindListed(&manager_, "step", name, &found).ok());
  EXPECT_TRUE(value.RefCountIsOne());
  EXPECT_EQ(Existing(), before);
}

TEST_F(StackResourceTest, AnErrorChangesNothing) {
  const Tensor handle = Make(DT_FLOAT, 1);
  StackResource& stack = StackOf(handle);
  StackResource::Element popped;
  EXPECT_THAT(stack.Pop(&popped), Fails(kInvalid, "is empty when calling Pop()"));
  EXPECT_OK(stack.Push({Vec({1})}));
  EXPECT_THAT(stack.Push({Vec({2})}), Fails(kInvalid, "overflowed its max_size (1)"));
  EXPECT_THAT(stack.CheckDtype(DT_INT32), Fails(kInvalid, "Must have type float but got int32"));
  EXPECT_OK(stack.Pop(&popped));
  EXPECT_THAT(popped.tensor, TensorEq(Vec({1})));
}

TEST_F(StackResourceTest, AClosedStackHoldsNothingAndRefusesAll) {
  const Tensor handle = Make();
  StackResource& stack = StackOf(handle);
  const Tensor value = Vec({1, 2});
  EXPECT_OK(stack.Push({value}));
  stack.Close();
  EXPECT_TRUE(value.RefCountIsOne());
  StackResource::Element popped;
  EXPECT_THAT(stack.Push({value}), Fails(kInvalid, "has already been closed"));
  EXPECT_THAT(stack.Pop(&popped), Fails(kInvalid, "has already been closed"));
  stack.Close();
}

TEST_F(StackResourceTest, TheBottomElementDecidesWhetherMovingAValueFreesMemory) {
  const Tensor handle = Make();
  StackResource& stack = StackOf(handle);
  const Tensor same = Vec({1}), other = Vec({2});
  EXPECT_FALSE(stack.BottomHasOtherBuffer(same));  // empty
  EXPECT_OK(stack.Push({same}));
  EXPECT_FALSE(stack.BottomHasOtherBuffer(same));
  EXPECT_TRUE(stack.BottomHasOtherBuffer(other));
}

TEST_F(StackResourceTest, StacksInStacksAreDestroyedAtAnyDepth) {
  const int64_t before = Existing();
  {
    Tensor outer = Make(DT_RESOURCE);
    for (int i = 0; i < 100'000; ++i) {
      Tensor next = Make(DT_RESOURCE);
      EXPECT_OK(StackOf(next).Push({std::move(outer)}));
      outer = std::move(next);
    }
    EXPECT_EQ(Existing(), before + 100'001);
  }
  EXPECT_EQ(Existing(), before);
}

}  // namespace
}  // namespace tensor_array_grad
