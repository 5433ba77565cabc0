// Preloaded into a process (LD_PRELOAD), it makes TensorFlow find sixteen cores: TensorFlow counts
// the cores on which it may run. The library assumes no more executor threads than there are cores,
// so benchmarks/cores.py would otherwise measure its choices for the cores of this machine.

#include <errno.h>
#include <sched.h>

namespace {
constexpr int kCores = 16;
}

extern "C" __attribute__((visibility("default"))) int sched_getaffinity(pid_t, size_t size,
                                                                        cpu_set_t* mask) noexcept {
  if (size * 8 < kCores) {
    errno = EINVAL;
    return -1;
  }
  CPU_ZERO_S(size, mask);
  for (int core = 0; core < kCores; ++core) CPU_SET_S(core, size, mask);
  return 0;
}
