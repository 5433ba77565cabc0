#include "cc/lists/list_codec.h"

#include <cstdint>
#include <cstring>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "cc/base/tensorflow_names.h"
#include "cc/lists/list_checks.h"
#include "tensorflow/core/framework/tensor_shape.pb.h"
#include "tensorflow/core/framework/variant.h"
#include "tensorflow/core/framework/variant_op_registry.h"
#include "tensorflow/core/framework/variant_tensor_data.h"
#include "tensorflow/core/lib/core/coding.h"
#include "tensorflow/core/platform/logging.h"

namespace tensor_array_grad {
namespace {

using tensorflow::VariantTensorData;

// More indices than this take more than the 2 GB that a proto may have.
constexpr int64_t kMostUnset = int64_t{1} << 29;

// ---- writing ------------------------------------------------------------------------------------

// Sets `out` to a list of zeros like the list in `variant`; false if there is none.
bool ZerosOfVariant(const Variant& variant, Variant* out) {
  InputList list;
  ListVariant zeros;
  if (!list.Assign(variant) || !ListVariant::ZerosLike(*list, &zeros).ok()) return false;
  *out = std::move(zeros);
  return true;
}

// Makes the tensors of zeros of one list. Consecutive elements of one shape share a tensor.
class Zeros {
 public:
  // Sets `out` to zeros like `like`, or to a DT_INVALID tensor if only a kernel can make them.
  // ResourceExhausted, without a message, if memory is short.
  absl::Status Like(const Tensor& like, Tensor* out) {
    const bool variants = like.dtype() == DT_VARIANT;
    if (variants || last_.dtype() != like.dtype() || last_.shape() != like.shape()) {
      last_ = Tensor(like.dtype(), like.shape());
      if (!last_.IsInitialized()) return absl::ResourceExhaustedError("");
      if (!variants) std::memset(last_.data(), 0, last_.TotalBytes());
    }
    *out = variants && !FillVariants(like) ? Tensor(DT_INVALID) : last_;
    return absl::OkStatus();
  }

 private:
  bool FillVariants(const Tensor& like) {
    const auto from = like.flat<Variant>();
    auto to = last_.flat<Variant>();
    for (int64_t i = 0; i < from.size(); ++i) {
      if (!ZerosOfVariant(from(i), &to(i))) return false;
    }
    return true;
  }

  Tensor last_{DT_INVALID};
};

// Adds to `data` the elements that a list of stock's would have set, and to `set` their indices.
absl::Status AddElements(const ListVariant& list, VariantTensorData* data,
                         std::vector<int64_t>* set) {
  Zeros zeros;
  return list.ForEach([&](int64_t index, const Tensor& value) {
    Tensor element = value;
    if (list.Get(index).kind == ListElement::kZeros) {
      TF_RETURN_IF_ERROR(zeros.Like(value, &element));
    }
    if (element.dtype() == DT_INVALID) return absl::OkStatus();
    *data->add_tensors() = std::move(element);
    set->push_back(index);
    return absl::OkStatus();
  });
}

void WriteMetadata(const ListVariant& list, const std::vector<int64_t>& set,
                   std::string* metadata) {
  const auto write = [metadata](int64_t number) {
    tensorflow::core::PutVarint64(metadata, static_cast<uint64_t>(number));
  };
  int64_t next = 0;
  const auto write_unset_before = [&](int64_t index) {
    for (; next < index; ++next) write(next);
    next = index + 1;
  };
  write(list.size() - static_cast<int64_t>(set.size()));
  for (const int64_t index : set) write_unset_before(index);
  write_unset_before(list.size());
  write(list.dtype());
  write(list.max_num_elements());
  tensorflow::TensorShapeProto shape;
  list.shape().AsProto(&shape);
  shape.AppendToString(metadata);
}

// Returns why the list cannot be written, or null.
const char* Write(const ListVariant& list, VariantTensorData* data) try {
  std::vector<int64_t> set;
  if (!AddElements(list, data, &set).ok()) return "out of memory for its zeros";
  if (list.size() - static_cast<int64_t>(set.size()) > kMostUnset) {
    return "too many elements are unset";
  }
  data->set_type_name(ListVariant::kTypeName);
  WriteMetadata(list, set, &data->metadata_string());
  return nullptr;
} catch (const std::bad_alloc&) {
  return "out of memory";
}

// ---- reading ------------------------------------------------------------------------------------

class Decoder {
 public:
  explicit Decoder(const VariantTensorData& data) : rest_(data.metadata_string()), data_(data) {}

