#ifndef CC_TESTING_MATCHERS_H_
#define CC_TESTING_MATCHERS_H_

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "tensorflow/core/framework/tensor.h"

#define ASSERT_OK(expression)                  \
  do {                                         \
    const absl::Status status_ = (expression); \
    ASSERT_TRUE(status_.ok()) << status_;      \
  } while (false)
#define EXPECT_OK(expression)                  \
  do {                                         \
    const absl::Status status_ = (expression); \
    EXPECT_TRUE(status_.ok()) << status_;      \
  } while (false)

namespace tensor_array_grad {

// A tensor of `shape` with these values, row by row.
template <typename T>
tensorflow::Tensor TensorOf(const tensorflow::TensorShape& shape, const std::vector<T>& values) {
  tensorflow::Tensor tensor(tensorflow::DataTypeToEnum<T>::value, shape);
  EXPECT_EQ(static_cast<size_t>(tensor.NumElements()), values.size());
  std::copy(values.begin(), values.end(), static_cast<T*>(tensor.data()));
  return tensor;
}
template <typename T>
tensorflow::Tensor VecOf(const std::vector<T>& values) {
  return TensorOf<T>({static_cast<int64_t>(values.size())}, values);
}
inline tensorflow::Tensor Vec(const std::vector<float>& values) { return VecOf(values); }
inline tensorflow::Tensor Ints(const std::vector<int32_t>& values) { return VecOf(values); }

template <typename T = float>
std::vector<T> ValuesOf(const tensorflow::Tensor& tensor) {
  const T* begin = static_cast<const T*>(tensor.data());
  return std::vector<T>(begin, begin + tensor.NumElements());
}

// Floats and doubles are compared as numbers, all other plain types byte by byte.
MATCHER_P(TensorEq, want, "") {
  *result_listener << "is " << arg.DebugString();
  if (arg.dtype() != want.dtype() || arg.shape() != want.shape()) return false;
  if (arg.dtype() == tensorflow::DT_FLOAT) return ValuesOf<float>(arg) == ValuesOf<float>(want);
  if (arg.dtype() == tensorflow::DT_DOUBLE) return ValuesOf<double>(arg) == ValuesOf<double>(want);
  return tensorflow::DataTypeCanUseMemcpy(arg.dtype()) && arg.tensor_data() == want.tensor_data();
}

MATCHER_P2(Fails, code, text, "") {
  *result_listener << arg.ToString();
  return arg.code() == code && std::string(arg.message()).find(text) != std::string::npos;
}

// A remark about the node of that name, whose reason contains `reason`.
MATCHER_P2(IsRemark, node, reason, "") {
  *result_listener << "is about " << arg.node << ": " << arg.text;
  const size_t because = arg.text.find(", because ");
  return arg.node == node && because != std::string::npos &&
         arg.text.find(reason, because) != std::string::npos;
}

}  // namespace tensor_array_grad

#endif  // CC_TESTING_MATCHERS_H_
