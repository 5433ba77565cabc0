#include "cc/resource/array_resource.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "cc/array/array_name.h"
#include "cc/array/errors.h"
#include "cc/base/release.h"
#include "tensorflow/core/platform/errors.h"

namespace tensor_array_grad {

namespace {

// All existing arrays, oldest first. An array is removed before any of its members is destroyed.
struct ArrayRegistry {
  Mutex mu;
  std::list<const ArrayResource*> arrays ABSL_GUARDED_BY(mu);
};

ArrayRegistry& Registry() {
  // Never destroyed, because arrays may outlive static destruction.
  static auto* registry = new ArrayRegistry;
  return *registry;
}

// Handles print as stock's do.
constexpr char kStockType[] = "tensorflow::TensorArray";

}  // namespace

ArrayResource::ArrayResource(Place place, std::string name, ArrayOptions options)
    : place_(std::move(place)), name_(std::move(name)), store_(std::move(options)) {
  ArrayRegistry& registry = Registry();
  MutexLock lock(&registry.mu);
  in_registry_ = registry.arrays.insert(registry.arrays.end(), this);
}

ArrayResource::~ArrayResource() {
  Unlist();
  {
    ArrayRegistry& registry = Registry();
    MutexLock lock(&registry.mu);
    registry.arrays.erase(in_registry_);
  }
  for (auto& [source, grad] : grads_) Release(std::move(grad.handle));
}

void ArrayResource::Create(Place place, std::string name, ArrayOptions options, Tensor* handle) {
  options.name = std::string(ShortName(name));
  const tensorflow::core::RefCountPtr<ArrayResource> array(
      new ArrayResource(std::move(place), std::move(name), std::move(options)));
  *handle = HandleOf(array.get(), array->place_, kStockType);
  array->ListByName();
}

absl::Status ArrayResource::FindOrCreateGrad(absl::string_view source, const TensorShape& prefix,
                                             Tensor* handle) {
  TF_RETURN_IF_ERROR(store_.CheckOpen());
  const auto accept = [&](const Grad& grad) {
    if (grad.prefix != prefix) {
      return errors::Invalid(grad.array->store().name(),
                             "the gradient array was made with shape_to_prepend ",
                             grad.prefix.DebugString(), " and cannot be had with ",
                             prefix.DebugString(), ". Use another source.");
    }
    *handle = grad.handle;
    return absl::OkStatus();
  };
  {
    MutexLock lock(&grads_mu_);
    const auto found = grads_.find(source);
    if (found != grads_.end() && !found->second.array->store().closed()) {
      return accept(found->second);
    }
  }

  // Made unlocked, and dropped if another call with this source makes one first.
  ArrayOptions options;
  TF_RETURN_IF_ERROR(store_.Freeze(prefix, &options));
  std::string name = GradName(name_, source);
  options.name = std::string(ShortName(name));
  const tensorflow::core::RefCountPtr<ArrayResource> array(
      new ArrayResource(place_, std::move(name), std::move(options)));
  Tensor owner = HandleOf(array.get(), place_, kStockType);
  Grad made{prefix, array.get(), owner};
  Grad closed;  // the array that is replaced, if any; destroyed unlocked
  {
    MutexLock lock(&grads_mu_);
    Grad& grad = grads_[std::string(source)];
    if (grad.array != nullptr && !grad.array->store().closed()) return accept(grad);
    closed = std::exchange(grad, std::move(made));
  }
  if (closed.array != nullptr) closed.array->Unlist();
  array->ListByName();
  *handle = std::move(owner);
  return absl::OkStatus();
}

introspection::Array ArrayResource::Describe() const {
  introspection::Array array;
  array.name = name_;
  array.dtype = DataTypeString(store_.dtype());
  array.size = store_.size();
  array.bytes = store_.TotalBytes();
  array.is_gradient = store_.accumulates();
  MutexLock lock(&grads_mu_);
  for (const auto& [source, grad] : grads_) array.gradients[source] = grad.array->name();
  return array;
}

std::string ArrayResource::DebugString() const {
  return absl::StrCat("TensorArray ", store_.name(), " of ", store_.size(), " ",
                      DataTypeString(store_.dtype()));
}

std::vector<introspection::Array> ExistingArrays() {
  ArrayRegistry& registry = Registry();
  MutexLock lock(&registry.mu);
  std::vector<introspection::Array> arrays;
  arrays.reserve(registry.arrays.size());
  for (const ArrayResource* array : registry.arrays) arrays.push_back(array->Describe());
  return arrays;
}

}  // namespace tensor_array_grad
