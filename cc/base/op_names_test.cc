#include "cc/base/op_names.h"

#include <gtest/gtest.h>

#include "tensorflow/core/framework/op.h"

namespace tensor_array_grad {
namespace {

TEST(OpNamesTest, EveryNameIsThatOfAnOp) {
#define TAG_NAME(op) ops::k##op,
  for (const char* name : {TAG_STOCK_OPS(TAG_NAME) TAG_OWN_OPS(TAG_NAME)}) {
    EXPECT_NE(tensorflow::OpRegistry::Global()->LookUp(name), nullptr) << name;
  }
#undef TAG_NAME
}

}  // namespace
}  // namespace tensor_array_grad
