#include "cc/small_ops/broadcast.h"

#include <algorithm>

namespace tensor_array_grad {
namespace {

// The size of dimension `d` after `shape` was padded to `rank` dimensions with ones in front.
int64_t SizeAt(const TensorShape& shape, int d, int rank) {
  const int own = d - (rank - shape.dims());
  return own < 0 ? 1 : shape.dim_size(own);
}

}  // namespace

bool Broadcast::Read(std::initializer_list<const TensorShape*> operands) {
  operands_ = static_cast<int>(operands.size());
  int rank = 0;
  const TensorShape* longest = *operands.begin();
  for (const TensorShape* shape : operands) {
    if (shape->num_elements() > longest->num_elements() ||
        (shape->num_elements() == longest->num_elements() && shape->dims() > longest->dims())) {
      longest = shape;
    }
    rank = std::max(rank, shape->dims());
  }
  if (rank > kMostDims) return false;
  shape_ = *longest;  // right in nearly all cases, and no shape is built
  bool is_longest = longest->dims() == rank;
  int64_t sizes[kMostDims];
  for (int d = 0; d < rank; ++d) {
    int64_t size = 1;
    for (const TensorShape* shape : operands) size = std::max(size, SizeAt(*shape, d, rank));
    uint32_t stretched = 0;
    int i = 0;
    for (const TensorShape* shape : operands) {
      const int64_t own = SizeAt(*shape, d, rank);
      if (own != size && own != 1) return false;
      if (own != size) stretched |= 1u << i;
      ++i;
    }
    sizes[d] = size;
    is_longest = is_longest && longest->dim_size(d) == size;
    AddDim(size, stretched);
  }
  if (!is_longest) shape_ = TensorShape(absl::MakeConstSpan(sizes, rank));
  if (dims_ < 1) AddDim(1, 0);  // scalars
  for (int i = 0; i < operands_; ++i) {
    int64_t step = 1;
    for (int d = dims_ - 1; d >= 0; --d) {
      const bool stretched = (stretched_[d] >> i & 1) != 0;
      steps_[i][d] = stretched ? 0 : step;
      if (!stretched) step *= sizes_[d];
    }
  }
  return true;
}

// Merges the dimension with the one before it if the same operands are stretched in both. A
// dimension of size one adds no elements and is merged with any other.
void Broadcast::AddDim(int64_t size, uint32_t stretched) {
  elements_ *= size;
  if (size == 1 && dims_ > 0) return;
  if (dims_ > 0 && (stretched_[dims_ - 1] == stretched || sizes_[dims_ - 1] == 1)) {
    sizes_[dims_ - 1] *= size;
  } else {
    sizes_[dims_++] = size;
  }
  stretched_[dims_ - 1] = stretched;
}

}  // namespace tensor_array_grad
