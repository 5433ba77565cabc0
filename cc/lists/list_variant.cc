#include "cc/lists/list_variant.h"

#include <limits>

#include "absl/strings/str_cat.h"
#include "cc/core/counters.h"
#include "tensorflow/core/framework/tensor_shape.pb.h"
#include "tensorflow/core/framework/variant.h"
#include "tensorflow/core/framework/variant_op_registry.h"
#include "tensorflow/core/lib/core/coding.h"

namespace tensor_array_grad {
namespace {

using tensorflow::DataType;
using tensorflow::DataTypeString;
using tensorflow::PartialTensorShape;
using tensorflow::Tensor;
using tensorflow::UnaryVariantOpRegistry;
using tensorflow::VariantTensorData;
namespace registration = tensorflow::variant_op_registry_fn_registration;

static_assert(tensorflow::Variant::CanInlineType<ListVariant>(), "a list must need no allocation");

Counter stock_lists_converted("lists.stock_lists_converted");

absl::Status DeviceCopy(const ListVariant& from, ListVariant* to,
                        UnaryVariantOpRegistry::AsyncTensorDeviceCopyFn copy) {
  auto copy_one = [&copy](const Tensor& tensor, Tensor* out) {
    *out = Tensor(tensor.dtype());
    return copy(tensor, out);
  };
  return ListVariant::Copy(from, copy_one, to);
}

// A second copy of the library finds all of this there. TensorFlow would end the process if it were
// registered twice; REGISTER_UNARY_VARIANT_* cannot ask first.
bool RegisterDecodeAndCopies() {
  if (UnaryVariantOpRegistry::Global()->GetDecodeFn(ListVariant::kTypeName) != nullptr) {
    return false;
  }
  registration::UnaryVariantDecodeRegistration<ListVariant> decode(ListVariant::kTypeName);
  for (auto direction :
       {tensorflow::HOST_TO_DEVICE, tensorflow::DEVICE_TO_HOST, tensorflow::DEVICE_TO_DEVICE}) {
    registration::UnaryVariantDeviceCopyRegistration<ListVariant> copy(
        direction, tensorflow::TypeIndex::Make<ListVariant>(), DeviceCopy);
  }
  return true;
}

[[maybe_unused]] const bool registered = RegisterDecodeAndCopies();

// ---- encoding -----------------------------------------------------------------------------------

// What Encode writes. metadata: varints {format, dtype, max_num_elements + 1, size}, then for the
// items and for what zeros are like {count, gap to each index}, then the serialised element shape.
// tensors: the items, then the others.
constexpr uint64_t kFormat = 1;

void EncodeElements(const PersistentList& list, std::string* metadata, VariantTensorData* data) {
  std::string gaps;
  uint64_t count = 0;
  int64_t next = 0;
  list.ForEach([&](int64_t index, const Tensor& value) {
        tensorflow::core::PutVarint64(&gaps, index - next);
        next = index + 1;
        ++count;
        *data->add_tensors() = value;
        return absl::OkStatus();
      })
      .IgnoreError();  // the visitor never fails
  tensorflow::core::PutVarint64(metadata, count);
  metadata->append(gaps);
}

// Reads what Encode wrote, and refuses anything else.
class Decoder {
 public:
  Decoder(absl::string_view metadata, const VariantTensorData& data)
      : rest_(metadata), data_(data) {}

  bool Read(ListSpec* spec, PersistentList* items, PersistentList* zeros) {
    uint64_t format, dtype, bound, size;
    if (!Number(&format) || format != kFormat || !Number(&dtype) || !Number(&bound) ||
        !Number(&size)) {
      return false;
    }
    constexpr uint64_t kMost = std::numeric_limits<int32_t>::max();  // also of elements
    if (dtype == 0 || dtype > kMost || !tensorflow::DataType_IsValid(static_cast<int>(dtype)) ||
        bound > kMost + 1 || size > kMost) {
      return false;
    }
    spec->dtype = static_cast<DataType>(dtype);
    spec->max_num_elements = static_cast<int32_t>(static_cast<int64_t>(bound) - 1);
    return Elements(size, spec->dtype, items) && Elements(size, spec->dtype, zeros) &&
           next_tensor_ == data_.tensors_size() && Shape(&spec->shape);
  }

 private:
  bool Number(uint64_t* number) { return tensorflow::core::GetVarint64(&rest_, number); }

  bool Elements(uint64_t size, DataType dtype, PersistentList* list) {
    uint64_t count, next = 0;
    if (!Number(&count)) return false;
    PersistentList read(static_cast<int64_t>(size));
    for (; count > 0; --count) {
      uint64_t gap;
      if (!Number(&gap) || gap >= size - next || next_tensor_ >= data_.tensors_size()) return false;
      const Tensor& value = data_.tensors(next_tensor_++);
      if (value.dtype() != dtype) return false;
      read.Set(static_cast<int64_t>(next + gap), value);
      next += gap + 1;
    }
    *list = std::move(read);
    return true;
  }

