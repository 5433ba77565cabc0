#ifndef CC_ARRAY_SPARSE_VECTOR_H_
#define CC_ARRAY_SPARSE_VECTOR_H_

#include <algorithm>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace tensor_array_grad {

// A vector of default-valued T's, in chunks of which only those with a touched entry take memory.
//
//   directory   [ * | - | - | * ]        one pointer per 512 entries, up to the last one touched
//                 |           |
//   chunks      [T T T ..]  [T T T ..]   the first one is short if the vector is short
//
// An untouched vector takes no memory, whatever its length; a touched one takes O(1) per entry.
// Pointers stay valid, except those into the first chunk, which moves when it grows.
// Not thread-safe. FindOrMake throws std::bad_alloc, and no entry has changed then. It allocates 32
// MB at most, for the directory of a vector whose entry 2^31 - 1 is touched.
template <typename T>
class SparseVector {
 public:
  // The entry at `i`, or nullptr if it takes no memory. Requires: i >= 0.
  T* Find(int64_t i) const {
    const size_t chunk = static_cast<size_t>(i) / kChunk;
    if (chunk >= directory_.size() || directory_[chunk] == nullptr) return nullptr;
    const int64_t offset = i % kChunk;
    if (chunk == 0 && offset >= first_capacity_) return nullptr;
    return &directory_[chunk][offset];
  }

  // The entry at `i`. If it is missing, makes it and its chunk. `length` is the number of entries
  // that the vector may have, so that a short vector gets a short chunk. Requires: 0 <= i.
  T* FindOrMake(int64_t i, int64_t length) {
    if (T* found = Find(i)) return found;
    const size_t chunk = static_cast<size_t>(i) / kChunk;
    if (chunk >= directory_.size()) directory_.resize(chunk + 1);
    if (chunk == 0) {
      GrowFirst(i, length);
    } else {
      directory_[chunk] = std::make_unique<T[]>(kChunk);
    }
    return &directory_[chunk][i % kChunk];
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

 private:
  static constexpr int64_t kChunk = 512;

  void GrowFirst(int64_t i, int64_t length) {
    const int64_t want = std::max({i + 1, 2 * first_capacity_, std::min(length, kChunk)});
    const int64_t capacity = std::min(want, kChunk);
    auto grown = std::make_unique<T[]>(capacity);
    std::move(directory_[0].get(), directory_[0].get() + first_capacity_, grown.get());
    directory_[0] = std::move(grown);
    first_capacity_ = capacity;
  }

  std::vector<std::unique_ptr<T[]>> directory_;
  int64_t first_capacity_ = 0;
};

}  // namespace tensor_array_grad

#endif  // CC_ARRAY_SPARSE_VECTOR_H_
