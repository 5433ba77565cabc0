#include "cc/lists/persistent_list.h"

#include <cstdint>
#include <optional>
#include <random>
#include <vector>

#include "cc/base/counters.h"
#include "cc/base/tensorflow_names.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace tensor_array_grad {
namespace {

using ::testing::ElementsAre;
using Model = std::vector<std::optional<int64_t>>;

Tensor Scalar(int64_t value) { return Tensor(value); }
int64_t ValueOf(const Tensor& tensor) { return tensor.scalar<int64_t>()(); }

absl::Status AddScalars(const Tensor& a, const Tensor& b, Tensor* sum) {
  *sum = Scalar(ValueOf(a) + ValueOf(b));
  return absl::OkStatus();
}

absl::Status NeverCalled(const Tensor&, const Tensor&, Tensor*) {
  ADD_FAILURE() << "no element is set in both";
  return absl::OkStatus();
}

PersistentList Iota(int64_t size) {
  PersistentList list;
  auto make = [](int64_t i, Tensor* out) {
    *out = Scalar(i);
    return absl::OkStatus();
  };
  EXPECT_TRUE(PersistentList::Build(size, make, &list).ok());
  return list;
}

// What the list holds, read through Find.
Model Contents(const PersistentList& list) {
  Model contents;
  for (int64_t i = 0; i < list.size(); ++i) {
    const Tensor* const value = list.Find(i);
    contents.push_back(value == nullptr ? std::nullopt : std::optional(ValueOf(*value)));
  }
  return contents;
}

int64_t NodesCopied() { return ReadCounters()["lists.nodes_copied"]; }
int64_t ElementsVisited() { return ReadCounters()["lists.elements_visited"]; }

TEST(PersistentListTest, NewListHasItsSizeAndNothingSet) {
  const PersistentList list(3);
  EXPECT_EQ(list.size(), 3);
  EXPECT_TRUE(list.all_unset());
  EXPECT_EQ(list.Find(2), nullptr);
}

TEST(PersistentListTest, SetIsSeenByThisListAndByNoCopy) {
  PersistentList first(2);
  first.Set(0, Scalar(5));
  PersistentList second = first;
  second.Set(0, Scalar(6));
  second.Set(1, Scalar(7));
  EXPECT_THAT(Contents(first), ElementsAre(5, std::nullopt));
  EXPECT_THAT(Contents(second), ElementsAre(6, 7));
}

TEST(PersistentListTest, FindSharesTheBufferOfWhatWasSet) {
  Tensor value(tensorflow::DT_FLOAT, {4});
  PersistentList list(100);
  list.Set(77, value);
  EXPECT_TRUE(list.Find(77)->SharesBufferWith(value));
}

TEST(PersistentListTest, BuiltListsHoldEveryElementAtSizesAroundANode) {
  for (const int64_t size : {0, 1, 7, 31, 32, 33, 1023, 1024, 1025, 32769}) {
    const PersistentList list = Iota(size);
    ASSERT_EQ(list.size(), size);
    for (int64_t i = 0; i < size; ++i) ASSERT_EQ(ValueOf(*list.Find(i)), i) << "of " << size;
  }
}

TEST(PersistentListTest, FailingMakerLeavesTheTargetAlone) {
  PersistentList list = Iota(2);
  const absl::Status status = PersistentList::Build(
      100,
      [](int64_t i, Tensor* out) {
        *out = Scalar(i);
        return i == 40 ? absl::ResourceExhaustedError("full") : absl::OkStatus();
      },
      &list);
  EXPECT_EQ(status.message(), "full");
  EXPECT_THAT(Contents(list), ElementsAre(0, 1));
}

TEST(PersistentListTest, ShrinkingDropsElementsSoThatGrowingShowsThemUnset) {
  PersistentList list = Iota(40);
  const PersistentList before = list;
  list.Resize(33);
  EXPECT_EQ(ValueOf(*list.Find(32)), 32);
  list.Resize(40);
  EXPECT_EQ(list.Find(33), nullptr);
  EXPECT_EQ(ValueOf(*before.Find(39)), 39);
  list.Resize(0);
  EXPECT_TRUE(list.all_unset());
}

TEST(PersistentListTest, ShrinkingReleasesTheBuffers) {
  Tensor value(tensorflow::DT_FLOAT, {4});
  PersistentList list(50);
  list.Set(49, value);
  EXPECT_FALSE(value.RefCountIsOne());
  list.Resize(49);
  EXPECT_TRUE(value.RefCountIsOne());
  EXPECT_TRUE(list.all_unset());
}

TEST(PersistentListTest, IndicesPastInt32Work) {
  PersistentList list(PersistentList::kMaxSize);
  list.Set(PersistentList::kMaxSize - 1, Scalar(1));
  list.Set(0, Scalar(2));
  EXPECT_EQ(ValueOf(*list.Find(PersistentList::kMaxSize - 1)), 1);
  EXPECT_EQ(ValueOf(*list.Find(0)), 2);
  EXPECT_EQ(list.Find(PersistentList::kMaxSize / 2), nullptr);
  list.Resize(1);
  EXPECT_THAT(Contents(list), ElementsAre(2));
}

TEST(PersistentListTest, MergeSharesWhatOneListHasAndCombinesWhatBothHave) {
  PersistentList a(3), b(3), sum;
  a.Set(0, Scalar(1));
  a.Set(1, Scalar(10));
  b.Set(1, Scalar(20));
  ASSERT_TRUE(PersistentList::Merge(a, b, AddScalars, &sum).ok());
  EXPECT_THAT(Contents(sum), ElementsAre(1, 30, std::nullopt));
  EXPECT_EQ(sum.Find(0), a.Find(0));
}

TEST(PersistentListTest, MergeOfTreesOfDifferentHeightKeepsAllElements) {
  PersistentList low(40000), high(40000), sum;
  low.Set(3, Scalar(3));
  high.Set(39999, Scalar(4));
  for (const bool swapped : {false, true}) {
    ASSERT_TRUE(
        PersistentList::Merge(swapped ? high : low, swapped ? low : high, NeverCalled, &sum).ok());
    EXPECT_EQ(ValueOf(*sum.Find(3)), 3);
    EXPECT_EQ(ValueOf(*sum.Find(39999)), 4);
    EXPECT_EQ(sum.Find(4), nullptr);
  }
}

TEST(PersistentListTest, FailingCombinerLeavesTheTargetAlone) {
  PersistentList target = Iota(1);
  const absl::Status status = PersistentList::Merge(
      Iota(70), Iota(70),
      [](const Tensor&, const Tensor&, Tensor*) { return absl::InvalidArgumentError("no sum"); },
      &target);
  EXPECT_EQ(status.message(), "no sum");
  EXPECT_THAT(Contents(target), ElementsAre(0));
}

TEST(PersistentListTest, MapChangesEachSetElementAndNoOther) {
  PersistentList list(40), doubled;
  list.Set(1, Scalar(4));
  list.Set(39, Scalar(5));
  auto twice = [](const Tensor& value, Tensor* out) {
    *out = Scalar(2 * ValueOf(value));
    return absl::OkStatus();
  };
  ASSERT_TRUE(list.Map(twice, &doubled).ok());
  EXPECT_EQ(ValueOf(*doubled.Find(1)), 8);
  EXPECT_EQ(ValueOf(*doubled.Find(39)), 10);
  EXPECT_EQ(doubled.Find(0), nullptr);
  EXPECT_EQ(ValueOf(*list.Find(1)), 4);
}

TEST(PersistentListTest, AppendingAListToItselfDoublesIt) {
  PersistentList list = Iota(33);
  list.Append(list);
  ASSERT_EQ(list.size(), 66);
  EXPECT_EQ(ValueOf(*list.Find(32)), 32);
  EXPECT_EQ(ValueOf(*list.Find(65)), 32);
}

TEST(PersistentListTest, AppendingToAnEmptyListSharesTheTail) {
  const PersistentList tail = Iota(40);
  PersistentList list;
  const int64_t before = ElementsVisited();
  list.Append(tail);
  EXPECT_EQ(ElementsVisited(), before);
  EXPECT_EQ(list.Find(39), tail.Find(39));
}

TEST(PersistentListTest, BuildingVisitsEachElementOnce) {
  const int64_t before = ElementsVisited();
  Iota(40);
  EXPECT_EQ(ElementsVisited() - before, 40);
}

TEST(PersistentListTest, ForEachVisitsSetElementsByRisingIndexAndStopsAtAFailure) {
  PersistentList list(2000);
  for (const int64_t i : {1999, 3, 64}) list.Set(i, Scalar(i));
  std::vector<int64_t> seen;
  EXPECT_FALSE(list.ForEach([&](int64_t index, const Tensor& value) {
                     EXPECT_EQ(ValueOf(value), index);
                     seen.push_back(index);
                     return index == 64 ? absl::AbortedError("enough") : absl::OkStatus();
                   })
                   .ok());
  EXPECT_THAT(seen, ElementsAre(3, 64));
}

TEST(PersistentListTest, WritingAnUnsharedListCopiesNoNode) {
  PersistentList list(100000);
  const int64_t before = NodesCopied();
  for (int64_t i = 0; i < list.size(); ++i) list.Set(i, Scalar(i));
  list.Resize(10);
  EXPECT_EQ(NodesCopied() - before, 0);
}

TEST(PersistentListTest, WritingASharedListCopiesOneNodePerLevel) {
  PersistentList list = Iota(32 * 32 * 32);
  const PersistentList snapshot = list;
  const int64_t before = NodesCopied();
  list.Set(12345, Scalar(0));
  EXPECT_EQ(NodesCopied() - before, 3);
}

TEST(PersistentListTest, AddingOneElementListsTouchesOnlyTheirPaths) {
  constexpr int64_t kSize = 20000;
  PersistentList sum(kSize);
  const int64_t nodes = NodesCopied(), elements = ElementsVisited();
  for (int64_t i = 0; i < kSize; ++i) {
    PersistentList one(kSize);
    one.Set(i, Scalar(i));
    ASSERT_TRUE(PersistentList::Merge(sum, one, NeverCalled, &sum).ok());
  }
  EXPECT_LE(NodesCopied() - nodes, 3 * kSize);
  EXPECT_EQ(ElementsVisited() - elements, 0);
  EXPECT_EQ(ValueOf(*sum.Find(kSize - 1)), kSize - 1);
}

// A few versions of lists, each with a plain vector as its model, changed at random. Each version
// must always be equal to its vector, whatever happens to the versions that it shares nodes with.
class RandomVersions {
 public:
  explicit RandomVersions(uint32_t seed) : random_(seed), lists_(8), models_(8) {}

