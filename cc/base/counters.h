#ifndef CC_BASE_COUNTERS_H_
#define CC_BASE_COUNTERS_H_

#include <atomic>
#include <cstdint>
#include <map>
#include <string>

namespace tensor_array_grad {

// A named count of events in this process: kernel calls, nodes copied, rewrites applied.
//
// Tests and `status()` read counters to see that work was done, and how much. Each counter must
// exist until the process ends: it is added to a process-wide list when constructed and is never
// removed. Two counters of one name are summed by ReadCounters. Thread-safe; adding is one relaxed
// atomic add.
class Counter {
 public:
  explicit Counter(std::string name);
  Counter(const Counter&) = delete;
  Counter& operator=(const Counter&) = delete;

  void Add(int64_t n = 1) { value_.fetch_add(n, std::memory_order_relaxed); }
  int64_t value() const { return value_.load(std::memory_order_relaxed); }
  const std::string& name() const { return name_; }

 private:
  const std::string name_;
  alignas(64) std::atomic<int64_t> value_{0};  // a cache line of its own: several threads may add
};

// The counter `name` of those that this function has made; makes it if there is none. For counters
// whose names are known only at run time. Thread-safe. O(log n).
Counter& CounterNamed(const std::string& name);

// The value of every counter by name. O(counters); values are read one by one, not as a snapshot.
std::map<std::string, int64_t> ReadCounters();

}  // namespace tensor_array_grad

#endif  // CC_BASE_COUNTERS_H_
