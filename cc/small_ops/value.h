#ifndef CC_SMALL_OPS_VALUE_H_
#define CC_SMALL_OPS_VALUE_H_

#include <cstdint>
#include <cstring>
#include <utility>

#include "cc/base/pooled_tensor.h"
#include "cc/base/tensor_data.h"
#include "cc/base/tensorflow_names.h"

namespace tensor_array_grad {

// The content of a register: a tensor, or a number from which a tensor is made only on demand.
//
// Counters, predicates and small sums change in every iteration. As tensors, each change would cost
// an allocation. A value is empty at first and after Release: it then holds a Tensor(), which has
// no buffer and is not a scalar.
//
// Not thread-safe: each run of a loop has its own registers. A method that makes a tensor from a
// number throws std::bad_alloc if memory runs out; the value is then unchanged.
class Value {
 public:
  // A number of a dtype of at most eight bytes, stored as its bytes.
  struct Scalar {
    DataType dtype = DT_INVALID;
    alignas(8) char bytes[8];
  };

  // Makes this value `tensor`.
  void Set(Tensor tensor) {
    Release();
    tensor_ = std::move(tensor);
    state_ = kTensor;
  }

  // Makes this value `number`, which has the dtype of T. Allocates nothing.
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
      std::memcpy(number, scalar_.bytes, sizeof(T));
      return true;
    }
    if (tensor_.dtype() != tensorflow::DataTypeToEnum<T>::value || tensor_.dims() != 0) {
      return false;
    }
    *number = *DataOf<T>(tensor_);
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

  // Whether the value is a number. A tensor may have been made from it.
  bool is_number() const { return state_ != kTensor; }
  // Whether the value is a number or a tensor without dimensions.
  bool is_scalar() const { return state_ != kTensor || tensor_.dims() == 0; }
  DataType dtype() const { return state_ == kTensor ? tensor_.dtype() : scalar_.dtype; }

  // The value as a tensor, which is made from the number if necessary. Never null; the Value owns
  // the tensor.
  Tensor* tensor() {
    if (state_ == kScalar) MakeTensor();
    return &tensor_;
  }

  // The tensor for a kernel that is not the last reader: a second reference keeps the kernel from
  // writing into the buffer.
  Tensor* HeldTensor() {
    if (state_ == kScalar) MakeTensor();
    if (!held_) {
      other_reference_ = tensor_;
      held_ = true;
    }
    return &tensor_;
  }

  // The tensor for the last reader, which may write into the buffer if no other tensor shares it.
  Tensor* LastTensor() {
    Unhold();
    return tensor();
  }

  // Empties the value and drops its buffer.
  void Release() {
    Unhold();
    tensor_ = Tensor();
    state_ = kTensor;
  }

  // Empties the value after its last read, except that the buffer of a number or of an index
  // (IndexToReuse) is kept for the next iteration. It is not kept if the reader's result shares it:
  // the result must then hold the only reference, as it does with stock kernels.
  void ReleaseTensor() {
    const bool stays = state_ == kTensor ? IsIndex() : state_ == kScalar || tensor_.RefCountIsOne();
    if (!stays) Release();
  }

  // Returns the tensor of this value for the caller to overwrite, if it is an *index*: a vector of
  // `count` integers of `dtype`, at most eight, whose buffer no other tensor shares. Returns null
  // for anything else. A small op that makes an index need then not allocate in each iteration.
  Tensor* IndexToReuse(DataType dtype, int64_t count) {
    const bool fits =
        state_ == kTensor && tensor_.dtype() == dtype && IsIndex() && tensor_.dim_size(0) == count;
    return fits ? &tensor_ : nullptr;
  }

  // Makes this value the same number as `from`, without its buffer. Requires: from.is_number().
  void CopyNumber(const Value& from) {
    BecomeScalar();
    scalar_ = from.scalar_;
  }

  // Makes this value equal to `from`. If `last`, `from` must not be read again, and its tensor is
  // moved. If not, both values of a floating-point number share a buffer, as with stock kernels:
  // the order in which AddN adds its inputs depends on it.
  void Assign(Value* from, bool last) {
    if (from->state_ != kTensor && !from->SharesBuffer(last)) return CopyNumber(*from);
    if (!last) {
      Set(*from->tensor());
      return;
    }
    from->Unhold();
    Set(std::move(from->tensor_));
    from->tensor_ = Tensor();
  }

 private:
  // Prepares this value for a number. Keeps a scalar tensor, so that MakeTensor can reuse its
  // buffer, unless another tensor shares that buffer. Drops any other tensor.
  void BecomeScalar() {
    Unhold();
    const bool another_has_it = state_ != kScalar && !tensor_.RefCountIsOne();
    if (tensor_.dims() != 0 || another_has_it) tensor_ = Tensor();
    state_ = kScalar;
  }

  // kTensor: the value is `tensor_`. kScalar: the value is `scalar_`; `tensor_` is empty or has a
  // buffer for reuse. kBoth: the value is `scalar_`, and `tensor_` is equal to it.
  enum State : uint8_t { kTensor, kScalar, kBoth };

  // Whether the tensor is an index (IndexToReuse).
  bool IsIndex() const {
    constexpr int64_t kMostDims = 8;
    return (tensor_.dtype() == DT_INT32 || tensor_.dtype() == DT_INT64) && tensor_.dims() == 1 &&
           tensor_.dim_size(0) <= kMostDims && tensor_.RefCountIsOne();
  }

  // Whether a copy of this number must share its buffer.
  bool SharesBuffer(bool last) const {
    if (!tensorflow::DataTypeIsFloating(scalar_.dtype)) return false;
    return !last || (state_ == kBoth && !tensor_.RefCountIsOne());
  }

  // Drops the second reference of HeldTensor.
  void Unhold() {
    if (!held_) return;
    other_reference_ = Tensor();
    held_ = false;
  }

  // From kScalar to kBoth.
  void MakeTensor() {
    const bool reusable =
        tensor_.dtype() == scalar_.dtype && tensor_.dims() == 0 && tensor_.RefCountIsOne();
    if (!reusable) MakePooledTensor(scalar_.dtype, TensorShape({}), &tensor_);
    std::memcpy(tensor_.data(), scalar_.bytes, tensorflow::DataTypeSize(scalar_.dtype));
    state_ = kBoth;
  }

  Tensor tensor_;
  Tensor other_reference_;  // shares the buffer of tensor_ if held_
  Scalar scalar_;
  State state_ = kTensor;
  bool held_ = false;
};

}  // namespace tensor_array_grad

#endif  // CC_SMALL_OPS_VALUE_H_
