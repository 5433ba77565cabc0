// Lets memory run out at each allocation of each operation of ArrayStore. Expects an error, an
// unchanged array, and success of a second call.

#include <utility>
#include <vector>

#include "cc/array/array_store.h"
#include "cc/base/tensorflow_names.h"
#include "cc/testing/failing_memory.h"
#include "cc/testing/fake_element_ops.h"
#include "cc/testing/matchers.h"

namespace tensor_array_grad {
namespace {

// An ElementOps whose tensors also need memory that may run out.
class OpsShortOfMemory : public FakeElementOps {
 public:
  absl::Status Allocate(tensorflow::DataType dtype, const TensorShape& shape,
                        Tensor* out) override {
    if (AllocationFails()) return absl::ResourceExhaustedError("no memory for values");
    return FakeElementOps::Allocate(dtype, shape, out);
  }
};

ArrayOptions Options(int64_t size, bool clear_after_read = false) {
  ArrayOptions options;
  options.name = "a_0";
  options.size = size;
  options.dynamic_size = true;
  options.clear_after_read = clear_after_read;
  return options;
}

ArrayOptions Accumulating(int64_t size, const PartialTensorShape& element_shape = {}) {
  ArrayOptions options = Options(size);
  options.dynamic_size = false;
  options.accumulate = true;
  options.element_shape = element_shape;
  return options;
}

// A store, the calls that the tests make to it, and checks of what it holds.
class Scene {
 public:
  explicit Scene(ArrayOptions options) : store(std::move(options)) {}

  absl::Status Write(int64_t index, const Tensor& value) {
    return store.Write(index, value, /*exclusive=*/false, ops);
  }
  absl::Status Scatter(const std::vector<int32_t>& indices, const Tensor& value) {
    return store.Scatter(indices, value, ops);
  }
  absl::Status Gather(const std::vector<int32_t>& indices, Tensor* value) {
    return store.Gather(indices, PartialTensorShape(), ops, value);
  }
  void ExpectElement(int64_t index, const Tensor& want) {
    Tensor value;
    ASSERT_OK(store.Read(index, ops, &value));
    EXPECT_THAT(value, TensorEq(want));
  }
  // Returns a check that the store has the size and bytes that it has now.
  auto AsNow() {
    return [this, size = store.size(), bytes = store.TotalBytes()] {
      EXPECT_EQ(store.size(), size);
      EXPECT_EQ(store.TotalBytes(), bytes);
    };
  }

