#pragma once

#include <cuda_runtime_api.h>

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cuda/host/device_code.h"
#include "cuda/host/fiber.h"
#include "cuda/host/host_kernel.h"
#include "cuda/host/shared_memory.h"

namespace towerflow::cuda::host {

/// Runs the blocks of one launch on the calling thread, one after another: the threads of a block
/// as fibers if they meet, else as a loop in one fiber.
class BlockRunner {
 public:
  BlockRunner(const HostKernel& kernel, const Launch& launch, void* const* arguments);

  /// Runs a block. `order` shuffles its warps and lanes, unless it is 0.
  ///
  /// errors   KernelFault
  void run(uint3 block, std::uint64_t order);

  // What the kernel calls, on one of the fibers.
  uint3 thread_index() const { return thread_; }
  uint3 block_index() const { return block_; }
  dim3 block_size() const { return launch_.threads; }
  dim3 grid_size() const { return launch_.blocks; }
  void meet_block();
  std::uint64_t exchange(Exchange kind, unsigned mask, std::uint64_t value, unsigned lane,
                         int width);
  void* shared_variable(const void* site, std::size_t bytes, std::size_t alignment);
  void* dynamic_shared();

  // What access hooks call, on one of the fibers.
  bool on_stack(const void* address) const { return running_->owns(address); }
  bool is_shared(const void* address) const { return kernel_.meets && shared_.owns(address); }
  void access_shared(const void* address, std::size_t bytes, bool write);
  bool meets() const { return kernel_.meets; }
  /// The number of the thread that runs, or, if the threads of a block meet, of the block: barriers
  /// may order the accesses of these threads, but nothing orders blocks. From 1 on.
  std::uint32_t writer() const { return writer_; }
  /// Ends the launch: the fiber that runs is abandoned, and `run` throws. The objects on the
  /// fiber's stack are not destroyed, so `what` is no string.
  [[noreturn]] void fail(cudaError_t status, const char* what);

 private:
  enum class State { ready, at_barrier, in_warp, done };
  struct Thread {
    State state = State::ready;
    uint3 index{};
    Exchange kind = Exchange::none;
    unsigned mask = 0, lane = 0;
    int width = 32;
    std::uint64_t value = 0, result = 0;
    std::unique_ptr<Fiber> fiber;
  };

  unsigned count() const { return static_cast<unsigned>(threads_.size()); }
  uint3 index_of(unsigned thread) const;
  static void run_thread(void* runner);
  static void run_loop(void* runner);
  void run_fibers();
  void resume(unsigned thread);
  void run_warp(unsigned warp);
  bool complete_exchanges(unsigned warp);
  std::uint64_t received(unsigned warp, unsigned lane) const;
  void check_fault();
  void require_meeting(const char* what);

  const HostKernel& kernel_;
  const Launch launch_;
  void* const* arguments_;
  SharedMemory shared_;
  std::vector<Thread> threads_;  // of a block whose threads meet
  std::vector<unsigned> warp_epochs_;
  std::unique_ptr<Fiber> loop_;  // of a block whose threads do not
  Fiber* running_ = nullptr;
  unsigned current_ = 0;
  std::uint32_t writer_ = 0;
  uint3 thread_{}, block_{};
  unsigned lane_order_ = 0, warp_order_ = 0;  // 0: as numbered
  std::optional<KernelFault> fault_;
};

/// The launch that the calling thread runs, nullptr if none.
BlockRunner*& active_runner();

}  // namespace towerflow::cuda::host
