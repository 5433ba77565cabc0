#ifndef CC_TESTING_FRAMES_UNDER_TEST_H_
#define CC_TESTING_FRAMES_UNDER_TEST_H_

#include <memory>
#include <string>
#include <vector>

#include "cc/flow/frame.h"
#include "cc/testing/loop_under_test.h"
#include "tensorflow/core/framework/tensor.h"

namespace tensor_array_grad {

// A graph with several while loops, which may be nested, built node by node. Test-only.
class FramesUnderTest : public LoopUnderTest {
 public:
  // The loop `while l < l_limit: l = l + l_one` in a frame named `loop`, over the int32 variable
  // l = `loop`, which starts as `start`. Limit and step are constants that enter the frame.
  void AddCounter(const std::string& loop, const std::string& start, const std::string& limit,
                  const std::string& step) {
    AddVariableOf(loop, loop, tensorflow::DT_INT32, start, loop + "_plus");
    AddConstantOf(loop, loop + "_limit", tensorflow::DT_INT32, limit);
    AddConstantOf(loop, loop + "_one", tensorflow::DT_INT32, step);
    AddBinary(loop + "_less", "Less", tensorflow::DT_INT32, {loop + "_merge", loop + "_limit"});
    Add(loop + "_cond", "LoopCond", {loop + "_less"});
    AddBinary(loop + "_plus", "AddV2", tensorflow::DT_INT32, {loop + "_switch:1", loop + "_one"});
  }

  // Adds the nodes of a variable of `loop`, called `name`_enter and so on.
  void AddVariableOf(const std::string& loop, const std::string& name, tensorflow::DataType type,
                     const std::string& start, const std::string& update) {
    Set(AddUnary(name + "_enter", "Enter", type, {start}), "frame_name", loop);
    Set(AddUnary(name + "_merge", "Merge", type, {name + "_enter", name + "_next"}), "N", 2);
    AddUnary(name + "_switch", "Switch", type, {name + "_merge", loop + "_cond"});
    AddUnary(name + "_next", "NextIteration", type, {update});
    AddUnary(name + "_exit", "Exit", type, {name + "_switch"});
  }

  // Adds a constant of `loop`.
  void AddConstantOf(const std::string& loop, const std::string& name, tensorflow::DataType type,
                     const std::string& source) {
    tensorflow::NodeDef& enter = AddUnary(name, "Enter", type, {source});
    Set(enter, "frame_name", loop);
    Set(enter, "is_constant", true);
  }

  tensorflow::NodeDef& AddBinary(const std::string& name, const std::string& op,
                                 tensorflow::DataType type, std::vector<std::string> inputs) {
    return AddUnary(name, op, type, std::move(inputs));
  }

  tensorflow::NodeDef& AddMerge(const std::string& name, tensorflow::DataType type,
                                std::vector<std::string> inputs) {
    int count = 0;
    for (const std::string& input : inputs) count += input[0] != '^';
    tensorflow::NodeDef& node = AddUnary(name, "Merge", type, std::move(inputs));
    Set(node, "N", count);
    return node;
  }

  tensorflow::NodeDef& AddSwitchN(const std::string& name, int outputs,
                                  std::vector<std::string> inputs) {
    tensorflow::NodeDef& node = AddUnary(name, "_SwitchN", tensorflow::DT_INT32, std::move(inputs));
    Set(node, "num_outs", outputs);
    return node;
  }

  tensorflow::NodeDef& AddValue(const std::string& name, const tensorflow::Tensor& value,
                                std::vector<std::string> inputs = {}) {
    tensorflow::NodeDef& node = Add(name, "Const", std::move(inputs));
    Set(node, "dtype", value.dtype());
    Set(node, "value", value);
    return node;
  }

  // The frames of graph(); made at the first call.
  const Frame& root() {
    if (tree_ == nullptr) {
      absl::StatusOr<FrameTree> made = FrameTree::Of(*graph());
      if (!made.ok()) {
        ADD_FAILURE() << made.status();
        made = FrameTree::Of(tensorflow::Graph(tensorflow::OpRegistry::Global()));
      }
      tree_ = std::make_unique<FrameTree>(*std::move(made));
    }
    return tree_->root();
  }

  // The frame of that name, at any depth.
  const Frame& FrameNamed(const std::string& name) {
    const Frame* const found = Search(root(), name);
    if (found == nullptr) ADD_FAILURE() << "no frame " << name;
    return found == nullptr ? root() : *found;
  }

 private:
  static const Frame* Search(const Frame& frame, const std::string& name) {
    if (frame.name == name) return &frame;
    for (const Frame* child : frame.children) {
      if (const Frame* const found = Search(*child, name)) return found;
    }
    return nullptr;
  }

  std::unique_ptr<FrameTree> tree_;
};

}  // namespace tensor_array_grad

#endif  // CC_TESTING_FRAMES_UNDER_TEST_H_
