// Chains of elementwise ops in one pass over memory.
#include <utility>

#include "cuda/ops/chain_arguments.h"
#include "cuda/ops/operands.h"

namespace towerflow::cuda {
namespace {

using device::Chain;

std::unique_ptr<PreparedKernel> prepare_chain(Device& device, const KernelRequest& request) {
  const std::int64_t n = request.outputs[0].shape.elements();
  KernelTraits traits;
  for (std::size_t i = 0; i < request.inputs.size(); ++i) {
    if (request.inputs[i] == request.outputs[0])
      traits.in_place.push_back({0, static_cast<int>(i)});
  }
  return make_kernel(
      [kernel = device.kernel("Chain_float32"), prepared = chain_of(request), n](
          CudaQueue& queue, const LaunchArgs& args) {
        if (n == 0) return;
        Chain chain = prepared;
        for (int i = 0; i < chain.inputs; ++i) chain.input[i].data = args.inputs[i];
        chain.result = args.outputs[0];
        launch(queue, kernel,
               blocks_for(queue.device(), (n + device::kChainPack - 1) / device::kChainPack), chain,
               n);
      },
      std::move(traits));
}

}  // namespace

void add_elementwise_kernels(CudaEntries& entries) {
  entries.push_back({"_Elementwise", "cuda", accepts_chain, prepare_chain});
}

}  // namespace towerflow::cuda
