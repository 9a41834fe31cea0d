#pragma once

#include <string>

#include "cuda/ops/operands.h"
#include "ops/random/generator.h"

namespace towerflow::cuda {

/// The stream of a random op, which the session keeps on the host for all devices: a run takes its
/// part of it when the op is enqueued, and the kernels get it in the workspace.
class RandomState {
 public:
  RandomState(Device& device, const KernelRequest& request, const random::Seeds& seeds)
      : kernel_(device.kernel("RandomState")), node_(request.node), seeds_(seeds) {}
  static constexpr std::size_t kBytes = 64;  ///< of the workspace

  /// Takes the part for `outputs` numbers, and puts where it begins into the workspace.
  void take(CudaQueue& queue, const LaunchArgs& args, std::int64_t outputs,
            std::byte* workspace) const {
    const random::Philox base = random::generator_of(args, node_, seeds_).reserve_outputs(outputs);
    const std::uint64_t key = base.key(), low = base.counter_low(), high = base.counter_high();
    launch(queue, kernel_, dim3(1), dim3(1), workspace, key, low, high);
  }

 private:
  cudaKernel_t kernel_;
  std::string node_;
  random::Seeds seeds_;
};

}  // namespace towerflow::cuda
