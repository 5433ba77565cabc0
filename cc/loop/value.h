#ifndef CC_LOOP_VALUE_H_
#define CC_LOOP_VALUE_H_

#include <cstdint>
#include <cstring>
#include <utility>

#include "tensorflow/core/framework/tensor.h"
#include "tensorflow/core/framework/types.h"

namespace tensor_array_grad {

// What a register holds: a tensor, or a number, of which a tensor is made only on demand.
//
// Counters, predicates and small sums change in every iteration; as tensors, each change would cost
// an allocation. Not thread-safe: each run of a loop has its own registers. A method that makes a
// tensor from a number throws std::bad_alloc if memory runs out; the value is then unchanged.
class Value {
 public:
  // A number of any type of SetScalar, stored as its bytes.
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

  // Reads the number in a scalar of dtype T. Returns false for anything else.
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

  // Reads the number in a scalar of int32 or int64. Returns false for anything else.
  bool GetInteger(int64_t* number) const {
    if (Get(number)) return true;
    int32_t narrow;
    if (!Get(&narrow)) return false;
    *number = narrow;
    return true;
  }

  // Whether it is a number. A tensor may have been made from it.
  bool is_number() const { return state_ != kTensor; }
  bool is_scalar() const { return state_ != kTensor || tensor_.dims() == 0; }
  tensorflow::DataType dtype() const { return state_ == kTensor ? tensor_.dtype() : scalar_.dtype; }

  // The value as a tensor, which is made from the number if necessary.
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

  // The tensor for the last reader, which may write into the buffer if nothing else shares it.
  tensorflow::Tensor* LastTensor() {
    Unhold();
    return tensor();
  }

  void Release() {
    Unhold();
    tensor_ = tensorflow::Tensor();
    state_ = kTensor;
  }

  // Empties the value after its last read. The buffer of a number or of an index (IndexToReuse) is
  // kept for the next iteration, unless the reader's result shares it: the result must then hold
  // the only reference, as on stock.
  void ReleaseTensor() {
    const bool stays = state_ == kTensor ? IsIndex() : state_ == kScalar || tensor_.RefCountIsOne();
    if (!stays) Release();
  }

  // The tensor of an index that this value was, whose elements may be overwritten: a vector of
  // `count` integers of `dtype`. Null if the value was something else. Setting the value to an
  // index in each iteration then costs no allocation.
  tensorflow::Tensor* IndexToReuse(tensorflow::DataType dtype, int64_t count) {
    const bool fits =
        state_ == kTensor && tensor_.dtype() == dtype && IsIndex() && tensor_.dim_size(0) == count;
    return fits ? &tensor_ : nullptr;
  }

  // Makes this value the same number as `from`, without its buffer. Requires: from.is_number().
  void CopyNumber(const Value& from) {
    const Scalar number = from.scalar_;
    BecomeScalar();
    scalar_ = number;
  }

  // Makes this value equal to `from`. If `last`, `from` is not read again and a tensor is moved.
  // Two values of a floating-point number share a buffer, as on stock: the order in which AddN adds
  // depends on it.
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
  // Prepares for a number. Keeps a scalar tensor for reuse of its buffer, unless another tensor
  // shares that; drops any other tensor.
  void BecomeScalar() {
    Unhold();
    const bool another_has_it = state_ != kScalar && !tensor_.RefCountIsOne();
    if (tensor_.dims() != 0 || another_has_it) tensor_ = tensorflow::Tensor();
    state_ = kScalar;
  }

  enum State : uint8_t { kTensor, kScalar, kBoth };

  // Whether the tensor is a short vector of integers and no other tensor shares its buffer.
  bool IsIndex() const {
    constexpr int64_t kMostDims = 8;
    return (tensor_.dtype() == tensorflow::DT_INT32 || tensor_.dtype() == tensorflow::DT_INT64) &&
           tensor_.dims() == 1 && tensor_.dim_size(0) <= kMostDims && tensor_.RefCountIsOne();
  }

  // Whether a copy of this number must share its buffer.
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
