#ifndef CC_CORE_SLOT_SHAPES_H_
#define CC_CORE_SLOT_SHAPES_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/types/span.h"
#include "cc/core/mutex.h"
#include "cc/core/sparse_vector.h"
#include "tensorflow/core/framework/tensor_shape.h"

namespace tensor_array_grad {

// What shape each written slot of an array has, shared with the array's gradient arrays.
//
// A gradient array must know the shapes that its forward array's elements had when the gradient
// array was made, and nothing that is written later. So recording is stamped with an epoch, which
// Freeze ends: a reader that passes the frozen epoch sees just what was there. Making a gradient
// array is thereby O(1), whatever the number of elements; nothing is copied.
//
// A gradient array has a SlotShapes of its own over that `base`: what it does not know itself is
// `prefix` + what the base knew. Outlives the stores that share it (shared_ptr). Thread-safe; its
// lock is a leaf: nothing else is locked or allocated in bulk under it.
class SlotShapes {
 public:
  using Epoch = uint32_t;

  SlotShapes() = default;
  SlotShapes(std::shared_ptr<const SlotShapes> base, Epoch base_epoch,
             tensorflow::TensorShape prefix)
      : base_(std::move(base)), base_epoch_(base_epoch), prefix_(std::move(prefix)) {}

  // Notes that slots [begin, begin + count) hold `shape`. A slot's first shape stays. O(count).
  // Throws std::bad_alloc, having noted nothing.
  void Record(int64_t begin, int64_t count, const tensorflow::TensorShape& shape)
      ABSL_LOCKS_EXCLUDED(mu_);

  // Slots [begin, begin + count).
  struct Run {
    int64_t begin, count;
  };

  // Several calls of Record, to be made later, all of them or none.
  class Recording {
   public:
    explicit Recording(SlotShapes& shapes) : shapes_(shapes) {}
    Recording(const Recording&) = delete;
    Recording& operator=(const Recording&) = delete;
    ~Recording() { shapes_.GiveBackRoom(groups_.size()); }

    // Adds a call, and takes the memory for it. Throws std::bad_alloc, having added nothing. Calls
    // of one shape in a row cost no more memory than the run.
    void Add(int64_t begin, int64_t count, tensorflow::TensorShape shape);
    // Makes the calls. Needs no memory.
    void Commit();

   private:
    // The next `runs` of runs_.
    struct Group {
      tensorflow::TensorShape shape;
      size_t runs;
    };

    SlotShapes& shapes_;
    std::vector<Run> runs_;
    std::vector<Group> groups_;
  };

  // Ends the epoch that recording is in and returns it, for readers of what is recorded by now.
  Epoch Freeze() ABSL_LOCKS_EXCLUDED(mu_);

  // Sets `shape` to the shape of slot `index` as of `epoch`, kNow for the present one, and `found`
  // to whether there is any. Error: prefix and shape joined have too many dimensions or values.
  static constexpr Epoch kNow = ~Epoch{0};
  absl::Status Find(int64_t index, Epoch epoch, bool* found, tensorflow::TensorShape* shape) const
      ABSL_LOCKS_EXCLUDED(mu_);

  // The one shape that all slots with a shape as of `epoch` have, if they have one. O(1).
  std::optional<tensorflow::TensorShape> Common(Epoch epoch) const ABSL_LOCKS_EXCLUDED(mu_);

 private:
  // Whether no two slots differ in shape; `common`, empty before, is what they share, if any.
  bool HaveCommon(Epoch epoch, std::optional<tensorflow::TensorShape>* common) const
      ABSL_LOCKS_EXCLUDED(mu_);

  struct Entry {
    Epoch epoch = 0;  // 0: nothing recorded
    uint32_t shape = 0;
  };
  struct Shape {
    tensorflow::TensorShape shape;
    Epoch since;  // when it was first recorded
  };

  // Makes the entries of these slots, and room for `shapes` shapes beside those promised.
  void MakeRoom(int64_t begin, int64_t count, size_t shapes) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void GiveBackRoom(size_t shapes) ABSL_LOCKS_EXCLUDED(mu_);
  // Record, for all of `runs`. Requires: MakeRoom for each run and one shape.
  void Note(absl::Span<const Run> runs, const tensorflow::TensorShape& shape)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  const std::shared_ptr<const SlotShapes> base_;
  const Epoch base_epoch_ = 0;
  const tensorflow::TensorShape prefix_;

  mutable Mutex mu_;
  Epoch now_ ABSL_GUARDED_BY(mu_) = 1;
  SparseVector<Entry> entries_ ABSL_GUARDED_BY(mu_);
  std::vector<Shape> shapes_ ABSL_GUARDED_BY(mu_);  // by number; neighbours in time differ
  size_t promised_ ABSL_GUARDED_BY(mu_) = 0;        // places behind them, to Recordings
};

}  // namespace tensor_array_grad

#endif  // CC_CORE_SLOT_SHAPES_H_
