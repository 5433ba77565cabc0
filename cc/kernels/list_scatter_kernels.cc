// The TensorList ops that cut a tensor into the elements of a list.

#include <algorithm>
#include <utility>

#include "cc/kernels/list_kernel_util.h"
#include "cc/kernels/registration.h"

namespace tensor_array_grad {
namespace {

using tensorflow::DataTypeString;
using tensorflow::OpKernelContext;
using tensorflow::Tensor;
using tensorflow::TensorShape;

// Sets `row` to the shape of one row of `tensor`.
absl::Status RowShape(const Tensor& tensor, TensorShape* row) {
  if (tensor.dims() == 0) {
    return InvalidList("Tensor must be at least a vector, but saw shape: ",
                       tensor.shape().DebugString());
  }
  *row = tensor.shape();
  return row->RemoveDimWithStatus(0);  // the row of a tensor without rows may be too large
}

// Reads and checks the inputs that all ops have that make a list of rows. `op` is for the message.
absl::Status SpecOfRows(OpKernelContext* ctx, absl::string_view op, int tensor_input,
                        int shape_input, ListSpec* spec, TensorShape* row) {
  const Tensor& wanted = ctx->input(shape_input);
  if (wanted.dims() > 1) {
    return InvalidList(op, ": element_shape must be at most rank 1 but has the shape of ",
                       wanted.shape().DebugString());
  }
  TF_RETURN_IF_ERROR(ShapeFromTensor(wanted, &spec->shape));
  const Tensor& tensor = ctx->input(tensor_input);
  spec->dtype = tensor.dtype();
  TF_RETURN_IF_ERROR(RowShape(tensor, row));
  if (spec->shape.IsCompatibleWith(*row)) return absl::OkStatus();
  return InvalidList("Specified a list with shape ", spec->shape.DebugString(),
                     " from a tensor with shape ", row->DebugString());
}

class FromTensorOp : public ListKernel {
 public:
  using ListKernel::ListKernel;

 protected:
  absl::Status Run(OpKernelContext* ctx) override {
    ListSpec spec;
    TensorShape row;
    TF_RETURN_IF_ERROR(
        SpecOfRows(ctx, "TensorListFromTensor", kTensor, kElementShape, &spec, &row));
    const Tensor& tensor = ctx->input(kTensor);
    TF_RETURN_IF_ERROR(CheckSize(tensor.dim_size(0)));
    RowCutter rows;
    TF_RETURN_IF_ERROR(rows.Start(ctx, tensor));
    PersistentList items;
    TF_RETURN_IF_ERROR(PersistentList::Build(
        tensor.dim_size(0), [&](int64_t, Tensor* out) { return rows.Next(row, out); }, &items));
    return OutputVariant(ctx, 0, ListVariant(std::move(spec), std::move(items)));
  }

 private:
  enum Inputs { kTensor, kElementShape };
};

// Checks the indices of a scatter to a list of `size` elements (-1: as many as the indices need),
// and sets `needed` to the length that the indices need.
absl::Status CheckIndices(const Tensor& indices, int64_t size, int64_t* needed) {
  *needed = 0;
  const auto flat = indices.flat<int32_t>();
  for (int64_t i = 0; i < flat.size(); ++i) {
    const int64_t index = flat(i);
    if (index < 0) {
      return InvalidList("Indices in TensorListScatter must all be non-negative.");
    }
    if (size != -1 && index >= size) {
      return InvalidList("TensorListScatter: Trying to scatter at index ", index,
                         " in list with size ", size);
    }
    *needed = std::max(*needed, index + 1);
  }
  return CheckSize(*needed);
}

// Sets element indices[i] of `list` to row i of `tensor`. Requires: checked indices.
absl::Status ScatterRows(OpKernelContext* ctx, const Tensor& tensor, const Tensor& indices,
                         const TensorShape& row, ListVariant* list) {
  RowCutter rows;
  TF_RETURN_IF_ERROR(rows.Start(ctx, tensor));
  const auto flat = indices.flat<int32_t>();
  for (int64_t i = 0; i < flat.size(); ++i) {
    Tensor value;
    TF_RETURN_IF_ERROR(rows.Next(row, &value));
    list->Set(flat(i), std::move(value));
  }
  return absl::OkStatus();
}

absl::Status CheckRows(const Tensor& indices, const Tensor& tensor) {
  if (indices.NumElements() == tensor.dim_size(0)) return absl::OkStatus();
  return InvalidList("Invalid number of rows in input tensor. Expected: ", indices.NumElements(),
                     " Actual: ", tensor.dim_size(0));
}

// TensorListScatter and TensorListScatterV2, which has num_elements.
class ScatterOp : public ListKernel {
 public:
  using ListKernel::ListKernel;

