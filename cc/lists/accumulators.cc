#include "cc/lists/accumulators.h"

#include "cc/core/release.h"
#include "tensorflow/core/framework/variant.h"

namespace tensor_array_grad {

using tensorflow::Tensor;

static_assert(tensorflow::Variant::CanInlineType<Accumulators>(), "must need no allocation");

void AccumulatorRow::Unref() {
  for (AccumulatorRow* row = this; row != nullptr && row->Drop();) {
    AccumulatorRow* const below = row->below_;
    for (Tensor& value : row->values_) {
      if (OwnsOthers(value.dtype())) Release(std::move(value));
    }
    delete row;
    row = below;
  }
}

void Accumulators::Push(std::vector<Tensor> row) {
  top_ = new AccumulatorRow(std::move(row), top_);
  ++size_;
}

std::vector<Tensor> Accumulators::Pop() {
  AccumulatorRow* const last = top_;
  top_ = last->below();
  --size_;
  if (top_ != nullptr) top_->Ref();
  std::vector<Tensor> values = last->IsUnique() ? last->Take() : last->values();
  last->Unref();
  return values;
}

}  // namespace tensor_array_grad
