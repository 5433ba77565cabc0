#ifndef CC_BASE_MUTABLE_TENSORS_H_
#define CC_BASE_MUTABLE_TENSORS_H_

// A flag: this process may have tensors whose values change while other tensors share their buffer.
// These are the tensors of TF1 ref variables, which are assigned in place, and those given to
// InplaceUpdate, InplaceAdd and InplaceSub. This library keeps views where TensorFlow's own kernels
// keep copies, and a view would show the change. A kernel cannot see where its input comes from, so
// the flag is one per process; KeepValues in element_ops.h reads it. It is never cleared. status()
// shows it as the counter "tensors.change_in_place". Thread-safe. Knows nothing of TensorFlow.
namespace tensor_array_grad {

// Sets the flag.
void NoteMutableTensors();

bool HasMutableTensors();

}  // namespace tensor_array_grad

#endif  // CC_BASE_MUTABLE_TENSORS_H_
