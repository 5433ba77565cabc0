#include "cc/array/array_name.h"

#include <atomic>
#include <cstdint>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"

namespace tensor_array_grad {
namespace {

constexpr absl::string_view kForwardPrefix = "_tensor_arrays";
constexpr absl::string_view kGradPrefix = "_tensor_array_grads";

}  // namespace

std::string NewForwardName(absl::string_view base) {
  static std::atomic<int64_t> count{0};
  return absl::StrCat(kForwardPrefix, base, "_", count.fetch_add(1));
}

std::string GradName(absl::string_view name, absl::string_view source) {
  return absl::StrCat(kGradPrefix, ShortName(name), "@", source);
}

absl::string_view ShortName(absl::string_view name) {
  if (!absl::ConsumePrefix(&name, kGradPrefix)) absl::ConsumePrefix(&name, kForwardPrefix);
  return name;
}

}  // namespace tensor_array_grad
