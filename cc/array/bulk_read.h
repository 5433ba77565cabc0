#ifndef CC_ARRAY_BULK_READ_H_
#define CC_ARRAY_BULK_READ_H_

#include <cstdint>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "cc/array/slot_table.h"
#include "cc/base/element_ops.h"
#include "cc/base/tensorflow_names.h"

namespace tensor_array_grad {

// One gather or concat: a read of many slots into one tensor. It is made by one call of a Check,
// then Compute, then Commit, with the table locked all the time. Destroy it after the lock has been
// released, because it may have the last references to what the slots held.
class BulkRead {
 public:
  // ArrayStore::Gather. Returns the error that the user sees. `indices` must outlive this object.
  absl::Status CheckGather(const SlotTable& table, absl::Span<const int32_t> indices,
                           const PartialTensorShape& attribute);
  // ArrayStore::Concat.
  absl::Status CheckConcat(const SlotTable& table, const PartialTensorShape& attribute);

  // Makes the result.
  absl::Status Compute(DataType dtype, ElementOps& ops);

  // Marks the slots as read. Throws std::bad_alloc, having changed nothing.
  void Commit(SlotTable* table);

  // The result, and for concat each element's size in dimension 0. Requires: Commit was called.
  Tensor& value() { return made_; }
  std::vector<int64_t> TakeLengths() { return std::move(lengths_); }

 private:
  // The slot that the read takes at position `i`.
  int64_t index(int64_t i) const { return indices_.empty() ? i : indices_[i]; }
  // Appends an element's values; extends the last piece if they follow it in the same tensor.
  void Append(const Element& element, const Tensor** last_source);

  int64_t count_ = 0;                   // of slots
  absl::Span<const int32_t> indices_;   // gather: of the slots
  PartialTensorShape element_shape_;    // of the array, afterwards
  TensorShape shape_;                   // of the result
  std::vector<Piece> pieces_;           // that the result consists of
  std::vector<Tensor> without_values_;  // elements that add no piece
  std::vector<int64_t> lengths_;
  Tensor made_;
};

}  // namespace tensor_array_grad

#endif  // CC_ARRAY_BULK_READ_H_
