#ifndef CC_CORE_SPARSE_VECTOR_H_
#define CC_CORE_SPARSE_VECTOR_H_

#include <algorithm>
#include <cstdint>
#include <memory>
#include <new>
#include <utility>
#include <vector>

namespace tensor_array_grad {

// A row of default-valued T's of which only the touched stretches take memory.
//
//   directory   [ * | - | - | * ]        one pointer per 512 entries, up to the last one touched
//                 |           |
//   chunks      [T T T ..]  [T T T ..]   the first one is short while the row is
//
// An untouched row costs nothing whatever its length, a touched one O(1) an entry. Pointers stay
// valid until Clear, except those into the first chunk, which moves when it grows.
// Not thread-safe. Never throws: FindOrMake answers nullptr when memory is short.
template <typename T>
class SparseVector {
 public:
  // The entry at `i`, or nullptr where nothing was touched. Requires: i >= 0.
  T* Find(int64_t i) const {
    const size_t chunk = static_cast<size_t>(i) / kChunk;
    if (chunk >= directory_.size() || directory_[chunk] == nullptr) return nullptr;
    const int64_t offset = i % kChunk;
    if (chunk == 0 && offset >= first_capacity_) return nullptr;
    return &directory_[chunk][offset];
  }

  // The entry at `i`, made with its neighbours where it is missing. `length` is how many entries
  // the row may have, so that a short row gets a short chunk. Requires: 0 <= i.
  T* FindOrMake(int64_t i, int64_t length) {
    if (T* found = Find(i)) return found;
    const size_t chunk = static_cast<size_t>(i) / kChunk;
    if (chunk >= directory_.size() && !GrowDirectory(chunk + 1)) return nullptr;
    if (chunk == 0) return GrowFirst(i, length) ? &directory_[0][i] : nullptr;
    directory_[chunk].reset(new (std::nothrow) T[kChunk]());
    return directory_[chunk] == nullptr ? nullptr : &directory_[chunk][i % kChunk];
  }

  // Calls visit(T&) for every entry that takes memory, in order of index. O(entries in memory).
  template <typename Visit>
  void ForEach(Visit visit) const {
    for (size_t chunk = 0; chunk < directory_.size(); ++chunk) {
      if (directory_[chunk] == nullptr) continue;
      const int64_t n = chunk == 0 ? first_capacity_ : kChunk;
      for (int64_t i = 0; i < n; ++i) visit(directory_[chunk][i]);
    }
  }

  void Clear() {
    directory_.clear();
    first_capacity_ = 0;
  }

 private:
  static constexpr int64_t kChunk = 512;

  bool GrowDirectory(size_t size) {
    try {
      directory_.resize(size);
    } catch (const std::bad_alloc&) {  // 32 MB for the last entry of a row of 2^31
      return false;
    }
    return true;
  }

  bool GrowFirst(int64_t i, int64_t length) {
    const int64_t want = std::max({i + 1, 2 * first_capacity_, std::min(length, kChunk)});
    const int64_t capacity = std::min(want, kChunk);
    std::unique_ptr<T[]> grown(new (std::nothrow) T[capacity]());
    if (grown == nullptr) return false;
    std::move(directory_[0].get(), directory_[0].get() + first_capacity_, grown.get());
    directory_[0] = std::move(grown);
    first_capacity_ = capacity;
    return true;
  }

  std::vector<std::unique_ptr<T[]>> directory_;
  int64_t first_capacity_ = 0;
};

}  // namespace tensor_array_grad

#endif  // CC_CORE_SPARSE_VECTOR_H_
