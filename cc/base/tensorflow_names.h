#ifndef CC_BASE_TENSORFLOW_NAMES_H_
#define CC_BASE_TENSORFLOW_NAMES_H_

#include "tensorflow/core/framework/tensor.h"
#include "tensorflow/core/framework/tensor_shape.h"
#include "tensorflow/core/framework/types.h"

// TensorFlow's names for values, which most layers use. cc/flow/graph_names.h has those for
// graphs and cc/device/kernel_names.h those for kernels. A file that uses another of TensorFlow's
// names declares it itself.
namespace tensor_array_grad {

using tensorflow::DataType;
using tensorflow::DataTypeString;
using tensorflow::DT_BOOL;
using tensorflow::DT_DOUBLE;
using tensorflow::DT_FLOAT;
using tensorflow::DT_INT32;
using tensorflow::DT_INT64;
using tensorflow::DT_INVALID;
using tensorflow::DT_RESOURCE;
using tensorflow::DT_STRING;
using tensorflow::DT_VARIANT;
using tensorflow::PartialTensorShape;
using tensorflow::Tensor;
using tensorflow::TensorShape;
using tensorflow::Variant;  // only declared here; variant.h defines it

}  // namespace tensor_array_grad

#endif  // CC_BASE_TENSORFLOW_NAMES_H_
