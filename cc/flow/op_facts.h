#ifndef CC_FLOW_OP_FACTS_H_
#define CC_FLOW_OP_FACTS_H_

#include <cstdint>
#include <string>
#include <unordered_map>

#include "cc/flow/graph_names.h"

// What this library assumes of ops. TensorFlow's registry has the types of their inputs and whether
// they are stateful; it does not have these facts. To support another TensorFlow, read the table in
// op_facts.cc: op_facts_test.cc compares it with the registry, and prints the stateful ops that
// it lacks. What AddN does with its operands is in sum_order.h.
namespace tensor_array_grad {

// Facts of an op, a set of bits.
enum OpFact : uint32_t {
  // Of a stateful op: its state is in resources, files or the terminal, so it makes no difference
  // which kernel object runs it, and it waits for no other op. Any other stateful op may keep its
  // state in its kernel.
  kAnyKernelMayRun = 1,
  // Of a stateful op: the user's program cannot observe that it runs once more than it should.
  kMayRunAgain = 2,
  // The kernel may finish after Compute has returned. Stateful ops need not be listed.
  kEndsLater = 4,
  // Output 0 is a changed version of the list or loop stack in input 0.
  kMakesListVersion = 8,
  // Applied to scalars, the op never fails, and its result depends only on its inputs. But an
  // integer division by zero fails.
  kCheapOnScalars = 16,
  // Writes into the buffer of an input that is not a ref.
  kWritesInput = 32,
  // Outputs the ref tensor of a variable, whose values may change later.
  kOutputsRef = 64,
  // Of a stateful op with the attributes `seed` and `seed2`: its state is a generator in its kernel
  // (IsSeeded), and it waits for no other op.
  kDrawsNumbers = 128,
  // Runs functions, which it names in its attributes, with the pool of its context. Two kernels
  // with the same attributes run the same kernels of the functions' nodes.
  kCallsFunctions = 256,
  // Runs a function of Python, which may wait for anything, also for a graph that needs a thread of
  // the executor's pool.
  kCallsPython = 512,
  // Of an op that is or belongs to a loop: what it computes may never end.
  kRepeats = 1024,
  // Waits until no other step has the lock that it takes, and outputs the lock, which is given up
  // when that tensor is destroyed. The kernel is asynchronous. It needs no thread of the executor's
  // pool to wait, but the step that has the lock may need one to give it up.
  kTakesLock = 2048,
};

// Whether the op has one of these facts.
bool HasFact(const std::string& op, uint32_t facts);
inline bool HasFact(const Node& node, uint32_t facts) { return HasFact(node.type_string(), facts); }

// Whether `node` draws numbers whose order its seeds fix, so that one kernel object must run it
// every time. If both seeds are 0, each kernel has taken a seed at random, and it makes no
// difference which one runs the node.
bool IsSeeded(const NodeDef& node);
inline bool IsSeeded(const Node& node) { return IsSeeded(node.def()); }

// The whole table, by op.
const std::unordered_map<std::string, uint32_t>& AllOpFacts();

}  // namespace tensor_array_grad

#endif  // CC_FLOW_OP_FACTS_H_
