#pragma once

#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <random>
#include <vector>

#include "cuda/host/control.h"
#include "cuda/host/libraries.h"
#include "cuda/host/runtime.h"

namespace towerflow::cuda::testing {

/// The table of the emulation on the host, with all libraries.
inline const Table& emulation() {
  static const Table table = [] {
    Table filled;
    host::add_runtime(filled);
    host::fill_cublaslt(filled);
    host::fill_cudnn(filled);
    host::fill_nccl(filled);
    host::fill_nvrtc(filled);
    return filled;
  }();
  return table;
}

/// Starts the emulation anew, as it has to be after a fault.
inline void restart(int devices = 1) { host::restart({.devices = devices}); }

/// A stream of the current device, for the time of a test.
class TestStream {
 public:
  TestStream() {
    CHECK(emulation().cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking) == 0);
  }
  ~TestStream() { emulation().cudaStreamDestroy(stream_); }
  TestStream(const TestStream&) = delete;
  TestStream& operator=(const TestStream&) = delete;

  operator cudaStream_t() const { return stream_; }
  cudaError_t wait() const { return emulation().cudaStreamSynchronize(stream_); }

 private:
  cudaStream_t stream_ = nullptr;
};

/// Device memory with the values of a vector.
template <typename T>
class DeviceArray {
 public:
  explicit DeviceArray(std::vector<T> values) : values_(std::move(values)) {
    void* at = nullptr;
    REQUIRE(emulation().cudaMalloc(&at, std::max<std::size_t>(1, bytes())) == cudaSuccess);
    at_ = static_cast<T*>(at);
    copy(at_, values_.data(), cudaMemcpyHostToDevice);
  }
  explicit DeviceArray(std::size_t count) : DeviceArray(std::vector<T>(count)) {}
  ~DeviceArray() { emulation().cudaFree(at_); }
  DeviceArray(const DeviceArray&) = delete;
  DeviceArray& operator=(const DeviceArray&) = delete;

  T* get() const { return at_; }
  /// The values from which the array was made.
  const std::vector<T>& initial() const { return values_; }
  std::vector<T> read() const {
    std::vector<T> values(values_.size());
    copy(values.data(), at_, cudaMemcpyDeviceToHost);
    return values;
  }

 private:
  std::size_t bytes() const { return values_.size() * sizeof(T); }
  void copy(void* to, const void* from, cudaMemcpyKind kind) const {
    const TestStream stream;
    CHECK(emulation().cudaMemcpyAsync(to, from, bytes(), kind, stream) == cudaSuccess);
    CHECK(stream.wait() == cudaSuccess);
  }

  std::vector<T> values_;
  T* at_ = nullptr;
};

/// Returns values between -1 and 1 that depend on the seed alone.
inline std::vector<double> random_values(std::size_t count, unsigned seed) {
  std::mt19937 generator(seed);
  std::uniform_real_distribution<double> uniform(-1, 1);
  std::vector<double> values(count);
  for (double& value : values) value = uniform(generator);
  return values;
}

/// Returns the largest difference, relative to the largest expected value; infinite for NaN.
inline double largest_error(const std::vector<double>& actual,
                            const std::vector<double>& expected) {
  if (actual.size() != expected.size()) return INFINITY;
  double scale = 1e-30, error = 0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    scale = std::max(scale, std::abs(expected[i]));
    const double difference = std::abs(actual[i] - expected[i]);
    if (!(difference <= error)) error = std::isnan(difference) ? INFINITY : difference;
  }
  return error / scale;
}

}  // namespace towerflow::cuda::testing
