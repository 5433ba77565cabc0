// ArrayStore called by several threads: no sum is lost, every race has one winner. Built with
// -DTAG_SANITIZE=thread it runs under ThreadSanitizer.

#include <algorithm>
#include <atomic>
#include <chrono>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "cc/array/array_store.h"
#include "cc/base/tensorflow_names.h"
#include "cc/testing/fake_element_ops.h"
#include "cc/testing/matchers.h"
#include "tensorflow/core/framework/variant.h"
#include "tensorflow/core/framework/variant_tensor_data.h"

namespace tensor_array_grad {
namespace {

constexpr int kThreads = 4;

void InThreads(const std::function<void(int)>& work) {
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) threads.emplace_back(work, t);
  for (std::thread& thread : threads) thread.join();
}

ArrayOptions Options(int64_t size, bool accumulate) {
  ArrayOptions options;
  options.name = "raced";
  options.size = size;
  options.accumulate = accumulate;
  return options;
}

TEST(ArrayStoreRaceTest, ConcurrentSumsAreExactWhicheverOpMakesThem) {
  constexpr int kSlots = 3, kRounds = 300;
  ArrayStore store(Options(kSlots, true));
  FakeElementOps ops;
  const Tensor rows = TensorOf<float>({kSlots, 2}, {1, 1, 1, 1, 1, 1});
  InThreads([&](int t) {
    for (int i = 0; i < kRounds; ++i) {
      if ((i + t) % 2 == 0) {
        for (int slot = 0; slot < kSlots; ++slot) {
          ASSERT_OK(store.Write(slot, Vec({1, 1}), /*exclusive=*/i % 3 == 0, ops));
        }
      } else {
        ASSERT_OK(store.Scatter({2, 0, 1}, rows, ops));
      }
    }
  });
  Tensor sums;
  ASSERT_OK(store.Gather({0, 1, 2}, PartialTensorShape(), ops, &sums));
  EXPECT_THAT(ValuesOf(sums), ::testing::Each(kThreads * kRounds));
}

TEST(ArrayStoreRaceTest, AScatterIntoEmptySlotsAndWritesToThemAreSummed) {
  FakeElementOps ops;
  for (int round = 0; round < 200; ++round) {
    ArrayStore store(Options(kThreads, true));
    InThreads([&](int t) {
      const absl::Status status =
          t == 0 ? store.Scatter({0, 1}, TensorOf<float>({2, 2}, {1, 1, 1, 1}), ops)
                 : store.Write(t, Vec({1, 1}), false, ops);
      EXPECT_OK(status);
    });
    Tensor sums;
    ASSERT_OK(store.Gather({0, 1, 2, 3}, PartialTensorShape(), ops, &sums));
    ASSERT_THAT(ValuesOf(sums), ::testing::ElementsAre(1, 1, 2, 2, 1, 1, 1, 1));
  }
}

TEST(ArrayStoreRaceTest, OneOfTwoShapesIsTheArraysShape) {
  FakeElementOps ops;
  for (int round = 0; round < 200; ++round) {
    ArrayOptions options = Options(kThreads, true);
    options.identical_element_shapes = true;
    ArrayStore store(options);
    std::atomic<int> vectors{0}, scalars{0};
    InThreads([&](int t) {
      if (t % 2 == 0 && store.Write(t, Vec({1, 1}), false, ops).ok()) ++vectors;
      if (t % 2 == 1 && store.Scatter({t, t}, Vec({1, 1}), ops).ok()) ++scalars;
    });
    ASSERT_EQ(std::max<int>(vectors, scalars), kThreads / 2);
    ASSERT_EQ(std::min<int>(vectors, scalars), 0);
  }
}

TEST(ArrayStoreRaceTest, OneOfManyWritersAndOneOfManyReadersWins) {
  FakeElementOps ops;
  for (int round = 0; round < 200; ++round) {
    ArrayStore store(Options(1, false));
    std::atomic<int> written{0}, read{0};
    InThreads([&](int t) {
      if (store.Write(0, Vec({float(t)}), false, ops).ok()) ++written;
    });
    InThreads([&](int t) {
      Tensor value;
      const bool got = t % 2 == 0 ? store.Read(0, ops, &value).ok()
                                  : store.Gather({0}, PartialTensorShape(), ops, &value).ok();
      if (got) ++read;
    });
    ASSERT_EQ(written, 1);
    ASSERT_EQ(read, 1);
  }
}

TEST(ArrayStoreRaceTest, AReadDuringSumsHasNoHalfAddedElement) {
  FakeElementOps ops;
  for (int round = 0; round < 100; ++round) {
    ArrayOptions options = Options(2, true);
    options.clear_after_read = false;
    ArrayStore store(options);
    for (int slot = 0; slot < 2; ++slot) {  // not aligned, so that a read copies it
      ASSERT_OK(store.Write(slot, Vec({0, 1, 1}).Slice(1, 3), /*exclusive=*/true, ops));
    }
    InThreads([&](int t) {
      if (t == 0) {
        Tensor value;
        if (round % 2 == 0) {
          ASSERT_OK(store.Gather({0, 1}, PartialTensorShape(), ops, &value));
        } else {
          ASSERT_OK(store.Read(0, ops, &value));
        }
        const std::vector<float> got = ValuesOf(value);
        for (size_t i = 0; i < got.size(); i += 2) EXPECT_EQ(got[i], got[i + 1]);
      } else {
        // Writes before the read are added to the sums, and writes after it are errors.
        for (int i = 0; i < 10; ++i) store.Write(i % 2, Vec({1, 1}), true, ops).IgnoreError();
      }
    });
  }
}

TEST(ArrayStoreRaceTest, CloseWaitsForASumAndThenDropsIt) {
  ArrayStore store(Options(1, true));
  FakeElementOps ops;
  ASSERT_OK(store.Write(0, Vec({1, 1}), false, ops));
  std::future<void> closed;
  ops.before_add = [&] {
    closed = std::async(std::launch::async, [&] { store.Close(); });
    EXPECT_EQ(closed.wait_for(std::chrono::milliseconds(20)), std::future_status::timeout);
  };
  EXPECT_OK(store.Write(0, Vec({1, 1}), false, ops));
  closed.get();
  EXPECT_TRUE(store.closed());
  EXPECT_EQ(store.TotalBytes(), 0);
}

TEST(ArrayStoreRaceTest, ClosingAmongAllOpsGivesOnlyTheClosedError) {
  FakeElementOps ops;
  for (int round = 0; round < 100; ++round) {
    ArrayOptions options = Options(8, true);
    options.element_shape = PartialTensorShape({2});
    ArrayStore store(options);
    InThreads([&](int t) {
      for (int i = 0; i < 20; ++i) {
        absl::Status status;
        Tensor value;
        ArrayOptions gradient;
        if (t == 0 && i == 10) store.Close();
        if (t == 1) status = store.Write(i % 4, Vec({1, 1}), false, ops);
        if (t == 2) status = store.Read(4 + i, ops, &value);
        if (t == 3) status = store.Freeze({}, &gradient);
        if (!status.ok()) {
          EXPECT_THAT(status.message(), ::testing::HasSubstr("already been closed"));
        }
      }
    });
    EXPECT_EQ(store.TotalBytes(), 0);
  }
}

// A resource whose destructor needs the lock of an array.
class Resource {
 public:
  explicit Resource(const ArrayStore& store) : store_(store) {}
  ~Resource() {
    // On another thread, so that the test fails and does not hang if this one holds the lock.
    std::future<void> locks = std::async(std::launch::async, [&store = store_] { store.size(); });
    EXPECT_EQ(locks.wait_for(std::chrono::seconds(5)), std::future_status::ready);
    destroyed.push_back(std::move(locks));
  }

