#ifndef TENSOR_ARRAY_GRAD_INTROSPECTION_H_
#define TENSOR_ARRAY_GRAD_INTROSPECTION_H_

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

// Marks the only symbols that the op library exports; cmake/exports.map hides all others.
#define TAG_EXPORT __attribute__((visibility("default")))

// What the Python bindings may read and set in the loaded op library. Plain C++ types only, so that
// the bindings compile without TensorFlow's headers and fit every TensorFlow release.
namespace tensor_array_grad::introspection {

// Whether a part of the library is active, and why or why not.
struct Decision {
  bool active = false;
  std::string cause;  // "", off, version, second copy, missing kernel; of kernels: kernels off, gpu
  std::string reason;
};

struct Kernel {
  std::string op;
  std::string device;
  std::vector<std::string> types;  // empty: every dtype
  int priority = 0;
};

struct Array {
  std::string name;
  std::string dtype;  // "float", "string", as TensorFlow's DataTypeString prints it
  int64_t size = 0;   // elements
  int64_t bytes = 0;  // held now by the elements
  bool is_gradient = false;
  std::map<std::string, std::string> gradients;  // source -> name of the gradient array
};

// A rewrite in a loop, or one that a rule did not apply although a node belongs to its pattern.
struct LoopNote {
  std::string rule;
  std::string text;  // why it was not applied, a sentence; "": it was applied
  std::pair<std::string, std::string> node;  // function and op
};

// A while loop of a graph that this process has prepared. Counts are of the whole process; what the
// executor ran is counted only in graphs that were prepared while loops were watched.
struct Loop {
  int64_t id = 0;
  int64_t outer = 0;  // the id of the loop around it; 0: none
  std::string name;   // in the graph
  // Names of an op of the body, of the condition, and of the op that is the reason why the executor
  // runs the loop: the function that has the op ("": the graph), and the op in it ("": none).
  std::pair<std::string, std::string> body, condition, cause;
  // The same for an op that calls Python in each iteration, and for the op that takes most of an
  // iteration; the latter is known if the loop was handed back.
  std::pair<std::string, std::string> python, heaviest;
  std::string heaviest_type;
  double heaviest_share = 0;
  bool is_watched = false;      // whether what the executor does is counted
  std::string left;             // the reason, "reason: detail"; "": the loop runs in one kernel
  std::string trace;            // what the locator returned
  std::vector<LoopNote> notes;  // what the rules of the graph pass did, and what they did not
  int64_t runs = 0;             // in one kernel
  int64_t iterations = 0;
  double seconds = 0;
  int64_t two_threads = 0;  // of `runs`, those in which a second thread helped
  int64_t handed_back = 0;  // of `runs`, those that the executor continued
  int64_t passed_on = 0;    // runs that were left to the executor as the faster one
  int64_t passed_by = 0;    // other runs that were left to it, for statistics of nodes
  double gain = 1;          // by how much the executor was then estimated to be faster
  int64_t executor_runs = 0, executor_iterations = 0;
  double executor_seconds = 0;
};

// Whether this copy of the library is active at all: its graph pass and its loops in one kernel.
TAG_EXPORT Decision LibraryDecision();

// Whether it replaced stock's kernels.
TAG_EXPORT Decision KernelDecision();

// The value of each counter by name.
TAG_EXPORT std::map<std::string, int64_t> Counters();

// How often XLA has compiled in this process, and the seconds that took; TensorFlow counts both.
TAG_EXPORT std::pair<int64_t, double> XlaCompilations();

// The number of threads that TensorFlow's executor has for the kernels of a graph, at most as many
// as processors. `asked` is inter_op_parallelism_threads of its configuration, or 0.
TAG_EXPORT int ExecutorThreads(int asked);

// The arrays of this process, forward and gradient. O(arrays); takes the lock of each array.
TAG_EXPORT std::vector<Array> ExistingArrays();

// Facts of the build: library (the path it was loaded from), tensorflow_version, cxx11_abi,
// compiler, gpu_kernels (yes or no).
TAG_EXPORT std::map<std::string, std::string> BuildFacts();

// Every registered kernel for the ops of Families(), stock's and this library's.
TAG_EXPORT std::vector<Kernel> Kernels();

// The ops of each family for which this library has kernels, by the family's name.
TAG_EXPORT std::map<std::string, std::vector<std::string>> Families();

// Each "op on device" for which stock has a kernel, but this library has no kernel that serves all
// dtypes of it.
TAG_EXPORT std::vector<std::string> MissingKernels();

// Reads or sets whether the graph pass runs. Setting affects graphs that are prepared afterwards.
TAG_EXPORT bool GraphPassEnabled();
TAG_EXPORT void SetGraphPassEnabled(bool enabled);

// The loops of this process, the newest 10,000.
TAG_EXPORT std::vector<Loop> Loops();

// Makes graphs that are prepared from now on measure what the executor does with their loops.
TAG_EXPORT void WatchLoops(bool watch);

// Called for each loop that is prepared, on any thread. Returns the user's line in short, for the
// log, and what Loop::trace is to be. An empty function switches it off.
using Locator = std::function<std::pair<std::string, std::string>(const Loop&)>;
TAG_EXPORT void SetLocator(Locator locator);

// Reads or sets whether loops run in one kernel. Setting affects graphs in the same way.
TAG_EXPORT bool LoopsEnabled();
TAG_EXPORT void SetLoopsEnabled(bool enabled);

// Test-only: loops that run afterwards are handed back after `iterations`, unless they have a
// seeded op or calls of functions that can be inlined; -1: if the library expects the executor to
// be faster.
TAG_EXPORT void SetHandBackAfter(int64_t iterations);

// Test-only: in loops that run afterwards, a second thread runs the trailing part of each iteration
// from iteration `iterations` on; -1: if the library expects that to be faster.
TAG_EXPORT void SetTrailingThreadAfter(int64_t iterations);

}  // namespace tensor_array_grad::introspection

#endif  // TENSOR_ARRAY_GRAD_INTROSPECTION_H_
