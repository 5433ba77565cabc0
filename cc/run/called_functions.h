#ifndef CC_RUN_CALLED_FUNCTIONS_H_
#define CC_RUN_CALLED_FUNCTIONS_H_

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "cc/base/mutex.h"
#include "cc/compile/inline_call.h"
#include "cc/flow/graph_names.h"

namespace tensor_array_grad {

struct Executable;

// The functions that the loop of one executable calls, from their first call until their nodes are
// in the place of the calls (inline_call.h). The calls of one function with the same attributes
// share an instance, and so a state:
//
//              a call records the graph             Replacement
//     kWaiting ────────────────────────────> kKnown ─────────────> kInlined
//        │                                    ^  │
//        │ a call ends    a call beside it    │  │ Replacement: no executable
//        │ without one    records the graph   │  v can be made with the graph
//        └──────────────────────────────────> kKept
//
//   - kWaiting: no call has ended. TensorFlow instantiates the function in the first one.
//   - kKnown: the graph is there. When the executable has served enough iterations (IsOutdated),
//     Replacement makes another one, with the nodes of all known functions.
//   - kInlined: that one has the nodes. In this one, which earlier runs may still use, calls stay.
//   - kKept: the graph cannot be used, or no executable can be made with it, or Replacement is
//     still trying.
//
// In the next executable, the functions that are still called have new instances and begin with
// kWaiting. It serves twice as many iterations, so that a loop that reaches its functions one by
// one is not compiled for each.
//
// Thread-safe, except Inline and Add, which come first, and Replacement beside itself.
class CalledFunctions {
 public:
  enum State { kWaiting, kKept, kKnown, kInlined };

  // The calls of one instance.
  class Function {
   public:
    explicit Function(CalledFunctions* all) : all_(*all) {}

    // Calls `call`, which starts one of the calls on this thread.
    void Call(absl::FunctionRef<void()> call);

    State state() const { return state_.load(std::memory_order_relaxed); }

   private:
    friend class CalledFunctions;

    CalledFunctions& all_;
    std::vector<int> nodes_;  // ids
    std::atomic<State> state_{kWaiting};
  };

  using Make = absl::FunctionRef<absl::StatusOr<std::unique_ptr<Executable>>(
      std::vector<InlinedCall> inlined)>;

  // Does InlineCalls for the executable's graph. `library` must outlive this object.
  absl::Status Inline(const tensorflow::FunctionLibraryDefinition* library,
                      std::vector<InlinedCall> calls, Graph* graph);

  // Adds `call`, a node of that graph. Returns the function that it calls, which exists as long as
  // this object; null if the nodes of the function cannot take the place of the call.
  Function* Add(const Node& call);

  // Whether a function is kKnown. What is measured then says nothing about later iterations.
  bool IsAnyKnown() const { return is_any_known_.load(std::memory_order_relaxed); }

  // Whether Replacement may make another executable. `running` iterations are not in NoteServed.
  bool IsOutdated(int64_t running) const {
    return IsAnyKnown() && served_.load(std::memory_order_relaxed) + running >= serves_;
  }

  // Notes that a run has ended after `iterations`.
  void NoteServed(int64_t iterations) { served_.fetch_add(iterations, std::memory_order_relaxed); }

  // Returns an executable that `make` has made with the calls that are inlined already and those of
  // the functions that are kKnown; null if there are none, or if it fails with each of them. If it
  // fails with all of them, the functions are tried one by one. Afterwards none of them is kKnown.
  // Counts and logs the calls of the loop `name`.
  std::unique_ptr<Executable> Replacement(const std::string& name, Make make);

  // The calls that are inlined, with which ErrorAt names nodes.
  const std::vector<InlinedCall>& inlined() const { return inlined_; }

 private:
  using Known = std::pair<Function*, std::shared_ptr<const Graph>>;

  std::vector<InlinedCall> InlinedWith(const std::vector<Known>& functions) const;

  const tensorflow::FunctionLibraryDefinition* library_ = nullptr;
  std::vector<InlinedCall> inlined_;
  std::map<int64_t, Function> functions_;  // by InstanceOf
  int64_t serves_ = 1;
  std::atomic<int64_t> served_{0};
  std::atomic<bool> is_any_known_{false};  // whether known_ is not empty
  Mutex mu_;
  std::vector<Known> known_ ABSL_GUARDED_BY(mu_);
};

}  // namespace tensor_array_grad

#endif  // CC_RUN_CALLED_FUNCTIONS_H_
