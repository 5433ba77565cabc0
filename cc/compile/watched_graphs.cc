// Leaves the loops of a watched graph to TensorFlow's executor.
//
// A run of a Session may watch tensors (RunOptions.debug_options; tfdbg sets it). TensorFlow then
// makes an executor for this run alone and adds nodes to its graph that copy the watched tensors
// to files. This happens after LoopPass. If a loop ran in RunLoop, the nodes in the stock loop
// would see none of its iterations. Neither the pass nor the kernel of RunLoop knows about the
// watches, so the decorator, which adds the nodes, is wrapped: it first removes RunLoop from the
// graph.
//
// TensorFlow has one function that makes decorators. The registry can replace it but has no method
// that returns it, so the function is read from the private member.

#include <exception>
#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "cc/compile/insert_run_loop.h"
#include "tensorflow/core/common_runtime/debugger_state_interface.h"

namespace tensor_array_grad {
namespace {

using tensorflow::DebugGraphDecoratorFactory;
using tensorflow::DebugGraphDecoratorInterface;
using tensorflow::DebugGraphDecoratorRegistry;

DebugGraphDecoratorFactory* RegisteredFactory();

// An explicit instantiation may name a private member. This one defines RegisteredFactory.
template <DebugGraphDecoratorFactory** factory>
struct ReadFactory {
  friend DebugGraphDecoratorFactory* RegisteredFactory() { return *factory; }
};
template struct ReadFactory<&DebugGraphDecoratorRegistry::factory_>;

class LoopsInExecutor : public DebugGraphDecoratorInterface {
 public:
  explicit LoopsInExecutor(std::unique_ptr<DebugGraphDecoratorInterface> stocks)
      : stocks_(std::move(stocks)) {}

  absl::Status DecorateGraph(Graph* graph, tensorflow::Device* device) override {
    absl::Status removed;
    try {
      removed = RemoveRunLoops(graph);
    } catch (const std::exception& error) {
      removed = absl::ResourceExhaustedError(error.what());
    }
    // TensorFlow drops the graph, and fails the run, if this returns an error.
    return removed.ok() ? stocks_->DecorateGraph(graph, device) : removed;
  }
  absl::Status PublishGraph(const Graph& graph, const std::string& device_name) override {
    return stocks_->PublishGraph(graph, device_name);
  }

 private:
  const std::unique_ptr<DebugGraphDecoratorInterface> stocks_;
};

bool WrapDecorators() {
  const DebugGraphDecoratorFactory* const registered = RegisteredFactory();
  if (registered == nullptr || !*registered) return false;
  DebugGraphDecoratorRegistry::RegisterFactory(
      [stocks = *registered](const tensorflow::DebugOptions& options) {
        return std::make_unique<LoopsInExecutor>(stocks(options));
      });
  return true;
}

[[maybe_unused]] const bool at_load = WrapDecorators();

}  // namespace
}  // namespace tensor_array_grad
