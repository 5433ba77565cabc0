#include "cc/loop/small_ops.h"

#include <cstring>
#include <map>
#include <string>
#include <type_traits>
#include <utility>

#include "cc/core/pooled_tensor.h"
#include "cc/loop/small_accumulators.h"
#include "cc/loop/small_indexing.h"
#include "tensorflow/core/framework/node_def_util.h"

namespace tensor_array_grad {
namespace {

using tensorflow::DataType;
using tensorflow::DataTypeToEnum;
using tensorflow::Tensor;

using Operands = absl::Span<const Operand>;

// Integers wrap around, as they do in the kernels.
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
struct Less { template <typename T> bool operator()(T a, T b) const { return a < b; } };
struct LessEqual { template <typename T> bool operator()(T a, T b) const { return a <= b; } };
struct Greater { template <typename T> bool operator()(T a, T b) const { return a > b; } };
struct GreaterEqual { template <typename T> bool operator()(T a, T b) const { return a >= b; } };
struct Equal { template <typename T> bool operator()(T a, T b) const { return a == b; } };
struct NotEqual { template <typename T> bool operator()(T a, T b) const { return a != b; } };
struct And { bool operator()(bool a, bool b) const { return a && b; } };
struct Or { bool operator()(bool a, bool b) const { return a || b; } };
struct Max { template <typename T> T operator()(T a, T b) const { return a < b ? b : a; } };
struct Min { template <typename T> T operator()(T a, T b) const { return b < a ? b : a; } };
// clang-format on

template <typename T>
const T* DataOf(const Tensor& tensor) {
  return static_cast<const T*>(tensor.data());
}

// Whether the buffer of `operand` may become that of a result of `dtype`.
bool MayReuse(const Operand& operand, DataType dtype) {
  if (!operand.last) return false;
  const Tensor* const tensor = operand.value->LastTensor();
  return tensor->dtype() == dtype && tensor->RefCountIsOne();
}

// The buffer of an operand where it may be written, else a new one. Both have the result's shape.
Tensor Target(const Operand& first, const Operand& second, DataType dtype, const SmallOp& op) {
  for (const Operand* operand : {&first, &second}) {
    if (MayReuse(*operand, dtype)) return *operand->value->tensor();
  }
  return MakeSmallTensor(op, dtype, first.value->tensor()->shape());
}

bool IsSmall(const Tensor& tensor, DataType dtype) {
  return tensor.dtype() == dtype && tensor.NumElements() <= kMostSmallElements;
}

// result[i] = F(a[i], b[i]), where one of them may be a scalar instead.
template <typename T, typename F>
bool BinaryOnTensors(Operands operands, const SmallOp& op, Value* result) {
  using R = decltype(F()(T(), T()));
  Tensor* const a = operands[0].value->tensor();
  Tensor* const b = operands[1].value->tensor();
  constexpr DataType dtype = DataTypeToEnum<T>::value;
  constexpr DataType result_dtype = DataTypeToEnum<R>::value;
  if (!IsSmall(*a, dtype) || !IsSmall(*b, dtype)) return false;
  const bool a_is_scalar = a->dims() == 0, b_is_scalar = b->dims() == 0;
  if (!a_is_scalar && !b_is_scalar && !a->IsSameSize(*b)) return false;
  const int64_t n = a_is_scalar ? b->NumElements() : a->NumElements();
  const T* const x = DataOf<T>(*a);
  const T* const y = DataOf<T>(*b);
  Tensor target =
      Target(operands[a_is_scalar ? 1 : 0], operands[b_is_scalar ? 0 : 1], result_dtype, op);
  if (!target.IsInitialized()) return false;  // out of memory: the kernel has the words for it
  R* const z = static_cast<R*>(target.data());
  const F f;
  if (a_is_scalar) {
    const T first = *x;
    for (int64_t i = 0; i < n; ++i) z[i] = f(first, y[i]);
  } else if (b_is_scalar) {
    const T second = *y;
    for (int64_t i = 0; i < n; ++i) z[i] = f(x[i], second);
  } else {
    for (int64_t i = 0; i < n; ++i) z[i] = f(x[i], y[i]);
  }
  result->Set(std::move(target));
  return true;
}

template <typename T, typename F>
bool Binary(Operands operands, const SmallOp& op, Value* result) {
  T a, b;
  if (operands[0].value->Get(&a) && operands[1].value->Get(&b)) {
    result->SetScalar(F()(a, b));
    return true;
  }
  if (operands[0].value->is_scalar() && operands[1].value->is_scalar()) return false;
  return BinaryOnTensors<T, F>(operands, op, result);
}

// AddN of two, which does not broadcast.
template <typename T>
bool AddTwo(Operands operands, const SmallOp& op, Value* result) {
  if (operands[0].value->is_scalar() != operands[1].value->is_scalar()) return false;
  return Binary<T, Add>(operands, op, result);
}

// The same on scalars only.
template <typename T, typename F>
bool BinaryOfScalars(Operands operands, const SmallOp&, Value* result) {
  T a, b;
  if (!operands[0].value->Get(&a) || !operands[1].value->Get(&b)) return false;
  result->SetScalar(F()(a, b));
  return true;
}

// Quotients and remainders round down; a division by zero is the kernel's to report, and that of
// the least number by -1 overflows.
template <typename T, bool kRemainder>
bool FloorDivide(Operands operands, const SmallOp&, Value* result) {
  T a, b;
  if (!operands[0].value->Get(&a) || !operands[1].value->Get(&b) || b == 0 || b == -1) return false;
  const T remainder = a % b;
  const bool down = remainder != 0 && (remainder < 0) != (b < 0);
  result->SetScalar(kRemainder ? static_cast<T>(down ? remainder + b : remainder)
                               : static_cast<T>(a / b - (down ? 1 : 0)));
  return true;
}

template <typename T>
bool Negate(Operands operands, const SmallOp& op, Value* result) {
  T a;
  if (operands[0].value->Get(&a)) {
    result->SetScalar(static_cast<T>(-Wide(a)));
    return true;
  }
  if (operands[0].value->is_scalar()) return false;
  Tensor* const tensor = operands[0].value->tensor();
  if (!IsSmall(*tensor, DataTypeToEnum<T>::value)) return false;
  const T* const x = DataOf<T>(*tensor);
  const int64_t n = tensor->NumElements();
  Tensor target = Target(operands[0], operands[0], tensor->dtype(), op);
  if (!target.IsInitialized()) return false;
  T* const z = static_cast<T*>(target.data());
  for (int64_t i = 0; i < n; ++i) z[i] = static_cast<T>(-Wide(x[i]));
  result->Set(std::move(target));
  return true;
}

template <typename T>
bool SquareOf(Operands operands, const SmallOp& op, Value* result) {
  const Operand twice[] = {{operands[0].value, operands[0].last}, {operands[0].value, false}};
  return Binary<T, Mul>(twice, op, result);
}

bool Not(Operands operands, const SmallOp&, Value* result) {
  bool a;
  if (!operands[0].value->Get(&a)) return false;
  result->SetScalar(!a);
  return true;
}

template <typename From, typename To>
bool CastScalar(Operands operands, const SmallOp&, Value* result) {
  From a;
  if (!operands[0].value->Get(&a)) return false;
  result->SetScalar(static_cast<To>(a));
  return true;
}

// A choice between two values of one shape by a scalar. The result is the chosen tensor if nothing
// else holds that, else a copy, as in the kernel. Sharing the buffer instead would save the copy,
// but change sums: AddN begins with the first input that nothing else holds.
bool Choose(Operands operands, const SmallOp& op, Value* result) {
  bool first;
  if (!operands[0].value->Get(&first)) return false;
  const Operand& chosen = operands[first ? 1 : 2];
  const Operand& other = operands[first ? 2 : 1];
  if (chosen.value->is_scalar() != other.value->is_scalar()) return false;
  if (chosen.value->is_number()) {
    if (result != chosen.value) result->Assign(chosen.value, false);
    return true;
  }
  const Tensor& tensor = *chosen.value->tensor();
  const DataType dtype = tensor.dtype();
  const bool same_size = other.value->is_scalar() || tensor.IsSameSize(*other.value->tensor());
  if (!IsSmall(tensor, dtype) || !same_size) return false;
  Tensor target = Target(chosen, chosen, dtype, op);
  if (!target.IsInitialized()) return false;
  if (target.data() != tensor.data()) {
    std::memcpy(target.data(), tensor.data(), tensor.TotalBytes());
  }
  result->Set(std::move(target));
  return true;
}

using Key = std::pair<std::string, DataType>;
using Table = std::map<Key, SmallOp::Run>;

template <typename T>
void AddNumeric(Table* table) {
  constexpr DataType t = DataTypeToEnum<T>::value;
  const std::pair<const char*, SmallOp::Run> rows[] = {
      {"Add", Binary<T, Add>},
      {"AddV2", Binary<T, Add>},
      {"AddN", AddTwo<T>},
      {"Sub", Binary<T, Sub>},
      {"Mul", Binary<T, Mul>},
      {"Neg", Negate<T>},
      {"Square", SquareOf<T>},
      {"Less", Binary<T, Less>},
      {"LessEqual", Binary<T, LessEqual>},
      {"Greater", Binary<T, Greater>},
      {"GreaterEqual", Binary<T, GreaterEqual>},
      {"Equal", Binary<T, Equal>},
      {"NotEqual", Binary<T, NotEqual>},
      {"Select", Choose},
      {"SelectV2", Choose},
  };
  for (const auto& [op, small] : rows) (*table)[{op, t}] = small;
}

template <typename T>
void AddIntegral(Table* table) {
  constexpr DataType t = DataTypeToEnum<T>::value;
  (*table)[{"Maximum", t}] = BinaryOfScalars<T, Max>;
  (*table)[{"Minimum", t}] = BinaryOfScalars<T, Min>;
  (*table)[{"FloorDiv", t}] = FloorDivide<T, false>;
  (*table)[{"FloorMod", t}] = FloorDivide<T, true>;
}

const Table& SmallOps() {
  static const auto* const table = [] {
    auto* all = new Table;
    AddNumeric<float>(all);
    AddNumeric<double>(all);
    AddNumeric<int32_t>(all);
    AddNumeric<int64_t>(all);
    AddIntegral<int32_t>(all);
    AddIntegral<int64_t>(all);
    (*all)[{"LogicalAnd", tensorflow::DT_BOOL}] = BinaryOfScalars<bool, And>;
    (*all)[{"LogicalOr", tensorflow::DT_BOOL}] = BinaryOfScalars<bool, Or>;
    (*all)[{"LogicalNot", tensorflow::DT_BOOL}] = Not;
    (*all)[{"Select", tensorflow::DT_BOOL}] = Choose;
    (*all)[{"SelectV2", tensorflow::DT_BOOL}] = Choose;
    return all;
  }();
  return *table;
}

// Conversions that round as the hardware does and never overflow.
SmallOp::Run CastFor(DataType from, DataType to) {
  static const auto* const table = new std::map<std::pair<DataType, DataType>, SmallOp::Run>{
      {{tensorflow::DT_INT32, tensorflow::DT_INT64}, CastScalar<int32_t, int64_t>},
      {{tensorflow::DT_INT32, tensorflow::DT_FLOAT}, CastScalar<int32_t, float>},
      {{tensorflow::DT_INT32, tensorflow::DT_DOUBLE}, CastScalar<int32_t, double>},
      {{tensorflow::DT_INT64, tensorflow::DT_INT32}, CastScalar<int64_t, int32_t>},
      {{tensorflow::DT_INT64, tensorflow::DT_FLOAT}, CastScalar<int64_t, float>},
      {{tensorflow::DT_INT64, tensorflow::DT_DOUBLE}, CastScalar<int64_t, double>},
      {{tensorflow::DT_FLOAT, tensorflow::DT_DOUBLE}, CastScalar<float, double>},
      {{tensorflow::DT_BOOL, tensorflow::DT_INT32}, CastScalar<bool, int32_t>},
      {{tensorflow::DT_BOOL, tensorflow::DT_INT64}, CastScalar<bool, int64_t>},
      {{tensorflow::DT_BOOL, tensorflow::DT_FLOAT}, CastScalar<bool, float>},
      {{tensorflow::DT_BOOL, tensorflow::DT_DOUBLE}, CastScalar<bool, double>},
  };
  const auto found = table->find({from, to});
  return found == table->end() ? nullptr : found->second;
}

SmallOp::Run ComputationFor(const tensorflow::Node& node) {
  const std::string& op = node.type_string();
  if (op == "Cast") return CastFor(node.input_type(0), node.output_type(0));
  if (op == "AddN" && node.num_inputs() != 2) return nullptr;
  DataType dtype = tensorflow::DT_BOOL;  // the logical ops have no such attribute
  (void)TryGetNodeAttr(node.attrs(), "T", &dtype);
  const auto found = SmallOps().find({op, dtype});
  return found == SmallOps().end() ? nullptr : found->second;
}

}  // namespace

Tensor MakeSmallTensor(const SmallOp& op, DataType dtype, const tensorflow::TensorShape& shape) {
  Tensor made;
  if (!MakePooledTensor(dtype, shape, &made)) made = Tensor(op.allocator, dtype, shape);
  return made;
}

SmallOp SmallOpFor(const tensorflow::Node& node, tensorflow::Allocator* allocator) {
  if (node.num_inputs() > kMostSmallOperands || node.num_outputs() > kMostSmallOperands) return {};
  SmallOp op = SmallIndexingFor(node);
  if (!op.exists()) op = SmallAccumulatorsFor(node);
  if (!op.exists()) op.run = ComputationFor(node);
  op.allocator = allocator;
  return op;
}

}  // namespace tensor_array_grad
