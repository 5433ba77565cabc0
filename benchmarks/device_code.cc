// The bandwidth of the device code on a GPU, without TensorFlow and its executor: bytes read and
// written per second, also as a share of the bandwidth of a plain copy in the same run. Each result
// is compared with the host's before its time is measured.
//
//   device_code_benchmark [SCALE]      sizes are divided by SCALE (default: 1)
//
// The exit status is 1 if large sums are slower than 80 % of the copy, unless SCALE is given.
//
// CMake builds this program if it finds CUDA. To test the program itself, CMake also builds it for
// the host, with the device code emulated. On a machine without TensorFlow, for a GPU of compute
// capability 9.0:
//
//   nvcc -std=c++17 -O3 -arch=sm_90 -I. -DTAG_CUDA_LOWEST=90 -DTAG_CUDA_NEWEST=90
//        cc/device/cuda_kernels.cu benchmarks/device_code.cc -o device_code_benchmark

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

#include "cc/device/cuda_kernels.h"

namespace {

namespace cuda = tensor_array_grad::cuda;

void Check(const char* error) {
  if (error == nullptr) return;
  std::fprintf(stderr, "CUDA says: %s\n", error);
  std::exit(1);
}
void Check(cudaError_t error) {
  if (error != cudaSuccess) Check(cudaGetErrorString(error));
}

// Floats in device memory.
float* Floats(const std::vector<float>& values) {
  void* pointer = nullptr;
  Check(cudaMalloc(&pointer, values.size() * sizeof(float)));
  Check(cudaMemcpy(pointer, values.data(), values.size() * sizeof(float), cudaMemcpyHostToDevice));
  return static_cast<float*>(pointer);
}

std::vector<float> Counting(int64_t count) {
  std::vector<float> values(count);
  for (int64_t i = 0; i < count; ++i) values[i] = static_cast<float>(i % 1009);
  return values;
}

void ExpectValues(const char* what, const float* device, const std::vector<float>& want) {
  std::vector<float> got(want.size());
  Check(cudaMemcpy(got.data(), device, want.size() * sizeof(float), cudaMemcpyDeviceToHost));
  if (got == want) return;
  std::fprintf(stderr, "%s: the device's values are not the host's\n", what);
  std::exit(1);
}

class Stopwatch {
 public:
  explicit Stopwatch(cudaStream_t stream) : stream_(stream) {
    Check(cudaEventCreate(&begin_));
    Check(cudaEventCreate(&end_));
  }
  ~Stopwatch() {
    cudaEventDestroy(begin_);
    cudaEventDestroy(end_);
  }

  // The device's seconds per call of `call`, which queues work: the median of several rounds, each
  // with the calls call(0) to call(calls - 1).
  double Seconds(int calls, const std::function<void(int)>& call) {
    std::vector<double> rounds;
    for (int round = 0; round < 8; ++round) {  // the first one warms up
      float milliseconds = 0;
      Check(cudaEventRecord(begin_, stream_));
      for (int i = 0; i < calls; ++i) call(i);
      Check(cudaEventRecord(end_, stream_));
      Check(cudaEventSynchronize(end_));
      Check(cudaEventElapsedTime(&milliseconds, begin_, end_));
      if (round > 0) rounds.push_back(milliseconds / 1e3 / calls);
    }
    std::sort(rounds.begin(), rounds.end());
    return rounds[rounds.size() / 2];
  }

 private:
  const cudaStream_t stream_;
  cudaEvent_t begin_, end_;
};

class Benchmark {
 public:
  explicit Benchmark(int64_t scale) : scale_(scale) { Check(cudaStreamCreate(&stream_)); }

  // Runs all cases. Returns whether large sums reach 80 % of the copy's bandwidth.
  bool Run() {
    std::printf("%-44s %12s %12s %14s\n", "case", "time", "GB/s", "of the copy");
    Copy();
    Zero();
    const double share = Add("sum of 64 Mi floats", (int64_t{64} << 20) / scale_, 1);
    // With 64 different sums, the data does not fit into any cache.
    Add("sum of 1,000,000 floats", 1'000'000 / scale_, 64);
    Pack("pack of 100,000 x 16 in order, one segment", 16, Rows::kInOrder);
    Pack("pack of 100,000 x 16, one segment per row", 16, Rows::kReversed);
    Pack("pack of 100,000 x 7, one segment per row", 7, Rows::kReversed);
    return share >= 0.8;
  }

