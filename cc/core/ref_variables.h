#ifndef CC_CORE_REF_VARIABLES_H_
#define CC_CORE_REF_VARIABLES_H_

// Whether this process has ref variables, which TF1 had and TF2 has not. They are assigned in
// place, whoever else holds their tensor. So a view of such a tensor, kept where TensorFlow's own
// kernels keep a copy, would show what is assigned later. A kernel cannot see where its input comes
// from; hence this, and KeepValues in element_ops.h. Thread-safe. Knows nothing of TensorFlow.
namespace tensor_array_grad {

// Says so, from now on.
void NoteRefVariables();

bool HasRefVariables();

}  // namespace tensor_array_grad

#endif  // CC_CORE_REF_VARIABLES_H_
