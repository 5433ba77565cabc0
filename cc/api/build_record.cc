#include "cc/api/build_record.h"

#include <algorithm>
#include <fstream>
#include <iterator>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace tensor_array_grad {
namespace {

constexpr absl::string_view kRecord = "build_info.json";
constexpr absl::string_view kLibrary = "libtensor_array_grad.so";
constexpr absl::string_view kDeleted = " (deleted)";  // Linux appends it if the file is gone

std::string Folder(const std::string& path) {
  const size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : path.substr(0, slash);
}

// The value of `key` in a JSON object of strings and numbers; a record has nothing else. Empty if
// there is none.
std::string Value(absl::string_view json, absl::string_view key) {
  const std::string quoted = absl::StrCat("\"", key, "\"");
  const size_t found = json.find(quoted);
  if (found == absl::string_view::npos) return "";
  json = absl::StripLeadingAsciiWhitespace(json.substr(found + quoted.size()));
  if (!absl::ConsumePrefix(&json, ":")) return "";
  json = absl::StripLeadingAsciiWhitespace(json);
  if (absl::ConsumePrefix(&json, "\"")) return std::string(json.substr(0, json.find('"')));
  return std::string(json.substr(0, json.find_first_of(",} \n")));
}

// "2.21" for a version such as "2.21.0", "2.21.0rc1" or "2.21+local"; "" if `version` is not one.
std::string MinorVersion(absl::string_view version) {
  const std::vector<absl::string_view> parts = absl::StrSplit(version, '.');
  if (parts.size() < 2) return "";
  const absl::string_view second = parts[1].substr(0, parts[1].find_first_not_of("0123456789"));
  int major, minor;
  if (!absl::SimpleAtoi(parts[0], &major) || !absl::SimpleAtoi(second, &minor)) return "";
  return absl::StrCat(major, ".", minor);
}

}  // namespace

bool IsDeleted(absl::string_view mapped) { return absl::EndsWith(mapped, kDeleted); }

std::string HowToReinstall() {
  return "Install it again, from its source folder or from a wheel for this TensorFlow: "
         "pip install --force-reinstall --no-deps --no-cache-dir FOLDER_OR_WHEEL";
}

absl::Status ReadBuildRecord(const std::string& path, absl::string_view running,
                             BuildRecord* record) {
  const std::string file = absl::StrCat(Folder(path), "/", kRecord);
  const std::string message =
      absl::StrCat("tensor_array_grad: ", file, " does not say what ", path,
                   " was built for (running TensorFlow ", running, "). ", HowToReinstall());
  std::ifstream stream(file);
  if (!stream) return absl::NotFoundError(message);
  const std::string json{std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
  record->tensorflow = Value(json, "tensorflow");
  record->distribution = Value(json, "distribution");
  if (record->tensorflow.empty() || record->distribution.empty() ||
      !absl::SimpleAtoi(Value(json, "cxx11_abi"), &record->cxx11_abi)) {
    return absl::InvalidArgumentError(message);
  }
  return absl::OkStatus();
}

absl::Status CheckFit(const BuildRecord& built, absl::string_view running, int abi,
                      absl::string_view path) {
  const std::string ours = MinorVersion(built.tensorflow);
  const bool fits = !ours.empty() && ours == MinorVersion(running) && abi == built.cxx11_abi;
  if (fits) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("tensor_array_grad: ", path, " was built for TensorFlow ", built.tensorflow,
                   " (C++11 ABI ", built.cxx11_abi, ") and cannot be loaded into TensorFlow ",
                   running, " (C++11 ABI ", abi, "). ", HowToReinstall(), ", or: pip install '",
                   built.distribution, "==", ours.empty() ? built.tensorflow : ours, ".*'"));
}

std::vector<std::string> MappedLibraries(absl::string_view maps) {
  std::vector<std::string> paths;
  for (absl::string_view line : absl::StrSplit(maps, '\n')) {
    const size_t start = line.find('/');  // the fields before a path hold no slash
    if (start == absl::string_view::npos) continue;
    const absl::string_view path = absl::StripTrailingAsciiWhitespace(line.substr(start));
    absl::string_view folder = path;
    absl::ConsumeSuffix(&folder, kDeleted);
    if (!absl::ConsumeSuffix(&folder, kLibrary) || folder.back() != '/') continue;
    if (std::find(paths.begin(), paths.end(), path) == paths.end()) paths.emplace_back(path);
  }
  return paths;
}

}  // namespace tensor_array_grad
