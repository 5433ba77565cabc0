#ifndef CC_TESTING_LOOP_RUNNER_H_
#define CC_TESTING_LOOP_RUNNER_H_

#include <gtest/gtest.h>

#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "cc/compile/insert_run_loop.h"
#include "cc/run/executable.h"
#include "cc/run/interpreter.h"
#include "cc/testing/frames_under_test.h"
#include "tensorflow/core/framework/cancellation.h"
#include "tensorflow/core/framework/device.h"
#include "tensorflow/core/framework/device_attributes.pb.h"
#include "tensorflow/core/framework/node_def_util.h"
#include "tensorflow/core/framework/op_kernel.h"
#include "tensorflow/core/framework/resource_mgr.h"
#include "tensorflow/core/platform/statusor.h"

namespace tensor_array_grad {

// A CPU device with only what is needed by kernels that compute on the calling thread. Test-only.
class CpuUnderTest : public tensorflow::Device {
 public:
  explicit CpuUnderTest(tensorflow::Allocator* allocator = tensorflow::cpu_allocator())
      : Device(tensorflow::Env::Default(), Attributes()), allocator_(allocator) {}
  tensorflow::Allocator* GetAllocator(tensorflow::AllocatorAttributes) override {
    return allocator_;
  }
  absl::Status Sync() override { return absl::OkStatus(); }

 private:
  static tensorflow::DeviceAttributes Attributes() {
    tensorflow::DeviceAttributes attributes;
    attributes.set_name(kCpu0);
    attributes.set_device_type("CPU");
    return attributes;
  }

  tensorflow::Allocator* const allocator_;
};

// Runs a loop of a FramesUnderTest as the op RunLoop does. Test-only.
class LoopRunner {
 public:
  explicit LoopRunner(tensorflow::Allocator* allocator = tensorflow::cpu_allocator())
      : cpu_(allocator) {}

  // The executable that Prepare makes of `frame`, or its error.
  absl::StatusOr<std::unique_ptr<Executable>> PrepareFrame(const std::string& frame,
                                                           const LoopInputs& inputs) {
    absl::Status status;
    tensorflow::NodeDef def;
    def.set_name("run");
    def.set_op("TensorArrayGrad>RunLoop");
    AddNodeAttr("takes_locks", true, &def);
    const tensorflow::DataTypeVector none;
    const auto properties =
        std::make_shared<const tensorflow::NodeProperties>(nullptr, std::move(def), none, none);
    tensorflow::OpKernelConstruction ctx(tensorflow::DeviceType("CPU"), &cpu_,
                                         tensorflow::cpu_allocator(), nullptr, &resources_,
                                         properties, {}, {}, 0, &status);
    return Prepare(frame, inputs, Host(&ctx));
  }

  // Prepares the loop `name` of `frames`. The names of its inputs are those of the nodes that feed
  // them.
  absl::Status PrepareLoop(FramesUnderTest& frames, const std::string& name) {
    TF_RETURN_IF_ERROR(InsertRunLoop(frames.FrameNamed(name), /*record=*/0, /*in_session=*/false,
                                     frames.graph().get()));
    for (const tensorflow::Node* node : frames.graph()->op_nodes()) {
      if (node->type_string() != "TensorArrayGrad>RunLoop") continue;
      inputs_ = frames.InputsOf(node->name());
      std::string frame;
      TF_RETURN_IF_ERROR(GetNodeAttr(node->attrs(), "frame", &frame));
      const LoopInputs types{node->input_types(), node->num_outputs()};
      TF_ASSIGN_OR_RETURN(executable_, PrepareFrame(frame, types));
    }
    return absl::OkStatus();
  }

  // Runs the loop on `values`, by input name, and replaces them by the final values of the
  // variables. The run may write into a tensor if `values` has the only reference to its buffer.
  absl::Status Run(std::map<std::string, tensorflow::Tensor>* values) {
    std::vector<tensorflow::Tensor> tensors;
    std::vector<tensorflow::TensorValue> inputs;
    for (const std::string& name : inputs_) tensors.push_back(std::move((*values)[name]));
    for (tensorflow::Tensor& tensor : tensors) inputs.emplace_back(&tensor);
    tensorflow::OpKernelContext::Params params;
    params.device = &cpu_;
    params.resource_manager = &resources_;
    params.inputs = inputs;
    params.cancellation_manager = &cancellation_;
    if (pool_) params.runner = &pool_;
    tensorflow::OpKernelContext ctx(&params, 0);
    Interpreter interpreter(*executable_, &ctx, /*threads=*/1, RunStart());
    const int count = static_cast<int>(inputs_.size());
    for (int i = 0; i < count; ++i) interpreter.TakeArgument(i);
    absl::Status status = interpreter.Run();
    while (interpreter.is_waiting()) {
      WaitFor(&interpreter);
      ++waits_;
      status = interpreter.Run();
    }
    iterations_ = interpreter.iterations();
    handed_back_ = interpreter.handed_back();
    for (int i = 0; i < count; ++i) (*values)[inputs_[i]] = interpreter.Result(i);
    return status;
  }

  // From now on kernels may use `pool`, a function that lets another thread call its argument.
  void UsePool(std::function<void(std::function<void()>)> pool) { pool_ = std::move(pool); }

  tensorflow::CancellationManager& cancellation() { return cancellation_; }
  const Executable& executable() const { return *executable_; }
  const std::vector<std::string>& inputs() const { return inputs_; }  // their names
  int64_t iterations() const { return iterations_; }
  bool handed_back() const { return handed_back_; }
  int waits() const { return waits_; }  // of all runs, for locks

 private:
  // Returns when the lock has been taken for which the run waits. Unlike absl's, these locks are
  // seen by ThreadSanitizer.
  static void WaitFor(Interpreter* interpreter) {
    std::mutex mutex;
    std::condition_variable ended;
    bool has_ended = false;
    interpreter->CallAfterWait([&] {
      const std::lock_guard<std::mutex> lock(mutex);
      has_ended = true;
      ended.notify_one();
    });
    std::unique_lock<std::mutex> lock(mutex);
    ended.wait(lock, [&] { return has_ended; });
  }

  CpuUnderTest cpu_;
  tensorflow::ResourceMgr resources_;
  tensorflow::CancellationManager cancellation_;
  std::unique_ptr<Executable> executable_;
  std::vector<std::string> inputs_;
  std::function<void(std::function<void()>)> pool_;
  int64_t iterations_ = -1;
  bool handed_back_ = false;
  int waits_ = 0;
};

}  // namespace tensor_array_grad

#endif  // CC_TESTING_LOOP_RUNNER_H_
