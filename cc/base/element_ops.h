#ifndef CC_BASE_ELEMENT_OPS_H_
#define CC_BASE_ELEMENT_OPS_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "cc/base/tensorflow_names.h"

namespace tensor_array_grad {

// Values that follow each other in row-major order: `count` of `source` from value `begin` on, or
// `count` zeros when `source` has no buffer. Holds a reference to the source's buffer.
struct Piece {
  Tensor source;
  int64_t begin = 0;
  int64_t count = 0;

  bool zeros() const { return source.NumElements() == 0; }
};

// The work on element values that arrays leave to a device. They use devices in no other way.
//
// An implementation exists for one kernel call and works on that call's stream or thread pool. Its
// methods may fail. V3 arrays call them with the lock of the array held: a method must not call
// back, nor wait for a thread that may wait for an array. Sources may be unaligned views;
// destinations come from Allocate. Each method is O(values).
class ElementOps {
 public:
  virtual ~ElementOps() = default;

  // Makes a tensor whose values are unset. ResourceExhausted when there is no memory.
  virtual absl::Status Allocate(DataType dtype, const TensorShape& shape, Tensor* out) = 0;

  // Fills `out` with zeros. Requires: CanZero(out->dtype()).
  virtual absl::Status Zero(Tensor* out) = 0;

  // *out = left + right. `out` may be `left` or `right`. Requires: CanAdd(dtype), equal dtypes and
  // shapes, and that nothing else reads or writes out's buffer.
  virtual absl::Status Add(const Tensor& left, const Tensor& right, Tensor* out) = 0;

  // Fills `out` with the pieces, one after the other, in one launch.
  // Requires: the pieces' dtype is out's, and their counts sum to out's number of values.
  virtual absl::Status Pack(absl::Span<const Piece> pieces, Tensor* out) = 0;

  // Whether values are in the memory of a GPU. Every call is then a launch.
  virtual bool on_gpu() const = 0;
};

// Whether values of `dtype` can be summed: the numbers, not bool, string, variant, resource or the
// quantised types.
bool CanAdd(DataType dtype);

// Whether an element of `dtype` that was never written can be read as zeros: CanAdd and bool.
bool CanZero(DataType dtype);

// The tensor of `shape` that shares the piece's buffer; no value is copied. It may be unaligned
// (Tensor::IsAligned); most TensorFlow kernels must not get an unaligned tensor.
// Requires: piece.source has these values, which may be none; shape.num_elements() == piece.count.
Tensor ViewOf(const Piece& piece, const TensorShape& shape);

// Sets `value` to `piece` in `shape`: an aligned view of it, or a new tensor of `dtype`. O(1), or
// O(values) for the new tensor. After an error, `value` is undefined.
absl::Status Materialize(const Piece& piece, DataType dtype, const TensorShape& shape,
                         ElementOps& ops, Tensor* value);

// Sets `kept` to a tensor that keeps the present values of `value`: `value` itself, or a copy if
// another tensor shares its buffer and may be changed in place (mutable_tensors.h). O(1), or
// O(values) for the copy.
absl::Status KeepValues(const Tensor& value, ElementOps& ops, Tensor* kept);

}  // namespace tensor_array_grad

#endif  // CC_BASE_ELEMENT_OPS_H_
