#include "cc/resource/array_resource.h"

#include <new>
#include <utility>

#include "absl/strings/str_cat.h"
#include "cc/core/array_name.h"
#include "cc/core/errors.h"
#include "cc/core/release.h"
#include "cc/core/tensorflow_names.h"
#include "tensorflow/core/framework/resource_handle.h"
#include "tensorflow/core/platform/errors.h"

namespace tensor_array_grad {

using tensorflow::ResourceHandle;

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

// An array's entry in a resource manager, which owns the entry and not the array.
class Listing : public tensorflow::ResourceBase {
 public:
  explicit Listing(ArrayResource* array) : array_(array) {}

  // Null if the array is destroyed or being destroyed.
  tensorflow::core::RefCountPtr<ArrayResource> array() const { return array_.GetNewRef(); }

  std::string DebugString() const override {
    const auto found = array();
    return found == nullptr ? "TensorArray that is gone" : found->DebugString();
  }
  int64_t MemoryUsed() const override {
    const auto found = array();
    return found == nullptr ? 0 : found->MemoryUsed();
  }

 private:
  const tensorflow::core::WeakPtr<ArrayResource> array_;
};

// A handle tensor that holds a new reference to the array.
Tensor HandleOf(ArrayResource* array, const Place& place) {
  Tensor handle(tensorflow::DT_RESOURCE, TensorShape({}));
  array->Ref();  // MakeRefCountingHandle takes it over before anything in it can throw
  ResourceHandle owner = ResourceHandle::MakeRefCountingHandle(array, place.device);
  owner.set_container(place.container);
  owner.set_maybe_type_name("tensorflow::TensorArray");  // handles print as stock's do
  handle.scalar<ResourceHandle>()() = owner;
  return handle;
}

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
  *handle = HandleOf(array.get(), array->place_);
  array->List();
}

// If the name is taken (two arrays whose name and source join to one string), the older array keeps
// it and the newer one is not listed. Nor is an array if there is no memory for its entry. An array
// that is not listed lacks nothing else: only handles that went through a proto are looked up by
// name.
void ArrayResource::List() {
  if (place_.manager == nullptr) return;
  try {
    tensorflow::core::RefCountPtr<Listing> listing(new Listing(this));
    listing->Ref();  // Create takes it over, or leaks it if it throws
    listed_ = place_.manager->Create(place_.container, name_, listing.get()).ok();
  } catch (const std::bad_alloc&) {  // NOLINT(bugprone-empty-catch)
  }
}

// The destructor calls this too, so it must not throw. If there is no memory to look the entry up,
// the entry stays in the manager with its weak reference, which is null once the array is
// destroyed.
void ArrayResource::Unlist() {
  if (!listed_.exchange(false)) return;
  try {
    // Not found is fine: another call may have cleared the container (Session.reset,
    // DestroyResourceOp).
    place_.manager->Delete<Listing>(place_.container, name_).IgnoreError();
  } catch (const std::bad_alloc&) {  // NOLINT(bugprone-empty-catch)
  }
}

absl::Status ArrayResource::Find(tensorflow::ResourceMgr* manager, const std::string& container,
                                 const std::string& name,
                                 tensorflow::core::RefCountPtr<ArrayResource>* array) {
  Listing* found = nullptr;
  TF_RETURN_IF_ERROR(manager->Lookup<Listing>(container, name, &found));
  const tensorflow::core::RefCountPtr<Listing> listing(found);
  *array = listing->array();
  if (*array != nullptr) return absl::OkStatus();
  return absl::NotFoundError(
      absl::StrCat("Resource ", container, "/", name, " has been destroyed."));
}

absl::Status ArrayResource::FindOrCreateGrad(absl::string_view source, const TensorShape& prefix,
                                             Tensor* handle) {
  TF_RETURN_IF_ERROR(store_.CheckOpen());
  const auto accept = [&](const Grad& grad) {
    if (grad.prefix != prefix) {
      return errors::OtherPrefix(grad.array->store().name(), grad.prefix, prefix);
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
  Tensor owner = HandleOf(array.get(), place_);
  Grad made{prefix, array.get(), owner};
  Grad closed;  // the array that is replaced, if any; destroyed unlocked
  {
    MutexLock lock(&grads_mu_);
    Grad& grad = grads_[std::string(source)];
    if (grad.array != nullptr && !grad.array->store().closed()) return accept(grad);
    closed = std::exchange(grad, std::move(made));
  }
  if (closed.array != nullptr) closed.array->Unlist();
  array->List();
  *handle = std::move(owner);
  return absl::OkStatus();
}

ArrayDescription ArrayResource::Describe() const {
  ArrayDescription array;
  array.name = name_;
  array.dtype = store_.dtype();
  array.size = store_.size();
  array.bytes = store_.TotalBytes();
  array.is_gradient = store_.accumulates();
  MutexLock lock(&grads_mu_);
  for (const auto& [source, grad] : grads_) array.gradients[source] = grad.array->name();
  return array;
}

std::string ArrayResource::DebugString() const {
  return absl::StrCat("TensorArray ", store_.name(), " of ", store_.size(), " ",
                      tensorflow::DataTypeString(store_.dtype()));
}

std::vector<ArrayDescription> ExistingArrays() {
  ArrayRegistry& registry = Registry();
  MutexLock lock(&registry.mu);
  std::vector<ArrayDescription> arrays;
  arrays.reserve(registry.arrays.size());
  for (const ArrayResource* array : registry.arrays) arrays.push_back(array->Describe());
  return arrays;
}

}  // namespace tensor_array_grad
