#ifndef CC_CORE_MUTABLE_TENSORS_H_
#define CC_CORE_MUTABLE_TENSORS_H_

// Whether this process may have tensors that change while others hold them: those of TF1's ref
// variables, which are assigned in place, and those given to InplaceUpdate, InplaceAdd and
// InplaceSub. A view of such a tensor, kept where TensorFlow's own kernels keep a copy, would show
// the change. A kernel cannot see where its input comes from; hence this, and KeepValues in
// element_ops.h. The flag is never cleared; it is the counter "tensors.change_in_place", which
// status() shows. Thread-safe. Knows nothing of TensorFlow.
namespace tensor_array_grad {

// Sets the flag.
void NoteMutableTensors();

bool HasMutableTensors();

}  // namespace tensor_array_grad

#endif  // CC_CORE_MUTABLE_TENSORS_H_
