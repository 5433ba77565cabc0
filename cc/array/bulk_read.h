#ifndef CC_ARRAY_BULK_READ_H_
#define CC_ARRAY_BULK_READ_H_

#include <cstdint>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "cc/array/slot_access.h"
#include "cc/base/tensorflow_names.h"

namespace tensor_array_grad {

// A read of many slots into one tensor. A plan is what Look finds: the shape of the result and the
// pieces of buffers that it consists of; pieces that follow each other in one buffer are joined.
class BulkRead : public SlotAccess {
 public:
  absl::Status Look(SlotTable* table, Next* next) final;
  absl::Status Compute(ElementOps& ops) final;
  void Commit(SlotTable* table) override;

  // The result. Requires: Commit was called.
  Tensor TakeValue() { return std::move(made_); }

 protected:
  struct Plan {
    int64_t count = 0;  // of slots
    TensorShape shape;  // of the result
    std::vector<Piece> pieces;
    std::vector<int64_t> lengths;      // concat: dimension 0 of each element
    PartialTensorShape element_shape;  // gather: the array's, merged with the attribute
    bool busy = false;                 // some slot is busy

    // Appends an element's values; extends the last piece if they follow it in the same tensor.
    void Append(const Element& element, const Tensor** last_source);
    // Whether both plans have the same result, from the same buffers.
    bool SameAs(const Plan& other) const;
  };

  // The index of the slot that the read takes at position `i`.
  virtual int64_t index(int64_t i) const = 0;
  // Plans the read, or returns the error that the user sees. `plan` is empty.
  virtual absl::Status MakePlan(const SlotTable& table, Plan* plan) const = 0;

  Plan plan_;

 private:
  Plan previous_;
  DataType dtype_ = DT_INVALID;
  uint64_t version_ = 0;  // of the table that plan_ is from
  Tensor made_;
};

// ArrayStore::Gather.
class GatherRead final : public BulkRead {
 public:
  GatherRead(absl::Span<const int32_t> indices, const PartialTensorShape& element_shape)
      : indices_(indices), attribute_(element_shape) {}

  void Commit(SlotTable* table) override;

 private:
  int64_t index(int64_t i) const override { return indices_[i]; }
  absl::Status MakePlan(const SlotTable& table, Plan* plan) const override;

  const absl::Span<const int32_t> indices_;
  const PartialTensorShape& attribute_;
};

// ArrayStore::Concat.
class ConcatRead final : public BulkRead {
 public:
  explicit ConcatRead(const PartialTensorShape& element_shape_except0)
      : attribute_(element_shape_except0) {}

  // Each element's size in dimension 0. Requires: Commit was called.
  std::vector<int64_t> TakeLengths() { return std::move(plan_.lengths); }

 private:
  int64_t index(int64_t i) const override { return i; }
  absl::Status MakePlan(const SlotTable& table, Plan* plan) const override;

  const PartialTensorShape& attribute_;
};

}  // namespace tensor_array_grad

#endif  // CC_ARRAY_BULK_READ_H_
