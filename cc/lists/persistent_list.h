#ifndef CC_LISTS_PERSISTENT_LIST_H_
#define CC_LISTS_PERSISTENT_LIST_H_

#include <cstdint>
#include <utility>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "cc/base/tensorflow_names.h"
#include "cc/lists/node.h"

namespace tensor_array_grad {

// A list of tensors that is cheap to copy, to change in one place and to add up.
//
// A value type: copying is O(1) and copies are independent. Internally, copies share an immutable
// tree of 32-way nodes; a change copies the nodes on one path, or changes them in place if no other
// list shares them. An element that was never set takes no memory and counts as zero.
//
// As thread-safe as a std::vector: any number of readers, or one writer, of one object; objects
// that share nodes need no lock. Knows no dtype, element shape or device.
//
// If memory runs out, Set, Resize, Append, Build, Map and Merge throw std::bad_alloc. Every list
// then has the size and the elements that it had before.
//
// Costs, for n elements: Find, Set and shrinking O(log32 n), and O(elements freed) for elements
// that no other list shares; Merge O(elements set at the same index in both, plus the paths to
// them); ForEach O(elements set); growing, copying and making an unset list O(1).
class PersistentList {
 public:
  static constexpr int64_t kMaxSize = int64_t{1} << 60;

  PersistentList() = default;
  // `size` elements, none of them set. Requires: 0 <= size <= kMaxSize, here and below.
  explicit PersistentList(int64_t size) : size_(size) {}
  PersistentList(const PersistentList& other) : root_(other.root_), size_(other.size_) {
    if (root_ != nullptr) root_->Ref();
  }
  PersistentList(PersistentList&& other) noexcept
      : root_(std::exchange(other.root_, nullptr)), size_(std::exchange(other.size_, 0)) {}
  PersistentList& operator=(PersistentList other) noexcept {
    std::swap(root_, other.root_);
    std::swap(size_, other.size_);
    return *this;
  }
  ~PersistentList() {
    if (root_ != nullptr) root_->Unref();
  }

  // A list of `size` elements, all set, element i to make(i); stops at the first failure. O(size).
  using Maker = absl::FunctionRef<absl::Status(int64_t index, Tensor* out)>;
  static absl::Status Build(int64_t size, Maker make, PersistentList* out);

  int64_t size() const { return size_; }
  // Whether no element is set.
  bool all_unset() const { return root_ == nullptr; }

  // Element `index`, or nullptr when it is not set. Valid until this list changes.
  // Requires: 0 <= index < size().
  const Tensor* Find(int64_t index) const;

  // Sets element `index`. Requires: 0 <= index < size().
  void Set(int64_t index, Tensor value);

  // Grows with unset elements, or drops the elements from `size` on.
  void Resize(int64_t size);

  // Appends the elements of `tail`, set and unset. O(elements set in tail, log size).
  void Append(const PersistentList& tail);

  // Calls `visit` for each element that is set, by rising index, until one call fails.
  using Visitor = absl::FunctionRef<absl::Status(int64_t index, const Tensor& value)>;
  absl::Status ForEach(Visitor visit) const;

  // A list of the same size in which each set element is replaced by what `change` makes of it. The
  // tensor `out` of `change` does not move afterwards.
  using Changer = absl::FunctionRef<absl::Status(const Tensor& value, Tensor* out)>;
  absl::Status Map(Changer change, PersistentList* out) const;

  // The union of two lists of equal size. An element that is set in one list only is shared with
  // that list; one that is set in both becomes combine(the one in a, the one in b). On error `out`
  // is unchanged.
  using Combiner = absl::FunctionRef<absl::Status(const Tensor& a, const Tensor& b, Tensor* out)>;
  static absl::Status Merge(const PersistentList& a, const PersistentList& b, Combiner combine,
                            PersistentList* out);

 private:
  TreeNode* root_ = nullptr;  // only as tall as the highest index that was ever set needs
  int64_t size_ = 0;
};

}  // namespace tensor_array_grad

#endif  // CC_LISTS_PERSISTENT_LIST_H_
