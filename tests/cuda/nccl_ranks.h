#pragma once

#include <algorithm>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "cuda/host/nccl_clique.h"
#include "tests/cuda/libraries.h"

namespace towerflow::cuda::testing {

using std::chrono::milliseconds;

/// Several devices, each with a rank, a stream and memory.
class Ranks {
 public:
  explicit Ranks(int count) : count_(count) {
    restart(std::max(count, 2));
    host::set_nccl_patience(milliseconds(10'000));
    comms = make();
    for (int rank = 0; rank < count; ++rank) {
      emulation().cudaSetDevice(rank);
      cudaStream_t stream = nullptr;
      CHECK(emulation().cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking) == cudaSuccess);
      streams.push_back(stream);
    }
    emulation().cudaSetDevice(0);
  }
  ~Ranks() { restart(); }
  Ranks(const Ranks&) = delete;
  Ranks& operator=(const Ranks&) = delete;

  int count() const { return count_; }

  std::vector<ncclComm_t> make() const {
    std::vector<ncclComm_t> made(static_cast<std::size_t>(count_), nullptr);
    CHECK(emulation().ncclCommInitAll(made.data(), count_, nullptr) == ncclSuccess);
    return made;
  }

  /// Calls `f(rank)` in a thread for each rank, with its device current.
  void in_threads(const std::function<void(int)>& f) const {
    std::vector<std::thread> threads;
    for (int rank = 0; rank < count_; ++rank) {
      threads.emplace_back([&f, rank] {
        emulation().cudaSetDevice(rank);
        f(rank);
      });
    }
    for (std::thread& thread : threads) thread.join();
  }

  ncclComm_t comm(int rank) const { return comms[static_cast<std::size_t>(rank)]; }
  cudaStream_t stream(int rank) const { return streams[static_cast<std::size_t>(rank)]; }
  cudaError_t wait(int rank) const { return emulation().cudaStreamSynchronize(stream(rank)); }

  std::vector<ncclComm_t> comms;
  std::vector<cudaStream_t> streams;

 private:
  const int count_;
};

/// One array on each device.
template <typename T>
class Arrays {
 public:
  Arrays(const Ranks& ranks, const std::function<std::vector<T>(int)>& values) {
    for (int rank = 0; rank < ranks.count(); ++rank) {
      emulation().cudaSetDevice(rank);
      arrays_.push_back(std::make_unique<DeviceArray<T>>(values(rank)));
    }
    emulation().cudaSetDevice(0);
  }
  Arrays(const Ranks& ranks, std::size_t count)
      : Arrays(ranks, [count](int) { return std::vector<T>(count, T(-1)); }) {}

  T* at(int rank) const { return arrays_[static_cast<std::size_t>(rank)]->get(); }
  std::vector<T> read(int rank) const { return arrays_[static_cast<std::size_t>(rank)]->read(); }

 private:
  std::vector<std::unique_ptr<DeviceArray<T>>> arrays_;
};

inline std::vector<float> floats(int rank, std::size_t count) {
  const std::vector<double> values = random_values(count, static_cast<unsigned>(rank) + 1);
  return std::vector<float>(values.begin(), values.end());
}

}  // namespace towerflow::cuda::testing
