#ifndef CC_KERNELS_LIST_KERNEL_UTIL_H_
#define CC_KERNELS_LIST_KERNEL_UTIL_H_

#include <cstdint>
#include <limits>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "cc/lists/list_variant.h"
#include "tensorflow/core/framework/op_kernel.h"

namespace tensor_array_grad {

// The largest length of a list: every op that outputs a length does so as an int32.
inline constexpr int64_t kMaxListSize = std::numeric_limits<int32_t>::max();

template <typename... Args>
absl::Status InvalidList(const Args&... args) {
  return absl::InvalidArgumentError(absl::StrCat(args...));
}

// A kernel over lists: a body that returns a Status, and the op's element_dtype if it has one.
class ListKernel : public tensorflow::OpKernel {
 public:
  explicit ListKernel(tensorflow::OpKernelConstruction* ctx) : OpKernel(ctx) {
    if (ctx->HasAttr("element_dtype")) {
      OP_REQUIRES_OK(ctx, ctx->GetAttr("element_dtype", &element_dtype_));
    }
  }
  void Compute(tensorflow::OpKernelContext* ctx) override { OP_REQUIRES_OK(ctx, Run(ctx)); }

 protected:
  virtual absl::Status Run(tensorflow::OpKernelContext* ctx) = 0;
  // InvalidArgument unless `list` holds elements of this op's dtype.
  absl::Status CheckDtype(const ListVariant& list) const;

  tensorflow::DataType element_dtype_ = tensorflow::DT_INVALID;
};

// The same for the ops that touch one element: the executor runs them on its own thread, since
// handing them to another thread takes longer than they do.
class CheapListKernel : public ListKernel {
 public:
  using ListKernel::ListKernel;
  bool IsExpensive() override { return false; }
};

// A list in an input: the input's own value, or what a list of stock's was converted to.
class InputList {
 public:
  const ListVariant& operator*() const { return *list_; }
  const ListVariant* operator->() const { return list_; }
  bool converted() const { return conversion_ != nullptr; }

  // False unless `variant` holds a ListVariant or a list of stock's.
  bool Assign(const tensorflow::Variant& variant);

