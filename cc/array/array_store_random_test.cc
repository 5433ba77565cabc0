// ArrayStore against a slow, simple model, over random programs of all its operations.

#include <map>
#include <numeric>
#include <random>

#include "cc/array/array_store.h"
#include "cc/base/tensorflow_names.h"
#include "cc/testing/fake_element_ops.h"
#include "cc/testing/matchers.h"

namespace tensor_array_grad {
namespace {

using Values = std::vector<float>;

// A tensor array of elements of shape [2] as a map, with one rule per line.
class SlowArray {
 public:
  SlowArray(int64_t size, bool dynamic, bool clear, bool sums)
      : size_(size), dynamic_(dynamic), clear_(clear), sums_(sums) {}

  bool Write(int64_t index, const Values& value) {
    if (index < 0 || (index >= size_ && !dynamic_)) return false;
    if (read_.count(index) > 0 || (values_.count(index) > 0 && !sums_)) return false;
    Values& sum = values_.try_emplace(index, Values{0, 0}).first->second;
    for (int i = 0; i < 2; ++i) sum[i] += value[i];
    size_ = std::max(size_, index + 1);
    return true;
  }

  bool Read(int64_t index, Values* value) {
    if (index < 0 || (index >= size_ && !sums_)) return false;
    if (clear_ && read_.count(index) > 0) return false;
    *value = values_.count(index) > 0 ? values_[index] : Values{0, 0};
    read_[index] = true;
    size_ = std::max(size_, index + 1);
    return true;
  }

  // All or nothing: tried on a copy first.
  bool Scatter(const std::vector<int32_t>& indices, const std::vector<Values>& rows) {
    SlowArray trial = *this;
    for (size_t i = 0; i < indices.size(); ++i) {
      if (!trial.Write(indices[i], rows[i])) return false;
    }
    *this = trial;
    return true;
  }
  bool Gather(const std::vector<int32_t>& indices, Values* values) {
    SlowArray trial = *this;
    for (int32_t index : indices) {
      Values row;
      if (!trial.Read(index, &row)) return false;
      values->insert(values->end(), row.begin(), row.end());
    }
    *this = trial;
    return true;
  }

  int64_t size() const { return size_; }

 private:
  int64_t size_;
  bool dynamic_, clear_, sums_;
  std::map<int64_t, Values> values_;
  std::map<int64_t, bool> read_;
};

class RandomProgram {
 public:
  explicit RandomProgram(int seed)
      : random_(seed),
        size_(Below(8)),
        sums_(Below(2) == 0),
        dynamic_(!sums_ && Below(2) == 0),
        clear_(Below(2) == 0),
        store_(Options()),
        model_(size_, dynamic_, clear_, sums_) {}

  void Run(int steps) {
    for (int i = 0; i < steps && !::testing::Test::HasFatalFailure(); ++i) {
      switch (Below(4)) {
        case 0:
          Write();
          break;
        case 1:
          Read();
          break;
        case 2:
          Scatter();
          break;
        case 3:
          Gather();
          break;
      }
      ASSERT_EQ(store_.size(), model_.size());
    }
  }

 private:
  int Below(int n) { return static_cast<int>(random_() % n); }
  Values Element() { return {float(Below(100)), float(Below(100))}; }
  int64_t Index() { return Below(size_ + 3) - 1; }

  ArrayOptions Options() const {
    ArrayOptions options;
    options.name = "random";
    options.size = size_;
    options.accumulate = sums_;
    options.dynamic_size = dynamic_;
    options.clear_after_read = clear_;
    options.element_shape = PartialTensorShape({2});
    return options;
  }

  std::vector<int32_t> Indices() {
    std::vector<int32_t> indices(Below(5));
    const int64_t first = Index();
    const bool run = Below(2) == 0;  // consecutive indices take the fast paths
    for (size_t i = 0; i < indices.size(); ++i) indices[i] = run ? first + i : Index();
    return indices;
  }

  void Write() {
    const int64_t index = Index();
    const Values value = Element();
    const bool wrote = store_.Write(index, Vec(value), Below(2) == 0, ops_).ok();
    ASSERT_EQ(wrote, model_.Write(index, value)) << "write of " << index;
  }

  void Read() {
    const int64_t index = Index();
    Tensor got;
    Values want;
    const bool read = store_.Read(index, ops_, &got).ok();
    ASSERT_EQ(read, model_.Read(index, &want)) << "read of " << index;
    if (read) {
      ASSERT_EQ(ValuesOf(got), want);
    }
  }

  void Scatter() {
    const std::vector<int32_t> indices = Indices();
    std::vector<Values> rows;
    Values flat;
    for (size_t i = 0; i < indices.size(); ++i) {
      rows.push_back(Element());
      flat.insert(flat.end(), rows.back().begin(), rows.back().end());
    }
    const Tensor value = TensorOf<float>({static_cast<int64_t>(rows.size()), 2}, flat);
    const absl::Status status = store_.Scatter(indices, value, ops_);
    ASSERT_EQ(status.ok(), model_.Scatter(indices, rows)) << status;
  }

  void Gather() {
    const std::vector<int32_t> indices = Indices();
    Tensor got;
    Values want;
    const absl::Status status = store_.Gather(indices, PartialTensorShape(), ops_, &got);
    ASSERT_EQ(status.ok(), model_.Gather(indices, &want)) << status;
    if (status.ok()) {
      ASSERT_EQ(ValuesOf(got), want);
    }
  }

  std::mt19937 random_;
  const int size_;
  const bool sums_, dynamic_, clear_;
  FakeElementOps ops_;
  ArrayStore store_;
  SlowArray model_;
};

TEST(ArrayStoreRandomTest, EveryProgramGivesTheModelsValuesAndErrors) {
  for (int seed = 0; seed < 3000; ++seed) {
    SCOPED_TRACE(seed);
    RandomProgram(seed).Run(/*steps=*/40);
    if (HasFatalFailure()) return;
  }
}

}  // namespace
}  // namespace tensor_array_grad
