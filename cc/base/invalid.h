#ifndef CC_BASE_INVALID_H_
#define CC_BASE_INVALID_H_

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace tensor_array_grad {

// The error of an op whose inputs or attributes do not fit. The message is `parts`, joined.
template <typename... Parts>
absl::Status Invalid(const Parts&... parts) {
  return absl::InvalidArgumentError(absl::StrCat(parts...));
}

}  // namespace tensor_array_grad

#endif  // CC_BASE_INVALID_H_
