#ifndef TENSOR_ARRAY_GRAD_INTROSPECTION_H_
#define TENSOR_ARRAY_GRAD_INTROSPECTION_H_

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "tensor_array_grad/records.h"

// Marks the only symbols that the op library exports; cmake/exports.map hides all others.
#define TAG_EXPORT __attribute__((visibility("default")))

// What the Python bindings may read and set in the loaded op library. Plain C++ types only, so that
// the bindings compile without TensorFlow's headers and fit every TensorFlow release.
namespace tensor_array_grad::introspection {

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

// An empty function switches the locator off.
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
