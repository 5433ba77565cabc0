// The signatures of the stock ops that run functions, for TensorFlow 2.16 to 2.18. Later ones have
// them in libtensorflow_framework.

#include "tensorflow/core/framework/op.h"

namespace tensor_array_grad {
namespace {

REGISTER_OP("_Arg").Output("output: T").Attr("T: type").Attr("index: int >= 0").SetIsStateful();
REGISTER_OP("_Retval").Input("input: T").Attr("T: type").Attr("index: int >= 0").SetIsStateful();
#define TAG_REGISTER_CALL(name)          \
  REGISTER_OP(name)                      \
      .Input("args: Tin")                \
      .Output("output: Tout")            \
      .Attr("Tin: list(type) >= 0")      \
      .Attr("Tout: list(type) >= 0")     \
      .Attr("f: func")                   \
      .Attr("config: string = ''")       \
      .Attr("config_proto: string = ''") \
      .Attr("executor_type: string = ''")
TAG_REGISTER_CALL("PartitionedCall");
TAG_REGISTER_CALL("StatefulPartitionedCall").SetIsStateful();

}  // namespace
}  // namespace tensor_array_grad
