#ifndef TENSOR_ARRAY_GRAD_RECORDS_H_
#define TENSOR_ARRAY_GRAD_RECORDS_H_

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

// The records that introspection.h returns. The library keeps them in the same structs.
namespace tensor_array_grad::introspection {

// Whether a part of the library is active, and why or why not.
struct Decision {
  bool active = false;
  std::string cause;  // "", off, version, second copy, missing kernel; of kernels: kernels off, gpu
  std::string reason;
};

// One kernel in TensorFlow's registry, stock's or this library's.
struct Kernel {
  std::string op;
  std::string device;              // "CPU", "GPU"; "DEFAULT" is any device but a CPU
  std::vector<std::string> types;  // the dtypes it is constrained to; empty: every dtype
  int priority = 0;                // stock has 0, this library 1
  std::string label;               // kernels with a label are chosen by name only
};

// A tensor array that exists.
struct Array {
  std::string name;   // of the resource
  std::string dtype;  // "float", "string", as TensorFlow's DataTypeString prints it
  int64_t size = 0;   // elements
  int64_t bytes = 0;  // held now by the elements
  bool is_gradient = false;
  std::map<std::string, std::string> gradients;  // source -> name of the gradient array
};

// An op as the program made it: the function that has the op ("": the graph), and the op in it
// ("": none).
using ProgramOp = std::pair<std::string, std::string>;

// A rewrite in a loop, or one that a rule did not apply although a node belongs to its pattern.
struct LoopNote {
  std::string rule;
  std::string text;  // why it was not applied, a sentence; "": it was applied
  ProgramOp node;
};

// A while loop of a graph that this process has prepared. Counts are of the whole process; what the
// executor ran is counted only in graphs that were prepared while loops were watched.
struct Loop {
  int64_t id = 0;
  int64_t outer = 0;          // the id of the loop around it; 0: none
  std::string name;           // in the graph
  ProgramOp body, condition;  // an op of each
  ProgramOp cause;            // the reason why the executor runs the loop
  ProgramOp python;           // calls Python in each iteration
  ProgramOp heaviest;         // takes most of an iteration; known once passed_on or handed_back
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
  int64_t passed_by = 0;    // runs that were left to it for statistics of nodes
  double gain = 1;          // by how much the executor was then estimated to be faster
  int64_t executor_runs = 0, executor_iterations = 0;
  double executor_seconds = 0;
};

// Called for each loop that is prepared, on any thread. Returns the user's line in short, for the
// log, and what Loop::trace is to be.
using Locator = std::function<std::pair<std::string, std::string>(const Loop&)>;

}  // namespace tensor_array_grad::introspection

#endif  // TENSOR_ARRAY_GRAD_RECORDS_H_