  ArrayStore store;
  OpsShortOfMemory ops;
};

TEST(OutOfMemoryTest, WriteIsDoneOrChangesNothing) {
  for (const int64_t index : {0, 1, 5000}) {
    AtEachAllocation([index](FailingMemory& memory) {
      Scene scene(Options(1));
      const Tensor value = Vec({1, 2});
      memory.RunAndRepeat([&] { return scene.Write(index, value); }, scene.AsNow());
      scene.ExpectElement(index, value);
    });
  }
}

TEST(OutOfMemoryTest, SecondAddendIsAddedOnce) {
  AtEachAllocation([](FailingMemory& memory) {
    Scene scene(Accumulating(1));
    ASSERT_OK(scene.Write(0, Vec({1, 2})));
    memory.RunAndRepeat([&] { return scene.Write(0, Vec({10, 20})); }, scene.AsNow());
    scene.ExpectElement(0, Vec({11, 22}));
  });
}

TEST(OutOfMemoryTest, AddendOfAPartOfABlockIsAddedOnce) {
  AtEachAllocation([](FailingMemory& memory) {
    Scene scene(Accumulating(2));
    ASSERT_OK(scene.Scatter({0, 1}, TensorOf<float>({2, 1}, {1, 2})));
    memory.RunAndRepeat([&] { return scene.Write(1, Vec({10})); }, scene.AsNow());
    scene.ExpectElement(0, Vec({1}));
    scene.ExpectElement(1, Vec({12}));
  });
}

TEST(OutOfMemoryTest, ReadOfAnUnalignedPartYieldsItOnceMemoryIsThere) {
  AtEachAllocation([](FailingMemory& memory) {
    Scene scene(Options(2, /*clear_after_read=*/true));
    ASSERT_OK(scene.Scatter({0, 1}, TensorOf<float>({2, 1}, {1, 2})));
    Tensor value;
    memory.RunAndRepeat([&] { return scene.store.Read(1, scene.ops, &value); }, scene.AsNow());
    EXPECT_THAT(value, TensorEq(Vec({2})));
  });
}

TEST(OutOfMemoryTest, ReadOfZerosThatGrowsAGradientArrayIsDoneOrChangesNothing) {
  AtEachAllocation([](FailingMemory& memory) {
    Scene scene(Accumulating(1, PartialTensorShape({2})));
    Tensor value;
    memory.RunAndRepeat([&] { return scene.store.Read(5000, scene.ops, &value); }, scene.AsNow());
    EXPECT_THAT(value, TensorEq(Vec({0, 0})));
    EXPECT_EQ(scene.store.size(), 5001);
  });
}

TEST(OutOfMemoryTest, GatherReadsAllElementsOrNone) {
  AtEachAllocation([](FailingMemory& memory) {
    Scene scene(Options(3, /*clear_after_read=*/true));
    for (int i = 0; i < 3; ++i) ASSERT_OK(scene.Write(i, Vec({1.f * i})));
    Tensor value;
    memory.RunAndRepeat([&] { return scene.Gather({2, 0, 1}, &value); },
                        [&, as_now = scene.AsNow()] {
                          as_now();
                          EXPECT_FALSE(value.IsInitialized() && value.NumElements() > 0);
                        });
    EXPECT_THAT(value, TensorEq(TensorOf<float>({3, 1}, {2, 0, 1})));
  });
}

TEST(OutOfMemoryTest, GatherOfZerosMakesAllSlotsOrReadsNone) {
  AtEachAllocation([](FailingMemory& memory) {
    Scene scene(Accumulating(1, PartialTensorShape({1})));
    Tensor value;
    memory.RunAndRepeat([&] { return scene.Gather({0, 1000, 3}, &value); }, scene.AsNow());
    EXPECT_THAT(value, TensorEq(TensorOf<float>({3, 1}, {0, 0, 0})));
  });
}

TEST(OutOfMemoryTest, ConcatIsDoneOrChangesNothing) {
  AtEachAllocation([](FailingMemory& memory) {
    Scene scene(Options(2, /*clear_after_read=*/true));
    ASSERT_OK(scene.Write(0, Vec({1})));
    ASSERT_OK(scene.Write(1, Vec({2, 3})));
    Tensor value;
    std::vector<int64_t> lengths;
    memory.RunAndRepeat(
        [&] { return scene.store.Concat(PartialTensorShape(), scene.ops, &value, &lengths); },
        scene.AsNow());
    EXPECT_THAT(value, TensorEq(Vec({1, 2, 3})));
    EXPECT_EQ(lengths, (std::vector<int64_t>{1, 2}));
  });
}

TEST(OutOfMemoryTest, ScatterWritesAllElementsOrNone) {
  AtEachAllocation([](FailingMemory& memory) {
    Scene scene(Options(0));
    const Tensor value = TensorOf<float>({3, 1}, {1, 2, 3});
    memory.RunAndRepeat([&] { return scene.Scatter({1000, 0, 1}, value); }, scene.AsNow());
    scene.ExpectElement(1000, Vec({1}));
    scene.ExpectElement(1, Vec({3}));
  });
}

// Slot 0 has a sum in a buffer of the store, which is added to in place; slot 1 shares the caller's
// buffer; slot 2 is empty and named twice.
TEST(OutOfMemoryTest, ScatterIntoSumsAddsEachPartOnce) {
  AtEachAllocation([](FailingMemory& memory) {
    Scene scene(Accumulating(4));
    for (const int i : {0, 0, 1}) ASSERT_OK(scene.Write(i, Vec({1})));
    const Tensor value = TensorOf<float>({6, 1}, {10, 20, 30, 40, 50, 60});
    memory.RunAndRepeat([&] { return scene.Scatter({0, 1, 2, 2, 3, 0}, value); }, scene.AsNow());
    scene.ExpectElement(0, Vec({72}));
    scene.ExpectElement(1, Vec({21}));
    scene.ExpectElement(2, Vec({70}));
    scene.ExpectElement(3, Vec({50}));
  });
}

TEST(OutOfMemoryTest, ScatterThatFailedHasFixedNoShape) {
  AtEachAllocation([](FailingMemory& memory) {
    Scene scene(Accumulating(4));
    const Tensor value = TensorOf<float>({4, 1}, {1, 2, 3, 4});
    if (memory.Run([&] { return scene.Scatter({3, 0, 1, 1}, value); })) return;
    for (const int i : {0, 1, 3}) EXPECT_OK(scene.Write(i, Vec({1, 2})));
  });
}

TEST(OutOfMemoryTest, SplitWritesAllPiecesOrNone) {
  AtEachAllocation([](FailingMemory& memory) {
    Scene scene(Options(2));
    const std::vector<int64_t> lengths = {1, 2};
    memory.RunAndRepeat([&] { return scene.store.Split(Vec({1, 2, 3}), lengths, scene.ops); },
                        scene.AsNow());
    scene.ExpectElement(0, Vec({1}));
    scene.ExpectElement(1, Vec({2, 3}));
  });
}

TEST(OutOfMemoryTest, FreezeThatFailedLetsTheArrayGrow) {
  AtEachAllocation([](FailingMemory& memory) {
    Scene scene(Options(1));
    ASSERT_OK(scene.Write(0, Vec({1, 2})));
    ArrayOptions gradient;
    const auto freeze = [&] { return scene.store.Freeze(TensorShape({3}), &gradient); };
    memory.RunAndRepeat(freeze, [&] { EXPECT_OK(scene.Write(1, Vec({4, 4}))); });
    gradient.name = "g_0";
    Scene sums(gradient);
    sums.ExpectElement(0, TensorOf<float>({3, 2}, {0, 0, 0, 0, 0, 0}));
  });
}

TEST(OutOfMemoryTest, GradientArrayAddsEachValueOnce) {
  AtEachAllocation([](FailingMemory& memory) {
    Scene scene(Options(2));
    for (int i = 0; i < 2; ++i) ASSERT_OK(scene.Write(i, Vec({1.f * i})));
    ArrayOptions gradient;
    ASSERT_OK(scene.store.Freeze(TensorShape(), &gradient));
    gradient.name = "g_0";
    Scene sums(gradient);
    ASSERT_OK(sums.Write(0, Vec({1})));
    const Tensor value = TensorOf<float>({2, 1}, {10, 20});
    memory.RunAndRepeat([&] { return sums.Scatter({0, 1}, value); }, sums.AsNow());
    sums.ExpectElement(0, Vec({11}));
    sums.ExpectElement(1, Vec({20}));
  });
}

TEST(OutOfMemoryTest, ShapesThatAllDifferTakeFewAllocations) {
  SlotShapes recorded, prepared;
  FailingMemory memory(FailingMemory::kAllFrom, 100);
  EXPECT_TRUE(memory.Run([&] {
    for (int64_t i = 0; i < 1000; ++i) {
      recorded.Record(i, 1, TensorShape({i}));
      prepared.MakeRoom(i, 1, i + 1);
    }
    return absl::OkStatus();
  }));
}

TEST(OutOfMemoryTest, RecordsForWhichRoomWasMadeNeedNoMemory) {
  SlotShapes shapes;
  for (int64_t i = 0; i < 1000; ++i) shapes.MakeRoom(i, 1, i + 1);
  FailingMemory none(FailingMemory::kAllFrom, 0);
  EXPECT_TRUE(none.Run([&] {
    for (int64_t i = 0; i < 1000; ++i) shapes.Record(i, 1, TensorShape({i}));
    return absl::OkStatus();
  }));
}

TEST(OutOfMemoryTest, CloseNeedsNoMemory) {
  for (const bool warm_up : {true, false}) {
    const int64_t before = LiveAllocations();
    {
      ArrayOptions options = Options(0);
      options.dtype = tensorflow::DT_VARIANT;
      Scene scene(options);
      ASSERT_OK(scene.Scatter({0, 1, 700}, Tensor(tensorflow::DT_VARIANT, TensorShape({3, 1}))));
      ASSERT_OK(scene.Write(2, Tensor(tensorflow::DT_VARIANT, TensorShape({}))));
      FailingMemory none(FailingMemory::kAllFrom, 0);
      EXPECT_TRUE(none.Run([&] {
        scene.store.Close();
        return absl::OkStatus();
      }));
      EXPECT_TRUE(scene.store.closed());
      EXPECT_EQ(scene.store.TotalBytes(), 0);
    }
    EXPECT_TRUE(warm_up || LiveAllocations() == before);
  }
}

TEST(OutOfMemoryTest, ErrorsThatFindNoMemoryForTheirTextChangeNothing) {
  AtEachAllocation([](FailingMemory& memory) {
    Scene scene(Accumulating(1));
    ASSERT_OK(scene.Write(0, Vec({1})));
    absl::Status refused;
    memory.RunAndRepeat(
        [&] {
          refused = scene.Write(0, Vec({1, 2}));
          return absl::OkStatus();
        },
        scene.AsNow());
    EXPECT_THAT(refused, Fails(absl::StatusCode::kInvalidArgument, "[2]"));
    scene.ExpectElement(0, Vec({1}));
  });
}

}  // namespace
}  // namespace tensor_array_grad
