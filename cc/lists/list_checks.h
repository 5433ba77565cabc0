#ifndef CC_LISTS_LIST_CHECKS_H_
#define CC_LISTS_LIST_CHECKS_H_

#include <cstdint>
#include <limits>

#include "absl/status/status.h"
#include "cc/base/invalid.h"
#include "cc/base/tensorflow_names.h"
#include "cc/lists/list_variant.h"

namespace tensor_array_grad {

// The checks that several list ops share. Each returns InvalidArgument if it fails, with the
// message of stock's kernel if stock has the check.

// The largest length of a list: every op that outputs a length does so as an int32.
inline constexpr int64_t kMaxListSize = std::numeric_limits<int32_t>::max();

// Checks that a list can have `size` elements.
absl::Status CheckSize(int64_t size);

// Checks that an op for elements of `dtype` may use a list of `list_dtype`.
absl::Status DtypesDiffer(DataType dtype, DataType list_dtype);
inline absl::Status CheckDtypes(DataType dtype, DataType list_dtype) {
  return list_dtype == dtype ? absl::OkStatus() : DtypesDiffer(dtype, list_dtype);
}

// Checks that a loop stack of `lists` lists fits an op with `values` values.
absl::Status CheckNumber(size_t lists, int values);

// Checks that an op can push `item` to a list that has `spec` and `size` elements.
absl::Status CannotPush(const ListSpec& spec, int64_t size, const Tensor& item);
inline absl::Status CheckPush(const ListSpec& spec, int64_t size, const Tensor& item) {
  return spec.Takes(item, size) ? absl::OkStatus() : CannotPush(spec, size, item);
}

// Checks that `item` can be set at `index` of a list of `size` elements of `shape`. If the list
// `grows`, the index may be past its end.
absl::Status CheckUnusualSet(const PartialTensorShape& shape, int64_t size, int64_t index,
                             const Tensor& item, bool grows);
inline absl::Status CheckSet(const PartialTensorShape& shape, int64_t size, int64_t index,
                             const Tensor& item, bool grows = false) {
  const bool usual = index >= 0 && index < size && shape.IsCompatibleWith(item.shape());
  return usual ? absl::OkStatus() : CheckUnusualSet(shape, size, index, item, grows);
}

}  // namespace tensor_array_grad

#endif  // CC_LISTS_LIST_CHECKS_H_
