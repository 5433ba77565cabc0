#include "cc/small_ops/small_tables.h"

#include <utility>

#include "cc/base/element_ops.h"
#include "cc/base/tensor_data.h"
#include "cc/base/tensorflow_names.h"
#include "cc/device/functors.h"
#include "cc/lists/list_bodies.h"
#include "cc/small_ops/small_operands.h"
#include "tensorflow/core/framework/node_def_util.h"
#include "tensorflow/core/framework/variant.h"

namespace tensor_array_grad {
namespace {

// Returns the T in `operand` if the operand is a scalar variant that holds a T; null otherwise. The
// operand owns the T.
template <typename T>
const T* HeldBy(const Operand& operand) {
  if (operand.value->is_number()) return nullptr;
  const Tensor& tensor = *operand.value->tensor();
  if (tensor.dtype() != DT_VARIANT || tensor.dims() != 0) return nullptr;
  return DataOf<Variant>(tensor)->get<T>();
}

// The call of a small op, as the body of the op sees it (lists/list_bodies.h). Leaves errors to the
// kernel, and what needs a device, a conversion, a copy or more than kMostSmallElements.
class RegisterCall {
 public:
  // What the bodies need of the node.
  struct Attributes {
    Attributes(const Node& node, Allocator* from) : types(node.output_types()), allocator(from) {
      (void)TryGetNodeAttr(node.attrs(), "element_dtype", &dtype);
      (void)TryGetNodeAttr(node.attrs(), "resize_if_index_out_of_bounds", &may_grow);
    }

    DataType dtype = DT_INVALID;
    bool may_grow = false;
    tensorflow::DataTypeVector types;  // of the outputs
    Allocator* allocator;
  };

  RegisterCall(Operands operands, const Attributes& attributes, Results results)
      : operands_(operands), attributes_(attributes), results_(results) {}

  DataType dtype() const { return attributes_.dtype; }
  bool may_grow() const { return attributes_.may_grow; }
  int num_inputs() const { return static_cast<int>(operands_.size()); }
  int num_outputs() const { return static_cast<int>(results_.size()); }
  DataType output_type(int output) const { return attributes_.types[output]; }

  const Tensor& Input(int input) const { return *operands_[input].value->tensor(); }
  absl::Status GetInt(int input, absl::string_view, int64_t* number) const {
    int32_t narrow;
    if (!operands_[input].value->Get(&narrow)) return LeftToKernel();
    *number = narrow;
    return absl::OkStatus();
  }
  template <typename T>
  absl::Status Get(int input, const T** held) const {
    *held = HeldBy<T>(operands_[input]);
    return *held == nullptr ? LeftToKernel() : absl::OkStatus();
  }

  absl::Status AddTo(const Tensor& a, Tensor* b) const {
    if (!CanAdd(a.dtype()) || !IsSmall(*b, a.dtype()) || !a.IsSameSize(*b)) return LeftToKernel();
    Tensor sum = MakeSmallTensor(attributes_.allocator, a.dtype(), a.shape());
    if (!sum.IsInitialized()) return LeftToKernel();
    cpu::Add(a, *b, cpu::OnThisThread, &sum);
    *b = std::move(sum);
    return absl::OkStatus();
  }
  // The value moves to the result after the body (Compute).
  template <typename T>
  absl::Status Forward(int input, const T& held, T** out) {
    if (!IsOnlyReference(operands_[input])) return LeftToKernel();
    forwarded_ = &operands_[input];
    *out = const_cast<T*>(&held);
    return absl::OkStatus();
  }
  template <typename T>
  absl::Status Output(int output, T&& tensor) const {
    if (results_[output] != nullptr) results_[output]->Set(std::forward<T>(tensor));
    return absl::OkStatus();
  }
  absl::Status OutputOther(const ListVariant&, int64_t) const { return LeftToKernel(); }

  // Computes the op, and returns false if it is left to the kernel.
  template <absl::Status (*body)(RegisterCall&)>
  bool Compute() {
    if (!body(*this).ok()) return false;
    if (forwarded_ != nullptr && results_[0] != nullptr) {
      results_[0]->Assign(forwarded_->value, /*last=*/true);
    }
    return true;
  }

 private:
  // Made once, because a small op may be left to the kernel in each iteration.
  static absl::Status LeftToKernel() {
    static const auto* const left =
        new absl::Status(absl::UnimplementedError("left to the kernel"));
    return *left;
  }

  const Operands operands_;
  const Attributes& attributes_;
  const Results results_;
  const Operand* forwarded_ = nullptr;
};

// Zeros like a list of plain numbers whose elements all have one shape.
bool ZerosLikeList(Operands operands, Value* result) {
  const ListVariant* const list = HeldBy<ListVariant>(operands[0]);
  ListVariant zeros;
  if (list == nullptr || !CanAdd(list->dtype()) || !list->shape().IsFullyDefined() ||
      !ListVariant::ZerosLike(*list, &zeros).ok()) {
    return false;
  }
  Tensor held(DT_VARIANT, {});
  held.scalar<Variant>()() = std::move(zeros);
  result->Set(std::move(held));
  return true;
}

// A list to which another one is added that has no elements.
bool AddNothing(Operands operands, Value* result) {
  const ListVariant* const list = HeldBy<ListVariant>(operands[0]);
  const ListVariant* const added = HeldBy<ListVariant>(operands[1]);
  if (list == nullptr || added == nullptr || !added->has_nothing() ||
      !list->IsLikeSum(added->dtype(), added->shape(), added->size()) ||
      !IsOnlyReference(operands[0])) {
    return false;
  }
  result->Assign(operands[0].value, /*last=*/true);
  return true;
}

bool Length(Operands operands, Value* result) {
  const ListVariant* const list = HeldBy<ListVariant>(operands[0]);
  if (list == nullptr) return false;
  result->SetScalar(static_cast<int32_t>(list->size()));
  return true;
}

// The small op with this body.
template <absl::Status (*body)(RegisterCall&)>
SmallOp WithBody(const Node& node, Allocator* allocator) {
  return
      [attributes = RegisterCall::Attributes(node, allocator)](Operands operands, Results results) {
        return RegisterCall(operands, attributes, results).Compute<body>();
      };
}

}  // namespace

SmallOp SumOfLists(const Node& node, Allocator*) {
  return node.num_inputs() == 2 ? OneResult<AddNothing>() : SmallOp();
}

void AddSmallLists(SmallOpTable* table) {
  (*table)[ops::kTensorListGetItem] = WithBody<GetItem>;
  (*table)[ops::kTensorListSetItem] = WithBody<SetItem>;
  (*table)[ops::kListAccumulate] = WithBody<ListAccumulate>;
  (*table)[ops::kListAccumulateLike] = WithBody<ListAccumulateLike>;
  (*table)[ops::kZerosLike] = [](const Node& node, Allocator*) {
    return node.output_type(0) == DT_VARIANT ? OneResult<ZerosLikeList>() : SmallOp();
  };
  (*table)[ops::kTensorListLength] = Making<Length>;
  (*table)[ops::kTensorListElementShape] = WithBody<ElementShape>;
}

void AddSmallLoopStacks(SmallOpTable* table) {
  (*table)[ops::kPushLoopStack] = WithBody<PushRow>;
  (*table)[ops::kPopLoopStack] = WithBody<PopRow>;
}

}  // namespace tensor_array_grad
