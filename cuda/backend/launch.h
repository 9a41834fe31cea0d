#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/device/kernel.h"
#include "cuda/backend/check.h"
#include "cuda/backend/cuda_kernel.h"
#include "cuda/backend/cuda_queue.h"

namespace towerflow::cuda {

/// Threads of a block of the kernels in cuda/device.
inline constexpr unsigned kBlockThreads = 256;

/// Returns the blocks for a kernel whose threads take one of `units` after another (grid-stride):
/// no more than fill the device a few times.
dim3 blocks_for(const Device& device, std::int64_t units);
/// Returns a grid of one block for each of `blocks`. Throws UnimplementedError if these are more
/// than a device takes.
dim3 one_block_each(std::int64_t blocks);

/// Throws UnimplementedError if a kernel that counts in 32 bits cannot take so many elements.
void check_32_bits(std::int64_t elements, const char* kernel);

/// Launches a kernel. The arguments must have exactly the types of its parameters: sizes are
/// std::int64_t, not int.
template <class... Arguments>
void launch(CudaQueue& queue, cudaKernel_t kernel, dim3 blocks, dim3 threads,
            const Arguments&... arguments) {
  void* addresses[] = {const_cast<void*>(static_cast<const void*>(&arguments))...};
  cudaLaunchConfig_t config{};
  config.gridDim = blocks;
  config.blockDim = threads;
  config.stream = queue.stream();
  TOWERFLOW_CUDA(queue.device().table(),
                 cudaLaunchKernelExC(&config, reinterpret_cast<const void*>(kernel), addresses));
}
template <class... Arguments>
void launch(CudaQueue& queue, cudaKernel_t kernel, dim3 blocks, const Arguments&... arguments) {
  launch(queue, kernel, blocks, dim3(kBlockThreads), arguments...);
}

/// What the planner knows of a kernel besides its function.
struct KernelTraits {
  std::size_t workspace = 0;
  std::vector<InPlacePair> in_place{};
  bool checks_data = false;  ///< whether it may report that its data are wrong
  bool at_once = false;      ///< see CudaKernel::at_once
  /// The bytes that the host decides anew in each run, at most 4 KiB, and the function that writes
  /// them. `run` finds them at `CudaQueue::parameters`, and kernels read them there.
  std::size_t parameters = 0;
  std::function<void(const LaunchArgs&, std::byte*)> set_parameters{};
};

/// Makes a prepared kernel from a function `run(CudaQueue&, const LaunchArgs&)`, which puts the
/// work into the queue's stream. See CudaKernel.
template <class Run>
std::unique_ptr<PreparedKernel> make_kernel(Run run, KernelTraits traits = {}) {
  class Kernel final : public CudaKernel {
   public:
    Kernel(Run work, KernelTraits known) : run_(std::move(work)), traits_(std::move(known)) {}
    std::size_t workspace_bytes() const override { return traits_.workspace; }
    std::vector<InPlacePair> in_place() const override { return traits_.in_place; }
    bool may_fail() const override { return traits_.checks_data; }
    void run(CudaQueue& queue, const LaunchArgs& args) const override { run_(queue, args); }
    bool at_once() const override { return traits_.at_once; }
    std::size_t parameter_bytes() const override { return traits_.parameters; }
    void set_parameters(const LaunchArgs& args, std::byte* parameters) const override {
      traits_.set_parameters(args, parameters);
    }

   private:
    Run run_;
    KernelTraits traits_;
  };
  return std::make_unique<Kernel>(std::move(run), std::move(traits));
}

}  // namespace towerflow::cuda
