#ifndef CC_API_BUILD_RECORD_H_
#define CC_API_BUILD_RECORD_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

// Checks of an op library that are made before it is opened. Opening a library that was built for
// another TensorFlow may end the process. The messages are those of the Python loader, _loader.py,
// which makes these checks itself: all C++ of this project needs the TensorFlow that is checked,
// and a C++ program has no Python.
namespace tensor_array_grad {

// What a library was built for, as the build recorded it in `build_info.json` beside the library.
struct BuildRecord {
  std::string tensorflow;    // "2.21.0"
  std::string distribution;  // "tensorflow-cpu"
  int cxx11_abi = -1;
};

// Reads the record beside the library at `path`. `running`, the TensorFlow version of this process,
// is used in the message. NotFound if there is no file, InvalidArgument if it is broken.
absl::Status ReadBuildRecord(const std::string& path, absl::string_view running,
                             BuildRecord* record);

// FailedPrecondition unless a library with this record fits the TensorFlow of this process: the
// same minor version and the same ABI. The message names both and the command that fixes it.
absl::Status CheckFit(const BuildRecord& built, absl::string_view running, int abi,
                      absl::string_view path);

// The paths of the op libraries in `maps`, text in the form of /proc/self/maps. Each path once. The
// path of a library whose file was removed or replaced after it was loaded has an ending
// (IsDeleted).
std::vector<std::string> MappedLibraries(absl::string_view maps);
bool IsDeleted(absl::string_view mapped);

// The sentence with the command that installs the library again, for the end of a message.
std::string HowToReinstall();

}  // namespace tensor_array_grad

#endif  // CC_API_BUILD_RECORD_H_