 private:
  const ListVariant* list_ = nullptr;
  std::unique_ptr<ListVariant> conversion_;
};

// Sets `list` to the list in the scalar input `input`.
absl::Status GetList(tensorflow::OpKernelContext* ctx, int input, InputList* list);

// Takes the scalar variant in input `input`, to be changed and to become output `output`. Null if
// another tensor shares its buffer.
std::unique_ptr<tensorflow::Tensor> TakeVariant(tensorflow::OpKernelContext* ctx, int input,
                                                int output);

// Makes output `output` a tensor of `shape` with uninitialised values; a small one in host memory
// shares one block of the pool with its reference count (pooled_tensor.h), and variants are always
// in host memory.
absl::Status AllocateOutput(tensorflow::OpKernelContext* ctx, int output,
                            const tensorflow::TensorShape& shape, tensorflow::Tensor** tensor);

// Makes output `output` hold `value`; sets `out`, if given, to the address of the value there.
template <typename T>
absl::Status OutputVariant(tensorflow::OpKernelContext* ctx, int output, T value,
                           T** out = nullptr) {
  tensorflow::Tensor* tensor;
  TF_RETURN_IF_ERROR(AllocateOutput(ctx, output, tensorflow::TensorShape({}), &tensor));
  T& held = tensor->scalar<tensorflow::Variant>()().template emplace<T>(std::move(value));
  if (out != nullptr) *out = &held;
  return absl::OkStatus();
}

// Makes output `output` a list equal to `list`, which input `input` holds, and sets `out` to it for
// the caller to change. If no other tensor shares the input's buffer, the input becomes the output,
// and `list` changes with it.
absl::Status ForwardList(tensorflow::OpKernelContext* ctx, int input, const InputList& list,
                         int output, ListVariant** out);

// The same for a variant of any type that is cheap to copy: `value` is what input `input` holds.
template <typename T>
absl::Status ForwardVariant(tensorflow::OpKernelContext* ctx, int input, const T& value, int output,
                            T** out) {
  std::unique_ptr<tensorflow::Tensor> own = TakeVariant(ctx, input, output);
  if (own == nullptr) return OutputVariant(ctx, output, value, out);
  *out = const_cast<T*>(&value);  // it is stored in *own, whose buffer no other tensor shares
  ctx->set_output(output, std::move(*own));
  return absl::OkStatus();
}

// Sets `value` to the only value of the int32 input `input`, which the op calls `name`.
absl::Status GetInt(tensorflow::OpKernelContext* ctx, int input, absl::string_view name,
                    int64_t* value);

// Reads an element_shape: a vector with -1 for unknown sizes, or the scalar -1 for unknown rank.
absl::Status ShapeFromTensor(const tensorflow::Tensor& tensor,
                             tensorflow::PartialTensorShape* shape);

// Sets `shape` to the element_shape in input `input`, merged with that of `list`.
absl::Status ElementShapeFromInput(tensorflow::OpKernelContext* ctx, const ListVariant& list,
                                   int input, tensorflow::PartialTensorShape* shape);

// InvalidArgument if a list cannot have `size` elements.
absl::Status CheckSize(int64_t size);

// InvalidArgument unless `item` can become element `size` of a list of `spec`, pushed by an op for
// elements of `dtype`.
absl::Status CheckPush(const ListSpec& spec, int64_t size, tensorflow::DataType dtype,
                       const tensorflow::Tensor& item);

// InvalidArgument unless an op for elements of `dtype` may use a list of `list_dtype`.
absl::Status CheckDtypes(tensorflow::DataType dtype, tensorflow::DataType list_dtype);

// Merges the shapes of many elements into one, which they must all have.
class ShapeMerger {
 public:
  explicit ShapeMerger(tensorflow::PartialTensorShape shape) : shape_(std::move(shape)) {}
  // Merges in `element`. TensorFlow's error for incompatible shapes if it does not fit.
  absl::Status Add(const tensorflow::TensorShape& element);
  const tensorflow::PartialTensorShape& shape() const { return shape_; }

 private:
  tensorflow::PartialTensorShape shape_;
  tensorflow::TensorShape last_;  // the shape that was merged last, if `any_`
  bool any_ = false;
};

// Fills `out` with zeros of its dtype; objects (strings, variants) stay as they were allocated.
absl::Status FillZeros(tensorflow::OpKernelContext* ctx, tensorflow::Tensor* out);

// Sets `out` to a tensor of zeros like `tensor`, nested lists included.
absl::Status ZerosLikeTensor(tensorflow::OpKernelContext* ctx, const tensorflow::Tensor& tensor,
                             tensorflow::Tensor* out);

// Sets `out` to left + right. InvalidArgument: shapes differ, or the dtype has no sum.
absl::Status AddTensors(tensorflow::OpKernelContext* ctx, const tensorflow::Tensor& left,
                        const tensorflow::Tensor& right, tensorflow::Tensor* out);

// Cuts a tensor into parts along its first dimension, each aligned as TensorFlow's kernels require.
// Parts that are aligned anyway are views; the others are copies. On a GPU one launch makes all
// copies.
class RowCutter {
 public:
  // Cuts `tensor` into parts of lengths[i] rows, or into its rows where `lengths` is null.
  // Requires: rank >= 1; lengths that are not negative and sum to dimension 0.
  absl::Status Start(tensorflow::OpKernelContext* ctx, const tensorflow::Tensor& tensor,
                     const tensorflow::Tensor* lengths = nullptr);

  // Sets `out` to the next part, in shape `shape`, which must have as many values.
  absl::Status Next(const tensorflow::TensorShape& shape, tensorflow::Tensor* out);

 private:
  absl::Status Spread(const std::vector<int64_t>& counts);

  tensorflow::OpKernelContext* ctx_ = nullptr;
  tensorflow::Tensor values_;  // the tensor, or its parts with gaps that align them
  int64_t at_ = 0;             // where in `values_` the next part begins
  int64_t grain_ = 1;          // parts begin at multiples of this many values
};

}  // namespace tensor_array_grad

#endif  // CC_KERNELS_LIST_KERNEL_UTIL_H_
