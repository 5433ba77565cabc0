#ifndef CC_BASE_VARIANT_REGISTRATION_H_
#define CC_BASE_VARIANT_REGISTRATION_H_

#include "tensorflow/core/framework/variant_op_registry.h"

// Registrations of a type T that is stored in variants. A second copy of the library keeps those of
// the first and gets false, because TensorFlow aborts on a second registration, and its macros have
// no check for it.
namespace tensor_array_grad {

// Registers T::Decode under T::kTypeName.
template <typename T>
bool RegisterDecode() {
  if (tensorflow::UnaryVariantOpRegistry::Global()->GetDecodeFn(T::kTypeName) != nullptr) {
    return false;
  }
  tensorflow::variant_op_registry_fn_registration::UnaryVariantDecodeRegistration<T> decode(
      T::kTypeName);
  return true;
}

// Registers T::Copy, for copies from and to devices.
template <typename T>
bool RegisterCopies() {
  const auto type = tensorflow::TypeIndex::Make<T>();
  auto* const registry = tensorflow::UnaryVariantOpRegistry::Global();
  for (auto direction :
       {tensorflow::HOST_TO_DEVICE, tensorflow::DEVICE_TO_HOST, tensorflow::DEVICE_TO_DEVICE}) {
    if (registry->GetDeviceCopyFn(direction, type) != nullptr) return false;
    tensorflow::variant_op_registry_fn_registration::UnaryVariantDeviceCopyRegistration<T> copy(
        direction, type, T::Copy);
  }
  return true;
}

}  // namespace tensor_array_grad

#endif  // CC_BASE_VARIANT_REGISTRATION_H_
