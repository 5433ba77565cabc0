#include "cc/small_ops/value.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <limits>

#include "cc/base/tensorflow_names.h"
#include "cc/testing/matchers.h"

namespace tensor_array_grad {
namespace {

Value OfTensor(Tensor tensor) {
  Value value;
  value.Set(std::move(tensor));
  return value;
}

template <typename T>
Value OfNumber(T number) {
  Value value;
  value.SetScalar(number);
  return value;
}

// Whether no other tensor shares the buffer. The call itself adds no reference.
bool IsOnlyOwner(Tensor* tensor) { return tensor->RefCountIsOne(); }

template <typename T>
class ValueNumberTest : public testing::Test {};
using Numbers = testing::Types<float, double, int32_t, int64_t, bool>;
TYPED_TEST_SUITE(ValueNumberTest, Numbers);

TYPED_TEST(ValueNumberTest, BecomesAScalarTensor) {
  const auto number = static_cast<TypeParam>(1);
  Value value = OfNumber(number);
  EXPECT_TRUE(value.is_scalar());
  EXPECT_EQ(value.dtype(), tensorflow::DataTypeToEnum<TypeParam>::value);
  Tensor* const tensor = value.tensor();
  EXPECT_EQ(tensor->dtype(), tensorflow::DataTypeToEnum<TypeParam>::value);
  EXPECT_EQ(tensor->dims(), 0);
  EXPECT_EQ(tensor->scalar<TypeParam>()(), number);
}

TYPED_TEST(ValueNumberTest, IsReadFromANumberAndFromAScalarTensor) {
  const auto number = static_cast<TypeParam>(1);
  TypeParam got{};
  EXPECT_TRUE(OfNumber(number).Get(&got));
  EXPECT_EQ(got, number);
  got = {};
  EXPECT_TRUE(OfTensor(Tensor(number)).Get(&got));
  EXPECT_EQ(got, number);
}

TYPED_TEST(ValueNumberTest, LargestAndSmallestNumberKeepTheirBits) {
  for (TypeParam number :
       {std::numeric_limits<TypeParam>::max(), std::numeric_limits<TypeParam>::lowest()}) {
    TypeParam got{};
    ASSERT_TRUE(OfNumber(number).Get(&got));
    EXPECT_EQ(std::memcmp(&got, &number, sizeof(got)), 0);
  }
}

TEST(ValueTest, EmptyValueIsNoScalar) {
  Value value;
  EXPECT_FALSE(value.is_scalar());
  bool taken;
  EXPECT_FALSE(value.Get(&taken));
  EXPECT_EQ(value.tensor()->NumElements(), 0);
}

TEST(ValueTest, NumberOfAnotherTypeIsNotRead) {
  float got = 5;
  EXPECT_FALSE(OfNumber(int32_t{1}).Get(&got));
  EXPECT_FALSE(OfTensor(Tensor(int32_t{1})).Get(&got));
  EXPECT_FALSE(OfTensor(Vec({1})).Get(&got));  // a vector, not a scalar
  EXPECT_EQ(got, 5);
}

TEST(ValueTest, NumberIsReadAgainAfterItBecameATensor) {
  Value value = OfNumber(int32_t{7});
  value.tensor();
  int32_t got = 0;
  EXPECT_TRUE(value.Get(&got));
  EXPECT_EQ(got, 7);
}

TEST(ValueTest, HeldTensorHasASecondReference) {
  Value value = OfTensor(Vec({1, 2}));
  EXPECT_FALSE(IsOnlyOwner(value.HeldTensor()));
  EXPECT_FALSE(IsOnlyOwner(value.HeldTensor()));
  EXPECT_THAT(*value.tensor(), TensorEq(Vec({1, 2})));
}

TEST(ValueTest, HeldNumberHasASecondReference) {
  Value value = OfNumber(3.5f);
  EXPECT_FALSE(IsOnlyOwner(value.HeldTensor()));
}

TEST(ValueTest, LastTensorHasOneReferenceAlsoAfterItWasHeld) {
  Value value = OfTensor(Vec({1, 2}));
  value.HeldTensor();
  EXPECT_TRUE(IsOnlyOwner(value.LastTensor()));
  Value number = OfNumber(3.5f);
  number.HeldTensor();
  EXPECT_TRUE(IsOnlyOwner(number.LastTensor()));
}

TEST(ValueTest, LastTensorThatAnotherTensorSharesHasASecondReference) {
  const Tensor other = Vec({1, 2});
  Value value = OfTensor(other);
  EXPECT_FALSE(IsOnlyOwner(value.LastTensor()));
}

TEST(ValueTest, NewNumberReusesTheBufferOfTheOldOne) {
  Value value = OfNumber(int32_t{1});
  const void* const buffer = value.tensor()->data();
  value.SetScalar(int32_t{2});
  EXPECT_EQ(value.tensor()->data(), buffer);
  EXPECT_EQ(value.tensor()->scalar<int32_t>()(), 2);
}

TEST(ValueTest, NewNumberDoesNotReuseABufferThatAnotherTensorShares) {
  Value value = OfNumber(int32_t{1});
  const Tensor kept = *value.tensor();
  value.SetScalar(int32_t{2});
  EXPECT_EQ(value.tensor()->scalar<int32_t>()(), 2);
  EXPECT_EQ(kept.scalar<int32_t>()(), 1);
}

TEST(ValueTest, NewNumberReusesTheBufferThatWasHeldForAReader) {
  Value value = OfNumber(int32_t{1});
  const void* const buffer = value.HeldTensor()->data();
  value.SetScalar(int32_t{2});
  EXPECT_EQ(value.tensor()->data(), buffer);
}

TEST(ValueTest, NumberOfAnotherTypeGetsANewBuffer) {
  Value value = OfNumber(int32_t{1});
  value.tensor();
  value.SetScalar(2.0);
  EXPECT_EQ(value.tensor()->dtype(), tensorflow::DT_DOUBLE);
  EXPECT_EQ(value.tensor()->scalar<double>()(), 2.0);
}

TEST(ValueTest, NumberAfterAVectorIsAScalar) {
  Value value = OfTensor(Vec({1, 2}));
  value.SetScalar(3.0f);
  EXPECT_TRUE(value.is_scalar());
  EXPECT_EQ(value.dtype(), DT_FLOAT);
  EXPECT_EQ(value.tensor()->dims(), 0);
  EXPECT_EQ(value.tensor()->scalar<float>()(), 3);
}

TEST(ValueTest, TensorAfterANumberIsThatTensor) {
  Value value = OfNumber(int32_t{1});
  value.tensor();
  value.Set(Vec({1, 2}));
  EXPECT_FALSE(value.is_scalar());
  EXPECT_THAT(*value.tensor(), TensorEq(Vec({1, 2})));
  int32_t got;
  EXPECT_FALSE(value.Get(&got));
}

TEST(ValueTest, ReleaseDropsTheBufferWhetherHeldOrNot) {
  const Tensor tensor = Vec({1, 2});
  for (bool held : {false, true}) {
    Value value = OfTensor(tensor);
    if (held) value.HeldTensor();
    value.Release();
    EXPECT_TRUE(tensor.RefCountIsOne()) << held;
    EXPECT_EQ(value.tensor()->NumElements(), 0);
  }
}

TEST(ValueTest, ReleaseTensorKeepsTheBufferOfANumberOnly) {
  const Tensor tensor = Vec({1, 2});
  Value value = OfTensor(tensor);
  value.ReleaseTensor();
  EXPECT_TRUE(tensor.RefCountIsOne());
  Value number = OfNumber(int32_t{1});
  const void* const buffer = number.tensor()->data();
  number.ReleaseTensor();
  number.SetScalar(int32_t{2});
  EXPECT_EQ(number.tensor()->data(), buffer);
}

TEST(ValueTest, ReleaseTensorKeepsTheBufferOfAnIndexForTheNextOne) {
  Value index = OfTensor(TensorOf<int32_t>({2}, {1, 2}));
  const void* const buffer = index.tensor()->data();
  index.HeldTensor();
  index.LastTensor();
  index.ReleaseTensor();
  ASSERT_NE(index.IndexToReuse(DT_INT32, 2), nullptr);
  EXPECT_EQ(index.IndexToReuse(DT_INT32, 2)->data(), buffer);
  EXPECT_EQ(index.IndexToReuse(DT_INT32, 1), nullptr);
  EXPECT_EQ(index.IndexToReuse(tensorflow::DT_INT64, 2), nullptr);
}

TEST(ValueTest, ReleaseTensorDropsAnIndexThatAResultShares) {
  Value index = OfTensor(TensorOf<int32_t>({2}, {1, 2}));
  const Tensor result = *index.LastTensor();
  EXPECT_EQ(index.IndexToReuse(DT_INT32, 2), nullptr);
  index.ReleaseTensor();
  EXPECT_TRUE(result.RefCountIsOne());
  EXPECT_EQ(index.IndexToReuse(DT_INT32, 2), nullptr);
}

TEST(ValueTest, OnlyAShortVectorOfIntegersIsAnIndex) {
  const auto stays = [](Tensor tensor) {
    Value value = OfTensor(std::move(tensor));
    value.ReleaseTensor();
    return value.tensor()->NumElements() > 0;
  };
  EXPECT_TRUE(stays(Tensor(DT_INT32, {8})));
  EXPECT_TRUE(stays(Tensor(tensorflow::DT_INT64, {1})));
  EXPECT_FALSE(stays(Tensor(DT_INT32, {9})));
  EXPECT_FALSE(stays(Tensor(DT_INT32, {1, 2})));
  EXPECT_FALSE(stays(Tensor(int32_t{7})));
  EXPECT_FALSE(stays(Tensor(DT_FLOAT, {2})));
}

TEST(ValueTest, AssignFromTheLastReaderMovesTheTensor) {
  Value from = OfTensor(Vec({1, 2}));
  from.HeldTensor();
  Value to;
  to.Assign(&from, /*last=*/true);
  EXPECT_TRUE(IsOnlyOwner(to.LastTensor()));
  EXPECT_THAT(*to.tensor(), TensorEq(Vec({1, 2})));
  EXPECT_EQ(from.tensor()->NumElements(), 0);
}

TEST(ValueTest, AssignForAnotherReaderSharesTheTensor) {
  Value from = OfTensor(Vec({1, 2}));
  Value to;
  to.Assign(&from, /*last=*/false);
  EXPECT_EQ(to.tensor()->data(), from.tensor()->data());
  EXPECT_FALSE(IsOnlyOwner(to.LastTensor()));
  from.Release();
  EXPECT_TRUE(IsOnlyOwner(to.LastTensor()));
}

TEST(ValueTest, AssignOfANumberCopiesItAndSharesNoBuffer) {
  for (bool last : {false, true}) {
    Value from = OfNumber(int32_t{4});
    from.tensor();
    Value to = OfTensor(Vec({1, 2}));
    to.Assign(&from, last);
    int32_t got = 0;
    ASSERT_TRUE(to.Get(&got)) << last;
    EXPECT_EQ(got, 4);
    EXPECT_NE(to.tensor()->data(), from.tensor()->data());
  }
}

TEST(ValueTest, TwoValuesOfAFloatNumberShareABuffer) {
  Value from, first, second;
  from.SetScalar(2.5f);
  first.Assign(&from, /*last=*/false);
  second.Assign(&from, /*last=*/true);
  EXPECT_EQ(first.tensor()->data(), second.tensor()->data());
  from.Release();
  first.Release();
  EXPECT_TRUE(second.LastTensor()->RefCountIsOne());
}

TEST(ValueTest, ReleaseTensorDropsTheBufferOfANumberThatAResultShares) {
  Value number;
  number.SetScalar(2.5f);
  const Tensor result = *number.LastTensor();  // as in a kernel that outputs its input
  number.ReleaseTensor();
  EXPECT_TRUE(result.RefCountIsOne());
}

TEST(ValueTest, NewNumberDropsABufferThatAResultShares) {
  Value number;
  number.SetScalar(2.5f);
  const Tensor result = *number.tensor();
  number.SetScalar(3.5f);
  EXPECT_TRUE(result.RefCountIsOne());
  EXPECT_EQ(result.scalar<float>()(), 2.5f);
}

TEST(ValueTest, AssignReleasesTheOldContent) {
  const Tensor old = Vec({1, 2});
  Value to = OfTensor(old);
  to.HeldTensor();
  Value from = OfTensor(Vec({3}));
  to.Assign(&from, /*last=*/true);
  EXPECT_TRUE(old.RefCountIsOne());
}

}  // namespace
}  // namespace tensor_array_grad
