#include "cc/lists/list_checks.h"

namespace tensor_array_grad {

absl::Status CheckSize(int64_t size) {
  if (size <= kMaxListSize) return absl::OkStatus();
  return Invalid("A TensorList cannot have ", size, " elements: the most is ", kMaxListSize);
}

absl::Status DtypesDiffer(DataType dtype, DataType list_dtype) {
  return Invalid("Invalid data types; op elements ", DataTypeString(dtype), " but list elements ",
                 DataTypeString(list_dtype));
}

absl::Status CheckNumber(size_t lists, int values) {
  if (lists == static_cast<size_t>(values)) return absl::OkStatus();
  return Invalid("There are ", lists, " lists in the loop stack, but the op has ", values,
                 " values");
}

absl::Status CannotPush(const ListSpec& spec, int64_t size, const Tensor& item) {
  if (!spec.shape.IsCompatibleWith(item.shape())) {
    return Invalid("Tried to append a tensor with incompatible shape to a list. Op element shape: ",
                   item.shape().DebugString(), " list shape: ", spec.shape.DebugString());
  }
  TF_RETURN_IF_ERROR(CheckDtypes(item.dtype(), spec.dtype));
  if (spec.max_num_elements != -1 && size >= spec.max_num_elements) {
    return Invalid("Tried to push item into a full list list size: ", size,
                   " max_num_elements: ", spec.max_num_elements);
  }
  return CheckSize(size + 1);
}

absl::Status CheckUnusualSet(const PartialTensorShape& shape, int64_t size, int64_t index,
                             const Tensor& item, bool grows) {
  if (!shape.IsCompatibleWith(item.shape())) {
    return Invalid(
        "Tried to set a tensor with incompatible shape at a list index. Item element shape: ",
        item.shape().DebugString(), " list shape: ", shape.DebugString());
  }
  if (index < 0 || (!grows && index >= size)) {
    return Invalid("Trying to modify element ", index, " in a list with ", size, " elements.");
  }
  return CheckSize(index + 1);
}

}  // namespace tensor_array_grad