 private:
  // Prints one row of the table. Returns the bandwidth as a share of the copy's.
  double Report(const char* name, double bytes, double seconds) {
    if (copy_ == 0) copy_ = bytes / seconds;
    std::printf("%-44s %9.2f us %12.1f %12.1f %%\n", name, seconds * 1e6, bytes / seconds / 1e9,
                100 * bytes / seconds / copy_);
    return bytes / seconds / copy_;
  }

  // Checks the result of `work` and reports its time. Each repetition must give the same result.
  void Measure(const char* name, double bytes, const std::function<void(int)>& work,
               const float* result, const std::vector<float>& want) {
    work(0);
    Check(cudaStreamSynchronize(stream_));
    ExpectValues(name, result, want);
    Report(name, bytes, Stopwatch(stream_).Seconds(10, work));
  }

  void Copy() {
    const int64_t count = (int64_t{64} << 20) / scale_, bytes = count * sizeof(float);
    const std::vector<float> values = Counting(count);
    float *const from = Floats(values), *const to = Floats(std::vector<float>(count));
    const auto copy = [&](int) {
      Check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, stream_));
    };
    Measure("copy of 256 MB", 2.0 * bytes, copy, to, values);
    Check(cudaFree(from));
    Check(cudaFree(to));
  }

  void Zero() {
    const int64_t count = (int64_t{64} << 20) / scale_, bytes = count * sizeof(float);
    float* const values = Floats(Counting(count));
    const auto zero = [&](int) { Check(cuda::Zero(values, bytes, stream_)); };
    Measure("zeros of 256 MB", bytes, zero, values, std::vector<float>(count));
    Check(cudaFree(values));
  }

  // Adds in place, as a write to an accumulator does.
  double Add(const char* name, int64_t count, int different) {
    std::vector<float> values = Counting(count);
    std::vector<float*> sums, terms;
    for (int i = 0; i < different; ++i) {
      sums.push_back(Floats(values));
      terms.push_back(Floats(values));
    }
    const auto add = [&](int i) {
      Check(cuda::Add(cuda::Number::kFloat, sums[i], terms[i], sums[i], count, stream_));
    };
    for (int i = 0; i < different; ++i) add(i);
    Check(cudaStreamSynchronize(stream_));
    for (float& value : values) value *= 2;
    for (const float* sum : sums) ExpectValues(name, sum, values);
    const double seconds = Stopwatch(stream_).Seconds(different, add);
    for (int i = 0; i < different; ++i) {
      Check(cudaFree(sums[i]));
      Check(cudaFree(terms[i]));
    }
    return Report(name, 3.0 * count * sizeof(float), seconds);
  }

  enum class Rows { kInOrder, kReversed };

  // Packs 100,000 rows of `width` floats. Rows in order are one segment. If they are reversed,
  // each row is a segment of its own, and the table of segments is copied from the host in each
  // call; its bytes do not count.
  void Pack(const char* name, int64_t width, Rows order) {
    const int64_t rows = 100'000 / scale_, count = rows * width;
    const std::vector<float> values = Counting(count);
    std::vector<float> want = values;
    float *const from = Floats(values), *const to = Floats(std::vector<float>(count));
    std::vector<cuda::Segment> segments;
    if (order == Rows::kInOrder) segments.push_back({from, 0});
    for (int64_t i = 0; order == Rows::kReversed && i < rows; ++i) {
      const int64_t row = rows - 1 - i;
      std::copy_n(&values[row * width], width, &want[i * width]);
      segments.push_back({from + row * width, i * width * static_cast<int64_t>(sizeof(float))});
    }
    const int64_t table_bytes = segments.size() * sizeof(cuda::Segment),
                  bytes = count * sizeof(float);
    void* table = nullptr;
    Check(cudaMalloc(&table, table_bytes));
    const auto pack = [&](int) {
      Check(cuda::Pack(segments.data(), segments.size(), table, to, bytes, stream_));
    };
    Measure(name, 2.0 * bytes, pack, to, want);
    Check(cudaFree(table));
    Check(cudaFree(from));
    Check(cudaFree(to));
  }

  const int64_t scale_;
  cudaStream_t stream_;
  double copy_ = 0;  // bandwidth of the copy, in bytes per second
};

}  // namespace

int main(int argc, char** argv) {
  const std::string unusable = cuda::WhyUnusable();
  Check(unusable.empty() ? nullptr : unusable.c_str());
  const bool fast = Benchmark(argc > 1 ? std::max(1, std::atoi(argv[1])) : 1).Run();
  if (fast || argc > 1) return 0;
  std::fprintf(stderr, "large sums are below 80 %% of the copy\n");
  return 1;
}
