#include "cc/array/sparse_vector.h"

#include <gtest/gtest.h>

namespace tensor_array_grad {
namespace {

TEST(SparseVectorTest, UntouchedEntriesAreMissing) {
  SparseVector<int> row;
  EXPECT_EQ(row.Find(0), nullptr);
  *row.FindOrMake(2000000000, 2147483647) = 7;
  EXPECT_EQ(*row.Find(2000000000), 7);
  EXPECT_EQ(row.Find(1999990000), nullptr);
  EXPECT_EQ(row.Find(2147483646), nullptr);
}

TEST(SparseVectorTest, EntriesSurviveTheGrowthOfTheFirstChunk) {
  SparseVector<int> row;
  for (int i = 0; i < 3000; ++i) *row.FindOrMake(i, i + 1) = i;
  for (int i = 0; i < 3000; ++i) EXPECT_EQ(*row.Find(i), i);
}

TEST(SparseVectorTest, AShortRowHasOnlyItsOwnEntries) {
  SparseVector<int> row;
  row.FindOrMake(1, /*length=*/3);
  int entries = 0;
  row.ForEach([&entries](int&) { ++entries; });
  EXPECT_EQ(entries, 3);
}

TEST(SparseVectorTest, NewEntriesHaveTheDefaultValue) {
  SparseVector<int> row;
  EXPECT_EQ(*row.FindOrMake(5, 10), 0);
}

}  // namespace
}  // namespace tensor_array_grad
