#include "cc/base/counters.h"

#include <utility>
#include <vector>

#include "cc/base/mutex.h"

namespace tensor_array_grad {
namespace {

struct CounterList {
  Mutex mu;
  std::vector<const Counter*> all;
};

CounterList& List() {
  static auto* list = new CounterList;  // never destroyed: counters outlive static destruction
  return *list;
}

}  // namespace

Counter::Counter(std::string name) : name_(std::move(name)) {
  MutexLock lock(&List().mu);
  List().all.push_back(this);
}

Counter& CounterNamed(const std::string& name) {
  static auto* const mu = new Mutex;
  static auto* const named = new std::map<std::string, Counter>;
  MutexLock lock(mu);
  return named->try_emplace(name, name).first->second;
}

std::map<std::string, int64_t> ReadCounters() {
  MutexLock lock(&List().mu);
  std::map<std::string, int64_t> values;
  for (const Counter* counter : List().all) values[counter->name()] += counter->value();
  return values;
}

}  // namespace tensor_array_grad
