#ifndef CC_ARRAY_ERRORS_H_
#define CC_ARRAY_ERRORS_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "cc/base/tensorflow_names.h"

// Every message that an array can return to a user of the V3 ops, one function each.
//
// The codes, and the phrases that users search for, are those of TensorFlow's own kernels
// (docs/semantics.md). Each message names the array, the index, what was got and what is needed.
// `array` is the short name, without the resource prefix: `TensorArrayV3_0`, `TensorArrayV3_0@g`.
namespace tensor_array_grad::errors {

using Name = absl::string_view;

// -- the array -----------------------------------------------------------------------------------
absl::Status Closed(Name array);
absl::Status SizeNotScalar(const TensorShape& got);
absl::Status SizeNegative(int64_t got);
absl::Status WriteDtype(Name array, DataType have, DataType got);
absl::Status ReadDtype(Name array, DataType have, DataType got);

// -- one element ---------------------------------------------------------------------------------
absl::Status IndexNotScalar(const TensorShape& got);
absl::Status WriteOutOfRange(Name array, int64_t index, int64_t size, bool dynamic);
absl::Status CannotGrow(Name array, int64_t index);
absl::Status ReadOutOfRange(Name array, int64_t index, int64_t size);
absl::Status AlreadyRead(Name array, int64_t index);
absl::Status AlreadyWritten(Name array, int64_t index);
absl::Status ReadTwice(Name array, int64_t index);
absl::Status IncompatibleElement(Name array, int64_t index, const TensorShape& got,
                                 const PartialTensorShape& need);
absl::Status AggregateShape(Name array, int64_t index, const TensorShape& have,
                            const TensorShape& got);
absl::Status NothingToRead(Name array, int64_t index, const PartialTensorShape& element_shape);
absl::Status NoSum(Name array, int64_t index, DataType dtype);
absl::Status NoZero(Name array, int64_t index, DataType dtype);

// -- many elements -------------------------------------------------------------------------------
absl::Status IndicesNotVector(Name array, const TensorShape& got);
absl::Status EmptyWithoutShape(Name array, absl::string_view attribute, absl::string_view doing,
                               const PartialTensorShape& shape);
absl::Status GatherMismatch(Name array, const PartialTensorShape& need, int64_t index,
                            const TensorShape& got);
absl::Status Inconsistent(Name array, const TensorShape& first, int64_t position,
                          const TensorShape& got);
absl::Status ResultTooLarge(Name array, absl::string_view what);
absl::Status UnstackDim0(Name array, int64_t got);
absl::Status UnstackRank(Name array, const TensorShape& got);
absl::Status UnstackLength(Name array, int64_t indices, int64_t rows);
absl::Status ScatterMaxIndex(Name array, int64_t got, int64_t size);
absl::Status LengthsNotVector(Name array, const TensorShape& got);
absl::Status SplitRank(Name array, const TensorShape& got);
absl::Status NegativeLength(Name array, int64_t position, int64_t got);
absl::Status SplitSum(Name array, int64_t sum, const TensorShape& value);
absl::Status SplitSize(Name array, int64_t size, int64_t lengths);
absl::Status TooManyToConcat(Name array, int64_t count, int64_t bytes);
absl::Status ConcatScalar(Name array, int64_t index);
absl::Status ConcatFirst(Name array, const PartialTensorShape& need, const TensorShape& got);
absl::Status ConcatInconsistent(Name array, const TensorShape& first, int64_t index,
                                const TensorShape& got);

// -- gradients -----------------------------------------------------------------------------------
absl::Status JoinedShape(Name array, const TensorShape& prefix,
                         const PartialTensorShape& element_shape, const absl::Status& why);
absl::Status OrderTooHigh(Name array, int most);
absl::Status OtherPrefix(Name array, const TensorShape& have, const TensorShape& got);
absl::Status OneOfSeveralSources(Name array, absl::string_view source);

}  // namespace tensor_array_grad::errors

#endif  // CC_ARRAY_ERRORS_H_
