#ifndef CC_ARRAY_INDEX_SET_H_
#define CC_ARRAY_INDEX_SET_H_

#include <cstdint>

#include "cc/array/sparse_vector.h"

namespace tensor_array_grad {

// A set of indices, to detect repeated ones. Allocates nothing while each index is the previous one
// plus 1, which is nearly always the case. Otherwise it takes one bit per index, in chunks of which
// only those with an index in the set take memory.
class IndexSet {
 public:
  // Adds `index`; true if it was not in the set. Throws std::bad_alloc. Requires: index >= 0.
  bool Insert(int64_t index) {
    if (!marking_ && (count_ == 0 || index == first_ + count_)) {
      if (count_++ == 0) first_ = index;
      return true;
    }
    if (!marking_) {
      marking_ = true;
      for (int64_t i = 0; i < count_; ++i) Mark(first_ + i);
    }
    return Mark(index);
  }

 private:
  bool Mark(int64_t index) {
    uint64_t* word = words_.FindOrMake(index / 64, /*length=*/index / 64 + 1);
    const uint64_t bit = uint64_t{1} << (index % 64);
    const bool is_new = (*word & bit) == 0;
    *word |= bit;
    return is_new;
  }

  int64_t first_ = 0;
  int64_t count_ = 0;  // while !marking_: the set is [first_, first_ + count_)
  bool marking_ = false;
  SparseVector<uint64_t> words_;
};

}  // namespace tensor_array_grad

#endif  // CC_ARRAY_INDEX_SET_H_
