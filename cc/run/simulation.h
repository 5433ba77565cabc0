#ifndef CC_RUN_SIMULATION_H_
#define CC_RUN_SIMULATION_H_

#include "cc/run/loop_cost.h"

namespace tensor_array_grad {

// How long TensorFlow's executor would take per iteration, in nanoseconds, if only kernels took
// time. Found by running some iterations of the tasks on imaginary threads.
//
// A task is ready when all that it reads are done, and the iteration `parallel_iterations` before
// its own has ended. As in the executor, a thread that has ended a task goes on with the light
// tasks that have become ready, or with the last heavy one if there is no light one. It leaves the
// other heavy ones to the pool, from which an idle thread takes them kWakeNs later:
//
//     thread 1:  x ──> light, light     or     x ──> heavy
//     thread 2:                                └─ kWakeNs ─> another heavy one
//
// Two chains that do not depend on each other therefore run side by side without waking anybody,
// but where chains meet and part again, the threads wait for each other.
//
// O(n log n) for n tasks and the dependences between them.
double SimulatedNs(const IterationCost& cost);

// The time from putting a task into the pool until a thread of the pool begins it.
inline constexpr double kWakeNs = 5000;

// From this time on a task is heavy. The executor's own limit is 8,000 cycles.
inline constexpr double kHeavyTaskNs = 3000;

}  // namespace tensor_array_grad

#endif  // CC_RUN_SIMULATION_H_
