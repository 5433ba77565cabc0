#ifndef CC_API_LOAD_H_
#define CC_API_LOAD_H_

#include <cstdint>
#include <map>
#include <string>

#include "absl/status/status.h"

// The op library in a C++ program: its kernels for TensorArray, its own ops and its graph pass.
//
// There are two ways to get it, and both call Load():
// * Load it: link `tensor_array_grad::api` and call Load(TENSOR_ARRAY_GRAD_LIBRARY). The version is
//   checked before the library is opened. Preferred.
// * Link it: `tensor_array_grad::ops` as well. The kernels are there when main() starts; Load()
//   then only checks. A library for another TensorFlow can end the process before that.
namespace tensor_array_grad {

// Loads the op library at `path`, so that every session made from then on runs our kernels; a
// session that ran before keeps the kernels it had. The CMake package defines
// TENSOR_ARRAY_GRAD_LIBRARY, the path of the library that was found. A second call does nothing.
// Thread-safe.
//
// As the Python package's `enable()`, and with its messages:
// * with TENSOR_ARRAY_GRAD=off in the environment, or where a GPU is visible that our kernels are
//   not to run on, stock's kernels stay, a warning says why, and the result is OK (IsEnabled());
// * NotFound or InvalidArgument: nothing beside the library says what it was built for;
// * FailedPrecondition: it was built for another TensorFlow, or a second copy of it is loaded;
// * any other code: it could not be opened; the message says what the system said.
absl::Status Load(const std::string& path);

// Whether our kernels have replaced stock's in this process; false before Load().
bool IsEnabled();

// Events that the library counted, for example "kernels.TensorArrayGradV3", the calls of our kernel
// for that op. Empty before Load().
std::map<std::string, int64_t> Counters();

}  // namespace tensor_array_grad

#endif  // CC_API_LOAD_H_
