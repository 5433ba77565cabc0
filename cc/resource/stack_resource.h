#ifndef CC_RESOURCE_STACK_RESOURCE_H_
#define CC_RESOURCE_STACK_RESOURCE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "cc/base/mutex.h"
#include "cc/base/tensorflow_names.h"
#include "cc/resource/listing.h"
#include "tensorflow/core/framework/allocator.h"
#include "tensorflow/core/framework/resource_mgr.h"

namespace tensor_array_grad {

// The stack of a TF1 while loop: the forward loop pushes a value per iteration, and the backward
// loop pops it.
//
// Stock lists its stacks in the container of the step. A function that is called in TF2 has a
// container that never ends, so there each call leaks its stacks. A stack of this class is owned by
// its handle tensors (listing.h) and is destroyed with the last of them, with all values that
// nothing has popped.
//
// Thread-safe. No lock is held while a value is destroyed.
class StackResource : public tensorflow::ResourceBase {
 public:
  // For the messages of Lookup (kernel_util.h).
  static constexpr char kKind[] = "stack";

  struct Element {
    Tensor tensor;
    tensorflow::AllocatorAttributes attributes =
        {};                // of the memory that the value was pushed from
    bool swapped = false;  // `tensor` is a copy in host memory
  };

  // Makes a stack of at most `most` elements and sets `handle` to a scalar handle that owns it.
  // `base` is the first part of its name. Throws std::bad_alloc, having made nothing.
  static void Create(Place place, const std::string& base, DataType dtype, int64_t most,
                     Tensor* handle);

  ~StackResource() override;

  // Returns InvalidArgument if elements of `dtype` cannot be pushed or popped.
  absl::Status CheckDtype(DataType dtype) const;

  // Puts `element` on top. InvalidArgument if the stack is closed or full, ResourceExhausted if
  // there is no memory; nothing has changed then. Requires: CheckDtype is OK.
  absl::Status Push(Element element) ABSL_LOCKS_EXCLUDED(mu_);

  // Moves the top element out. InvalidArgument if the stack is closed or empty.
  absl::Status Pop(Element* element) ABSL_LOCKS_EXCLUDED(mu_);

  // Drops all elements. Later calls of Push and Pop fail; Close may be called again.
  void Close() ABSL_LOCKS_EXCLUDED(mu_);

  // Whether the bottom element exists and has another buffer than `tensor`. If a loop pushes the
  // same value in each iteration, moving it to host memory frees nothing.
  bool BottomHasOtherBuffer(const Tensor& tensor) const ABSL_LOCKS_EXCLUDED(mu_);

  std::string DebugString() const override;
  int64_t MemoryUsed() const override ABSL_LOCKS_EXCLUDED(mu_);
  // The stack's name in handles. TensorFlow's own function ends the process if memory runs out.
  std::string MakeRefCountingHandleName(int64_t) const override { return name_; }

 private:
  StackResource(Place place, const std::string& base, DataType dtype, int64_t most);
  absl::Status CheckOpen() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  const Place place_;
  const std::string short_name_;  // as messages show it
  const std::string name_;        // as handles and the resource manager show it
  const DataType dtype_;
  const int64_t most_;
  bool listed_ = false;  // set by Create, which holds a reference; read by the destructor
  mutable Mutex mu_;
  bool closed_ ABSL_GUARDED_BY(mu_) = false;
  std::vector<Element> elements_ ABSL_GUARDED_BY(mu_);
};

}  // namespace tensor_array_grad

#endif  // CC_RESOURCE_STACK_RESOURCE_H_
