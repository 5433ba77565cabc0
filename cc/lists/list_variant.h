#ifndef CC_LISTS_LIST_VARIANT_H_
#define CC_LISTS_LIST_VARIANT_H_

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <typeinfo>
#include <utility>

#include "absl/status/status.h"
#include "cc/base/tensorflow_names.h"
#include "cc/lists/persistent_list.h"
#include "tensorflow/core/framework/type_index.h"
#include "tensorflow/core/framework/variant.h"
#include "tensorflow/core/framework/variant_tensor_data.h"
#include "tensorflow/core/kernels/tensor_list.h"

namespace tensor_array_grad {

// The properties that all versions of a list have in common. Versions share one ListSpec.
struct ListSpec {
  // Whether `item` can be pushed to a list of `size` elements.
  bool Takes(const Tensor& item, int64_t size) const {
    constexpr int32_t kMost = std::numeric_limits<int32_t>::max();
    return item.dtype() == dtype && shape.IsCompatibleWith(item.shape()) &&
           size < (max_num_elements == -1 ? kMost : max_num_elements);
  }

  DataType dtype = DT_INVALID;
  PartialTensorShape shape;       // of the elements, as far as it is known
  int32_t max_num_elements = -1;  // -1: no bound
};

// An element as a reader sees it. kSet: `tensor` is the element. kZeros: the element reads as zeros
// like `tensor`. kUnset: it reads as zeros of a shape that the reader has to supply.
struct ListElement {
  enum Kind { kUnset, kSet, kZeros };
  Kind kind = kUnset;
  const Tensor* tensor = nullptr;
};

// Copies a tensor to another device, into a tensor of the same dtype that it allocates.
using CopyFunction = std::function<absl::Status(const Tensor& from, Tensor* to)>;

// The value in the scalar variant tensor that is a TensorList: a persistent list and its spec.
//
// A value type like PersistentList, and as thread-safe. Small enough to be stored in a Variant
// without an allocation. Versions of one list share their spec.
//
// Methods that change or make a list throw std::bad_alloc; every list is unchanged then.
//
// A list of zeros may have element shapes that the spec does not determine (unknown dimensions,
// nested lists). Such a list keeps the elements of the list that it was made like, and reads as
// zeros of their shapes.
class ListVariant {
 public:
  // The type name of tensorflow::TensorList: lists are written in stock's format (list_codec.h).
  static constexpr char kTypeName[] = "tensorflow::TensorList";

  ListVariant() : ListVariant(ListSpec{}, 0) {}  // variants must be default constructible
  // `size` unset elements; O(1).
  ListVariant(ListSpec spec, int64_t size) : ListVariant(std::move(spec), PersistentList(size)) {}
  ListVariant(ListSpec spec, PersistentList items)
      : spec_(std::make_shared<const ListSpec>(std::move(spec))),
        items_(std::move(items)),
        zeros_(items_.size()) {}

  // A list with the elements of `stock`. O(n), counted as `lists.stock_lists_converted`.
  static ListVariant FromStock(const tensorflow::TensorList& stock);

  const ListSpec& spec() const { return *spec_; }
  DataType dtype() const { return spec_->dtype; }
  const PartialTensorShape& shape() const { return spec_->shape; }
  int32_t max_num_elements() const { return spec_->max_num_elements; }
  int64_t size() const { return items_.size(); }

  // Requires: 0 <= index < size(). The pointer is valid until this list changes.
  ListElement Get(int64_t index) const {
    if (const Tensor* set = items_.Find(index)) return {ListElement::kSet, set};
    if (zeros_.all_unset()) return {};
    const Tensor* const like = zeros_.Find(index);
    return {like == nullptr ? ListElement::kUnset : ListElement::kZeros, like};
  }
  // Requires: 0 <= index < size(); `value` of this dtype and a compatible shape.
  void Set(int64_t index, Tensor value) { items_.Set(index, std::move(value)); }
  void Resize(int64_t size) {
    PersistentList zeros = zeros_;  // changed first, and in a copy: both lists change or none
    zeros.Resize(size);
    items_.Resize(size);
    zeros_ = std::move(zeros);
  }
  void Append(const ListVariant& tail) {
    PersistentList zeros = zeros_;
    zeros.Append(tail.zeros_);
    items_.Append(tail.items_);
    zeros_ = std::move(zeros);
  }
  // Gives this list the element shape of a sum, and no bound, as stock's sums have none. Keeps the
  // shared spec when nothing changes.
  void BecomeSum(const PartialTensorShape& shape);

