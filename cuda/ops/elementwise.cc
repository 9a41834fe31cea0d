// Chains of elementwise ops in one pass over memory.
#include <algorithm>
#include <limits>
#include <utility>

#include "cuda/ops/chain_arguments.h"
#include "cuda/ops/chain_source.h"
#include "cuda/ops/chain_threshold.h"
#include "cuda/ops/operands.h"
#include "ops/elementwise/program.h"

namespace towerflow::cuda {
namespace {

using device::Chain;

/// Returns whether a chain is large enough to be compiled.
bool accepts_large_chain(const KernelRequest& request) {
  const Shape& shape = request.attributes<ElementwiseProgram>().shape;
  const auto is_known = [](const TensorDesc& input) { return input.shape.fully_known(); };
  return accepts_chain(request) && shape.fully_known() &&
         std::all_of(request.inputs.begin(), request.inputs.end(), is_known) &&
         shape.elements() >= least_compiled_elements() &&
         shape.elements() <= std::numeric_limits<std::int32_t>::max();
}

/// `kernel` interprets chains, or is the one of this chain.
std::unique_ptr<PreparedKernel> prepare_chain(cudaKernel_t kernel, const KernelRequest& request) {
  const std::int64_t n = request.outputs[0].shape.elements();
  KernelTraits traits;
  for (std::size_t i = 0; i < request.inputs.size(); ++i) {
    if (request.inputs[i] == request.outputs[0])
      traits.in_place.push_back({0, static_cast<int>(i)});
  }
  return make_kernel(
      [kernel, prepared = chain_of(request), n](CudaQueue& queue, const LaunchArgs& args) {
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

/// The time of a smaller one is that of its launch: 2^16 elements are 64 blocks, fewer than a large
/// card has multiprocessors, whose threads go through the steps once.
std::atomic<std::int64_t>& least_compiled_elements() {
  static std::atomic<std::int64_t> elements{1 << 16};
  return elements;
}

void add_elementwise_kernels(CudaEntries& entries) {
  const auto compiled = [](const Device& device, const KernelRequest& request) {
    return device.compiled(chain_source(chain_of(request)));
  };
  entries.push_back({.op = "_Elementwise",
                     .label = "NVRTC",
                     .accepts = accepts_large_chain,
                     .prepare =
                         [compiled](Device& device, const KernelRequest& request) {
                           return prepare_chain(compiled(device, request), request);
                         },
                     .works_on = compiled});
  entries.push_back(
      {"_Elementwise", "cuda", accepts_chain, [](Device& device, const KernelRequest& request) {
         return prepare_chain(device.kernel("Chain_float32"), request);
       }});
}

}  // namespace towerflow::cuda
