#ifndef CC_RESOURCE_ARRAY_RESOURCE_H_
#define CC_RESOURCE_ARRAY_RESOURCE_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "cc/array/array_store.h"
#include "cc/base/mutex.h"
#include "cc/base/tensorflow_names.h"
#include "cc/resource/listing.h"
#include "tensor_array_grad/records.h"
#include "tensorflow/core/framework/resource_mgr.h"

namespace tensor_array_grad {

// A tensor array as a TensorFlow resource: one store, its name, and the ownership between arrays.
//
//   handle tensors ==> forward array ==> gradient arrays, by source ==> their gradient arrays
//                            ^                  ^
//   resource manager . . . . . . . . . . . . . .      (==> owns, . . lists without owning)
//
// listing.h explains handle tensors and the entries of the resource manager.
//
// A forward array holds the *handle tensors* of its gradient arrays, so returning one again
// allocates nothing. No strong reference points back: a gradient array does not know its forward
// array.
//
// Thread-safe. While the lock of the gradient map is held, no store's lock is taken and nothing is
// destroyed.
//
// Methods throw std::bad_alloc. Nothing has changed then, except that the size may be final. An
// array is not listed if there is no memory for its entry.
class ArrayResource : public tensorflow::ResourceBase {
 public:
  // For the messages of Lookup (kernel_util.h).
  static constexpr char kKind[] = "tensor array";

  // Makes an array called `name` and sets `handle` to a scalar handle that owns it.
  static void Create(Place place, std::string name, ArrayOptions options, Tensor* handle);

  ~ArrayResource() override;

  // Sets `handle` to the handle of the gradient array of this array for `source`. The first call
  // makes it, with `prefix` in front of each element's shape, and makes the size of this array
  // final. Equal sources get one array, also in concurrent calls. A gradient array that was closed
  // is replaced.
  // Errors: closed; shapes that cannot be joined; the source has an array with another prefix.
  absl::Status FindOrCreateGrad(absl::string_view source, const TensorShape& prefix, Tensor* handle)
      ABSL_LOCKS_EXCLUDED(grads_mu_);

  ArrayStore& store() { return store_; }
  const std::string& name() const { return name_; }
  // What `status()` shows.
  introspection::Array Describe() const ABSL_LOCKS_EXCLUDED(grads_mu_);

  std::string DebugString() const override;
  int64_t MemoryUsed() const override { return store_.TotalBytes(); }
  // The array's name in handles. TensorFlow's own function ends the process if memory runs out.
  std::string MakeRefCountingHandleName(int64_t) const override { return name_; }

 private:
  struct Grad {
    TensorShape prefix;
    ArrayResource* array = nullptr;  // owned by `handle`
    Tensor handle;
  };

  ArrayResource(Place place, std::string name, ArrayOptions options);
  void ListByName() { listed_ = List(this, place_, name_); }
  void Unlist() {
    if (listed_.exchange(false)) tensor_array_grad::Unlist<ArrayResource>(place_, name_);
  }

  const Place place_;
  const std::string name_;
  ArrayStore store_;
  std::atomic<bool> listed_{false};
  std::list<const ArrayResource*>::iterator in_registry_;
  mutable Mutex grads_mu_;
  std::map<std::string, Grad, std::less<>> grads_ ABSL_GUARDED_BY(grads_mu_);  // by source
};

// All arrays that exist in this process, oldest first. Thread-safe; other threads may have changed
// the arrays by the time it returns.
std::vector<introspection::Array> ExistingArrays();

}  // namespace tensor_array_grad

#endif  // CC_RESOURCE_ARRAY_RESOURCE_H_
