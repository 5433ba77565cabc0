#ifndef CC_LOOP_VALUE_H_
#define CC_LOOP_VALUE_H_

#include <cstdint>
#include <cstring>
#include <utility>

#include "tensorflow/core/framework/tensor.h"
#include "tensorflow/core/framework/types.h"

namespace tensor_array_grad {

// What a register holds: a tensor, or a number that no tensor has been made of yet.
//
// Counters, predicates and small sums change in every iteration; as tensors each would cost an
// allocation. Not thread-safe: a run of a loop has registers of its own. Whatever makes a tensor of
// a number throws std::bad_alloc; the value is then unchanged.
class Value {
 public:
  // A number of any of the types below, by its bytes.
  struct Scalar {
    tensorflow::DataType dtype = tensorflow::DT_INVALID;
    alignas(8) char bytes[8];

    template <typename T>
    T as() const {
      T number;
      std::memcpy(&number, bytes, sizeof(T));
      return number;
    }
  };

  void Set(tensorflow::Tensor tensor) {
    Release();
    tensor_ = std::move(tensor);
    state_ = kTensor;
  }

  template <typename T>
  void SetScalar(T number) {
    BecomeScalar();
    scalar_.dtype = tensorflow::DataTypeToEnum<T>::value;
    std::memcpy(scalar_.bytes, &number, sizeof(T));
  }

  // The number in a scalar of dtype T; false for anything else.
  template <typename T>
  bool Get(T* number) const {
    if (state_ != kTensor) {
      if (scalar_.dtype != tensorflow::DataTypeToEnum<T>::value) return false;
      *number = scalar_.as<T>();
      return true;
    }
    if (tensor_.dtype() != tensorflow::DataTypeToEnum<T>::value || tensor_.dims() != 0) {
      return false;
    }
    *number = *static_cast<const T*>(tensor_.data());
    return true;
  }

  // The number in a scalar of int32 or int64.
  bool GetInteger(int64_t* number) const {
    if (Get(number)) return true;
    int32_t narrow;
    if (!Get(&narrow)) return false;
    *number = narrow;
    return true;
  }

  // Whether it is a number, which a tensor may have been made of.
  bool is_number() const { return state_ != kTensor; }
  bool is_scalar() const { return state_ != kTensor || tensor_.dims() == 0; }
  tensorflow::DataType dtype() const { return state_ == kTensor ? tensor_.dtype() : scalar_.dtype; }

  // The value as a tensor, made of the number if need be.
  tensorflow::Tensor* tensor() {
    if (state_ == kScalar) MakeTensor();
    return &tensor_;
  }

  // The tensor for a kernel that is not the last reader: a second reference keeps the kernel from
  // writing into the buffer.
  tensorflow::Tensor* HeldTensor() {
    if (state_ == kScalar) MakeTensor();
    if (!held_) {
      other_reference_ = tensor_;
      held_ = true;
    }
    return &tensor_;
  }

  // The tensor for the last reader, which may write into the buffer if nothing else holds it.
  tensorflow::Tensor* LastTensor() {
    Unhold();
    return tensor();
  }

  void Release() {
    Unhold();
    tensor_ = tensorflow::Tensor();
    state_ = kTensor;
  }

  // The same for a value that the last reader has read. A number keeps its buffer to serve again,
  // unless the reader's result has it: the result is then the only holder, as on stock.
  void ReleaseTensor() {
    if (state_ == kTensor || (state_ == kBoth && !tensor_.RefCountIsOne())) Release();
  }

  // Makes this value the same number as `from`, without its buffer. Requires: from.is_number().
  void CopyNumber(const Value& from) {
    const Scalar number = from.scalar_;
    BecomeScalar();
    scalar_ = number;
  }

  // Makes this value what `from` is, and leaves that one empty if `last`. Two values of a float
  // number share a buffer, as on stock: AddN adds in an order that depends on it.
  void Assign(Value* from, bool last) {
    if (from->state_ != kTensor && !from->SharesBuffer(last)) {
      BecomeScalar();
      scalar_ = from->scalar_;
      return;
    }
    if (!last) {
      Set(*from->tensor());
      return;
    }
    from->Unhold();
    Set(std::move(from->tensor_));
    from->tensor_ = tensorflow::Tensor();
  }

 private:
  // Leaves a scalar tensor, whose buffer may serve again, but not a larger one.
  void BecomeScalar() {
    Unhold();
    const bool another_has_it = state_ != kScalar && !tensor_.RefCountIsOne();
    if (tensor_.dims() != 0 || another_has_it) tensor_ = tensorflow::Tensor();
    state_ = kScalar;
  }

  enum State : uint8_t { kTensor, kScalar, kBoth };

  // Whether a number must be passed on with its buffer.
  bool SharesBuffer(bool last) const {
    if (!tensorflow::DataTypeIsFloating(scalar_.dtype)) return false;
    return !last || (state_ == kBoth && !tensor_.RefCountIsOne());
  }

  void Unhold() {
    if (!held_) return;
    other_reference_ = tensorflow::Tensor();
    held_ = false;
  }

  void MakeTensor();

  tensorflow::Tensor tensor_;
  tensorflow::Tensor other_reference_;
  Scalar scalar_;
  State state_ = kTensor;
  bool held_ = false;
};

}  // namespace tensor_array_grad

#endif  // CC_LOOP_VALUE_H_
