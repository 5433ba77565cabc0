#ifndef CC_ARRAY_ERRORS_H_
#define CC_ARRAY_ERRORS_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "cc/base/invalid.h"
#include "cc/base/tensorflow_names.h"

// The errors that an array returns to a user of the V3 ops. The text of an error is at the check
// that reports it, or here if several checks report the error.
//
// The codes, and the phrases that users search for, are those of TensorFlow's own kernels
// (docs/semantics.md). Each message names the array, the index, what was got and what is needed.
// `array` is the short name, without the resource prefix: `TensorArrayV3_0`, `TensorArrayV3_0@g`.
namespace tensor_array_grad::errors {

using Name = absl::string_view;

template <typename... Parts>
absl::Status Invalid(Name array, const Parts&... parts) {
  return tensor_array_grad::Invalid("TensorArray ", array, ": ", parts...);
}

inline absl::Status Closed(Name array) {
  return tensor_array_grad::Invalid("TensorArray ", array, " has already been closed.");
}
inline absl::Status CannotGrow(Name array, int64_t index) {
  return Invalid(array, "Tried to write to index ", index,
                 " but an array holds at most 2147483647 elements.");
}
inline absl::Status AlreadyWritten(Name array, int64_t index) {
  return Invalid(array, "Could not write to TensorArray index ", index,
                 " because it has already been written to.");
}
inline absl::Status ReadTwice(Name array, int64_t index) {
  return Invalid(array, "Could not read index ", index,
                 " twice because it was cleared after a previous read (perhaps try setting "
                 "clear_after_read = false?).");
}
inline absl::Status NoSum(Name array, int64_t index, DataType dtype) {
  return Invalid(array, "Could not aggregate to TensorArray index ", index,
                 ": tensor_array::AddToTensor type not supported: ", DataTypeString(dtype));
}
inline absl::Status ResultTooLarge(Name array, absl::string_view what) {
  return Invalid(array, what,
                 " would have more than 2**63 - 1 elements or more than 254 dimensions.");
}

}  // namespace tensor_array_grad::errors

#endif  // CC_ARRAY_ERRORS_H_
