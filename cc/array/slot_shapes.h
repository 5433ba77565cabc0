#ifndef CC_ARRAY_SLOT_SHAPES_H_
#define CC_ARRAY_SLOT_SHAPES_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "cc/array/sparse_vector.h"
#include "cc/base/mutex.h"
#include "cc/base/tensorflow_names.h"

namespace tensor_array_grad {

// The shape of each written slot of an array, shared with the array's gradient arrays.
//
// A gradient array must know the shapes that its forward array's elements had when the gradient
// array was made, and none that is recorded later. So each record has the number of an epoch, and
// Freeze ends the present epoch. A lookup in a frozen epoch sees only the records of that epoch and
// of earlier ones. Making a gradient array is thereby O(1), whatever the number of elements;
// nothing is copied.
//
// A gradient array has a SlotShapes of its own, whose `base` is that of its forward array. The
// shape of a slot that it has no record of is `prefix` + the shape that the base had for it. Stores
// share the ownership (shared_ptr). Thread-safe; no other lock is taken under its lock.
class SlotShapes {
 public:
  using Epoch = uint32_t;

  SlotShapes() = default;
  SlotShapes(std::shared_ptr<const SlotShapes> base, Epoch base_epoch, TensorShape prefix)
      : base_(std::move(base)), base_epoch_(base_epoch), prefix_(std::move(prefix)) {}

  // Records `shape` for slots [begin, begin + count). A slot that has a shape keeps it. O(count).
  // Throws std::bad_alloc, having recorded nothing.
  void Record(int64_t begin, int64_t count, const TensorShape& shape) ABSL_LOCKS_EXCLUDED(mu_);

  // Takes the memory for the Records of these slots that follow, with `shapes` different shapes in
  // all. O(count). Throws std::bad_alloc. A call that makes several Records calls this before, so
  // that it makes all or none; it must be the only thread that calls Record meanwhile.
  void MakeRoom(int64_t begin, int64_t count, size_t shapes) ABSL_LOCKS_EXCLUDED(mu_);

  // Ends the present epoch and returns it. A lookup in it sees all that is recorded by now.
  Epoch Freeze() ABSL_LOCKS_EXCLUDED(mu_);

  // Sets `shape` to the shape of slot `index` as of `epoch` (kNow: the present one), and `found` to
  // whether there is one. Error: prefix and shape joined have too many dimensions or values.
  static constexpr Epoch kNow = ~Epoch{0};
  absl::Status Find(int64_t index, Epoch epoch, bool* found, TensorShape* shape) const
      ABSL_LOCKS_EXCLUDED(mu_);

  // The shape of all slots that have one as of `epoch`; nullopt if they differ or there are none.
  // O(1).
  std::optional<TensorShape> Common(Epoch epoch) const ABSL_LOCKS_EXCLUDED(mu_);

 private:
  // True unless two slots differ in shape. Sets `common`, which must be empty, to the shape that
  // the slots have; leaves it empty if no slot has one.
  bool HaveCommon(Epoch epoch, std::optional<TensorShape>* common) const ABSL_LOCKS_EXCLUDED(mu_);

  struct Entry {
    Epoch epoch = 0;  // 0: nothing recorded
    uint32_t shape = 0;
  };
  struct Shape {
    TensorShape shape;
    Epoch since;  // the epoch in which it was added
  };

  const std::shared_ptr<const SlotShapes> base_;
  const Epoch base_epoch_ = 0;
  const TensorShape prefix_{};

  mutable Mutex mu_;
  Epoch now_ ABSL_GUARDED_BY(mu_) = 1;
  SparseVector<Entry> entries_ ABSL_GUARDED_BY(mu_);
  std::vector<Shape> shapes_ ABSL_GUARDED_BY(mu_);  // by Entry::shape; neighbours differ
};

}  // namespace tensor_array_grad

#endif  // CC_ARRAY_SLOT_SHAPES_H_
