#include "cc/loop/small_ops.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "cc/testing/graph_under_test.h"
#include "cc/testing/matchers.h"

namespace tensor_array_grad {
namespace {

using tensorflow::DataType;
using tensorflow::DataTypeToEnum;
using tensorflow::DT_BOOL;
using tensorflow::DT_DOUBLE;
using tensorflow::DT_FLOAT;
using tensorflow::DT_INT32;
using tensorflow::DT_INT64;
using tensorflow::Tensor;
using tensorflow::TensorShape;

// The small op for a node of that op and type; without a `run` if there is none.
SmallOp Find(const std::string& op, DataType dtype) {
  GraphUnderTest graph;
  const tensorflow::OpDef* def = nullptr;
  EXPECT_TRUE(tensorflow::OpRegistry::Global()->LookUpOpDef(op, &def).ok()) << op;
  std::vector<std::string> inputs;
  for (int i = 0; i < (op == "AddN" ? 2 : def->input_arg_size()); ++i) {
    inputs.push_back("x" + std::to_string(i));
    const bool is_condition = i == 0 && (op == "Select" || op == "SelectV2");
    graph.Placeholder(inputs.back(), is_condition ? DT_BOOL : dtype);
  }
  tensorflow::NodeDef& node = graph.Add("node", op, inputs);
  if (def->attr_size() > 0) GraphUnderTest::Set(node, "T", dtype);
  if (op == "AddN") GraphUnderTest::Set(node, "N", 2);
  return SmallOpFor(*graph.Find("node"), tensorflow::cpu_allocator());
}

template <typename T>
Value Number(T number) {
  Value value;
  value.SetScalar(number);
  return value;
}
Value Of(Tensor tensor) {
  Value value;
  value.Set(std::move(tensor));
  return value;
}
template <typename T>
Tensor VecOf(const std::vector<T>& values) {
  Tensor tensor(DataTypeToEnum<T>::value, TensorShape({static_cast<int64_t>(values.size())}));
  for (size_t i = 0; i < values.size(); ++i) tensor.flat<T>()(i) = values[i];
  return tensor;
}

bool Call(SmallOp op, std::vector<Operand> operands, Value* result) { return op(operands, result); }

// ---- arithmetic against plain C++
// ----------------------------------------------------------------

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

// Integers wrap around.
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
  // Which NaN an operation gives is the processor's choice for operands in either order.
  if (got != got && want != want) return;
  EXPECT_EQ(std::memcmp(&got, &want, sizeof(T)), 0) << what << ": " << got << ", not " << want;
}

// Calls `op` on numbers, on scalar tensors, on a vector, and on vector and scalar in both orders.
template <typename T, typename F>
void ExpectBinary(const std::string& op, F want) {
  using R = decltype(want(T(), T()));
  const SmallOp small = Find(op, DataTypeToEnum<T>::value);
  ASSERT_NE(small.run, nullptr) << op;
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
      if (op == "AddN" && shape != 0) {  // does not broadcast: its kernel has the error
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

TYPED_TEST(SmallNumericTest, SumsDifferencesAndProducts) {
  using T = TypeParam;
  const auto sum = [](T a, T b) { return Wrapped(a, b, [](auto x, auto y) { return x + y; }); };
  for (const char* op : {"Add", "AddV2", "AddN"}) ExpectBinary<T>(op, sum);
  ExpectBinary<T>("Sub",
                  [](T a, T b) { return Wrapped(a, b, [](auto x, auto y) { return x - y; }); });
  ExpectBinary<T>("Mul",
                  [](T a, T b) { return Wrapped(a, b, [](auto x, auto y) { return x * y; }); });
}

TYPED_TEST(SmallNumericTest, Comparisons) {
  using T = TypeParam;
  ExpectBinary<T>("Less", [](T a, T b) { return a < b; });
  ExpectBinary<T>("LessEqual", [](T a, T b) { return a <= b; });
  ExpectBinary<T>("Greater", [](T a, T b) { return a > b; });
  ExpectBinary<T>("GreaterEqual", [](T a, T b) { return a >= b; });
  ExpectBinary<T>("Equal", [](T a, T b) { return a == b; });
  ExpectBinary<T>("NotEqual", [](T a, T b) { return a != b; });
}

TYPED_TEST(SmallNumericTest, NegationAndSquare) {
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

TYPED_TEST(SmallNumericTest, OtherShapesAreTheKernels) {
  using T = TypeParam;
  const SmallOp add = Find("AddV2", DataTypeToEnum<T>::value);
  const Tensor two = VecOf<T>({1, 2}), three = VecOf<T>({1, 2, 3}), one = VecOf<T>({1});
  const Tensor matrix(DataTypeToEnum<T>::value, TensorShape({2, 1}));
  const Tensor* const pairs[][2] = {{&two, &three}, {&two, &one}, {&one, &two}, {&two, &matrix}};
  for (const auto& [a, b] : pairs) {
    Value x = Of(*a), y = Of(*b), result = Of(Vec({9}));
    EXPECT_FALSE(Call(add, {{&x, true}, {&y, true}}, &result));
    EXPECT_THAT(*result.tensor(), TensorEq(Vec({9})));
    EXPECT_EQ(x.tensor()->data(), a->data());
    EXPECT_EQ(y.tensor()->data(), b->data());
  }
}

TYPED_TEST(SmallNumericTest, EmptyTensorsStayEmpty) {
  using T = TypeParam;
  Value x = Of(VecOf<T>({})), y = Number(T(1)), result;
  ASSERT_TRUE(Call(Find("AddV2", DataTypeToEnum<T>::value), {{&x, true}, {&y, true}}, &result));
  EXPECT_EQ(result.tensor()->shape(), TensorShape({0}));
}

TYPED_TEST(SmallNumericTest, MostElementsAndOneMore) {
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

TYPED_TEST(SmallNumericTest, ValuesOfAnotherTypeAreTheKernels) {
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

// ---- whole numbers
// -------------------------------------------------------------------------------

template <typename T>
class SmallIntegralTest : public testing::Test {};
using Integral = testing::Types<int32_t, int64_t>;
TYPED_TEST_SUITE(SmallIntegralTest, Integral);

// Calls `op` on every pair of numbers for which `defined` holds; the others are the kernel's.
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
  EXPECT_FALSE(Call(small, {{&x, true}, {&y, true}}, &result)) << "vectors are the kernel's";
}

TYPED_TEST(SmallIntegralTest, MaximumAndMinimum) {
  using T = TypeParam;
  ExpectOfScalars<T>("Maximum", [](T) { return true; }, [](T a, T b) { return std::max(a, b); });
  ExpectOfScalars<T>("Minimum", [](T) { return true; }, [](T a, T b) { return std::min(a, b); });
}

TYPED_TEST(SmallIntegralTest, QuotientsRoundDownAndThoseByZeroAndMinusOneAreTheKernels) {
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

// ---- logic, choice and conversion
// ----------------------------------------------------------------

TEST(SmallLogicTest, TruthTables) {
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

TEST(SmallLogicTest, VectorsAreTheKernels) {
  Value x = Of(VecOf<bool>({true, false})), result;
  EXPECT_FALSE(Call(Find("LogicalAnd", DT_BOOL), {{&x, true}, {&x, false}}, &result));
  EXPECT_FALSE(Call(Find("LogicalOr", DT_BOOL), {{&x, true}, {&x, false}}, &result));
  EXPECT_FALSE(Call(Find("LogicalNot", DT_BOOL), {{&x, true}}, &result));
}

TEST(SmallSelectTest, ScalarChoosesAWholeValue) {
  for (const char* op : {"Select", "SelectV2"}) {
    for (bool first : {false, true}) {
      Value condition = Number(first), t = Of(Vec({1, 2})), e = Of(Vec({3, 4})), result;
      const void* const chosen = (first ? t : e).tensor()->data();
      ASSERT_TRUE(Call(Find(op, DT_FLOAT), {{&condition, true}, {&t, true}, {&e, true}}, &result));
      EXPECT_THAT(*result.tensor(), TensorEq(first ? Vec({1, 2}) : Vec({3, 4})));
      EXPECT_EQ(result.tensor()->data(), chosen);
    }
  }
}

TEST(SmallSelectTest, ChosenValueThatIsReadAgainIsCopied) {
  // If the result shared the buffer, AddN would find it held and sum in another order.
  for (const Tensor& held : {Vec({1, 2}), Tensor(5.f)}) {
    Value condition = Number(true), t = Of(held), e = Of(held), result;
    ASSERT_TRUE(
        Call(Find("SelectV2", DT_FLOAT), {{&condition, true}, {&t, false}, {&e, false}}, &result));
    EXPECT_THAT(*result.tensor(), TensorEq(held));
    EXPECT_NE(result.tensor()->data(), held.data());
    EXPECT_TRUE(result.LastTensor()->RefCountIsOne());
  }
}

TEST(SmallSelectTest, ChoosesBetweenNumbersOfEachType) {
  for (DataType dtype : {DT_FLOAT, DT_DOUBLE, DT_INT32, DT_INT64, DT_BOOL}) {
    EXPECT_NE(Find("SelectV2", dtype).run, nullptr);
  }
  Value condition = Number(false), t = Number(true), e = Of(Tensor(false)), result;
  bool got = true;
  ASSERT_TRUE(
      Call(Find("SelectV2", DT_BOOL), {{&condition, true}, {&t, true}, {&e, true}}, &result));
  EXPECT_TRUE(result.Get(&got));
  EXPECT_FALSE(got);
}

TEST(SmallSelectTest, OtherShapesAreTheKernels) {
  const SmallOp select = Find("SelectV2", DT_FLOAT);
  Value yes = Number(true), conditions = Of(VecOf<bool>({true, false})), result;
  Value number = Number(1.f), two = Of(Vec({1, 2})), three = Of(Vec({1, 2, 3}));
  EXPECT_FALSE(Call(select, {{&yes, true}, {&number, true}, {&two, true}}, &result));
  EXPECT_FALSE(Call(select, {{&yes, true}, {&two, true}, {&number, true}}, &result));
  EXPECT_FALSE(Call(select, {{&yes, true}, {&two, true}, {&three, true}}, &result));
  EXPECT_FALSE(Call(select, {{&conditions, true}, {&two, true}, {&two, false}}, &result));
}

template <typename From, typename To>
void ExpectCast(std::vector<From> numbers) {
  GraphUnderTest graph;
  graph.Placeholder("x", DataTypeToEnum<From>::value);
  tensorflow::NodeDef& node = graph.Add("cast", "Cast", {"x"});
  GraphUnderTest::Set(node, "SrcT", DataTypeToEnum<From>::value);
  GraphUnderTest::Set(node, "DstT", DataTypeToEnum<To>::value);
  const SmallOp cast = SmallOpFor(*graph.Find("cast"), tensorflow::cpu_allocator());
  ASSERT_NE(cast.run, nullptr);
  for (From number : numbers) {
    Value x = Number(number), result;
    To got{};
    ASSERT_TRUE(Call(cast, {{&x, true}}, &result) && result.Get(&got));
    ExpectSameBits(got, static_cast<To>(number), absl::StrCat("of ", number));
  }
  Value vector = Of(VecOf<From>({From(1), From(0)})), result;
  EXPECT_FALSE(Call(cast, {{&vector, true}}, &result));
}

TEST(SmallCastTest, NumbersThatFitOrRound) {
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

TEST(SmallOpForTest, WhatIsNotExactElementByElementIsTheKernels) {
  for (const char* op : {"Maximum", "Minimum", "FloorDiv", "FloorMod"}) {
    EXPECT_EQ(Find(op, DT_FLOAT).run, nullptr) << op;
    EXPECT_EQ(Find(op, DT_DOUBLE).run, nullptr) << op;
  }
  for (const char* op : {"AddV2", "Mul", "Less", "Equal", "Neg"}) {
    EXPECT_EQ(Find(op, tensorflow::DT_HALF).run, nullptr) << op;
    EXPECT_EQ(Find(op, DT_BOOL).run, nullptr) << op;
  }
  EXPECT_EQ(Find("ZerosLike", DT_FLOAT).run, nullptr);
}

TEST(SmallOpForTest, SumsOfOtherThanTwoAndConversionsThatMayOverflowAreTheKernels) {
  GraphUnderTest graph;
  graph.Placeholder("x", DT_FLOAT);
  tensorflow::NodeDef& sum = graph.Add("sum", "AddN", {"x", "x", "x"});
  GraphUnderTest::Set(sum, "N", 3);
  GraphUnderTest::Set(sum, "T", DT_FLOAT);
  tensorflow::NodeDef& cast = graph.Add("cast", "Cast", {"x"});
  GraphUnderTest::Set(cast, "SrcT", DT_FLOAT);
  GraphUnderTest::Set(cast, "DstT", DT_INT32);
  EXPECT_EQ(SmallOpFor(*graph.Find("sum"), tensorflow::cpu_allocator()).run, nullptr);
  EXPECT_EQ(SmallOpFor(*graph.Find("cast"), tensorflow::cpu_allocator()).run, nullptr);
}

// ---- buffers
// -------------------------------------------------------------------------------------

TEST(SmallBufferTest, LastOperandThatNothingElseHoldsBecomesTheResult) {
  const SmallOp add = Find("AddV2", DT_FLOAT);
  for (bool first : {true, false}) {
    Value x = Of(Vec({1, 2})), y = Of(Vec({10, 20})), result;
    x.HeldTensor();  // for a reader before
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

TEST(SmallBufferTest, LastOperandThatAnotherHoldsIsNotWritten) {
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
