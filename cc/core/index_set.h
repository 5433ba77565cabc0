#ifndef CC_CORE_INDEX_SET_H_
#define CC_CORE_INDEX_SET_H_

#include <cstdint>

#include "absl/container/flat_hash_set.h"

namespace tensor_array_grad {

// Tells whether an index came before. Free while the indices go up one by one, as they nearly
// always do; from the first step that does not, a hash set.
class IndexSet {
 public:
  // Whether `index` is new.
  bool Insert(int64_t index) {
    if (seen_.empty() && (count_ == 0 || index == first_ + count_)) {
      if (count_++ == 0) first_ = index;
      return true;
    }
    if (seen_.empty()) {
      for (int64_t i = 0; i < count_; ++i) seen_.insert(first_ + i);
    }
    return seen_.insert(index).second;
  }

 private:
  int64_t first_ = 0;
  int64_t count_ = 0;  // of the run that the indices so far are, while there is no set
  absl::flat_hash_set<int64_t> seen_;
};

}  // namespace tensor_array_grad

#endif  // CC_CORE_INDEX_SET_H_