 protected:
  absl::Status Run(OpKernelContext* ctx) override {
    int64_t size = -1;
    if (ctx->num_inputs() > kNumElements) {
      if (ctx->input(kNumElements).dims() != 0) {
        return InvalidList("num_elements must be a scalar");
      }
      TF_RETURN_IF_ERROR(GetInt(ctx, kNumElements, "num_elements", &size));
    }
    if (size < -1) {
      return InvalidList("TensorListScatter expects num_elements >= -1, found: ", size);
    }
    ListSpec spec;
    TensorShape row;
    TF_RETURN_IF_ERROR(SpecOfRows(ctx, "TensorListScatter", kTensor, kElementShape, &spec, &row));
    const Tensor &tensor = ctx->input(kTensor), &indices = ctx->input(kIndices);
    TF_RETURN_IF_ERROR(CheckRows(indices, tensor));
    int64_t needed;
    TF_RETURN_IF_ERROR(CheckIndices(indices, size, &needed));
    ListVariant list(std::move(spec), std::max(needed, size));
    TF_RETURN_IF_ERROR(ScatterRows(ctx, tensor, indices, row, &list));
    return OutputVariant(ctx, 0, std::move(list));
  }

 private:
  enum Inputs { kTensor, kIndices, kElementShape, kNumElements };
};

class ScatterIntoExistingListOp : public ListKernel {
 public:
  using ListKernel::ListKernel;

 protected:
  absl::Status Run(OpKernelContext* ctx) override {
    InputList list;
    TF_RETURN_IF_ERROR(GetList(ctx, kList, &list));
    const Tensor &tensor = ctx->input(kTensor), &indices = ctx->input(kIndices);
    if (tensor.dtype() != list->dtype()) {
      return InvalidList("Invalid data types; input tensor type: ", DataTypeString(tensor.dtype()),
                         " list element_type: ", DataTypeString(list->dtype()));
    }
    TensorShape row;
    TF_RETURN_IF_ERROR(RowShape(tensor, &row));
    if (indices.dims() != 1) {
      return InvalidList("Expected indices to be a vector, but received shape: ",
                         indices.shape().DebugString());
    }
    if (indices.NumElements() != tensor.dim_size(0)) {
      return InvalidList("Expected len(indices) == tensor.shape[0], but saw: ",
                         indices.NumElements(), " vs. ", tensor.dim_size(0));
    }
    int64_t needed;
    TF_RETURN_IF_ERROR(CheckIndices(indices, /*size=*/-1, &needed));
    ListVariant* out;
    TF_RETURN_IF_ERROR(ForwardList(ctx, kList, list, 0, &out));
    if (needed > out->size()) out->Resize(needed);
    return ScatterRows(ctx, tensor, indices, row, out);
  }

 private:
  enum Inputs { kList, kTensor, kIndices };
};

}  // namespace

KernelTable ListScatterKernels() {
  return {
      {"TensorListFromTensor", MakeKernel<FromTensorOp>, {"element_shape"}, GpuElements()},
      {"TensorListScatter", MakeKernel<ScatterOp>, {"indices", "element_shape"}, GpuElements()},
      {"TensorListScatterV2",
       MakeKernel<ScatterOp>,
       {"indices", "element_shape", "num_elements"},
       GpuElements()},
      {"TensorListScatterIntoExistingList",
       MakeKernel<ScatterIntoExistingListOp>,
       {"indices"},
       GpuElements()},
  };
}

}  // namespace tensor_array_grad