  static std::vector<std::future<void>> destroyed;

 private:
  const ArrayStore& store_;
};
std::vector<std::future<void>> Resource::destroyed;

// An element that owns a resource.
struct Owner {
  std::shared_ptr<const Resource> resource;

  std::string TypeName() const { return "Owner"; }
  void Encode(tensorflow::VariantTensorData*) const {}
  bool Decode(const tensorflow::VariantTensorData&) { return true; }
};

TEST(ArrayStoreRaceTest, WhatASlotHeldIsFreedWithoutTheLock) {
  FakeElementOps ops;
  Tensor value;
  const std::vector<std::function<absl::Status(ArrayStore&)>> calls = {
      [&](ArrayStore& store) { return store.Read(0, ops, &value); },
      [&](ArrayStore& store) { return store.Gather({0}, PartialTensorShape(), ops, &value); },
      [&](ArrayStore& store) {
        return store.Write(0, Tensor(tensorflow::DT_VARIANT, TensorShape({0})), false, ops);
      },
      [&](ArrayStore& store) {
        store.Close();
        return absl::OkStatus();
      }};
  for (const auto& call : calls) {
    Resource::destroyed.clear();
    ArrayOptions options = Options(2, true);
    options.dtype = tensorflow::DT_VARIANT;
    ArrayStore store(options);
    Tensor owner(tensorflow::DT_VARIANT, TensorShape({1}));
    owner.flat<tensorflow::Variant>()(0) = Owner{std::make_shared<const Resource>(store)};
    // Slot 0 has no values. After the read of slot 1, it alone keeps the value of the split.
    ASSERT_OK(store.Split(owner, {0, 1}, ops));
    owner = Tensor();
    ASSERT_OK(store.Read(1, ops, &value));
    value = Tensor();
    ASSERT_EQ(Resource::destroyed.size(), 0);
    EXPECT_OK(call(store));
    value = Tensor();
    EXPECT_EQ(Resource::destroyed.size(), 1);
  }
  Resource::destroyed.clear();
}

}  // namespace
}  // namespace tensor_array_grad
