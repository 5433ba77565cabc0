#ifndef CC_TESTING_PROBE_KERNELS_H_
#define CC_TESTING_PROBE_KERNELS_H_

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace tensor_array_grad {

// What the kernels of probe_kernels.cc recorded, by node name. Test-only, for one thread.
struct Seen {
  std::map<std::string, std::vector<int32_t>> numbers;  // of Probe, in the order of the calls
  std::map<std::string, int> in_place;  // how often AddOneInPlace wrote into its input
  std::function<void()> at_probe;       // called by each Probe, if set
  // Called by each MutexLock, with a function that gives it the lock and ends its kernel.
  std::function<void(std::function<void()>)> at_lock;
  int locks = 0;  // that exist
};

// The record of this process. A test empties it before it starts.
Seen& TheSeen();

}  // namespace tensor_array_grad

#endif  // CC_TESTING_PROBE_KERNELS_H_
