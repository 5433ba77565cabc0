#include "cc/small_ops/small_tables.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "cc/base/tensorflow_names.h"
#include "cc/testing/matchers.h"
#include "cc/testing/small_op_under_test.h"

namespace tensor_array_grad {
namespace {

using tensorflow::DataTypeToEnum;

// ---- arithmetic against plain C++

template <typename T>
std::vector<T> Interesting() {
  using Limits = std::numeric_limits<T>;
  if constexpr (std::is_floating_point_v<T>) {
    return {T(0),
            T(-0.0),
            T(1),
            T(-1),
            T(0.1),
            T(-2.5),
            Limits::max(),
            Limits::lowest(),
            Limits::denorm_min(),
            Limits::min(),
            -Limits::infinity(),
            Limits::infinity(),
            Limits::quiet_NaN()};
  } else {
    return {0, 1, -1, 2, 7, -8, 12345, Limits::max(), Limits::min(), Limits::max() - 1};
  }
}

// Computes f. Integers wrap around.
template <typename T, typename F>
T Wrapped(T a, T b, F f) {
  if constexpr (std::is_floating_point_v<T>) {
    return f(a, b);
  } else {
    using U = std::make_unsigned_t<T>;
    return static_cast<T>(f(static_cast<U>(a), static_cast<U>(b)));
  }
}

template <typename T>
void ExpectSameBits(T got, T want, const std::string& what) {
  // Which NaN is the result depends on the processor and on the order of the operands.
  if (got != got && want != want) return;
  EXPECT_EQ(std::memcmp(&got, &want, sizeof(T)), 0) << what << ": " << got << ", not " << want;
}

// Calls `op` on numbers, on scalar tensors, on a vector, and on vector and scalar in both orders.
template <typename T, typename F>
void ExpectBinary(const std::string& op, F want) {
  using R = decltype(want(T(), T()));
  const SmallOp small = Find(op, DataTypeToEnum<T>::value);
  ASSERT_NE(small, nullptr) << op;
  const std::vector<T> all = Interesting<T>();
  for (T a : all) {
    std::vector<T> as(all.size(), a);
    for (T b : all) {
      for (bool tensors : {false, true}) {
        Value x = tensors ? Of(Tensor(a)) : Number(a), y = tensors ? Of(Tensor(b)) : Number(b);
        Value result;
        ASSERT_TRUE(Call(small, {{&x, true}, {&y, true}}, &result));
        R got{};
        ASSERT_TRUE(result.Get(&got));
        ExpectSameBits(got, want(a, b), absl::StrCat(op, " ", a, " ", b));
      }
    }
    for (int shape = 0; shape < 3; ++shape) {  // vectors; scalar first; scalar second
      Value x = shape == 1 ? Number(a) : Of(VecOf(shape == 2 ? all : as));
      Value y = shape == 2 ? Number(a) : Of(VecOf(all));
      Value result;
      if (op == "AddN" && shape != 0) {  // does not broadcast: its kernel reports an error
        EXPECT_FALSE(Call(small, {{&x, false}, {&y, false}}, &result));
        continue;
      }
      ASSERT_TRUE(Call(small, {{&x, false}, {&y, false}}, &result));
      const Tensor& got = *result.tensor();
      ASSERT_EQ(got.dtype(), DataTypeToEnum<R>::value);
      ASSERT_EQ(got.shape(), TensorShape({static_cast<int64_t>(all.size())}));
      for (size_t i = 0; i < all.size(); ++i) {
        const R wanted = shape == 2 ? want(all[i], a) : want(a, all[i]);
        ExpectSameBits(got.flat<R>()(i), wanted, absl::StrCat(op, " at ", i, " with ", a));
      }
    }
  }
}

template <typename T>
class SmallNumericTest : public testing::Test {};
using Numeric = testing::Types<float, double, int32_t, int64_t>;
TYPED_TEST_SUITE(SmallNumericTest, Numeric);

TYPED_TEST(SmallNumericTest, SumsDifferencesAndProductsHaveTheBitsOfCpp) {
  using T = TypeParam;
  const auto sum = [](T a, T b) { return Wrapped(a, b, [](auto x, auto y) { return x + y; }); };
  for (const char* op : {"Add", "AddV2", "AddN"}) ExpectBinary<T>(op, sum);
  ExpectBinary<T>("Sub",
                  [](T a, T b) { return Wrapped(a, b, [](auto x, auto y) { return x - y; }); });
  ExpectBinary<T>("Mul",
                  [](T a, T b) { return Wrapped(a, b, [](auto x, auto y) { return x * y; }); });
}

TYPED_TEST(SmallNumericTest, ComparisonsHaveTheResultsOfCpp) {
  using T = TypeParam;
  ExpectBinary<T>("Less", [](T a, T b) { return a < b; });
  ExpectBinary<T>("LessEqual", [](T a, T b) { return a <= b; });
  ExpectBinary<T>("Greater", [](T a, T b) { return a > b; });
  ExpectBinary<T>("GreaterEqual", [](T a, T b) { return a >= b; });
  ExpectBinary<T>("Equal", [](T a, T b) { return a == b; });
  ExpectBinary<T>("NotEqual", [](T a, T b) { return a != b; });
}

TYPED_TEST(SmallNumericTest, NegationAndSquareHaveTheBitsOfCpp) {
  using T = TypeParam;
  const SmallOp neg = Find("Neg", DataTypeToEnum<T>::value);
  const SmallOp square = Find("Square", DataTypeToEnum<T>::value);
  const std::vector<T> all = Interesting<T>();
  const auto negative = [](T a) {
    if constexpr (std::is_floating_point_v<T>) {
      return -a;
    } else {
      return Wrapped(T(0), a, [](auto x, auto y) { return x - y; });
    }
  };
  const auto squared = [](T a) { return Wrapped(a, a, [](auto x, auto y) { return x * y; }); };
  Value x = Of(VecOf(all)), y = Of(VecOf(all)), negated, of_square;
  ASSERT_TRUE(Call(neg, {{&x, false}}, &negated));
  ASSERT_TRUE(Call(square, {{&y, false}}, &of_square));
  for (size_t i = 0; i < all.size(); ++i) {
    ExpectSameBits(negated.tensor()->template flat<T>()(i), negative(all[i]), "Neg");
    ExpectSameBits(of_square.tensor()->template flat<T>()(i), squared(all[i]), "Square");
    Value number = Number(all[i]), result;
    T got{};
    ASSERT_TRUE(Call(neg, {{&number, true}}, &result) && result.Get(&got));
    ExpectSameBits(got, negative(all[i]), "Neg");
    ASSERT_TRUE(Call(square, {{&number, true}}, &result) && result.Get(&got));
    ExpectSameBits(got, squared(all[i]), "Square");
  }
}

TYPED_TEST(SmallNumericTest, SignOfNegatedZeroIsKept) {
  if constexpr (std::is_floating_point_v<TypeParam>) {
    Value x = Number(TypeParam(0)), result;
    TypeParam got{};
    ASSERT_TRUE(Call(Find("Neg", DataTypeToEnum<TypeParam>::value), {{&x, true}}, &result));
    ASSERT_TRUE(result.Get(&got));
    EXPECT_TRUE(std::signbit(got));
  }
}

TYPED_TEST(SmallNumericTest, OtherShapesAreLeftToTheKernel) {
  using T = TypeParam;
  const SmallOp add = Find("AddV2", DataTypeToEnum<T>::value);
  const Tensor two = VecOf<T>({1, 2}), three = VecOf<T>({1, 2, 3}), none = VecOf<T>({});
  const Tensor matrix(DataTypeToEnum<T>::value, TensorShape({2, 3}));
  const Tensor* const pairs[][2] = {{&two, &three}, {&two, &matrix}, {&matrix, &none}};
  for (const auto& [a, b] : pairs) {
    Value x = Of(*a), y = Of(*b), result = Of(Vec({9}));
    EXPECT_FALSE(Call(add, {{&x, true}, {&y, true}}, &result));
    EXPECT_THAT(*result.tensor(), TensorEq(Vec({9})));
    EXPECT_EQ(x.tensor()->data(), a->data());
    EXPECT_EQ(y.tensor()->data(), b->data());
  }
}

TYPED_TEST(SmallNumericTest, ShapesAreStretchedToEachOther) {
  using T = TypeParam;
  const SmallOp sub = Find("Sub", DataTypeToEnum<T>::value);
  Value column = Of(TensorOf<T>({2, 1}, {10, 20})), row = Of(VecOf<T>({1, 2, 3})), result;
  ASSERT_TRUE(Call(sub, {{&column, true}, {&row, true}}, &result));
  EXPECT_THAT(ValuesOf<T>(*result.tensor()), testing::ElementsAre(9, 8, 7, 19, 18, 17));
  EXPECT_EQ(result.tensor()->shape(), TensorShape({2, 3}));
  Value matrix = Of(std::move(*result.tensor())), differences;
  *result.tensor() = Tensor();
  const void* const buffer = matrix.tensor()->data();
  Value next_row = Of(VecOf<T>({1, 2, 3}));
  ASSERT_TRUE(Call(sub, {{&next_row, false}, {&matrix, true}}, &differences));
  EXPECT_THAT(ValuesOf<T>(*differences.tensor()), testing::ElementsAre(-8, -6, -4, -18, -16, -14));
  EXPECT_EQ(differences.tensor()->data(), buffer);
}

TYPED_TEST(SmallNumericTest, MoreThanFiveDimensionsAreLeftToTheKernel) {
  const DataType dtype = DataTypeToEnum<TypeParam>::value;
  const SmallOp add = Find("AddV2", dtype);
  Value five = Of(Tensor(dtype, {2, 1, 2, 1, 2})), row = Of(Tensor(dtype, {2, 1, 2, 1}));
  Value six = Of(Tensor(dtype, {2, 1, 2, 1, 2, 1})), other = Of(Tensor(dtype, {1, 2, 1, 2, 1, 2}));
  Value result;
  EXPECT_TRUE(Call(add, {{&five, false}, {&row, false}}, &result));
  EXPECT_FALSE(Call(add, {{&six, false}, {&other, false}}, &result)) << "an error";
}

TYPED_TEST(SmallNumericTest, AResultOfTooManyElementsIsLeftToTheKernel) {
  const DataType dtype = DataTypeToEnum<TypeParam>::value;
  Value column = Of(Tensor(dtype, {kMostSmallElements / 2, 1})), row = Of(Tensor(dtype, {3}));
  Value result;
  EXPECT_FALSE(Call(Find("Add", dtype), {{&column, true}, {&row, true}}, &result));
}

// The second elements are large, -large and 1: the sum shows the order of the additions, since 1 is
// lost when it is added to a large number first.
TYPED_TEST(SmallNumericTest, SeveralTermsAreAddedInTheOrderOfTheKernel) {
  using T = TypeParam;
  const SmallOp sum = Find("AddN", DataTypeToEnum<T>::value, 3);
  const T large = std::is_integral_v<T> ? T(100) : std::numeric_limits<T>::max();
  const Tensor held = VecOf<T>({1, large});
  Value x = Of(held), y = Of(VecOf<T>({2, T(-large)})), z = Of(VecOf<T>({4, 1})), result;
  ASSERT_TRUE(Call(sum, {{&x, true}, {&y, false}, {&z, false}}, &result));
  EXPECT_THAT(ValuesOf<T>(*result.tensor()), testing::ElementsAre(7, 1));
  EXPECT_THAT(ValuesOf<T>(held), testing::ElementsAre(1, large)) << "another tensor holds it";
  // z changes places with x because its buffer may be reused: (z + y) + x.
  const void* const buffer = z.tensor()->data();
  ASSERT_TRUE(Call(sum, {{&x, true}, {&y, false}, {&z, true}}, &result));
  EXPECT_THAT(ValuesOf<T>(*result.tensor()),
              testing::ElementsAre(7, std::is_integral_v<T> ? 1 : 0));
  EXPECT_EQ(result.tensor()->data(), buffer);
}

TYPED_TEST(SmallNumericTest, SumsOfSeveralShapesScalarsOrMoreThanEightTermsAreLeftToTheKernel) {
  using T = TypeParam;
  const DataType dtype = DataTypeToEnum<T>::value;
  Value x = Of(VecOf<T>({1})), y = Of(VecOf<T>({1, 2})), number = Number(T(1)), result;
  EXPECT_FALSE(Call(Find("AddN", dtype, 3), {{&x, true}, {&x, true}, {&y, true}}, &result));
  EXPECT_FALSE(
      Call(Find("AddN", dtype, 3), {{&number, true}, {&number, true}, {&number, true}}, &result));
  EXPECT_TRUE(Find("AddN", dtype, 8) != nullptr);
  EXPECT_EQ(Find("AddN", dtype, 9), nullptr);
  EXPECT_EQ(Find("AddN", dtype, 1), nullptr);
}

TYPED_TEST(SmallNumericTest, ABiasIsAddedToTheLastDimension) {
  using T = TypeParam;
  const SmallOp add = Find("BiasAdd", DataTypeToEnum<T>::value);
  Value x = Of(TensorOf<T>({2, 1, 2}, {1, 2, 3, 4})), bias = Of(VecOf<T>({10, 20})), result;
  ASSERT_TRUE(Call(add, {{&x, false}, {&bias, false}}, &result));
  EXPECT_THAT(ValuesOf<T>(*result.tensor()), testing::ElementsAre(11, 22, 13, 24));
  EXPECT_EQ(result.tensor()->shape(), TensorShape({2, 1, 2}));
  Value one = Of(VecOf<T>({5})), matrix = Of(TensorOf<T>({1, 2}, {1, 2}));
  EXPECT_FALSE(Call(add, {{&x, false}, {&one, false}}, &result)) << "an error";
  EXPECT_FALSE(Call(add, {{&x, false}, {&matrix, false}}, &result)) << "an error";
  EXPECT_FALSE(Call(add, {{&bias, false}, {&bias, false}}, &result)) << "an error";
}

TEST(SmallBiasTest, BiasOfAnotherDimensionIsLeftToTheKernel) {
  GraphUnderTest graph;
  graph.Placeholder("x", DT_FLOAT);
  graph.Placeholder("bias", DT_FLOAT);
  tensorflow::NodeDef& node = graph.Add("node", "BiasAdd", {"x", "bias"});
  GraphUnderTest::Set(node, "T", DT_FLOAT);
  GraphUnderTest::Set(node, "data_format", "NCHW");
  EXPECT_EQ(SmallOpFor(*graph.Find("node"), tensorflow::cpu_allocator()), nullptr);
}

TEST(SmallFiniteTest, IsFiniteTestsNumbersAndEachElementOfTensors) {
  const float infinity = std::numeric_limits<float>::infinity();
  Value x = Of(Vec({0, infinity, -infinity, std::nanf(""), 1e38f})), result;
  ASSERT_TRUE(Call(Find("IsFinite", DT_FLOAT), {{&x, true}}, &result));
  EXPECT_THAT(ValuesOf<bool>(*result.tensor()),
              testing::ElementsAre(true, false, false, false, true));
  Value number = Number(-std::numeric_limits<double>::infinity());
  bool finite = true;
  ASSERT_TRUE(Call(Find("IsFinite", DT_DOUBLE), {{&number, true}}, &result));
  EXPECT_TRUE(result.Get(&finite) && !finite);
}

TYPED_TEST(SmallNumericTest, EmptyTensorsStayEmpty) {
  using T = TypeParam;
  Value x = Of(VecOf<T>({})), y = Number(T(1)), result;
  ASSERT_TRUE(Call(Find("AddV2", DataTypeToEnum<T>::value), {{&x, true}, {&y, true}}, &result));
  EXPECT_EQ(result.tensor()->shape(), TensorShape({0}));
}

TYPED_TEST(SmallNumericTest, OneElementMoreThanTheMostIsLeftToTheKernel) {
  using T = TypeParam;
  for (const char* op : {"AddV2", "Less", "Neg", "Square"}) {
    const SmallOp small = Find(op, DataTypeToEnum<T>::value);
    const bool unary = op[0] == 'N' || op[0] == 'S';
    for (int64_t extra : {0, 1}) {
      Value x = Of(VecOf(std::vector<T>(kMostSmallElements + extra, T(1)))), y = Number(T(2));
      Value result;
      std::vector<Operand> operands = {{&x, false}};
      if (!unary) operands.push_back({&y, false});
      EXPECT_EQ(Call(small, operands, &result), extra == 0) << op;
    }
  }
}

TYPED_TEST(SmallNumericTest, ValuesOfAnotherTypeAreLeftToTheKernel) {
  const DataType dtype = DataTypeToEnum<TypeParam>::value;
  Value text = Of(Tensor(tensorflow::tstring("text"))), result;
  Value texts = Of(Tensor(tensorflow::DT_STRING, TensorShape({2})));
  for (const char* op : {"AddV2", "Mul", "Less"}) {
    EXPECT_FALSE(Call(Find(op, dtype), {{&text, true}, {&text, false}}, &result));
    EXPECT_FALSE(Call(Find(op, dtype), {{&texts, true}, {&text, false}}, &result));
  }
  EXPECT_FALSE(Call(Find("Neg", dtype), {{&text, true}}, &result));
  EXPECT_FALSE(Call(Find("Neg", dtype), {{&texts, true}}, &result));
}

// ---- integers

template <typename T>
class SmallIntegralTest : public testing::Test {};
using Integral = testing::Types<int32_t, int64_t>;
TYPED_TEST_SUITE(SmallIntegralTest, Integral);

// Calls `op` on every pair of numbers. It must leave the pairs for which `defined` is false to the
// kernel.
template <typename T, typename F>
void ExpectOfScalars(const char* op, bool (*defined)(T), F want) {
  const SmallOp small = Find(op, DataTypeToEnum<T>::value);
  for (T a : Interesting<T>()) {
    for (T b : Interesting<T>()) {
      Value x = Number(a), y = Number(b), result = Number(T(55));
      EXPECT_EQ(Call(small, {{&x, true}, {&y, true}}, &result), defined(b)) << op << a << " " << b;
      T got{};
      ASSERT_TRUE(result.Get(&got));
      EXPECT_EQ(got, defined(b) ? want(a, b) : T(55)) << op << " " << a << " " << b;
    }
  }
  Value x = Of(VecOf<T>({1, 2})), y = Number(T(2)), result;
  EXPECT_FALSE(Call(small, {{&x, true}, {&y, true}}, &result)) << "vectors are left to the kernel";
}

TYPED_TEST(SmallIntegralTest, MaximumAndMinimumHaveTheResultsOfCpp) {
  using T = TypeParam;
  ExpectOfScalars<T>("Maximum", [](T) { return true; }, [](T a, T b) { return std::max(a, b); });
  ExpectOfScalars<T>("Minimum", [](T) { return true; }, [](T a, T b) { return std::min(a, b); });
}

TYPED_TEST(SmallIntegralTest, QuotientsRoundDownAndThoseByZeroAndMinusOneAreLeftToTheKernel) {
  using T = TypeParam;
  const auto defined = [](T b) { return b != 0 && b != -1; };
  ExpectOfScalars<T>("FloorDiv", defined, [](T a, T b) {
    const T quotient = a / b;
    return quotient * b != a && (a < 0) != (b < 0) ? quotient - 1 : quotient;
  });
  ExpectOfScalars<T>("FloorMod", defined, [](T a, T b) {
    const T remainder = a % b;
    return remainder != 0 && (remainder < 0) != (b < 0) ? remainder + b : remainder;
  });
}

// ---- logic and conversion

TEST(SmallLogicTest, LogicalOpsFollowTheirTruthTables) {
  for (bool a : {false, true}) {
    for (bool b : {false, true}) {
      Value x = Number(a), y = Of(Tensor(b)), result;
      bool got;
      ASSERT_TRUE(Call(Find("LogicalAnd", DT_BOOL), {{&x, true}, {&y, true}}, &result));
      EXPECT_TRUE(result.Get(&got) && got == (a && b));
      ASSERT_TRUE(Call(Find("LogicalOr", DT_BOOL), {{&x, true}, {&y, true}}, &result));
      EXPECT_TRUE(result.Get(&got) && got == (a || b));
    }
    Value x = Number(a), result;
    bool got;
    ASSERT_TRUE(Call(Find("LogicalNot", DT_BOOL), {{&x, true}}, &result));
    EXPECT_TRUE(result.Get(&got) && got == !a);
  }
}

TEST(SmallLogicTest, VectorsAreLeftToTheKernel) {
  Value x = Of(VecOf<bool>({true, false})), result;
  EXPECT_FALSE(Call(Find("LogicalAnd", DT_BOOL), {{&x, true}, {&x, false}}, &result));
  EXPECT_FALSE(Call(Find("LogicalOr", DT_BOOL), {{&x, true}, {&x, false}}, &result));
  EXPECT_FALSE(Call(Find("LogicalNot", DT_BOOL), {{&x, true}}, &result));
}

template <typename From, typename To>
void ExpectCast(std::vector<From> numbers) {
  GraphUnderTest graph;
  graph.Placeholder("x", DataTypeToEnum<From>::value);
  tensorflow::NodeDef& node = graph.Add("cast", "Cast", {"x"});
  GraphUnderTest::Set(node, "SrcT", DataTypeToEnum<From>::value);
  GraphUnderTest::Set(node, "DstT", DataTypeToEnum<To>::value);
  const SmallOp cast = SmallOpFor(*graph.Find("cast"), tensorflow::cpu_allocator());
  ASSERT_NE(cast, nullptr);
  for (From number : numbers) {
    Value x = Number(number), result;
    To got{};
    ASSERT_TRUE(Call(cast, {{&x, true}}, &result) && result.Get(&got));
    ExpectSameBits(got, static_cast<To>(number), absl::StrCat("of ", number));
  }
  Value vector = Of(VecOf<From>({From(1), From(0)})), result;
  EXPECT_FALSE(Call(cast, {{&vector, true}}, &result));
}

TEST(SmallCastTest, ConvertedNumbersHaveTheBitsOfCpp) {
  ExpectCast<int32_t, int64_t>(Interesting<int32_t>());
  ExpectCast<int32_t, float>(Interesting<int32_t>());
  ExpectCast<int32_t, double>(Interesting<int32_t>());
  ExpectCast<int64_t, int32_t>(Interesting<int64_t>());
  ExpectCast<int64_t, float>(Interesting<int64_t>());
  ExpectCast<int64_t, double>(Interesting<int64_t>());
  ExpectCast<float, double>(Interesting<float>());
  ExpectCast<bool, int32_t>({false, true});
  ExpectCast<bool, int64_t>({false, true});
  ExpectCast<bool, float>({false, true});
  ExpectCast<bool, double>({false, true});
}

TEST(SmallOpForTest, OpsThatAreNotExactPerElementAreLeftToTheKernel) {
  for (const char* op : {"Maximum", "Minimum", "FloorDiv", "FloorMod"}) {
    EXPECT_EQ(Find(op, DT_FLOAT), nullptr) << op;
    EXPECT_EQ(Find(op, DT_DOUBLE), nullptr) << op;
  }
  for (const char* op : {"AddV2", "Mul", "Less", "Equal", "Neg"}) {
    EXPECT_EQ(Find(op, tensorflow::DT_HALF), nullptr) << op;
    EXPECT_EQ(Find(op, DT_BOOL), nullptr) << op;
  }
  EXPECT_EQ(Find("ZerosLike", DT_FLOAT), nullptr);
}

TEST(SmallOpForTest, AResultThatNoInstructionReadsIsLeftToTheKernel) {
  Value x = Number(2.f), y = Number(3.f);
  EXPECT_FALSE(Call(Find("AddV2", DT_FLOAT), {{&x, false}, {&y, false}}, nullptr));
}

TEST(SmallOpForTest, ConversionsThatMayOverflowAreLeftToTheKernel) {
  GraphUnderTest graph;
  graph.Placeholder("x", DT_FLOAT);
  tensorflow::NodeDef& cast = graph.Add("cast", "Cast", {"x"});
  GraphUnderTest::Set(cast, "SrcT", DT_FLOAT);
  GraphUnderTest::Set(cast, "DstT", DT_INT32);
  EXPECT_EQ(SmallOpFor(*graph.Find("cast"), tensorflow::cpu_allocator()), nullptr);
}

// ---- buffers

TEST(SmallBufferTest, LastOperandThatNoOtherTensorSharesBecomesTheResult) {
  const SmallOp add = Find("AddV2", DT_FLOAT);
  for (bool first : {true, false}) {
    Value x = Of(Vec({1, 2})), y = Of(Vec({10, 20})), result;
    x.HeldTensor();  // as for an earlier reader
    y.HeldTensor();
    const void* const reused = (first ? x : y).tensor()->data();
    ASSERT_TRUE(Call(add, {{&x, first}, {&y, !first}}, &result));
    EXPECT_EQ(result.tensor()->data(), reused);
    EXPECT_THAT(*result.tensor(), TensorEq(Vec({11, 22})));
  }
}

TEST(SmallBufferTest, OperandThatIsReadAgainIsNotWritten) {
  for (const char* op : {"AddV2", "Sub", "Mul"}) {
    Value x = Of(Vec({1, 2})), y = Of(Vec({10, 20})), result;
    ASSERT_TRUE(Call(Find(op, DT_FLOAT), {{&x, false}, {&y, false}}, &result));
    EXPECT_THAT(*x.tensor(), TensorEq(Vec({1, 2})));
    EXPECT_THAT(*y.tensor(), TensorEq(Vec({10, 20})));
    EXPECT_TRUE(result.LastTensor()->RefCountIsOne());
  }
}

TEST(SmallBufferTest, LastOperandThatAnotherTensorSharesIsNotWritten) {
  const Tensor kept = Vec({1, 2});
  for (const char* op : {"AddV2", "Neg", "Square"}) {
    Value x = Of(kept), y = Number(1.f), result;
    std::vector<Operand> operands = {{&x, true}};
    if (op[0] == 'A') operands.push_back({&y, true});
    ASSERT_TRUE(Call(Find(op, DT_FLOAT), operands, &result));
    EXPECT_NE(result.tensor()->data(), kept.data());
    EXPECT_THAT(kept, TensorEq(Vec({1, 2})));
  }
}

TEST(SmallBufferTest, VectorOfAScalarAndAVectorIsReusedInEitherOrder) {
  const SmallOp sub = Find("Sub", DT_FLOAT);
  for (bool scalar_first : {false, true}) {
    Value vector = Of(Vec({1, 2})), number = Number(10.f), result;
    const void* const buffer = vector.tensor()->data();
    const Operand v{&vector, true}, n{&number, true};
    ASSERT_TRUE(scalar_first ? Call(sub, {n, v}, &result) : Call(sub, {v, n}, &result));
    EXPECT_EQ(result.tensor()->data(), buffer);
    EXPECT_THAT(*result.tensor(), TensorEq(scalar_first ? Vec({9, 8}) : Vec({-9, -8})));
  }
}

TEST(SmallBufferTest, NegationAndSquareWorkInPlace) {
  for (const char* op : {"Neg", "Square"}) {
    Value x = Of(Vec({2, 3})), result;
    const void* const buffer = x.tensor()->data();
    ASSERT_TRUE(Call(Find(op, DT_FLOAT), {{&x, true}}, &result));
    EXPECT_EQ(result.tensor()->data(), buffer);
    EXPECT_THAT(*result.tensor(), TensorEq(op[0] == 'N' ? Vec({-2, -3}) : Vec({4, 9})));
  }
}

TEST(SmallBufferTest, ComparisonDoesNotTakeABufferOfAnotherType) {
  Value x = Of(Vec({1, 2})), y = Of(Vec({2, 1})), result;
  ASSERT_TRUE(Call(Find("Less", DT_FLOAT), {{&x, true}, {&y, true}}, &result));
  EXPECT_THAT(ValuesOf<bool>(*result.tensor()), testing::ElementsAre(true, false));
}

TEST(SmallBufferTest, BothOperandsMayBeOneValue) {
  Value x = Of(Vec({1, 2})), result;
  ASSERT_TRUE(Call(Find("AddV2", DT_FLOAT), {{&x, false}, {&x, false}}, &result));
  EXPECT_THAT(*result.tensor(), TensorEq(Vec({2, 4})));
  EXPECT_THAT(*x.tensor(), TensorEq(Vec({1, 2})));
}

}  // namespace
}  // namespace tensor_array_grad
