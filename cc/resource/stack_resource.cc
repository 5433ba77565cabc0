#include "cc/resource/stack_resource.h"

#include <atomic>
#include <new>
#include <utility>

#include "absl/strings/str_cat.h"
#include "cc/base/counters.h"
#include "cc/base/invalid.h"
#include "cc/base/release.h"

namespace tensor_array_grad {
namespace {

Counter existing("stacks.existing");

// A name that no other stack of this process has.
std::string NewName(const std::string& base) {
  static std::atomic<int64_t> made{0};
  return absl::StrCat(base, "_", made.fetch_add(1, std::memory_order_relaxed));
}

}  // namespace

StackResource::StackResource(Place place, const std::string& base, DataType dtype, int64_t most)
    : place_(std::move(place)),
      short_name_(NewName(base)),
      name_(absl::StrCat("_stacks", short_name_)),
      dtype_(dtype),
      most_(most) {
  existing.Add();
}

StackResource::~StackResource() {
  if (listed_) Unlist<StackResource>(place_, name_);
  Close();
  existing.Add(-1);
}

void StackResource::Create(Place place, const std::string& base, DataType dtype, int64_t most,
                           Tensor* handle) {
  const tensorflow::core::RefCountPtr<StackResource> stack(
      new StackResource(std::move(place), base, dtype, most));
  Tensor owner = HandleOf(stack.get(), stack->place_, "tensorflow::Stack");
  stack->listed_ = List(stack.get(), stack->place_, stack->name_);
  *handle = std::move(owner);
}

absl::Status StackResource::CheckDtype(DataType dtype) const {
  if (dtype == dtype_) return absl::OkStatus();
  return Invalid("Stack[", short_name_, "]: Must have type ", DataTypeString(dtype_), " but got ",
                 DataTypeString(dtype));
}

absl::Status StackResource::CheckOpen() const {
  if (!closed_) return absl::OkStatus();
  return Invalid("Stack[", short_name_, "] has already been closed.");
}

absl::Status StackResource::Push(Element element) {
  MutexLock lock(&mu_);
  TF_RETURN_IF_ERROR(CheckOpen());
  if (static_cast<int64_t>(elements_.size()) >= most_) {
    return Invalid("Stack[", short_name_, "] overflowed its max_size (", most_, ")");
  }
  try {
    elements_.push_back(std::move(element));
  } catch (const std::bad_alloc&) {
    return absl::ResourceExhaustedError("out of memory while pushing onto a stack");
  }
  return absl::OkStatus();
}

absl::Status StackResource::Pop(Element* element) {
  MutexLock lock(&mu_);
  TF_RETURN_IF_ERROR(CheckOpen());
  if (elements_.empty()) {
    return Invalid("Stack[", short_name_, "] is empty when calling Pop().");
  }
  *element = std::move(elements_.back());
  elements_.pop_back();
  return absl::OkStatus();
}

void StackResource::Close() {
  std::vector<Element> dropped;
  {
    MutexLock lock(&mu_);
    closed_ = true;
    dropped.swap(elements_);
  }
  for (Element& element : dropped) {
    if (OwnsOthers(dtype_)) Release(std::move(element.tensor));
  }
}

bool StackResource::BottomHasOtherBuffer(const Tensor& tensor) const {
  MutexLock lock(&mu_);
  return !elements_.empty() && !tensor.SharesBufferWith(elements_.front().tensor);
}

std::string StackResource::DebugString() const { return absl::StrCat("Stack[", short_name_, "]"); }

int64_t StackResource::MemoryUsed() const {
  MutexLock lock(&mu_);
  int64_t bytes = 0;
  for (const Element& element : elements_) {
    bytes += static_cast<int64_t>(element.tensor.TotalBytes());
  }
  return bytes;
}

}  // namespace tensor_array_grad
