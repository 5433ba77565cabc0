#ifndef CC_TESTING_LOOP_UNDER_TEST_H_
#define CC_TESTING_LOOP_UNDER_TEST_H_

#include <string>
#include <vector>

#include "cc/testing/graph_under_test.h"
#include "tensorflow/core/framework/tensor.h"

namespace tensor_array_grad {

// A lowered while loop, built variable by variable. Test-only.
class LoopUnderTest : public GraphUnderTest {
 public:
  // A loop over the int32 `i` while i < limit; `pivot` is the body's pivot, `i_plus` the next i.
  void AddLoop() {
    AddVariable("i", tensorflow::DT_INT32, "i_plus");
    AddConst("limit", {"^i_merge"});
    Set(Add("less", "Less", {"i_merge", "limit"}), "T", tensorflow::DT_INT32);
    Add("cond", "LoopCond", {"less"});
    AddUnary("pivot", "Identity", tensorflow::DT_INT32, {"i_switch:1"});
    AddConst("one", {"^pivot"});
    AddSum("i_plus", {"i_switch:1", "one"});
  }

  // Adds the nodes of a variable of the loop, called `name`_enter and so on.
  void AddVariable(const std::string& name, tensorflow::DataType type, const std::string& update) {
    Placeholder(name, type);
    Set(AddUnary(name + "_enter", "Enter", type, {name}), "frame_name", "loop");
    tensorflow::NodeDef& merge =
        AddUnary(name + "_merge", "Merge", type, {name + "_enter", name + "_next"});
    Set(merge, "N", 2);
    AddUnary(name + "_switch", "Switch", type, {name + "_merge", "cond"});
    AddUnary(name + "_next", "NextIteration", type, {update, "^pivot"});
    AddUnary(name + "_exit", "Exit", type, {name + "_switch"});
  }

  // A variable that never changes.
  void AddInvariant(const std::string& name, tensorflow::DataType type) {
    AddVariable(name, type, name + "_switch:1");
  }

  // A conditional by `predicate`: a Switch of the predicate, and the pivots pivot_t and pivot_f.
  void AddConditional(const std::string& predicate) {
    AddUnary("pred", "Switch", tensorflow::DT_BOOL, {predicate, predicate});
    AddUnary("pivot_t", "Identity", tensorflow::DT_BOOL, {"pred:1"});
    AddUnary("pivot_f", "Identity", tensorflow::DT_BOOL, {"pred"});
  }

  tensorflow::NodeDef& AddUnary(const std::string& name, const std::string& op,
                                tensorflow::DataType type, std::vector<std::string> inputs) {
    tensorflow::NodeDef& node = Add(name, op, std::move(inputs));
    Set(node, "T", type);
    return node;
  }

  tensorflow::NodeDef& AddConst(const std::string& name, std::vector<std::string> inputs) {
    tensorflow::NodeDef& node = Add(name, "Const", std::move(inputs));
    Set(node, "dtype", tensorflow::DT_INT32);
    Set(node, "value", tensorflow::Tensor(int32_t{1}));
    return node;
  }

  // The sum of data inputs; control inputs may follow.
  tensorflow::NodeDef& AddSum(const std::string& name, std::vector<std::string> inputs) {
    int operands = 0;
    for (const std::string& input : inputs) operands += input[0] != '^';
    tensorflow::NodeDef& node = AddUnary(name, "AddN", tensorflow::DT_INT32, std::move(inputs));
    Set(node, "N", operands);
    return node;
  }
};

}  // namespace tensor_array_grad

#endif  // CC_TESTING_LOOP_UNDER_TEST_H_
