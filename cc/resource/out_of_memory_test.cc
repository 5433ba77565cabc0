// Lets memory run out at each allocation of each call of ArrayResource.

#include "cc/array/array_name.h"
#include "cc/base/tensorflow_names.h"
#include "cc/resource/array_resource.h"
#include "cc/testing/failing_memory.h"
#include "cc/testing/fake_element_ops.h"
#include "cc/testing/matchers.h"
#include "tensorflow/core/framework/resource_handle.h"

namespace tensor_array_grad {
namespace {

using tensorflow::ResourceHandle;

ArrayResource& ArrayOf(const Tensor& handle) {
  return *static_cast<ArrayResource*>(handle.scalar<ResourceHandle>()().resource().get());
}

Place NoManager() { return {nullptr, "/device:CPU:0", ""}; }

Tensor Make(const Place& place) {
  ArrayOptions options;
  options.size = 2;
  Tensor handle;
  ArrayResource::Create(place, NewForwardName("an_array_with_a_long_name"), options, &handle);
  return handle;
}

TEST(OutOfMemoryTest, ArrayIsMadeOrNoneIsAlive) {
  const size_t before = ExistingArrays().size();
  AtEachAllocation([&](FailingMemory& memory) {
    Tensor handle;
    memory.RunAndRepeat(
        [&] {
          handle = Make(NoManager());
          return absl::OkStatus();
        },
        [&] { EXPECT_EQ(ExistingArrays().size(), before); });
    EXPECT_EQ(ArrayOf(handle).store().size(), 2);
    EXPECT_EQ(ExistingArrays().size(), before + 1);
  });
  EXPECT_EQ(ExistingArrays().size(), before);
}

TEST(OutOfMemoryTest, GradientArrayIsMadeOnceOrNoneIsAlive) {
  const size_t before = ExistingArrays().size();
  AtEachAllocation([&](FailingMemory& memory) {
    const Tensor forward = Make(NoManager());
    Tensor grad;
    const auto find = [&] {
      return ArrayOf(forward).FindOrCreateGrad("a source with a long name", {}, &grad);
    };
    memory.RunAndRepeat(find, [&] { EXPECT_EQ(ExistingArrays().size(), before + 1); });
    const ArrayResource* const made = &ArrayOf(grad);
    EXPECT_OK(find());
    EXPECT_EQ(&ArrayOf(grad), made);
    EXPECT_EQ(ExistingArrays().size(), before + 2);
  });
}

TEST(OutOfMemoryTest, ClosedGradientArrayIsReplacedOrStays) {
  AtEachAllocation([&](FailingMemory& memory) {
    const Tensor forward = Make(NoManager());
    Tensor grad;
    const auto find = [&] { return ArrayOf(forward).FindOrCreateGrad("source", {}, &grad); };
    EXPECT_OK(find());
    ArrayOf(grad).store().Close();
    memory.RunAndRepeat(find, [&] { EXPECT_TRUE(ArrayOf(grad).store().closed()); });
    EXPECT_FALSE(ArrayOf(grad).store().closed());
  });
}

TEST(OutOfMemoryTest, ArrayIsMadeAndFreedEvenIfItCannotBeListed) {
  const size_t before = ExistingArrays().size();
  tensorflow::ResourceMgr manager;
  const Place place = {&manager, "/device:CPU:0", "step"};
  const auto scene = [&](FailingMemory& memory) {
    Tensor handle;
    const auto make = [&] {
      handle = Make(place);
      return absl::OkStatus();
    };
    memory.RunAndRepeat(make, [&] { EXPECT_EQ(ExistingArrays().size(), before); });
    EXPECT_EQ(ArrayOf(handle).store().size(), 2);
    EXPECT_EQ(ExistingArrays().size(), before + 1);
  };
  AtEachAllocation(scene, FailingMemory::kOurCode);
  EXPECT_EQ(ExistingArrays().size(), before);
}

// A destructor frees an array, so it cannot report an error.
TEST(OutOfMemoryTest, ListedArrayIsFreedWithoutMemory) {
  const size_t before = ExistingArrays().size();
  tensorflow::ResourceMgr manager;
  Tensor handle = Make({&manager, "/device:CPU:0", "step"});
  FailingMemory none(FailingMemory::kAllFrom, 0);
  EXPECT_TRUE(none.Run([&] {
    handle = Tensor();
    return absl::OkStatus();
  }));
  EXPECT_EQ(ExistingArrays().size(), before);
}

}  // namespace
}  // namespace tensor_array_grad
