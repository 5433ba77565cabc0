#ifndef CC_TESTING_SMALL_OP_UNDER_TEST_H_
#define CC_TESTING_SMALL_OP_UNDER_TEST_H_

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "cc/loop/small_ops.h"
#include "cc/testing/graph_under_test.h"

namespace tensor_array_grad {

// The small op for a node of that op and type; one that does not exist if there is none. AddN has
// `terms` inputs.
inline SmallOp Find(const std::string& op, tensorflow::DataType dtype, int terms = 2) {
  using tensorflow::DT_BOOL;
  GraphUnderTest graph;
  const tensorflow::OpDef* def = nullptr;
  EXPECT_TRUE(tensorflow::OpRegistry::Global()->LookUpOpDef(op, &def).ok()) << op;
  std::vector<std::string> inputs;
  for (int i = 0; i < (op == "AddN" ? terms : def->input_arg_size()); ++i) {
    inputs.push_back("x" + std::to_string(i));
    const bool is_condition = i == 0 && (op == "Select" || op == "SelectV2");
    graph.Placeholder(inputs.back(), is_condition ? DT_BOOL : dtype);
  }
  tensorflow::NodeDef& node = graph.Add("node", op, inputs);
  if (def->attr_size() > 0) GraphUnderTest::Set(node, "T", dtype);
  if (op == "AddN") GraphUnderTest::Set(node, "N", terms);
  return SmallOpFor(*graph.Find("node"), tensorflow::cpu_allocator());
}

template <typename T>
Value Number(T number) {
  Value value;
  value.SetScalar(number);
  return value;
}
inline Value Of(tensorflow::Tensor tensor) {
  Value value;
  value.Set(std::move(tensor));
  return value;
}
template <typename T>
tensorflow::Tensor VecOf(const std::vector<T>& values) {
  tensorflow::Tensor tensor(tensorflow::DataTypeToEnum<T>::value,
                            {static_cast<int64_t>(values.size())});
  for (size_t i = 0; i < values.size(); ++i) tensor.flat<T>()(i) = values[i];
  return tensor;
}

// Whether the small op took the operands.
inline bool Call(SmallOp op, std::vector<Operand> operands, Value* result) {
  return op(operands, result);
}

}  // namespace tensor_array_grad

#endif  // CC_TESTING_SMALL_OP_UNDER_TEST_H_
