#include "cc/array/errors.h"

#include "absl/strings/str_cat.h"

namespace tensor_array_grad::errors {

namespace {

template <typename... Parts>
absl::Status Invalid(Name array, const Parts&... parts) {
  return absl::InvalidArgumentError(absl::StrCat("TensorArray ", array, ": ", parts...));
}

}  // namespace

absl::Status Closed(Name array) {
  return absl::InvalidArgumentError(
      absl::StrCat("TensorArray ", array, " has already been closed."));
}
absl::Status SizeNotScalar(const TensorShape& got) {
  return absl::InvalidArgumentError(
      absl::StrCat("TensorArray size must be scalar, but had shape: ", got.DebugString()));
}
absl::Status SizeNegative(int64_t got) {
  return absl::InvalidArgumentError(absl::StrCat("Size should be >= 0. Got: ", got));
}
absl::Status WriteDtype(Name array, DataType have, DataType got) {
  return Invalid(array, "TensorArray dtype is ", DataTypeString(have),
                 " but Op is trying to write dtype ", DataTypeString(got), ".");
}
absl::Status ReadDtype(Name array, DataType have, DataType got) {
  return Invalid(array, "TensorArray dtype is ", DataTypeString(have), " but Op requested dtype ",
                 DataTypeString(got), ".");
}

absl::Status IndexNotScalar(const TensorShape& got) {
  return absl::InvalidArgumentError(
      absl::StrCat("TensorArray index must be scalar, but had shape: ", got.DebugString()));
}
absl::Status WriteOutOfRange(Name array, int64_t index, int64_t size, bool dynamic) {
  return Invalid(array, "Tried to write to index ", index,
                 " but array is not resizeable and size is: ", size,
                 dynamic ? ". A dynamic array grows upwards only." : "");
}
absl::Status CannotGrow(Name array, int64_t index) {
  return Invalid(array, "Tried to write to index ", index,
                 " but an array holds at most 2147483647 elements.");
}
absl::Status ReadOutOfRange(Name array, int64_t index, int64_t size) {
  return Invalid(array, "Tried to read from index ", index, " but array size is: ", size);
}
absl::Status AlreadyRead(Name array, int64_t index) {
  return Invalid(array, "Could not write to TensorArray index ", index,
                 " because it has already been read.");
}
absl::Status AlreadyWritten(Name array, int64_t index) {
  return Invalid(array, "Could not write to TensorArray index ", index,
                 " because it has already been written to.");
}
absl::Status ReadTwice(Name array, int64_t index) {
  return Invalid(array, "Could not read index ", index,
                 " twice because it was cleared after a previous read (perhaps try setting "
                 "clear_after_read = false?).");
}
absl::Status IncompatibleElement(Name array, int64_t index, const TensorShape& got,
                                 const PartialTensorShape& need) {
  return Invalid(array, "Could not write to TensorArray index ", index,
                 " because the value shape is ", got.DebugString(),
                 " which is incompatible with the TensorArray's inferred element shape: ",
                 need.DebugString(), " (consider setting infer_shape=False).");
}
absl::Status AggregateShape(Name array, int64_t index, const TensorShape& have,
                            const TensorShape& got) {
  return Invalid(array, "Could not aggregate to TensorArray index ", index,
                 " because the existing shape is ", have.DebugString(),
                 " but the new input shape is ", got.DebugString(), ".");
}
absl::Status NothingToRead(Name array, int64_t index, const PartialTensorShape& element_shape) {
  return Invalid(
      array, "Could not read from TensorArray index ", index,
      ".  Furthermore, the element shape is not fully defined: ", element_shape.DebugString(),
      ".  It is possible you are working with a resizeable TensorArray and stop_gradients is not "
      "allowing the gradients to be written.  If you set the full element_shape property on the "
      "forward TensorArray, the proper all-zeros tensor will be returned instead of incurring this "
      "error.");
}
absl::Status NoSum(Name array, int64_t index, DataType dtype) {
  return Invalid(array, "Could not aggregate to TensorArray index ", index,
                 ": tensor_array::AddToTensor type not supported: ", DataTypeString(dtype));
}
absl::Status NoZero(Name array, int64_t index, DataType dtype) {
  return Invalid(array, "Could not read index ", index,
                 ", which was never written: tensor_array::TensorSetZero type not supported: ",
                 DataTypeString(dtype));
}

absl::Status IndicesNotVector(Name array, const TensorShape& got) {
  return Invalid(array, "Expected indices to be a vector, but received shape: ", got.DebugString());
}
absl::Status EmptyWithoutShape(Name array, absl::string_view attribute, absl::string_view doing,
                               const PartialTensorShape& shape) {
  return absl::UnimplementedError(
      absl::StrCat("TensorArray ", array, ": TensorArray has size zero, but ", attribute, " ",
                   shape.DebugString(),
                   " is not fully defined. Currently only static shapes are supported when ", doing,
                   " zero-size TensorArrays."));
}
absl::Status GatherMismatch(Name array, const PartialTensorShape& need, int64_t index,
                            const TensorShape& got) {
  return Invalid(array, "TensorArray was passed element_shape ", need.DebugString(),
                 " which does not match the Tensor at index ", index, ": ", got.DebugString());
}
absl::Status Inconsistent(Name array, const TensorShape& first, int64_t position,
                          const TensorShape& got) {
  return Invalid(array,
                 "TensorArray has inconsistent shapes.  Index 0 has shape: ", first.DebugString(),
                 " but index ", position, " has shape: ", got.DebugString());
}
absl::Status ResultTooLarge(Name array, absl::string_view what) {
  return Invalid(array, what,
                 " would have more than 2**63 - 1 elements or more than 254 dimensions.");
}
absl::Status UnstackDim0(Name array, int64_t got) {
  return Invalid(array, "tensor dim0 too large to unpack: ", got);
}
absl::Status UnstackRank(Name array, const TensorShape& got) {
  return Invalid(array, "Input value for unpack must be at least a vector but received shape: ",
                 got.DebugString());
}
absl::Status UnstackLength(Name array, int64_t indices, int64_t rows) {
  return Invalid(array, "Expected len(indices) == values.shape[0], but saw: ", indices, " vs. ",
                 rows);
}
absl::Status ScatterMaxIndex(Name array, int64_t got, int64_t size) {
  return Invalid(array, "Max scatter index must be < array size (", got, " vs. ", size, ")");
}
absl::Status LengthsNotVector(Name array, const TensorShape& got) {
  return Invalid(array, "Expected lengths to be a vector, received shape: ", got.DebugString());
}
absl::Status SplitRank(Name array, const TensorShape& got) {
  return Invalid(array,
                 "Expected value to be at least a vector, but received shape: ", got.DebugString());
}
absl::Status NegativeLength(Name array, int64_t position, int64_t got) {
  return Invalid(array, "Expected lengths to be non-negative, but lengths[", position, "] is ",
                 got);
}
absl::Status SplitSum(Name array, int64_t sum, const TensorShape& value) {
  return Invalid(array,
                 "Expected sum of lengths to be equal to values.shape[0], but sum of lengths is ",
                 sum, " and value's shape is: ", value.DebugString());
}
absl::Status SplitSize(Name array, int64_t size, int64_t lengths) {
  return Invalid(array, "TensorArray's size is not equal to the size of lengths (", size, " vs. ",
                 lengths, "), and the TensorArray is not marked as dynamically resizeable");
}
absl::Status TooManyToConcat(Name array, int64_t count, int64_t bytes) {
  return absl::ResourceExhaustedError(
      absl::StrCat("TensorArray ", array, ": no memory to concatenate ", count,
                   " elements: their slots and lengths alone take ", bytes, " bytes."));
}
absl::Status ConcatScalar(Name array, int64_t index) {
  return Invalid(array, "Concat saw a scalar shape at index ", index,
                 " but requires at least vectors.  Did you mean to call pack?");
}
absl::Status ConcatFirst(Name array, const PartialTensorShape& need, const TensorShape& got) {
  return Invalid(array, "TensorArray was passed element_shape_except0 ", need.DebugString(),
                 " but index 0 has (excepting dimension 0) shape: ", got.DebugString(),
                 " which does not match.");
}
absl::Status ConcatInconsistent(Name array, const TensorShape& first, int64_t index,
                                const TensorShape& got) {
  return Invalid(array,
                 "TensorArray has inconsistent shapes.  Index 0 has (excepting dimension 0) "
                 "shape: ",
                 first.DebugString(), " but index ", index,
                 " has (excepting dimension 0) shape: ", got.DebugString());
}

absl::Status JoinedShape(Name array, const TensorShape& prefix,
                         const PartialTensorShape& element_shape, const absl::Status& why) {
  return Invalid(array, "Could not prepend ", prefix.DebugString(), " to element shape ",
                 element_shape.DebugString(), ": ", why.message());
}
absl::Status OrderTooHigh(Name array, int most) {
  return Invalid(array, "Cannot make a gradient array: this one collects gradients of order ", most,
                 " already, which is the most.");
}
absl::Status OtherPrefix(Name array, const TensorShape& have, const TensorShape& got) {
  return Invalid(array, "the gradient array was made with shape_to_prepend ", have.DebugString(),
                 " and cannot be had with ", got.DebugString(), ". Use another source.");
}
absl::Status OneOfSeveralSources(Name array, absl::string_view source) {
  return Invalid(
      array, "Cannot make a gradient array of this gradient array with source \"", source,
      "\": TensorFlow's gradient functions use several sources for one second derivative, "
      "and a part of it would be lost. Call tensor_array_grad.enable() before the graph "
      "is built. If you call the op yourself, use a source with another last "
      "component.");
}

}  // namespace tensor_array_grad::errors