  // Calls `visit` for the elements that have a shape of their own, set or zeros, by rising index,
  // until one call fails.
  absl::Status ForEach(PersistentList::Visitor visit) const;
  // The same for those that are set.
  absl::Status ForEachSet(PersistentList::Visitor visit) const { return items_.ForEach(visit); }
  // Whether some elements read as zeros of a kept shape (kZeros).
  bool has_zeros() const { return !zeros_.all_unset(); }
  // Whether no element is set or reads as zeros of a kept shape.
  bool has_nothing() const { return items_.all_unset() && !has_zeros(); }

  // Whether the sum of this list and one of `dtype`, `shape` and `size` has the spec of this list.
  bool IsLikeSum(DataType dtype, const PartialTensorShape& shape, int64_t size) const {
    return dtype == spec_->dtype && size == this->size() && spec_->max_num_elements == -1 &&
           (&shape == &spec_->shape || spec_->shape.IsIdenticalTo(shape));
  }
  // InvalidArgument unless a list with the spec `other` and `size` elements can be added to this
  // one. Sets `shape`, which must not be other.shape itself, to the element shape of the sum.
  absl::Status CheckAddable(const ListSpec& other, int64_t size, PartialTensorShape* shape) const;
  // out = a + b, with `add` for the elements that are set in both. InvalidArgument when dtypes,
  // shapes or sizes differ.
  static absl::Status Add(const ListVariant& a, const ListVariant& b, PersistentList::Combiner add,
                          ListVariant* out);
  // A list of zeros of the same dtype, element shape and size, without a bound. O(1) unless the
  // list has both set elements and zeros of a kept shape. InvalidArgument when elements of a dtype
  // without zeros are set.
  static absl::Status ZerosLike(const ListVariant& list, ListVariant* out);
  // Sets `to` to `from` with every tensor copied to another device by `copy`. The tensors that
  // `copy` writes to do not move, so that a copy may end after `copy` has returned. On error `to`
  // is unchanged.
  static absl::Status Copy(const ListVariant& from, ListVariant* to, const CopyFunction& copy);

  // Required of a type in a Variant. list_codec.h describes the last two.
  std::string TypeName() const { return kTypeName; }
  std::string DebugString() const { return "TensorList"; }
  void Encode(tensorflow::VariantTensorData* data) const;
  bool Decode(const tensorflow::VariantTensorData& data);

 private:
  std::shared_ptr<const ListSpec> spec_;
  PersistentList items_;
  PersistentList zeros_;  // tensors whose shapes unset elements have; all unset in most lists
};

// A list in a variant: either the value of the variant itself, or a conversion of a stock list. The
// variant must outlive this object.
class InputList {
 public:
  const ListVariant& operator*() const { return *list_; }
  const ListVariant* operator->() const { return list_; }
  bool converted() const { return conversion_ != nullptr; }

  // Refers to the list in `variant`. Returns false if `variant` holds neither a ListVariant nor a
  // stock list. O(n) for a stock list of n elements, else O(1).
  bool Assign(const Variant& variant);

 private:
  const ListVariant* list_ = nullptr;
  std::unique_ptr<ListVariant> conversion_;
};

}  // namespace tensor_array_grad

// Makes the same index as the generic function, which hashes the type's name at every
// Variant::get<ListVariant>().
template <>
inline tensorflow::TypeIndex tensorflow::TypeIndex::Make<tensor_array_grad::ListVariant>() {
  static const char* const name = typeid(tensor_array_grad::ListVariant).name();
  static const uint64_t hash = Hash64(name);
  return TypeIndex(hash, name);
}

#endif  // CC_LISTS_LIST_VARIANT_H_
