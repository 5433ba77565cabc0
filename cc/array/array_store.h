#ifndef CC_ARRAY_ARRAY_STORE_H_
#define CC_ARRAY_ARRAY_STORE_H_

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/types/span.h"
#include "cc/array/slot_table.h"
#include "cc/base/element_ops.h"
#include "cc/base/mutex.h"
#include "cc/base/tensorflow_names.h"

namespace tensor_array_grad {

class BulkWrite;

// Stores the elements of one tensor array, for calls from several threads. SlotTable has the rules
// for filling and emptying slots; this class adds the lock and the work on values.
//
// Thread-safe. A method that fails has changed nothing. If an ElementOps has no memory for values,
// the method returns ResourceExhausted; if there is no memory for the store's own records, it
// throws std::bad_alloc. So a call checks, takes all memory, makes its sums and then changes the
// slots. Two failures do not keep this rule. If ElementOps::Add fails, sums that the same call has
// made in place remain. And a recorded TensorShape of more than six dimensions, or of large ones,
// needs memory: if its assignment finds none, TensorFlow leaves the shape unusable.
//
// A call holds `mu_` from its first check to its last change, also while it allocates and computes
// values; stock holds its lock during sums, too. This cannot deadlock, because no call waits under
// `mu_` for a thread that waits for it:
//
// - What a slot held is freed after `mu_` is released. An element may own a resource, for example
//   another array, whose destructor takes other locks. To copy such an element only counts
//   references, and only numbers are summed.
// - Under `mu_` only the locks of SlotShapes and of allocators are taken, and under these no lock
//   of an array. An allocator may wait for memory that other threads free, but for a limited time.
// - An ElementOps does not call back. It may share its work with the intra-op threads of the
//   device. These run no kernels, so that none of them waits for `mu_`. TensorFlow's kernels that
//   work under the lock of a variable rely on that, too.
//
// Requires of all writes: the value has dtype(). Callers use CheckWriteDtype first.
//
// The class knows no kernel, resource manager or stream. Sizes and indices are 64-bit here; an
// array has at most 2^31 - 1 slots. Memory grows with the slots that were touched, not with the
// size.
class ArrayStore {
 public:
  // Requires: 0 <= options.size < 2^31.
  explicit ArrayStore(ArrayOptions options);
  ArrayStore(const ArrayStore&) = delete;
  ArrayStore& operator=(const ArrayStore&) = delete;

  // Puts `value` at `index`; an accumulating store adds it to the value already there. O(1), or
  // O(values) for a sum.
  //
  // An empty slot shares `value`'s buffer. `exclusive`: no other tensor shares that buffer. A sum
  // is made in the slot's buffer if no other tensor shares it, else in `value`'s buffer if that is
  // exclusive, else in a new one.
  // Errors: closed; index out of range and not growable; shape; slot already read; slot already
  // written (if not accumulating); a sum of a dtype that cannot be added.
  absl::Status Write(int64_t index, Tensor value, bool exclusive, ElementOps& ops)
      ABSL_LOCKS_EXCLUDED(mu_);

  // Sets `value` to the element at `index`. If none was written, sets it to zeros, of the array's
  // element shape or, in a gradient array, of the shape of the element in the forward array. Copies
  // no values, except those of a part of a block that is not aligned. Then the slot is cleared if
  // clear_after_read; later writes to it are errors, cleared or not. O(1), or O(values) for zeros
  // and copies. Errors: closed; index out of range (a gradient array grows instead); slot already
  // cleared; nothing written, and the shape is not known or the dtype has no zeros.
  absl::Status Read(int64_t index, ElementOps& ops, Tensor* value) ABSL_LOCKS_EXCLUDED(mu_);

  // Stacks the elements at `indices` into `value`, of shape [indices.size()] + element shape, and
  // merges `element_shape` into the array's. Consecutive parts of one block are returned as the
  // block, or as a slice of it if that is aligned (see also KeepValues); elements of several
  // buffers are copied. Reads each slot as Read does. O(indices), and O(values) for copies. An
  // index that occurs twice is an error if clear_after_read.
  absl::Status Gather(absl::Span<const int32_t> indices, const PartialTensorShape& element_shape,
                      ElementOps& ops, Tensor* value) ABSL_LOCKS_EXCLUDED(mu_);

  // Writes value[i] to slot indices[i] for all i, as Write does; on error writes none. Shares
  // `value`'s buffer (see also KeepValues); only sums make new values. O(indices).
  absl::Status Scatter(absl::Span<const int32_t> indices, const Tensor& value, ElementOps& ops)
      ABSL_LOCKS_EXCLUDED(mu_);

  // Joins the elements of all slots along dimension 0 and sets `lengths` to each element's size in
  // dimension 0. A gradient array joins only the first marked_size slots (see Split). Reads each
  // slot as Read does.
  absl::Status Concat(const PartialTensorShape& element_shape_except0, ElementOps& ops,
                      Tensor* value, std::vector<int64_t>* lengths) ABSL_LOCKS_EXCLUDED(mu_);

  // Writes consecutive pieces of `value`, of lengths[i] along dimension 0, to slots 0, 1, ..., as
  // Scatter does. A forward array also records the number of pieces, which is the marked_size of
  // the gradient arrays that are made later.
  absl::Status Split(const Tensor& value, absl::Span<const int64_t> lengths, ElementOps& ops)
      ABSL_LOCKS_EXCLUDED(mu_);

  // The number of slots. Error: closed.
  absl::Status Size(int64_t* size) const ABSL_LOCKS_EXCLUDED(mu_);

  // Drops all elements. Later reads, writes and calls of Size and Freeze are errors, except a
  // Gather of no indices whose element shape is known. size() and TotalBytes() are 0 from then on.
  void Close() ABSL_LOCKS_EXCLUDED(mu_);

  // Makes the size final: later writes do not grow the array. Sets `gradient` to the options of the
  // array's gradient array, which has as many slots, has `prefix` in front of the element shape,
  // and accumulates. The caller sets its name. O(1). Errors, after which the size is not final:
  // closed; the joined element shape is too large; the order would exceed kMaxOrder.
  absl::Status Freeze(const TensorShape& prefix, ArrayOptions* gradient) ABSL_LOCKS_EXCLUDED(mu_);

  // An error unless `got` is the array's dtype. Kernels check it before the rest of the call.
  absl::Status CheckWriteDtype(DataType got) const;
  absl::Status CheckReadDtype(DataType got) const;

  const std::string& name() const { return options_.name; }
  DataType dtype() const { return options_.dtype; }
  bool accumulates() const { return options_.accumulate; }
  bool closed() const { return closed_.load(std::memory_order_acquire); }
  // An error if closed().
  absl::Status CheckOpen() const;
  int64_t size() const ABSL_LOCKS_EXCLUDED(mu_);
  // Bytes of the elements held. A buffer is counted once per slot or block that refers to it.
  // O(slots touched).
  int64_t TotalBytes() const ABSL_LOCKS_EXCLUDED(mu_);

 private:
  // Writes parts of `value`, as the constructors of BulkWrite take them.
  template <typename Parts>
  absl::Status WriteParts(const Tensor& value, absl::string_view part, Parts parts, ElementOps& ops)
      ABSL_LOCKS_EXCLUDED(mu_);

  const ArrayOptions options_;       // `shapes` is set
  std::atomic<bool> closed_{false};  // written under mu_, read anywhere

  mutable Mutex mu_;
  SlotTable table_ ABSL_GUARDED_BY(mu_);
};

}  // namespace tensor_array_grad

#endif  // CC_ARRAY_ARRAY_STORE_H_
