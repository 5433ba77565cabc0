#include "cc/base/switches.h"

#include <algorithm>
#include <cstdlib>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_split.h"

namespace tensor_array_grad {

std::string Environment(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

bool SaysOff(absl::string_view value) {
  const std::string lower = absl::AsciiStrToLower(value);
  return lower == "off" || lower == "0" || lower == "false";
}

bool IsLeftOut(absl::string_view part) {
  const std::string value = Environment("TENSOR_ARRAY_GRAD_WITHOUT");
  const std::vector<absl::string_view> names = absl::StrSplit(value, ',');
  return std::find(names.begin(), names.end(), part) != names.end();
}

}  // namespace tensor_array_grad
