// ArrayStore called by several threads: no sum is lost, every race has one winner. Built with
// -DTAG_SANITIZE=thread it runs under ThreadSanitizer.

#include <atomic>
#include <chrono>
#include <future>
#include <thread>
#include <utility>
#include <vector>

#include "cc/array/array_store.h"
#include "cc/base/tensorflow_names.h"
#include "cc/testing/fake_element_ops.h"
#include "cc/testing/matchers.h"

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

TEST(ArrayStoreRaceTest, AWriteAmongTheSumsOfAScatterIsNotLost) {
  ArrayStore store(Options(3, true));
  FakeElementOps plain, ops;
  ASSERT_OK(store.Write(0, Vec({1, 1}), false, plain));
  // While slot 0 is summed, two other threads write: one to slot 1, which the scatter fills and
  // which the write therefore waits for, and one to slot 2, which the scatter does not name.
  std::future<absl::Status> waits;
  ops.before_add = [&] {
    waits =
        std::async(std::launch::async, [&] { return store.Write(1, Vec({1, 1}), false, plain); });
    std::thread([&] { ASSERT_OK(store.Write(2, Vec({1, 1}), false, plain)); }).join();
    EXPECT_EQ(waits.wait_for(std::chrono::milliseconds(20)), std::future_status::timeout);
  };
  ASSERT_OK(store.Scatter({0, 1}, TensorOf<float>({2, 2}, {1, 1, 1, 1}), ops));
  EXPECT_OK(waits.get());
  Tensor sums;
  ASSERT_OK(store.Gather({0, 1, 2}, PartialTensorShape(), plain, &sums));
  EXPECT_THAT(ValuesOf(sums), ::testing::ElementsAre(2, 2, 2, 2, 1, 1));
}

// Calls `after_first_pack` when the first Pack has copied its pieces.
class PacksThenCalls : public FakeElementOps {
 public:
  absl::Status Pack(absl::Span<const Piece> pieces, Tensor* out) override {
    TF_RETURN_IF_ERROR(FakeElementOps::Pack(pieces, out));
    if (packs == 1) after_first_pack();
    return absl::OkStatus();
  }
  std::function<void()> after_first_pack;
};

TEST(ArrayStoreRaceTest, AGatherSeesASumThatBeganWhileItCopied) {
  ArrayStore store(Options(2, true));
  FakeElementOps plain, slow;
  PacksThenCalls ops;
  for (int slot = 0; slot < 2; ++slot) ASSERT_OK(store.Write(slot, Vec({1, 1}), false, plain));
  // The sum begins before the gather copies, and ends only after it has copied.
  std::promise<void> began, copied;
  slow.before_add = [&] {
    began.set_value();
    copied.get_future().wait();
  };
  std::thread writer;
  ops.before_pack = [&] {
    if (writer.joinable()) return;
    writer = std::thread([&] { ASSERT_OK(store.Write(0, Vec({1, 1}), false, slow)); });
    began.get_future().wait();
  };
  ops.after_first_pack = [&] { copied.set_value(); };
  Tensor seen;
  ASSERT_OK(store.Gather({0, 1}, PartialTensorShape(), ops, &seen));
  writer.join();
  EXPECT_THAT(ValuesOf(seen), ::testing::ElementsAre(2, 2, 1, 1));
}

TEST(ArrayStoreRaceTest, AReadOfAnUnalignedElementSeesASumMadeAfterItCopied) {
  ArrayStore store(Options(1, true));
  FakeElementOps plain;
  PacksThenCalls ops;
  Tensor unaligned = Vec({0, 5, 6}).Slice(1, 3);  // the only reference to the buffer
  ASSERT_FALSE(unaligned.IsAligned());
  ASSERT_OK(store.Write(0, std::move(unaligned), /*exclusive=*/true, plain));
  ops.after_first_pack = [&] { ASSERT_OK(store.Write(0, Vec({10, 10}), false, plain)); };
  Tensor seen;
  ASSERT_OK(store.Read(0, ops, &seen));
  EXPECT_THAT(ValuesOf(seen), ::testing::ElementsAre(15, 16));
}

TEST(ArrayStoreRaceTest, AScatterChangesNothingIfAnotherWriteFixesAnotherShape) {
  ArrayOptions options = Options(3, true);
  options.identical_element_shapes = true;
  ArrayStore store(options);
  FakeElementOps plain, ops;
  ops.before_add = [&] {
    std::thread([&] { ASSERT_OK(store.Write(2, Vec({7}), false, plain)); }).join();
  };
  const absl::Status status = store.Scatter({0, 0}, TensorOf<float>({2, 2}, {1, 1, 1, 1}), ops);
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
  ASSERT_OK(store.Write(0, Vec({5}), false, plain));
  Tensor sums;
  ASSERT_OK(store.Gather({0, 2}, PartialTensorShape(), plain, &sums));
  EXPECT_THAT(ValuesOf(sums), ::testing::ElementsAre(5, 7));
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

TEST(ArrayStoreRaceTest, AGatherDuringSumsHasNoHalfAddedElement) {
  FakeElementOps ops;
  for (int round = 0; round < 100; ++round) {
    ArrayOptions options = Options(2, true);
    options.clear_after_read = false;
    ArrayStore store(options);
    for (int slot = 0; slot < 2; ++slot) ASSERT_OK(store.Write(slot, Vec({1, 1}), false, ops));
    InThreads([&](int t) {
      if (t == 0) {
        Tensor value;
        ASSERT_OK(store.Gather({0, 1}, PartialTensorShape(), ops, &value));
        const std::vector<float> got = ValuesOf(value);
        EXPECT_EQ(got[0], got[1]);  // no half-added element
        EXPECT_EQ(got[2], got[3]);
      } else {
        // Writes before the gather are added to the sums, and writes after it are errors.
        for (int i = 0; i < 10; ++i) store.Write(i % 2, Vec({1, 1}), true, ops).IgnoreError();
      }
    });
  }
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

}  // namespace
}  // namespace tensor_array_grad
