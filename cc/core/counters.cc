#include "cc/core/counters.h"

#include <mutex>
#include <utility>
#include <vector>

namespace tensor_array_grad {
namespace {

struct CounterList {
  std::mutex mu;
  std::vector<const Counter*> all;
};

CounterList& List() {
  static auto* list = new CounterList;  // never destroyed: counters outlive static destruction
  return *list;
}

}  // namespace

Counter::Counter(std::string name) : name_(std::move(name)) {
  std::lock_guard<std::mutex> lock(List().mu);
  List().all.push_back(this);
}

std::map<std::string, int64_t> ReadCounters() {
  std::lock_guard<std::mutex> lock(List().mu);
  std::map<std::string, int64_t> values;
  for (const Counter* counter : List().all) values[counter->name()] += counter->value();
  return values;
}

}  // namespace tensor_array_grad
