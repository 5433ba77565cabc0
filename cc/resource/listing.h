#ifndef CC_RESOURCE_LISTING_H_
#define CC_RESOURCE_LISTING_H_

#include <new>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "cc/base/tensorflow_names.h"
#include "tensorflow/core/framework/resource_handle.h"
#include "tensorflow/core/framework/resource_mgr.h"

// Handles that own a resource, and entries of a resource manager that do not own one.
//
//   handle tensors ==> resource <. . entry <== resource manager   (==> owns, . . weak reference)
//
// A handle tensor owns its resource by reference count, so the resource is destroyed with the last
// tensor that holds a handle to it. The entry serves handles that went through a proto and so lost
// their reference: they are looked up by name. ResourceMgr::CreateUnowned cannot be used instead:
// with it, the destruction of a resource erases its entry even from a container that is being
// destroyed, for example when the last handle is an element of a resource of that container.
namespace tensor_array_grad {

// Where resources are listed by name: TensorFlow's resource manager of one device, one container.
struct Place {
  tensorflow::ResourceMgr* manager = nullptr;  // null: the resource is listed nowhere
  std::string device;                          // as handles name it
  std::string container;
};

// An entry of a resource manager for a T.
template <typename T>
class Listing : public tensorflow::ResourceBase {
 public:
  explicit Listing(T* resource) : resource_(resource) {}

  // Null if the resource is destroyed or being destroyed.
  tensorflow::core::RefCountPtr<T> resource() const { return resource_.GetNewRef(); }

  std::string DebugString() const override {
    const auto found = resource();
    return found == nullptr ? "a resource that is gone" : found->DebugString();
  }
  int64_t MemoryUsed() const override {
    const auto found = resource();
    return found == nullptr ? 0 : found->MemoryUsed();
  }

 private:
  const tensorflow::core::WeakPtr<T> resource_;
};

// Returns a scalar handle that holds a new reference to `resource`. `type` is the name of stock's
// class, with which the handle prints as stock's does. Throws std::bad_alloc.
template <typename T>
Tensor HandleOf(T* resource, const Place& place, const char* type) {
  using tensorflow::ResourceHandle;
  Tensor handle(DT_RESOURCE, TensorShape({}));
  resource->Ref();  // MakeRefCountingHandle takes it over before anything in it can throw
  ResourceHandle owner = ResourceHandle::MakeRefCountingHandle(resource, place.device);
  owner.set_container(place.container);
  owner.set_maybe_type_name(type);
  handle.scalar<ResourceHandle>()() = owner;
  return handle;
}

// Lists `resource` under `name`. Returns false if it is not listed: the place has no manager, the
// name is taken, or there is no memory for the entry. Nothing else depends on the entry.
template <typename T>
bool List(T* resource, const Place& place, const std::string& name) {
  if (place.manager == nullptr) return false;
  try {
    tensorflow::core::RefCountPtr<Listing<T>> listing(new Listing<T>(resource));
    listing->Ref();  // Create takes it over, or leaks it if it throws
    return place.manager->Create(place.container, name, listing.get()).ok();
  } catch (const std::bad_alloc&) {
    return false;
  }
}

// Removes the entry that List made. Throws nothing, because destructors call it. If there is no
// memory to look the entry up, it stays in the manager with its weak reference, which is null once
// the resource is destroyed.
template <typename T>
void Unlist(const Place& place, const std::string& name) {
  try {
    // Not found is fine: another call may have cleared the container (Session.reset,
    // DestroyResourceOp).
    place.manager->Delete<Listing<T>>(place.container, name).IgnoreError();
  } catch (const std::bad_alloc&) {  // NOLINT(bugprone-empty-catch)
  }
}

// Sets `resource` to the T that is listed in `manager` under that name. NotFound if there is none.
template <typename T>
absl::Status FindListed(tensorflow::ResourceMgr* manager, const std::string& container,
                        const std::string& name, tensorflow::core::RefCountPtr<T>* resource) {
  Listing<T>* found = nullptr;
  if (manager->Lookup<Listing<T>>(container, name, &found).ok()) {
    const tensorflow::core::RefCountPtr<Listing<T>> listing(found);
    *resource = listing->resource();
    if (*resource != nullptr) return absl::OkStatus();
  }
  return absl::NotFoundError(absl::StrCat("The resource does not exist: ", container, "/", name));
}

}  // namespace tensor_array_grad

#endif  // CC_RESOURCE_LISTING_H_