  bool Read(ListVariant* list) {
    PersistentList items;
    ListSpec spec;
    if (!Elements(&items) || !Dtype(&spec.dtype) || !Bound(&spec.max_num_elements) ||
        !Shape(&spec.shape)) {
      return false;
    }
    *list = ListVariant(std::move(spec), std::move(items));
    return true;
  }

 private:
  bool Number(uint64_t* number) { return tensorflow::core::GetVarint64(&rest_, number); }

  bool Elements(PersistentList* items) {
    uint64_t unset;
    if (!Number(&unset) || unset > rest_.size()) return false;  // an index takes a byte or more
    const int64_t size = data_.tensors_size() + static_cast<int64_t>(unset);
    if (size > kMaxListSize) return false;
    PersistentList read(size);
    int64_t next = 0, tensor = 0;
    const auto set_before = [&](int64_t index) {
      for (; next < index; ++next) read.Set(next, data_.tensors()[tensor++]);
      next = index + 1;
    };
    for (; unset > 0; --unset) {
      uint64_t index;
      if (!Number(&index) || index < static_cast<uint64_t>(next) ||
          index >= static_cast<uint64_t>(size)) {
        return false;
      }
      // Elements [next, index) are set and take a tensor each. Valid data has a tensor for each set
      // element; too few are left only if the list of unset indices is wrong.
      if (static_cast<int64_t>(index) - next > data_.tensors_size() - tensor) return false;
      set_before(static_cast<int64_t>(index));
    }
    set_before(size);
    *items = std::move(read);
    return true;
  }

  bool Dtype(DataType* dtype) {
    uint64_t number;
    if (!Number(&number) || number == 0 || number > kMaxListSize ||
        !tensorflow::DataType_IsValid(static_cast<int>(number))) {
      return false;
    }
    *dtype = static_cast<DataType>(number);
    for (const Tensor& element : data_.tensors()) {
      if (element.dtype() != *dtype) return false;
    }
    return true;
  }

  bool Bound(int32_t* bound) {
    uint64_t number;
    if (!Number(&number)) return false;
    const auto read = static_cast<int64_t>(number);
    if (read < -1 || read > kMaxListSize) return false;
    *bound = static_cast<int32_t>(read);
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

  absl::string_view rest_;  // the metadata that is not read yet
  const VariantTensorData& data_;
};

// The decoder that TensorFlow calls. Replaces the proto of a list in `variant` by the list.
bool DecodeVariant(Variant* variant) {
  auto* const proto = variant->get<tensorflow::VariantTensorDataProto>();
  if (proto == nullptr) return false;
  VariantTensorData data;
  ListVariant list;
  if (!data.FromProto(std::move(*proto)) || !DecodeList(data, &list)) return false;
  *variant = std::move(list);
  return true;
}

}  // namespace

void EncodeList(const ListVariant& list, VariantTensorData* data) {
  const char* const problem = Write(list, data);
  if (problem == nullptr) return;
  data->tensors_.clear();
  data->metadata_string().clear();
  data->set_type_name(kUnwritten);
  LOG(ERROR) << "tensor_array_grad: a TensorList of " << list.size()
             << " elements cannot be serialised: " << problem << ". Reading it will fail.";
}

bool DecodeList(const VariantTensorData& data, ListVariant* list) try {
  return Decoder(data).Read(list);
} catch (const std::bad_alloc&) {
  LOG(ERROR) << "tensor_array_grad: out of memory while reading a serialised TensorList";
  return false;
}

void DecodeListsAsOurs() {
  auto* const decode =
      tensorflow::UnaryVariantOpRegistry::Global()->GetDecodeFn(ListVariant::kTypeName);
  if (decode != nullptr) *decode = DecodeVariant;
}

}  // namespace tensor_array_grad
