#ifndef CC_ARRAY_ARRAY_NAME_H_
#define CC_ARRAY_ARRAY_NAME_H_

#include <string>

#include "absl/strings/string_view.h"

namespace tensor_array_grad {

// The resource names of arrays, as handles, errors and the resource manager show them:
//
//   _tensor_arrays<base>_<n>                  a forward array; n counts the arrays of the process
//   _tensor_array_grads<base>_<n>@<source>    its gradient array for `source`
//   _tensor_array_grads<base>_<n>@<s>@<s2>    the gradient array of that one: second order
//
// Messages show the short name: the name without its prefix.

// A name that no other array of this process has. Thread-safe.
std::string NewForwardName(absl::string_view base);

// The name of the gradient array for `source` of the array `name`, which may be a forward or a
// gradient array.
std::string GradName(absl::string_view name, absl::string_view source);

// `name` without its prefix; a view into `name`.
absl::string_view ShortName(absl::string_view name);

}  // namespace tensor_array_grad

#endif  // CC_ARRAY_ARRAY_NAME_H_
