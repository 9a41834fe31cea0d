#pragma once

#include <cstring>
#include <string>

#include "cuda/ops/operands.h"
#include "ops/random/generator.h"

namespace towerflow::cuda {

/// The stream of a random op, which the session keeps on the host for all devices: a run takes its
/// part of it when the op is enqueued. Where it begins is a parameter of the run, which a kernel of
/// its own puts into the workspace, since those that draw advance it.
class RandomState {
 public:
  RandomState(Device& device, const KernelRequest& request, const random::Seeds& seeds)
      : kernel_(device.kernel("RandomState")), node_(request.node), seeds_(seeds) {}
  static constexpr std::size_t kBytes = 64;  ///< of the workspace

  /// Adds the parameter to the traits of a kernel that takes the part for `outputs` numbers.
  KernelTraits traits(KernelTraits made, std::int64_t outputs) const {
    made.parameters = sizeof(Begin);
    made.set_parameters = [state = *this, outputs](const LaunchArgs& args, std::byte* parameters) {
      const random::Philox base =
          random::generator_of(args, state.node_, state.seeds_).reserve_outputs(outputs);
      const Begin begin{base.key(), base.counter_low(), base.counter_high()};
      std::memcpy(parameters, &begin, sizeof begin);
    };
    return made;
  }
  /// Puts where the part begins into the workspace.
  void put(CudaQueue& queue, std::byte* workspace) const {
    launch(queue, kernel_, dim3(1), dim3(1), workspace, queue.parameters());
  }

 private:
  struct Begin {
    std::uint64_t key = 0, low = 0, high = 0;
  };

  cudaKernel_t kernel_;
  std::string node_;
  random::Seeds seeds_;
};

}  // namespace towerflow::cuda