  void Step() {
    const size_t target = Below(lists_.size()), source = Below(lists_.size());
    switch (Below(7)) {
      case 0:
        Assign(target, source);
        break;
      case 1:
        Resize(target, Below(2) == 0 ? Below(70) : Below(5000));
        break;
      case 2:
        Merge(target, source);
        break;
      case 3:
        if (models_[target].size() + models_[source].size() < 6000) Append(target, source);
        break;
      default:
        for (int64_t n = Below(40); n >= 0 && !models_[target].empty(); --n) SetOne(target);
    }
  }

  void ExpectAllEqual() const {
    for (size_t i = 0; i < lists_.size(); ++i) ASSERT_EQ(Contents(lists_[i]), models_[i]) << i;
  }

 private:
  int64_t Below(int64_t bound) {
    return std::uniform_int_distribution<int64_t>(0, bound - 1)(random_);
  }

  void Assign(size_t target, size_t source) {
    lists_[target] = lists_[source];
    models_[target] = models_[source];
  }
  void Resize(size_t target, int64_t size) {
    lists_[target].Resize(size);
    models_[target].resize(size);
  }
  void SetOne(size_t target) {
    const int64_t index = Below(models_[target].size()), value = Below(1000);
    lists_[target].Set(index, Scalar(value));
    models_[target][index] = value;
  }
  void Append(size_t target, size_t source) {
    const Model tail = models_[source];
    lists_[target].Append(lists_[source]);
    models_[target].insert(models_[target].end(), tail.begin(), tail.end());
  }
  void Merge(size_t target, size_t source) {
    Resize(target, models_[source].size());
    ASSERT_TRUE(
        PersistentList::Merge(lists_[target], lists_[source], AddScalars, &lists_[target]).ok());
    const Model addend = models_[source];
    for (size_t i = 0; i < addend.size(); ++i) {
      if (addend[i]) models_[target][i] = models_[target][i].value_or(0) + *addend[i];
    }
  }

  std::mt19937 random_;
  std::vector<PersistentList> lists_;
  std::vector<Model> models_;
};

TEST(PersistentListTest, RandomVersionsAgreeWithPlainVectors) {
  for (uint32_t seed = 0; seed < 20; ++seed) {
    RandomVersions versions(seed);
    for (int step = 0; step < 300; ++step) {
      versions.Step();
      if (step % 10 == 0) versions.ExpectAllEqual();
    }
    versions.ExpectAllEqual();
  }
}

}  // namespace
}  // namespace tensor_array_grad
