#ifndef CC_SCHEDULE_SIMULATION_H_
#define CC_SCHEDULE_SIMULATION_H_

#include <limits>
#include <vector>

namespace tensor_array_grad {

// One instruction of an iteration.
struct Task {
  double ns = 0;
  std::vector<int> reads;           // tasks of the same iteration that must be done first
  std::vector<int> reads_previous;  // tasks of the previous iteration
};

// At most as many iterations are simulated.
inline constexpr int kMostSimulated = 24;

// The time that TensorFlow's executor would take per iteration, in nanoseconds, if only kernels
// took time: the average of all `iterations` of a run, or of the first ones, on imaginary threads.
//
// A task is ready when all that it reads are done, and the iteration `parallel_iterations` before
// its own, and all before that, have ended. Roughly as in the executor, a thread that has ended a
// task goes on with the light tasks that have become ready, or with the last heavy one if there is
// no light one. It leaves the other heavy ones to the pool. A thread that has nothing else to do
// takes them from there at once, and a thread that sleeps takes them kWakeNs later:
//
//     thread 1:  x ──> light, light     or     x ──> heavy
//     thread 2:                                └─ kWakeNs ─> another heavy one
//
// Two chains that do not depend on each other therefore run side by side without waking anybody,
// but where a chain parts into several, a thread must be woken each time.
//
// Not simulated: that threads look for work for a while before they sleep, that the executor takes
// a new kernel for a heavy one at first, and that kernels may use several threads themselves.
//
// Requires: threads >= 1, iterations >= 1, and the tasks do not wait for each other in a circle.
// O(n + d) for n tasks and d dependences, but for the logarithm of the number of threads.
double SimulatedNs(const std::vector<Task>& tasks, int threads, int parallel_iterations,
                   int iterations = std::numeric_limits<int>::max());

// The time from putting a task into the pool until a thread that sleeps begins it.
inline constexpr double kWakeNs = 5000;

// From this time on a task is heavy. The executor's own limit is 8,000 cycles.
inline constexpr double kHeavyTaskNs = 3000;

}  // namespace tensor_array_grad

#endif  // CC_SCHEDULE_SIMULATION_H_
