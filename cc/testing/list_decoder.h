#ifndef CC_TESTING_LIST_DECODER_H_
#define CC_TESTING_LIST_DECODER_H_

#include "tensorflow/core/framework/variant_op_registry.h"
#include "tensorflow/core/kernels/tensor_list.h"

namespace tensor_array_grad {

// libtensorflow_cc registers this decoder, but the C++ tests do not link it. A second registration
// in one process would abort it, so that all tests share this one. Test-only.
inline const tensorflow::variant_op_registry_fn_registration::UnaryVariantDecodeRegistration<
    tensorflow::TensorList>
    list_decoder("tensorflow::TensorList");

}  // namespace tensor_array_grad

#endif  // CC_TESTING_LIST_DECODER_H_