  bool Shape(PartialTensorShape* shape) {
    tensorflow::TensorShapeProto proto;
    if (!proto.ParseFromString(std::string(rest_)) || !PartialTensorShape::IsValid(proto)) {
      return false;
    }
    *shape = PartialTensorShape(proto);
    return true;
  }

  absl::string_view rest_;
  const VariantTensorData& data_;
  int next_tensor_ = 0;
};

// Merges what two lists of zeros are like; either will do where both know.
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
    if (value.dtype() != tensorflow::DT_INVALID) items.Set(i, value);
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
    return absl::InvalidArgumentError(
        absl::StrCat("Trying to add two lists of tensors of different dtypes. One is ",
                     DataTypeString(dtype()), " and the other is ", DataTypeString(other.dtype)));
  }
  const PartialTensorShape mine = spec_->shape, theirs = other.shape;
  if (!mine.IsCompatibleWith(theirs) || !mine.MergeWith(theirs, shape).ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat("Trying to add two lists of tensors with incompatible element shapes. One is ",
                     mine.DebugString(), " and the other is ", theirs.DebugString()));
  }
  if (size() == other_size) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("Trying to add two lists of tensors with different lengths. One is ", size(),
                   " and the other is ", other_size));
}

absl::Status ListVariant::AddZeros(const ListVariant& zeros) {
  return PersistentList::Merge(zeros_, zeros.zeros_, KeepFirst, &zeros_);
}

absl::Status ListVariant::Add(const ListVariant& a, const ListVariant& b,
                              PersistentList::Combiner add, ListVariant* out) {
  PartialTensorShape shape;
  absl::Status status = a.CheckAddable(*b.spec_, b.size(), &shape);
  if (!status.ok()) return status;
  ListVariant sum = a;
  sum.BecomeSum(shape);
  status = PersistentList::Merge(a.items_, b.items_, add, &sum.items_);
  if (!status.ok()) return status;
  status = sum.AddZeros(b);
  if (!status.ok()) return status;
  *out = std::move(sum);
  return absl::OkStatus();
}

absl::Status ListVariant::ZerosLike(const ListVariant& list, ListVariant* out) {
  const DataType dtype = list.dtype();
  const bool has_zero = DataTypeCanUseMemcpy(dtype) && !DataTypeIsQuantized(dtype);
  if (!list.items_.all_unset() && !has_zero && dtype != tensorflow::DT_VARIANT) {
    return absl::InvalidArgumentError(
        absl::StrCat("Trying to compute zeros_like for unsupported dtype ", DataTypeString(dtype)));
  }
  ListVariant zeros = list;
  zeros.BecomeSum(list.shape());
  zeros.items_ = PersistentList(list.size());
  if (dtype == tensorflow::DT_VARIANT || !list.shape().IsFullyDefined()) {
    absl::Status status = PersistentList::Merge(list.items_, list.zeros_, KeepFirst, &zeros.zeros_);
    if (!status.ok()) return status;
  }
  *out = std::move(zeros);
  return absl::OkStatus();
}

absl::Status ListVariant::Copy(const ListVariant& list, PersistentList::Changer copy,
                               ListVariant* out) {
  ListVariant copied = list;
  absl::Status status = list.items_.Map(copy, &copied.items_);
  if (status.ok()) status = list.zeros_.Map(copy, &copied.zeros_);
  if (status.ok()) *out = std::move(copied);
  return status;
}

void ListVariant::Encode(VariantTensorData* data) const {
  data->set_type_name(TypeName());
  std::string metadata;
  for (const uint64_t number :
       {kFormat, static_cast<uint64_t>(dtype()),
        static_cast<uint64_t>(int64_t{max_num_elements()} + 1), static_cast<uint64_t>(size())}) {
    tensorflow::core::PutVarint64(&metadata, number);
  }
  EncodeElements(items_, &metadata, data);
  EncodeElements(zeros_, &metadata, data);
  tensorflow::TensorShapeProto proto;
  shape().AsProto(&proto);
  proto.AppendToString(&metadata);
  data->set_metadata(metadata);
}

bool ListVariant::Decode(const VariantTensorData& data) {
  std::string metadata;
  if (!data.get_metadata(&metadata)) return false;
  ListSpec spec;
  PersistentList items, zeros;
  if (!Decoder(metadata, data).Read(&spec, &items, &zeros)) return false;
  *this = ListVariant(std::move(spec), std::move(items));
  zeros_ = std::move(zeros);
  return true;
}

}  // namespace tensor_array_grad
