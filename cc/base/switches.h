#ifndef CC_BASE_SWITCHES_H_
#define CC_BASE_SWITCHES_H_

#include <string>

#include "absl/strings/string_view.h"

// Switches in the environment. They are read when the library is loaded, or when a part first runs;
// a later change of the environment has no effect.
namespace tensor_array_grad {

// The value of an environment variable; "" if it is not set.
std::string Environment(const char* name);

// Whether `value` says off: "off", "0" or "false", in any case.
bool SaysOff(absl::string_view value);

// Whether TENSOR_ARRAY_GRAD_WITHOUT, a list of names separated by commas, names `part`, a rule of
// the graph pass or one of these parts:
//
//     second_thread    the trailing part of an iteration runs on a second thread
//     buffer_cache     buffers of 4 KB to 1 MB come from a cache
//     zero_rows        branches of conditionals output one row of zeros for a gather
//     counted_values   the backward loop computes values that follow from the iteration's number
//     small_lists      small ops on lists
//
// tools/ablate.py measures what each contributes. A part asks once and keeps the answer.
bool IsLeftOut(absl::string_view part);

}  // namespace tensor_array_grad

#endif  // CC_BASE_SWITCHES_H_
