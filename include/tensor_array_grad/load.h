#ifndef TENSOR_ARRAY_GRAD_LOAD_H_
#define TENSOR_ARRAY_GRAD_LOAD_H_

#include <cstdint>
#include <map>
#include <string>

#include "absl/status/status.h"

// The op library in a C++ program: its kernels for TensorArray, its own ops and its graph pass.
//
// There are two ways to get it, and both call Load():
// * Load it: link `tensor_array_grad::api` and call Load(TENSOR_ARRAY_GRAD_LIBRARY). The version is
//   checked before the library is opened. Preferred.
// * Link it: link `tensor_array_grad::ops` as well. The kernels are registered when main() starts,
//   and Load() then only checks the library. A library for another TensorFlow can end the process
//   before that check.
namespace tensor_array_grad {

// Loads the op library at `path`, so that every session made from then on runs this library's
// kernels; a session that ran before keeps the kernels it had. The CMake package defines
// TENSOR_ARRAY_GRAD_LIBRARY, the path of the library that it found. A second call for the same
// library returns what the first one did, also if the file was replaced since; one for another file
// is refused. Thread-safe, but the first call sets an environment variable for a moment: as with
// setenv(), no other thread may read the environment meanwhile.
//
// Behaves as the Python package's `enable()`, with the same messages:
// * OK, with a warning that says why stock's kernels stay: TENSOR_ARRAY_GRAD=off or
//   TENSOR_ARRAY_GRAD_KERNELS=off is in the environment, or a GPU is visible on which this
//   library's kernels are not to run (see IsEnabled()). In the last two cases, the graph pass and
//   loops in one kernel are active with stock's kernels;
// * NotFound or InvalidArgument: no valid record beside the library says what it was built for;
// * FailedPrecondition: it was built for another TensorFlow, or a second copy of it is loaded;
// * any other code: it could not be opened; the message has the system's reason.
absl::Status Load(const std::string& path);

// Whether this library's kernels replace stock's in this process; false before Load().
bool IsEnabled();

// The counters of the library, for example "kernels.TensorArrayGradV3": the calls of this library's
// kernel for that op. Empty before Load().
std::map<std::string, int64_t> Counters();

}  // namespace tensor_array_grad

#endif  // TENSOR_ARRAY_GRAD_LOAD_H_
