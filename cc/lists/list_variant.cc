#include "cc/lists/list_variant.h"

#include "cc/base/counters.h"
#include "cc/base/invalid.h"
#include "cc/base/variant_registration.h"
#include "cc/lists/list_codec.h"
#include "tensorflow/core/framework/variant.h"

namespace tensor_array_grad {
namespace {

using tensorflow::VariantTensorData;

static_assert(tensorflow::Variant::CanInlineType<ListVariant>(), "a list must need no allocation");

Counter stock_lists_converted("lists.stock_lists_converted");

[[maybe_unused]] const bool list_copies_registered = RegisterCopies<ListVariant>();

// Merges the `zeros_` of two lists. If both have a tensor for an element, either is correct.
absl::Status KeepFirst(const Tensor& a, const Tensor&, Tensor* out) {
  *out = a;
  return absl::OkStatus();
}

}  // namespace

ListVariant ListVariant::FromStock(const tensorflow::TensorList& stock) {
  stock_lists_converted.Add();
  PersistentList items(static_cast<int64_t>(stock.tensors().size()));
  for (int64_t i = 0; i < items.size(); ++i) {
    const Tensor& value = stock.tensors()[i];
    if (value.dtype() != DT_INVALID) items.Set(i, value);
  }
  return ListVariant({stock.element_dtype, stock.element_shape, stock.max_num_elements},
                     std::move(items));
}

void ListVariant::BecomeSum(const PartialTensorShape& shape) {
  if (spec_->max_num_elements == -1 && spec_->shape.IsIdenticalTo(shape)) return;
  spec_ = std::make_shared<const ListSpec>(ListSpec{spec_->dtype, shape, -1});
}

absl::Status ListVariant::ForEach(PersistentList::Visitor visit) const {
  if (!has_zeros()) return items_.ForEach(visit);
  PersistentList both;
  absl::Status status = PersistentList::Merge(items_, zeros_, KeepFirst, &both);
  return status.ok() ? both.ForEach(visit) : status;
}

absl::Status ListVariant::CheckAddable(const ListSpec& other, int64_t other_size,
                                       PartialTensorShape* shape) const {
  if (dtype() != other.dtype) {
    return Invalid("Trying to add two lists of tensors of different dtypes. One is ",
                   DataTypeString(dtype()), " and the other is ", DataTypeString(other.dtype));
  }
  const PartialTensorShape &mine = spec_->shape, &theirs = other.shape;
  if (!mine.IsCompatibleWith(theirs) || !mine.MergeWith(theirs, shape).ok()) {
    return Invalid("Trying to add two lists of tensors with incompatible element shapes. One is ",
                   mine.DebugString(), " and the other is ", theirs.DebugString());
  }
  if (size() == other_size) return absl::OkStatus();
  return Invalid("Trying to add two lists of tensors with different lengths. One is ", size(),
                 " and the other is ", other_size);
}

absl::Status ListVariant::Add(const ListVariant& a, const ListVariant& b,
                              PersistentList::Combiner add, ListVariant* out) {
  PartialTensorShape shape;
  TF_RETURN_IF_ERROR(a.CheckAddable(*b.spec_, b.size(), &shape));
  ListVariant sum = a;
  sum.BecomeSum(shape);
  TF_RETURN_IF_ERROR(PersistentList::Merge(a.items_, b.items_, add, &sum.items_));
  TF_RETURN_IF_ERROR(PersistentList::Merge(a.zeros_, b.zeros_, KeepFirst, &sum.zeros_));
  *out = std::move(sum);
  return absl::OkStatus();
}

absl::Status ListVariant::ZerosLike(const ListVariant& list, ListVariant* out) {
  const DataType dtype = list.dtype();
  const bool has_zero = DataTypeCanUseMemcpy(dtype) && !DataTypeIsQuantized(dtype);
  if (!list.items_.all_unset() && !has_zero && dtype != DT_VARIANT) {
    return Invalid("Trying to compute zeros_like for unsupported dtype ", DataTypeString(dtype));
  }
  ListVariant zeros = list;
  zeros.BecomeSum(list.shape());
  zeros.items_ = PersistentList(list.size());
  if (dtype == DT_VARIANT || !list.shape().IsFullyDefined()) {
    TF_RETURN_IF_ERROR(PersistentList::Merge(list.items_, list.zeros_, KeepFirst, &zeros.zeros_));
  }
  *out = std::move(zeros);
  return absl::OkStatus();
}

absl::Status ListVariant::Copy(const ListVariant& from, ListVariant* to, const CopyFunction& copy) {
  const auto copy_one = [&copy](const Tensor& tensor, Tensor* out) {
    *out = Tensor(tensor.dtype());
    return copy(tensor, out);
  };
  ListVariant copied = from;
  TF_RETURN_IF_ERROR(from.items_.Map(copy_one, &copied.items_));
  TF_RETURN_IF_ERROR(from.zeros_.Map(copy_one, &copied.zeros_));
  *to = std::move(copied);
  return absl::OkStatus();
}

void ListVariant::Encode(VariantTensorData* data) const { EncodeList(*this, data); }

bool ListVariant::Decode(const VariantTensorData& data) { return DecodeList(data, this); }

bool InputList::Assign(const Variant& variant) {
  list_ = variant.get<ListVariant>();
  if (list_ != nullptr) return true;
  const auto* const stock = variant.get<tensorflow::TensorList>();
  if (stock == nullptr) return false;
  conversion_ = std::make_unique<ListVariant>(ListVariant::FromStock(*stock));
  list_ = conversion_.get();
  return true;
}

}  // namespace tensor_array_grad
