// Lets memory run out at each allocation of each operation of the lists. Expects std::bad_alloc,
// unchanged lists, and success of a second call.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cc/base/tensorflow_names.h"
#include "cc/lists/list_codec.h"
#include "cc/lists/list_variant.h"
#include "cc/lists/loop_stack.h"
#include "cc/lists/persistent_list.h"
#include "cc/testing/failing_memory.h"
#include "cc/testing/matchers.h"
#include "tensorflow/core/framework/variant.h"

namespace tensor_array_grad {
namespace {

using tensorflow::VariantTensorData;
using Model = std::vector<std::optional<int64_t>>;

Tensor Scalar(int64_t value) { return Tensor(value); }
int64_t ValueOf(const Tensor& tensor) { return tensor.scalar<int64_t>()(); }

absl::Status AddScalars(const Tensor& a, const Tensor& b, Tensor* sum) {
  *sum = Scalar(ValueOf(a) + ValueOf(b));
  return absl::OkStatus();
}

absl::Status Negate(const Tensor& value, Tensor* out) {
  *out = Scalar(-ValueOf(value));
  return absl::OkStatus();
}

absl::Status Count(int64_t index, Tensor* out) {
  *out = Scalar(index);
  return absl::OkStatus();
}

// A list of `size` elements. The elements at the indices in `set` are set to their index.
PersistentList Sparse(int64_t size, const std::vector<int64_t>& set) {
  PersistentList list(size);
  for (const int64_t index : set) list.Set(index, Scalar(index));
  return list;
}

PersistentList Full(int64_t size) {
  PersistentList list;
  EXPECT_OK(PersistentList::Build(size, Count, &list));
  return list;
}

// All elements, read by Find. Checks that a walk over the tree finds the same ones.
Model Contents(const PersistentList& list) {
  Model contents;
  int64_t set = 0;
  for (int64_t i = 0; i < list.size(); ++i) {
    const Tensor* const value = list.Find(i);
    contents.push_back(value == nullptr ? std::nullopt : std::optional(ValueOf(*value)));
    set += value != nullptr ? 1 : 0;
  }
  EXPECT_OK(list.ForEach([&](int64_t, const Tensor&) {
    --set;
    return absl::OkStatus();
  }));
  EXPECT_EQ(set, 0);
  return contents;
}

// Lets change(list) run out of memory, for a list of its own nodes and for one that shares all
// of its nodes with a copy.
template <typename Change>
void ChangesAllOrNothing(const PersistentList& list, Change change) {
  const Model before = Contents(list);
  PersistentList wanted = list;
  change(wanted);
  const Model after = Contents(wanted);
  for (const bool shared : {false, true}) {
    AtEachAllocation([&](FailingMemory& memory) {
      PersistentList mine;
      EXPECT_OK(list.Map(
          [](const Tensor& value, Tensor* out) {
            *out = value;
            return absl::OkStatus();
          },
          &mine));
      const PersistentList copy = shared ? mine : PersistentList();
      memory.RunAndRepeat(
          [&] {
            change(mine);
            return absl::OkStatus();
          },
          [&] {
            EXPECT_EQ(Contents(mine), before);
            EXPECT_EQ(mine.all_unset(), list.all_unset());
          });
      EXPECT_EQ(Contents(mine), after);
      if (shared) {
        EXPECT_EQ(Contents(copy), before);
      }
    });
  }
}

TEST(OutOfMemoryTest, SetIsDoneOrChangesNothing) {
  const std::vector<std::vector<int64_t>> lists = {{}, {0}, {3, 40}, {0, 1, 2, 3, 1100}};
  for (const std::vector<int64_t>& set : lists) {
    for (const int64_t index : {0, 5, 41, 1100, 1200}) {
      ChangesAllOrNothing(Sparse(1300, set),
                          [index](PersistentList& list) { list.Set(index, Scalar(-1)); });
    }
  }
}

TEST(OutOfMemoryTest, ResizeDropsElementsOrNone) {
  for (const int64_t size : {1, 31, 32, 33, 40, 1024, 1050}) {
    const auto resize = [size](PersistentList& list) { list.Resize(size); };
    // A list that shares no nodes shrinks without memory; one that does needs some for the path.
    AtEachAllocation([&](FailingMemory& memory) {
      PersistentList mine = Full(1100);
      const PersistentList copy = mine;
      memory.RunAndRepeat(
          [&] {
            resize(mine);
            return absl::OkStatus();
          },
          [&] { EXPECT_EQ(Contents(mine), Contents(copy)); });
      EXPECT_EQ(mine.size(), size);
      mine.Resize(1100);
      EXPECT_EQ(mine.Find(size), nullptr);
      EXPECT_EQ(ValueOf(*mine.Find(size - 1)), size - 1);
      EXPECT_EQ(ValueOf(*copy.Find(1099)), 1099);
    });
  }
}

TEST(OutOfMemoryTest, AppendSetsAllElementsOrNone) {
  const PersistentList tail = Sparse(50, {0, 3, 40});
  ChangesAllOrNothing(Sparse(40, {1, 33}), [&](PersistentList& list) { list.Append(tail); });
  ChangesAllOrNothing(Sparse(40, {1, 33}), [](PersistentList& list) { list.Append(list); });
}

TEST(OutOfMemoryTest, BuildMapAndMergeMakeAListOrChangeNothing) {
  const PersistentList a = Sparse(1200, {0, 1, 40, 1100}), b = Sparse(1200, {1, 2, 90});
  const auto build = [](PersistentList* out) { return PersistentList::Build(1200, Count, out); };
  const auto map = [&](PersistentList* out) { return a.Map(Negate, out); };
  const auto merge = [&](PersistentList* out) {
    return PersistentList::Merge(a, b, AddScalars, out);
  };
  const Model in_a = Contents(a), in_b = Contents(b);
  const auto all_or_nothing = [&](auto make) {
    PersistentList wanted;
    ASSERT_OK(make(&wanted));
    const Model after = Contents(wanted);
    AtEachAllocation([&](FailingMemory& memory) {
      PersistentList made = Sparse(3, {2});
      memory.RunAndRepeat([&] { return make(&made); },
                          [&] { EXPECT_EQ(Contents(made), Contents(Sparse(3, {2}))); });
      EXPECT_EQ(Contents(made), after);
      EXPECT_EQ(Contents(a), in_a);
      EXPECT_EQ(Contents(b), in_b);
    });
  };
  all_or_nothing(build);
  all_or_nothing(map);
  all_or_nothing(merge);
}

// ---- list variants ------------------------------------------------------------------------------

ListVariant ListOf(PersistentList items) {
  return ListVariant({tensorflow::DT_INT64, PartialTensorShape(), -1}, std::move(items));
}

// A list of zeros like elements of unknown shape, with one element that is set.
ListVariant WithZeros() {
  ListVariant list;
  EXPECT_OK(ListVariant::ZerosLike(ListOf(Full(40)), &list));
  list.Set(1, Scalar(7));
  return list;
}

// The kinds and values of all elements.
std::vector<std::pair<int, int64_t>> Elements(const ListVariant& list) {
  std::vector<std::pair<int, int64_t>> elements;
  for (int64_t i = 0; i < list.size(); ++i) {
    const ListElement element = list.Get(i);
    elements.emplace_back(element.kind, element.tensor == nullptr ? -1 : ValueOf(*element.tensor));
  }
  return elements;
}

TEST(OutOfMemoryTest, VariantChangesItemsAndZerosOrNothing) {
  const ListVariant list = WithZeros();
  const auto all_or_nothing = [&](auto change) {
    ListVariant wanted = list;
    ASSERT_OK(change(wanted));
    const auto after = Elements(wanted);
    AtEachAllocation([&](FailingMemory& memory) {
      ListVariant mine = list;
      memory.RunAndRepeat([&] { return change(mine); },
                          [&] { EXPECT_EQ(Elements(mine), Elements(list)); });
      EXPECT_EQ(Elements(mine), after);
    });
  };
  const auto void_change = [](auto change) {
    return [change](ListVariant& mine) {
      change(mine);
      return absl::OkStatus();
    };
  };
  all_or_nothing(void_change([](ListVariant& mine) { mine.Resize(1); }));
  all_or_nothing(void_change([](ListVariant& mine) { mine.Resize(35); }));
  all_or_nothing(void_change([](ListVariant& mine) { mine.Append(mine); }));
  all_or_nothing(void_change([](ListVariant& mine) { mine.BecomeSum(PartialTensorShape({2})); }));
  all_or_nothing(
      [&](ListVariant& mine) { return ListVariant::Add(list, list, AddScalars, &mine); });
  all_or_nothing([&](ListVariant& mine) { return ListVariant::ZerosLike(list, &mine); });
  all_or_nothing([&](ListVariant& mine) { return ListVariant::Copy(list, &mine, Negate); });
}

TEST(OutOfMemoryTest, VariantIsDecodedOrUnchanged) {
  ExhaustPool();
  const ListVariant list = WithZeros();
  VariantTensorData data;
  list.Encode(&data);
  bool failed = true;
  int64_t n = 0, live = 0;
  for (; failed; ++n) {
    {
      FailingMemory memory(FailingMemory::kOne, n);
      ListVariant mine = ListOf(Full(2));
      bool decoded = false;
      EXPECT_TRUE(memory.Run([&] {
        decoded = mine.Decode(data);
        return absl::OkStatus();
      }));
      failed = memory.failed();
      EXPECT_EQ(decoded, !failed);
      EXPECT_EQ(mine.size(), failed ? 2 : list.size());
      if (failed) {
        EXPECT_EQ(Elements(mine), Elements(ListOf(Full(2))));
      }
    }
    if (n > 0) {
      EXPECT_EQ(LiveAllocations(), live);  // the first log message keeps some memory
    }
    live = LiveAllocations();
  }
  EXPECT_GT(n, 2);
}

TEST(OutOfMemoryTest, StockListIsConvertedOrLeft) {
  tensorflow::TensorList stock;
  stock.element_dtype = tensorflow::DT_INT64;
  for (int64_t i = 0; i < 40; ++i) stock.tensors().push_back(Scalar(i));
  AtEachAllocation([&](FailingMemory& memory) {
    ListVariant made;
    memory.RunAndRepeat(
        [&] {
          made = ListVariant::FromStock(stock);
          return absl::OkStatus();
        },
        [&] { EXPECT_EQ(made.size(), 0); });
    EXPECT_EQ(ValueOf(*made.Get(39).tensor), 39);
  });
}

// Nested lists are freed without recursion by means of a vector, for which there may be no memory.
TEST(OutOfMemoryTest, NestedListsAreFreedWithoutMemory) {
  for (const bool warm_up : {true, false}) {
    const int64_t before = LiveAllocations();
    auto nested = std::make_unique<ListVariant>(ListOf(Full(2)));
    for (int depth = 0; depth < 50; ++depth) {
      Tensor inner(tensorflow::DT_VARIANT, {});
      inner.scalar<Variant>()() = std::move(*nested);
      *nested = ListVariant({tensorflow::DT_VARIANT, PartialTensorShape(), -1}, 2);
      nested->Set(0, inner);
      nested->Set(1, inner);
    }
    FailingMemory none(FailingMemory::kAllFrom, 0);
    EXPECT_TRUE(none.Run([&] {
      nested.reset();
      return absl::OkStatus();
    }));
    EXPECT_TRUE(none.failed());
    if (!warm_up) {
      EXPECT_EQ(LiveAllocations(), before);
    }
  }
}

// ---- loop stacks --------------------------------------------------------------------------------

constexpr int kLists = 9;  // more than a row keeps without an allocation

LoopStack Empty() {
  return LoopStack(std::vector<ListSpec>(kLists, {tensorflow::DT_INT64, PartialTensorShape(), -1}),
                   kLists);
}

LoopStackRow::Values RowOf(int64_t first) {
  LoopStackRow::Values row;
  for (int64_t i = 0; i < kLists; ++i) row.push_back(Scalar(first + i));
  return row;
}

void ExpectRows(LoopStack stack, std::vector<int64_t> firsts) {
  ASSERT_EQ(stack.size(), static_cast<int64_t>(firsts.size()));
  for (; !firsts.empty(); firsts.pop_back()) {
    const LoopStackRow::Values row = stack.Pop();
    for (int i = 0; i < kLists; ++i) EXPECT_EQ(ValueOf(row[i]), firsts.back() + i);
  }
}

TEST(OutOfMemoryTest, RowIsPushedOrNot) {
  AtEachAllocation([](FailingMemory& memory) {
    LoopStack mine = Empty();
    mine.Push(RowOf(10));
    const LoopStack copy = mine;
    memory.RunAndRepeat(
        [&] {
          mine.Push(RowOf(20));
          return absl::OkStatus();
        },
        [&] { ExpectRows(mine, {10}); });
    ExpectRows(mine, {10, 20});
    ExpectRows(copy, {10});
  });
}

TEST(OutOfMemoryTest, RowIsPoppedOrStays) {
  for (const bool shared : {false, true}) {
    AtEachAllocation([&](FailingMemory& memory) {
      LoopStack mine = Empty();
      mine.Push(RowOf(10));
      mine.Push(RowOf(20));
      const LoopStack copy = shared ? mine : Empty();
      LoopStackRow::Values row;
      memory.RunAndRepeat(
          [&] {
            row = mine.Pop();
            return absl::OkStatus();
          },
          [&] { ExpectRows(mine, {10, 20}); });
      EXPECT_EQ(ValueOf(row[8]), 28);
      ExpectRows(mine, {10});
      if (shared) ExpectRows(copy, {10, 20});
    });
  }
}

TEST(OutOfMemoryTest, LoopStackIsCopiedAndDecodedOrUnchanged) {
  LoopStack from = Empty();
  from.Push(RowOf(10));
  from.Push(RowOf(20));
  VariantTensorData data;
  from.Encode(&data);
  AtEachAllocation([&](FailingMemory& memory) {
    LoopStack to = Empty();
    memory.RunAndRepeat([&] { return LoopStack::Copy(from, &to, Negate); },
                        [&] { ExpectRows(to, {}); });
    EXPECT_EQ(ValueOf(to.Pop()[0]), -20);
  });
  AtEachAllocation([&](FailingMemory& memory) {
    LoopStack to = Empty();
    memory.RunAndRepeat(
        [&] { return to.Decode(data) ? absl::OkStatus() : absl::InternalError("was not decoded"); },
        [&] { ExpectRows(to, {}); });
    ExpectRows(to, {10, 20});
  });
}

// The type name and the metadata of what Encode writes when allocation `n` of it fails.
std::pair<std::string, std::string> Encoded(const ListVariant& list, int64_t n, bool* failed) {
  FailingMemory memory(FailingMemory::kOne, n);
  VariantTensorData data;
  EXPECT_TRUE(memory.Run([&] {
    list.Encode(&data);
    return absl::OkStatus();
  }));
  *failed = memory.failed();
  EXPECT_EQ(data.tensors_size(), *failed ? 0 : 3);
  return {data.type_name(), data.metadata_string()};
}

TEST(OutOfMemoryTest, EncodeWritesAWholeListOrOneThatNothingReads) {
  ListVariant list({tensorflow::DT_INT64, PartialTensorShape(), -1}, 60);
  for (const int64_t i : {1, 40, 41}) list.Set(i, Scalar(i));
  bool failed = true;
  const auto whole = Encoded(list, int64_t{1} << 60, &failed);
  int64_t n = 0;
  for (failed = true; failed; ++n) {
    const auto written = Encoded(list, n, &failed);
    EXPECT_EQ(written, failed ? std::make_pair(std::string(kUnwritten), std::string()) : whole);
  }
  EXPECT_GT(n, 5);
}

}  // namespace
}  // namespace tensor_array_grad
