#ifndef CC_SCHEDULE_LOOP_COST_H_
#define CC_SCHEDULE_LOOP_COST_H_

#include <limits>
#include <vector>

#include "cc/compile/program.h"
#include "cc/schedule/simulation.h"

namespace tensor_array_grad {

// Estimates whether TensorFlow's executor would run a loop faster than one kernel does. If so, the
// loop is handed back: the interpreter stops between two iterations and the stock loop continues.
// The estimate is a simulation with measured times (simulation.h); pace.h measures them.
//
// One kernel runs a loop's nodes one after the other. The executor runs independent nodes at the
// same time, also those of up to `parallel_iterations` iterations, but spends kNodeNs on each node.
// So an iteration with N nodes takes the executor about
//
//     S + N * kNodeNs,
//
// where S is the simulated time of the kernels on the executor's threads. More threads do not
// reduce the last term, because the threads wake each other and wait for the frame's lock.
//
// A kernel that uses several threads itself leaves fewer for others. No number of threads does the
// work in less than its processor time divided by that number, which is the least S. But the
// processor time is that of the whole process, and a thread that prepares data, for example, would
// leave the executor a part of the cores. So where S alone leaves no doubt that the executor is
// faster than one thread, this bound is not used: handing back is never slower than stock.
//
// So handing back pays only for a loop with heavy kernels that do not depend on each other.
//
// A loop with a trailing part (trailing_code.h) has a third choice: a second thread runs that part.
// An iteration then takes about as long as the longer part, plus kSecondThreadNs, and never less
// than the bound. In a run of few iterations it counts that the shorter part runs alone at the
// beginning or at the end: for one iteration, or for kMostLightBehind if the trailing part is so
// light that it waits for others before a thread is woken (trailing_thread.h).
//
// A loop that is handed back runs as without this library, except for the iterations before the
// hand-back.

// The executor's overhead per node in nanoseconds, without the node's kernel.
inline constexpr double kNodeNs = 200;

// A loop is handed back if the estimate is below this share of the time in one kernel, on one
// thread or on two. The margin is needed because the estimate is rough. Measured with two threads
// of the executor, as shares of the time in one kernel on one thread:
//
//     loop                                          executor    estimate
//     two sums over segments, side by side              0.62        0.65
//     64 x 64 determinants                              0.86        0.83
//     LSTM of 128 units, batch 8                        1.23        1.20
//     GRU of 64 units, batch 32                         1.15        1.10
inline constexpr double kHandBackRatio = 0.93;

// What a second thread that runs the trailing part of a loop (trailing_code.h) costs per iteration:
// to hand over the values and, now and then, to wake the thread.
inline constexpr double kSecondThreadNs = 3000;

// A trailing part that takes less is light. Its iterations wait until there are so many, or half of
// those that may wait.
inline constexpr double kLightTrailingNs = 20'000;
inline constexpr int kMostLightBehind = 4;

// A second thread is used if the estimate for it is below this share of the time on one thread.
inline constexpr double kTwoThreadsRatio = 0.9;

// Recurrences that two threads could share (TrailingCode::keeps_half) run side by side in the
// executor just as well if they are heavy. So it gets them if its estimate, and kWakeNs for threads
// that wake late, is below this multiple of the time on two threads.
inline constexpr double kHalvesRatio = 1.1;

// An estimate that is faster by this factor leaves no doubt.
inline constexpr double kClearGain = 4.0 / 3.0;

// What runs the iterations of a loop.
enum class Choice { kOneThread, kTwoThreads, kExecutor };

// The tasks of one iteration and what the executor needs for them.
struct IterationCost {
  std::vector<Task> tasks;
  std::vector<bool> is_trailing;  // by task; empty if the loop has no trailing part
  bool keeps_half = false;        // as TrailingCode
  double nodes = 0;               // number of nodes that the executor would run
  double busy_ns = 0;             // processor time of the process per iteration
  int threads = 1;
  int parallel_iterations = 10;
  int iterations = std::numeric_limits<int>::max();  // of a run; at least one
  bool stays = false;                                // whether the loop may not be handed back
};

// The tasks of one iteration, all with the time 0: the instructions of the condition, then those of
// the body.
std::vector<Task> TasksOf(const LoopCode& code);

// A cheap test: false if nothing could be faster than one thread even if no task depended on
// another. `ns` is the time of an iteration on one thread. If this is false, Fastest need not be
// called.
bool MayBeFaster(double ns, double nodes, int threads, bool has_trailing_part);

// Estimates the executor's time per iteration, in nanoseconds, without the bound.
double ExecutorNs(const IterationCost& cost);

// Estimates the time per iteration if a second thread runs the trailing tasks, in nanoseconds,
// without the bound.
double TwoThreadsNs(const IterationCost& cost);

struct Estimate {
  Choice choice = Choice::kOneThread;
  double gain = 1;  // by how much it is faster than one thread
};

// The choice with the least estimate. On one thread, an iteration takes the sum of its tasks. Two
// threads are chosen if their estimate is below kTwoThreadsRatio of that time, and the executor if
// the loop may be handed back and its estimate is below kHandBackRatio of the best of the other
// two, or below kHalvesRatio of two threads that have a half of recurrences each (keeps_half). Both
// have the bound of the processor time; but against one thread, the executor needs only a gain of
// kClearGain without it.
Estimate Fastest(const IterationCost& cost);

}  // namespace tensor_array_grad

#endif  // CC_SCHEDULE_LOOP_COST_H_
