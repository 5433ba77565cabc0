#include "cc/small_ops/small_tables.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <string>
#include <type_traits>
#include <utility>

#include "cc/base/tensorflow_names.h"
#include "cc/flow/sum_order.h"
#include "cc/small_ops/broadcast.h"
#include "cc/small_ops/small_operands.h"
#include "tensorflow/core/framework/node_def_util.h"

namespace tensor_array_grad {
namespace {

using tensorflow::DataTypeToEnum;

// Each function below computes one op on numbers (held in registers without a tensor) or on small
// tensors, bit for bit as the kernel does. It writes into the buffer of an operand that is read for
// the last time, if dtype and shape fit and no other tensor shares the buffer.

// Integers are computed as unsigned numbers, so that they wrap around as in the kernels.
template <typename T>
auto Wide(T x) {
  if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
    return static_cast<std::make_unsigned_t<T>>(x);
  } else {
    return x;
  }
}

// clang-format off
struct Add { template <typename T> T operator()(T a, T b) const { return static_cast<T>(Wide(a) + Wide(b)); } };
struct Sub { template <typename T> T operator()(T a, T b) const { return static_cast<T>(Wide(a) - Wide(b)); } };
struct Mul { template <typename T> T operator()(T a, T b) const { return static_cast<T>(Wide(a) * Wide(b)); } };
struct Neg { template <typename T> T operator()(T a) const { return static_cast<T>(-Wide(a)); } };
struct Finite { template <typename T> bool operator()(T a) const { return std::isfinite(a); } };
template <typename To> struct CastTo { template <typename T> To operator()(T a) const { return static_cast<To>(a); } };
struct Max { template <typename T> T operator()(T a, T b) const { return a < b ? b : a; } };
struct Min { template <typename T> T operator()(T a, T b) const { return b < a ? b : a; } };
// clang-format on

// Sets z[i] = F(x[i], y[i]) for n elements. An operand that repeats has one element for all i. `z`
// may be the buffer of an operand that does not repeat.
template <typename T, typename F, typename R>
void ComputeLine(const T* x, bool x_repeats, const T* y, bool y_repeats, int64_t n, R* z) {
  const F f;
  if (x_repeats) {
    const T first = *x;
    for (int64_t i = 0; i < n; ++i) z[i] = f(first, y[i]);
  } else if (y_repeats) {
    const T second = *y;
    for (int64_t i = 0; i < n; ++i) z[i] = f(x[i], second);
  } else {
    for (int64_t i = 0; i < n; ++i) z[i] = f(x[i], y[i]);
  }
}

// Applies F element by element to operands whose shapes may be broadcast.
template <typename T, typename F>
bool BinaryOnTensors(Operands operands, Allocator* allocator, Value* result) {
  using R = decltype(F()(T(), T()));
  Tensor* const a = operands[0].value->tensor();
  Tensor* const b = operands[1].value->tensor();
  constexpr DataType kDtype = DataTypeToEnum<T>::value;
  constexpr DataType kResultDtype = DataTypeToEnum<R>::value;
  if (!IsSmall(*a, kDtype) || !IsSmall(*b, kDtype)) return false;
  const bool a_repeats = a->dims() == 0, b_repeats = b->dims() == 0;
  const T* const x = DataOf<T>(*a);
  const T* const y = DataOf<T>(*b);
  Tensor target;
  if (a_repeats || b_repeats || a->IsSameSize(*b)) {
    target = Target({operands[a_repeats ? 1 : 0], operands[b_repeats ? 0 : 1]}, kResultDtype,
                    a_repeats ? b->shape() : a->shape(), allocator);
    if (!target.IsInitialized()) return false;
    R* const z = DataOf<R>(&target);
    ComputeLine<T, F>(x, a_repeats, y, b_repeats, target.NumElements(), z);
  } else {
    Broadcast pairs;
    if (!pairs.Read({&a->shape(), &b->shape()}) || pairs.elements() > kMostSmallElements ||
        pairs.shape().dims() > kMostDimsOfKernels) {
      return false;
    }
    target = Target({operands[0], operands[1]}, kResultDtype, pairs.shape(), allocator);
    if (!target.IsInitialized()) return false;
    R* z = DataOf<R>(&target);
    pairs.ForEachLine([&](const int64_t* at) {
      ComputeLine<T, F>(x + at[0], pairs.repeats(0), y + at[1], pairs.repeats(1), pairs.line(), z);
      z += pairs.line();
    });
  }
  result->Set(std::move(target));
  return true;
}

// Applies F to two scalars. Returns false for operands that are not scalars of T.
template <typename T, typename F>
bool BinaryOfScalars(Operands operands, Value* result) {
  T a, b;
  if (!operands[0].value->Get(&a) || !operands[1].value->Get(&b)) return false;
  result->SetScalar(F()(a, b));
  return true;
}

// Applies F to scalars, or element by element to operands whose shapes may be broadcast.
template <typename T, typename F>
bool Binary(Operands operands, Allocator* allocator, Value* result) {
  if (BinaryOfScalars<T, F>(operands, result)) return true;
  if (operands[0].value->is_scalar() && operands[1].value->is_scalar()) return false;
  return BinaryOnTensors<T, F>(operands, allocator, result);
}

// AddN of two operands, which does not broadcast.
template <typename T>
bool AddTwo(Operands operands, Allocator* allocator, Value* result) {
  const bool scalars = operands[0].value->is_scalar() && operands[1].value->is_scalar();
  if (!scalars && !operands[0].value->tensor()->IsSameSize(*operands[1].value->tensor())) {
    return false;
  }
  return Binary<T, Add>(operands, allocator, result);
}

// AddN of three to kMostInOrder operands, in the kernel's order (sum_order.h).
template <typename T>
bool AddSeveral(Operands operands, Allocator* allocator, Value* result) {
  const T* terms[kMostInOrder] = {};
  Tensor* reused = nullptr;
  const size_t count = operands.size();
  for (size_t i = 0; i < count; ++i) {
    if (operands[i].value->is_scalar()) return false;
    Tensor* const tensor = operands[i].value->tensor();
    if (!IsSmall(*tensor, DataTypeToEnum<T>::value) ||
        !tensor->IsSameSize(*operands[0].value->tensor())) {
      return false;
    }
    terms[i] = DataOf<T>(*tensor);
  }
  for (size_t i = 0; i < count && reused == nullptr; ++i) {
    Tensor* const tensor = operands[i].value->tensor();
    if (MayReuse(operands[i], tensor->dtype(), tensor->shape())) {
      reused = tensor;
      std::swap(terms[0], terms[i]);
    }
  }
  const Tensor& first = *operands[0].value->tensor();
  Tensor target =
      reused != nullptr ? *reused : MakeSmallTensor(allocator, first.dtype(), first.shape());
  if (!target.IsInitialized()) return false;
  T* const z = DataOf<T>(&target);
  for (int64_t i = 0; i < target.NumElements(); ++i) {
    T sum = terms[0][i];  // NOLINT(clang-analyzer-core.NullDereference): count > 1
    for (size_t term = 1; term < count; ++term) sum = Add()(sum, terms[term][i]);
    z[i] = sum;
  }
  result->Set(std::move(target));
  return true;
}

// BiasAdd along the last dimension.
template <typename T>
bool AddBias(Operands operands, Allocator* allocator, Value* result) {
  const Tensor& value = *operands[0].value->tensor();
  const Tensor& bias = *operands[1].value->tensor();
  if (value.dims() < 2 || bias.dims() != 1 ||
      bias.dim_size(0) != value.dim_size(value.dims() - 1)) {
    return false;
  }
  return BinaryOnTensors<T, Add>(operands, allocator, result);
}

// FloorDiv, or FloorMod if kRemainder: quotients are rounded down. Division by zero is left to the
// kernel, which reports an error. Division by -1, which overflows for the least number, is left to
// the kernel too.
template <typename T, bool kRemainder>
bool FloorDivide(Operands operands, Value* result) {
  T a, b;
  if (!operands[0].value->Get(&a) || !operands[1].value->Get(&b) || b == 0 || b == -1) return false;
  const T remainder = a % b;
  const bool down = remainder != 0 && (remainder < 0) != (b < 0);
  result->SetScalar(kRemainder ? static_cast<T>(down ? remainder + b : remainder)
                               : static_cast<T>(a / b - (down ? 1 : 0)));
  return true;
}

// Applies F to a scalar. Returns false for an operand that is not a scalar of T.
template <typename T, typename F>
bool UnaryOfScalar(Operands operands, Value* result) {
  T number;
  if (!operands[0].value->Get(&number)) return false;
  result->SetScalar(F()(number));
  return true;
}

// Applies F to a scalar, or element by element to a small tensor.
template <typename T, typename F>
bool Unary(Operands operands, Allocator* allocator, Value* result) {
  using R = decltype(F()(T()));
  if (UnaryOfScalar<T, F>(operands, result)) return true;
  if (operands[0].value->is_scalar()) return false;
  const Tensor& x = *operands[0].value->tensor();
  if (!IsSmall(x, DataTypeToEnum<T>::value)) return false;
  const T* const from = DataOf<T>(x);
  const int64_t n = x.NumElements();
  Tensor target = Target({operands[0]}, DataTypeToEnum<R>::value, x.shape(), allocator);
  if (!target.IsInitialized()) return false;
  R* const z = DataOf<R>(&target);
  for (int64_t i = 0; i < n; ++i) z[i] = F()(from[i]);
  result->Set(std::move(target));
  return true;
}

// The product of the operand with itself. Only one of the two reads may be the last.
template <typename T>
bool SquareOf(Operands operands, Allocator* allocator, Value* result) {
  const Operand twice[] = {{operands[0].value, operands[0].last}, {operands[0].value, false}};
  return Binary<T, Mul>(twice, allocator, result);
}

// AddN of two to kMostInOrder operands.
template <typename T>
SmallOp Summing(const Node& node, Allocator* allocator) {
  if (node.num_inputs() < 2 || node.num_inputs() > kMostInOrder) return {};
  return node.num_inputs() == 2 ? OneResult<AddTwo<T>>(allocator)
                                : OneResult<AddSeveral<T>>(allocator);
}

// BiasAdd, if the last dimension is that of the bias.
template <typename T>
SmallOp AddingBias(const Node& node, Allocator* allocator) {
  std::string format = "NHWC";
  (void)TryGetNodeAttr(node.attrs(), "data_format", &format);
  return format == "NHWC" ? OneResult<AddBias<T>>(allocator) : SmallOp();
}

using Table = std::map<std::pair<std::string, DataType>, SmallOpMaker>;

template <typename T>
void AddNumeric(Table* table) {
  constexpr DataType kDtype = DataTypeToEnum<T>::value;
  const std::pair<const char*, SmallOpMaker> rows[] = {
      {ops::kAdd, Making<Binary<T, Add>>},
      {ops::kAddV2, Making<Binary<T, Add>>},
      {ops::kAddN, Summing<T>},
      {ops::kSub, Making<Binary<T, Sub>>},
      {ops::kMul, Making<Binary<T, Mul>>},
      {ops::kNeg, Making<Unary<T, Neg>>},
      {"Square", Making<SquareOf<T>>},
      {ops::kLess, Making<Binary<T, std::less<T>>>},
      {ops::kLessEqual, Making<Binary<T, std::less_equal<T>>>},
      {ops::kGreater, Making<Binary<T, std::greater<T>>>},
      {ops::kGreaterEqual, Making<Binary<T, std::greater_equal<T>>>},
      {ops::kEqual, Making<Binary<T, std::equal_to<T>>>},
      {ops::kNotEqual, Making<Binary<T, std::not_equal_to<T>>>},
      {"BiasAdd", AddingBias<T>},
  };
  for (const auto& [op, maker] : rows) (*table)[{op, kDtype}] = maker;
}

template <typename T>
void AddIntegral(Table* table) {
  constexpr DataType kDtype = DataTypeToEnum<T>::value;
  (*table)[{ops::kMaximum, kDtype}] = Making<BinaryOfScalars<T, Max>>;
  (*table)[{ops::kMinimum, kDtype}] = Making<BinaryOfScalars<T, Min>>;
  (*table)[{ops::kFloorDiv, kDtype}] = Making<FloorDivide<T, false>>;
  (*table)[{ops::kFloorMod, kDtype}] = Making<FloorDivide<T, true>>;
}

// The makers of this file except Casting, by op and dtype.
const Table& Computations() {
  static const auto* const table = [] {
    auto* all = new Table;
    AddNumeric<float>(all);
    AddNumeric<double>(all);
    AddNumeric<int32_t>(all);
    AddNumeric<int64_t>(all);
    AddIntegral<int32_t>(all);
    AddIntegral<int64_t>(all);
    (*all)[{ops::kAddN, DT_VARIANT}] = SumOfLists;
    (*all)[{ops::kLogicalAnd, DT_BOOL}] = Making<BinaryOfScalars<bool, std::logical_and<bool>>>;
    (*all)[{ops::kLogicalOr, DT_BOOL}] = Making<BinaryOfScalars<bool, std::logical_or<bool>>>;
    (*all)[{ops::kLogicalNot, DT_BOOL}] = Making<UnaryOfScalar<bool, std::logical_not<bool>>>;
    (*all)[{"IsFinite", DT_FLOAT}] = Making<Unary<float, Finite>>;
    (*all)[{"IsFinite", DT_DOUBLE}] = Making<Unary<double, Finite>>;
    return all;
  }();
  return *table;
}

// Conversions of scalars that give the same result on every processor. From int64 to int32 the
// number wraps around.
SmallOp Casting(const Node& node, Allocator* allocator) {
  static const auto* const table = new std::map<std::pair<DataType, DataType>, SmallOpMaker>{
      {{DT_INT32, DT_INT64}, Making<UnaryOfScalar<int32_t, CastTo<int64_t>>>},
      {{DT_INT32, DT_FLOAT}, Making<UnaryOfScalar<int32_t, CastTo<float>>>},
      {{DT_INT32, DT_DOUBLE}, Making<UnaryOfScalar<int32_t, CastTo<double>>>},
      {{DT_INT64, DT_INT32}, Making<UnaryOfScalar<int64_t, CastTo<int32_t>>>},
      {{DT_INT64, DT_FLOAT}, Making<UnaryOfScalar<int64_t, CastTo<float>>>},
      {{DT_INT64, DT_DOUBLE}, Making<UnaryOfScalar<int64_t, CastTo<double>>>},
      {{DT_FLOAT, DT_DOUBLE}, Making<UnaryOfScalar<float, CastTo<double>>>},
      {{DT_BOOL, DT_INT32}, Making<UnaryOfScalar<bool, CastTo<int32_t>>>},
      {{DT_BOOL, DT_INT64}, Making<UnaryOfScalar<bool, CastTo<int64_t>>>},
      {{DT_BOOL, DT_FLOAT}, Making<UnaryOfScalar<bool, CastTo<float>>>},
      {{DT_BOOL, DT_DOUBLE}, Making<UnaryOfScalar<bool, CastTo<double>>>},
  };
  const auto found = table->find({node.input_type(0), node.output_type(0)});
  return found == table->end() ? SmallOp() : found->second(node, allocator);
}

// The small op of any op in Computations.
SmallOp Computing(const Node& node, Allocator* allocator) {
  DataType dtype = DT_BOOL;  // the logical ops have no attribute T
  (void)TryGetNodeAttr(node.attrs(), "T", &dtype);
  const auto found = Computations().find({node.type_string(), dtype});
  return found == Computations().end() ? SmallOp() : found->second(node, allocator);
}

}  // namespace

void AddSmallMath(SmallOpTable* table) {
  for (const auto& [key, unused] : Computations()) (*table)[key.first] = Computing;
  (*table)[ops::kCast] = Casting;
}

}  // namespace tensor_array_grad
