#include "cc/device/functors.h"

#include <cmath>
#include <complex>

#include "cc/base/tensorflow_names.h"
#include "cc/testing/matchers.h"

namespace tensor_array_grad {
namespace {

// Cuts the work into pieces of 3, so that work that begins in the middle of a row is tested too.
void ByThrees(int64_t total, int64_t, cpu::Work work) {
  for (int64_t i = 0; i < total; i += 3) work(i, std::min(i + 3, total));
}

template <typename T>
class FunctorsTest : public ::testing::Test {};
using Numbers = ::testing::Types<float, double, Eigen::half, Eigen::bfloat16, int8_t, int16_t,
                                 int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t,
                                 std::complex<float>, std::complex<double>>;
TYPED_TEST_SUITE(FunctorsTest, Numbers);

TYPED_TEST(FunctorsTest, AddSumsElementByElementAlsoInPlace) {
  using T = TypeParam;
  for (int n : {0, 1, 7, 100}) {
    std::vector<T> left, right, want;
    for (int i = 0; i < n; ++i) {
      left.push_back(T(i % 50));
      right.push_back(T(3));
      want.push_back(T(i % 50 + 3));
    }
    Tensor a = TensorOf<T>({n}, left), sum = TensorOf<T>({n}, left);
    cpu::Add(a, TensorOf<T>({n}, right), ByThrees, &sum);
    EXPECT_EQ(ValuesOf<T>(sum), want);
    cpu::Add(a, TensorOf<T>({n}, right), ByThrees, &a);
    EXPECT_EQ(ValuesOf<T>(a), want);
  }
}

TYPED_TEST(FunctorsTest, EveryDtypeCanBeSummedAndZeroed) {
  EXPECT_TRUE(CanAdd(tensorflow::DataTypeToEnum<TypeParam>::value));
  Tensor values = TensorOf<TypeParam>({2}, {TypeParam(1), TypeParam(2)});
  cpu::Zero(ByThrees, &values);
  EXPECT_EQ(ValuesOf<TypeParam>(values), std::vector<TypeParam>(2, TypeParam(0)));
}

TEST(FunctorsTest, NoOtherDtypeHasASum) {
  constexpr int kNumbers = 14;
  int summed = 0;
  for (int dtype = 0; dtype <= tensorflow::DataType_MAX; ++dtype) {
    summed += CanAdd(static_cast<DataType>(dtype)) ? 1 : 0;
  }
  EXPECT_EQ(summed, kNumbers) << "cpu::Add has no other dtypes than those of `Numbers`";
}

TEST(FunctorsTest, PackJoinsRunsAndZeros) {
  const Tensor a = Vec({1, 2, 3, 4, 5}), b = Vec({6, 7});
  Tensor out(tensorflow::DT_FLOAT, TensorShape({8}));
  cpu::Pack({{a, 1, 3}, {Tensor(), 0, 2}, {b, 0, 2}, {a, 4, 1}}, ByThrees, &out);
  EXPECT_THAT(out, TensorEq(Vec({2, 3, 4, 0, 0, 6, 7, 5})));
}

TEST(FunctorsTest, PackCopiesStrings) {
  using tensorflow::tstring;
  const Tensor a = TensorOf<tstring>({2}, {"one", std::string(100, 'x')});
  Tensor out(tensorflow::DT_STRING, TensorShape({2}));
  cpu::Pack({{a, 1, 1}, {a, 0, 1}}, ByThrees, &out);
  EXPECT_EQ(ValuesOf<tstring>(out), (std::vector<tstring>{std::string(100, 'x'), "one"}));
}

TYPED_TEST(FunctorsTest, RowsAreAddedToTheirBoxes) {
  using T = TypeParam;
  const auto numbers = [](int n) {
    std::vector<T> all;
    for (int i = 0; i < n; ++i) all.push_back(T(i));
    return all;
  };
  // In a matrix of shape [3, 5]: x[2::-2, 1::2], which is columns 1 and 3 of rows 2 and 0, and then
  // x[2::-2, :4:2], which is columns 0 and 2 of the same rows. The row of `addend` between them is
  // skipped.
  const cpu::Box box{{2, 2}, {-10, 2}};
  const std::vector<int64_t> starts{11, -1, 10};
  Tensor sum = TensorOf<T>({3, 5}, numbers(15));
  const Tensor addend = TensorOf<T>(
      {12}, {T(50), T(60), T(70), T(80), T(0), T(0), T(0), T(0), T(1), T(2), T(3), T(4)});
  cpu::AddRows(addend, box, starts, ByThrees, &sum);
  std::vector<T> want = numbers(15);
  want[11] = T(61), want[13] = T(73), want[1] = T(71), want[3] = T(83);
  want[10] = T(11), want[12] = T(14), want[0] = T(3), want[2] = T(6);
  EXPECT_EQ(ValuesOf<T>(sum), want);

  Tensor taken = TensorOf<T>({12}, std::vector<T>(12, T(9)));
  cpu::TakeRows(box, starts, ByThrees, &sum, &taken);
  EXPECT_EQ(ValuesOf<T>(taken), (std::vector<T>{T(61), T(73), T(71), T(83), T(9), T(9), T(9), T(9),
                                                T(11), T(14), T(3), T(6)}));
  for (const int64_t start : {11, 10}) {
    for (const int64_t step : {0, 2, -10, -8}) want[start + step] = T(0);
  }
  EXPECT_EQ(ValuesOf<T>(sum), want);
}

TYPED_TEST(FunctorsTest, RowsAreAddedToZerosIfWanted) {
  using T = TypeParam;
  const T negative = static_cast<T>(-T(0));
  for (const int64_t step : {1, 2}) {
    std::vector<T> addend, want(600, negative);
    for (int i = 0; i < 300; ++i) {
      addend.push_back(i % 2 == 0 ? negative : T(i % 7));
      want[i * step] = i % 2 == 0 ? T(0) : T(i % 7);
    }
    Tensor sum = TensorOf<T>({600}, std::vector<T>(600, negative));
    cpu::AddRows(TensorOf<T>({300}, addend), {{300}, {step}}, {0}, ByThrees, &sum);
    EXPECT_EQ(ValuesOf<T>(sum), want);
    sum = TensorOf<T>({600}, std::vector<T>(600, negative));
    cpu::AddRows(TensorOf<T>({300}, addend), {{300}, {step}}, {0}, cpu::OnThisThread, &sum,
                 /*from_zero=*/true);
    EXPECT_EQ(sum.tensor_data(), TensorOf<T>({600}, want).tensor_data()) << "in all bits";
  }
}

TEST(FunctorsTest, TakeRowsLeavesNegativeZeros) {
  Tensor sum = Vec({1, 2}), taken = Vec({0});
  cpu::TakeRows({{}, {}}, {1}, ByThrees, &sum, &taken);
  EXPECT_TRUE(std::signbit(sum.vec<float>()(1)));
  EXPECT_THAT(taken, TensorEq(Vec({2})));
}

TEST(FunctorsTest, AnEmptyBoxChangesNothing) {
  Tensor sum = Vec({1, 2});
  cpu::AddRows(Vec({}), {{3, 0}, {0, 1}}, {0}, ByThrees, &sum);
  EXPECT_THAT(sum, TensorEq(Vec({1, 2})));
}

TEST(ViewOfTest, SharesTheBufferWithoutCopying) {
  const Tensor a = TensorOf<float>({2, 3}, {1, 2, 3, 4, 5, 6});
  const Tensor row = ViewOf({a, 3, 3}, TensorShape({3}));
  EXPECT_TRUE(row.SharesBufferWith(a));
  EXPECT_EQ(ValuesOf(row), (std::vector<float>{4, 5, 6}));
  EXPECT_EQ(ViewOf({a, 0, 6}, TensorShape({6})).shape(), TensorShape({6}));
}

}  // namespace
}  // namespace tensor_array_grad
