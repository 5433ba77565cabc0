#ifndef CC_TESTING_SMALL_OP_UNDER_TEST_H_
#define CC_TESTING_SMALL_OP_UNDER_TEST_H_

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "cc/small_ops/small_op.h"
#include "cc/testing/graph_under_test.h"

namespace tensor_array_grad {

// Adds a node called "node" with a placeholder for each input.
inline tensorflow::NodeDef& AddNode(const std::string& op,
                                    const std::vector<tensorflow::DataType>& inputs,
                                    GraphUnderTest* graph) {
  std::vector<std::string> names;
  for (size_t i = 0; i < inputs.size(); ++i) {
    names.push_back("x" + std::to_string(i));
    graph->Placeholder(names.back(), inputs[i]);
  }
  return graph->Add("node", op, names);
}

// The small op for the node called "node".
inline SmallOp SmallOpOf(GraphUnderTest& graph) {
  return SmallOpFor(*graph.Find("node"), tensorflow::cpu_allocator());
}

// The small op for a node of that op and type; empty if there is none. AddN has `terms` inputs.
inline SmallOp Find(const std::string& op, tensorflow::DataType dtype, int terms = 2) {
  GraphUnderTest graph;
  const tensorflow::OpDef* def = nullptr;
  EXPECT_TRUE(tensorflow::OpRegistry::Global()->LookUpOpDef(op, &def).ok()) << op;
  std::vector<tensorflow::DataType> inputs(op == "AddN" ? terms : def->input_arg_size(), dtype);
  if (op == "Select" || op == "SelectV2") inputs[0] = tensorflow::DT_BOOL;
  tensorflow::NodeDef& node = AddNode(op, inputs, &graph);
  if (def->attr_size() > 0) GraphUnderTest::Set(node, "T", dtype);
  if (op == "AddN") GraphUnderTest::Set(node, "N", terms);
  return SmallOpOf(graph);
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

// 0, 1, 2 ...
inline tensorflow::Tensor Counted(const tensorflow::TensorShape& shape) {
  tensorflow::Tensor tensor(tensorflow::DT_FLOAT, shape);
  for (int64_t i = 0; i < tensor.NumElements(); ++i) {
    static_cast<float*>(tensor.data())[i] = static_cast<float>(i);
  }
  return tensor;
}

// Returns whether the small op computed the operands; if not, the kernel would be called.
inline bool Call(const SmallOp& op, std::vector<Operand> operands, Value* result) {
  return op(operands, {&result, 1});
}

// Calls the small op of a node on tensors.
class SmallOpTest : public testing::Test, protected GraphUnderTest {
 protected:
  tensorflow::NodeDef& Node(const std::string& op,
                            const std::vector<tensorflow::DataType>& inputs) {
    return AddNode(op, inputs, this);
  }

  // Returns whether the small op computed the inputs, of which it may write into the first. A
  // second result is in `second_`.
  bool Call(const std::vector<tensorflow::Tensor>& inputs) {
    const SmallOp op = SmallOpOf(*this);
    EXPECT_TRUE(op != nullptr);
    std::vector<Value> values(inputs.size());
    std::vector<Operand> operands;
    for (size_t i = 0; i < inputs.size(); ++i) {
      values[i].Set(inputs[i]);
      operands.push_back({&values[i], i == 0});
    }
    result_.Release();
    Value* results[] = {&result_, &second_};
    return op(operands, {results, static_cast<size_t>(Find("node")->num_outputs())});
  }
  const tensorflow::Tensor& result() { return *result_.tensor(); }

  Value result_, second_;
};

}  // namespace tensor_array_grad

#endif  // CC_TESTING_SMALL_OP_UNDER_TEST_H_
