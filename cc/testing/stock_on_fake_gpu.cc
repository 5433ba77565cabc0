// GPU kernels of common ops, which TensorFlow's wheel with CUDA has and the one without lacks. With
// these, whole programs run on the fake device as on a GPU: lists, their gradients and the values
// between them are on one device. Each is the CPU's kernel, with access to device memory while it
// runs.

#include <cuda_runtime.h>

#include <memory>
#include <string>
#include <vector>

#include "tensorflow/core/framework/kernel_def_builder.h"
#include "tensorflow/core/framework/op_kernel.h"
#include "tensorflow/core/framework/types.h"

namespace tensor_array_grad {
namespace {

using tensorflow::OpKernel;
using tensorflow::OpKernelConstruction;
using tensorflow::OpKernelContext;

class CpuKernelOnFakeGpu : public OpKernel {
 public:
  explicit CpuKernelOnFakeGpu(OpKernelConstruction* ctx) : OpKernel(ctx) {
    absl::Status status;
    kernel_ = tensorflow::CreateOpKernel(tensorflow::DeviceType(tensorflow::DEVICE_CPU),
                                         ctx->device(), tensorflow::cpu_allocator(), def(),
                                         ctx->graph_def_version(), &status);
    OP_REQUIRES_OK(ctx, status);
  }

  void Compute(OpKernelContext* ctx) override {
    // This library computes sums of lists. Its device code opens the memory, so this must not.
    const bool of_lists = ctx->num_inputs() > 0 && ctx->input_dtype(0) == tensorflow::DT_VARIANT;
    if (of_lists) return kernel_->Compute(ctx);
    const FakeCudaTouch touch;
    kernel_->Compute(ctx);
  }

 private:
  std::unique_ptr<OpKernel> kernel_;
};

using Types = std::vector<tensorflow::DataType>;

// No int32: TensorFlow computes int32 in host memory, even in an op that is placed on a GPU.
const Types& Numbers() {
  static const auto* const types =
      new Types{tensorflow::DT_HALF,   tensorflow::DT_BFLOAT16,  tensorflow::DT_FLOAT,
                tensorflow::DT_DOUBLE, tensorflow::DT_COMPLEX64, tensorflow::DT_COMPLEX128,
                tensorflow::DT_INT64,  tensorflow::DT_BOOL};
  return *types;
}

void Register(const char* op, const char* type_attribute, const Types& types = Numbers()) {
  tensorflow::KernelDefBuilder def(op);
  def.Device(tensorflow::DEVICE_GPU);
  if (type_attribute != nullptr) def.TypeConstraint(type_attribute, types);
  tensorflow::kernel_factory::OpKernelRegistrar(
      def.Build(), op,
      [](OpKernelConstruction* ctx) -> OpKernel* { return new CpuKernelOnFakeGpu(ctx); });
}

bool RegisterAll() {
  for (const char* op :
       {"Abs",          "Add",     "AddV2",       "BroadcastTo",  "ConcatV2",
        "Cos",          "Equal",   "Exp",         "Fill",         "Greater",
        "GreaterEqual", "Less",    "LessEqual",   "Log",          "MatMul",
        "Max",          "Maximum", "Mean",        "Min",          "Minimum",
        "Mul",          "Neg",     "NotEqual",    "OnesLike",     "Pack",
        "Pow",          "Prod",    "Reciprocal",  "RealDiv",      "Select",
        "SelectV2",     "Sigmoid", "SigmoidGrad", "Sign",         "Sin",
        "Slice",        "Sqrt",    "Square",      "StridedSlice", "StridedSliceGrad",
        "Sub",          "Sum",     "Tanh",        "TanhGrad",     "Tile",
        "Transpose",    "Unpack"}) {
    Register(op, "T");
  }
  Types and_lists = Numbers();
  and_lists.push_back(tensorflow::DT_VARIANT);
  for (const char* op : {"AddN", "ZerosLike"}) Register(op, "T", and_lists);
  for (const char* op : {"AssignAddVariableOp", "AssignSubVariableOp"}) Register(op, "dtype");
  for (const char* op : {"LogicalAnd", "LogicalNot", "LogicalOr"}) Register(op, nullptr);
  for (const char* op : {"ResourceScatterNdAdd", "ResourceStridedSliceAssign"}) Register(op, "T");
  // A cast is the exception: a GPU casts int32 too.
  Types and_int32 = Numbers();
  and_int32.push_back(tensorflow::DT_INT32);
  Register("Cast", "SrcT", and_int32);
  Register("GatherV2", "Tparams");
  return true;
}

[[maybe_unused]] const bool at_load = RegisterAll();

}  // namespace
}  // namespace tensor_array_grad
