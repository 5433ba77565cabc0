#ifndef CC_TESTING_LOOP_STACK_UNDER_TEST_H_
#define CC_TESTING_LOOP_STACK_UNDER_TEST_H_

#include <string>
#include <utility>
#include <vector>

#include "cc/testing/graph_under_test.h"
#include "tensorflow/core/framework/tensor.h"

namespace tensor_array_grad {

// A forward loop f and a backward loop b, with pushed lists between them, as while_v2 makes them.
// The test adds their LoopConds, called f_cond and b_cond, and the inputs of lists, "shape",
// "bound" and "any". Test-only.
class LoopStackUnderTest : public GraphUnderTest {
 public:
  tensorflow::NodeDef& AddScalar(const std::string& name, int32_t value,
                                 std::vector<std::string> waits = {}) {
    tensorflow::NodeDef& node = Add(name, "Const", std::move(waits));
    Set(node, "dtype", tensorflow::DT_INT32);
    Set(node, "value", tensorflow::Tensor(value));
    return node;
  }

  tensorflow::NodeDef& AddTyped(const std::string& name, const std::string& op,
                                std::vector<std::string> inputs,
                                tensorflow::DataType type = tensorflow::DT_VARIANT) {
    tensorflow::NodeDef& node = Add(name, op, std::move(inputs));
    Set(node, "T", type);
    return node;
  }

  tensorflow::NodeDef& AddOfList(const std::string& name, const std::string& op,
                                 std::vector<std::string> inputs,
                                 tensorflow::DataType type = tensorflow::DT_FLOAT) {
    tensorflow::NodeDef& node = Add(name, op, std::move(inputs));
    Set(node, "element_dtype", type);
    return node;
  }

  // Adds the nodes of variable `name` of `loop`, whose next value is the first output of node
  // `step`.
  void AddLoopVariable(const std::string& loop, const std::string& name, const std::string& initial,
                       const std::string& step,
                       tensorflow::DataType type = tensorflow::DT_VARIANT) {
    Set(AddTyped(name + "_enter", "Enter", {initial}, type), "frame_name", loop);
    Set(AddTyped(name + "_merge", "Merge", {name + "_enter", name + "_next"}, type), "N", 2);
    AddTyped(name + "_switch", "Switch", {name + "_merge", loop + "_cond"}, type);
    AddTyped(name + "_next", "NextIteration", {step}, type);
  }

  // Brings `outside` into `loop` as a constant.
  tensorflow::NodeDef& AddConstantEnter(const std::string& loop, const std::string& name,
                                        const std::string& outside,
                                        tensorflow::DataType type = tensorflow::DT_INT32) {
    tensorflow::NodeDef& node = AddTyped(name, "Enter", {outside}, type);
    Set(node, "frame_name", loop);
    Set(node, "is_constant", true);
    return node;
  }

  tensorflow::NodeDef& AddEmpty(const std::string& name,
                                tensorflow::DataType type = tensorflow::DT_FLOAT) {
    tensorflow::NodeDef& node = AddOfList(name, "EmptyTensorList", {"shape", "bound"}, type);
    Set(node, "shape_type", tensorflow::DT_INT32);
    return node;
  }

  // Adds the forward part of pushed list `name`, to which `value` is pushed.
  void AddPushed(const std::string& name, const std::string& value,
                 tensorflow::DataType type = tensorflow::DT_FLOAT) {
    AddEmpty(name, type);
    AddLoopVariable("f", name + "_f", name, name + "_push");
    AddOfList(name + "_push", "TensorListPushBack", {name + "_f_switch:1", value}, type);
    AddTyped(name + "_exit", "Exit", {name + "_f_switch"});
  }

  // Adds a variable of the forward loop that is no pushed list.
  void AddOther() {
    Placeholder("other", tensorflow::DT_VARIANT);
    AddLoopVariable("f", "other", "other", "other_step");
    AddTyped("other_step", "Identity", {"other_switch:1"});
    AddTyped("other_exit", "Exit", {"other_switch"});
  }

  // Adds both parts of a pushed list; "use_<name>" reads the popped value.
  void AddPushedList(const std::string& name, const std::string& value,
                     tensorflow::DataType type = tensorflow::DT_FLOAT) {
    AddPushed(name, value, type);
    AddLoopVariable("b", name + "_b", name + "_exit", name + "_pop");
    AddOfList(name + "_pop", "TensorListPopBack", {name + "_b_switch:1", "any"}, type);
    AddTyped("use_" + name, "Identity", {name + "_pop:1"}, type);
  }
};

}  // namespace tensor_array_grad

#endif  // CC_TESTING_LOOP_STACK_UNDER_TEST_H_
