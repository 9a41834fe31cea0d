#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <vector>

#include "cuda/host/control.h"
#include "cuda/host/runtime.h"
#include "cuda/host/work.h"

namespace towerflow::cuda {

/// The emulation, started anew for a test, and its table.
class Emulation : public Table {
 public:
  explicit Emulation(const host::Options& options = {}) {
    host::restart(options);
    host::add_runtime(*this);
  }
  ~Emulation() { host::restart({}); }
  Emulation(const Emulation&) = delete;
  Emulation& operator=(const Emulation&) = delete;

  cudaStream_t stream(unsigned flags = cudaStreamNonBlocking) const {
    cudaStream_t made = nullptr;
    cudaStreamCreateWithFlags(&made, flags);
    return made;
  }
  cudaEvent_t event(unsigned flags = cudaEventDisableTiming) const {
    cudaEvent_t made = nullptr;
    cudaEventCreateWithFlags(&made, flags);
    return made;
  }
  /// Device memory.
  std::byte* memory(std::size_t bytes) const { return allocate(cudaMalloc, bytes); }
  std::byte* pinned(std::size_t bytes) const {
    void* made = nullptr;
    cudaHostAlloc(&made, bytes, cudaHostAllocDefault);
    return static_cast<std::byte*>(made);
  }

  /// Puts work without any effect into a stream.
  static cudaError_t access(cudaStream_t stream, const char* what,
                            std::vector<host::Operand> operands) {
    return host::enqueue(
        stream, {.what = what, .operands = std::move(operands), .run = [] { return cudaSuccess; }});
  }
  static cudaError_t write(cudaStream_t stream, const void* at, std::size_t bytes,
                           const char* what = "writer") {
    return access(stream, what, {{.at = at, .bytes = bytes, .written = true}});
  }
  static cudaError_t read(cudaStream_t stream, const void* at, std::size_t bytes,
                          const char* what = "reader") {
    return access(stream, what, {{.at = at, .bytes = bytes}});
  }
  /// Puts work into a stream that is nothing but a function.
  static cudaError_t run(cudaStream_t stream, std::function<cudaError_t()> function) {
    return host::enqueue(stream, {.what = "work", .operands = {}, .run = std::move(function)});
  }

 private:
  static std::byte* allocate(types::cudaMalloc call, std::size_t bytes) {
    void* made = nullptr;
    call(&made, bytes);
    return static_cast<std::byte*>(made);
  }
};

/// A door that work of streams waits at until the test opens it.
class Gate {
 public:
  void open() {
    open_ = true;
    open_.notify_all();
  }
  std::function<cudaError_t()> wait() {
    return [this] {
      open_.wait(false);
      return cudaSuccess;
    };
  }

 private:
  std::atomic<bool> open_ = false;
};

}  // namespace towerflow::cuda
