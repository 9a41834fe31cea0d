// Samples of classes, with the bits of the CPU's.
#include <fmt/format.h>

#include "core/graph/error.h"
#include "cuda/ops/random_state.h"
#include "ops/random/attributes.h"

namespace towerflow::cuda {
namespace {

/// The workspace holds the state of the generator, the weights of the classes and their sums.
std::unique_ptr<PreparedKernel> prepare_multinomial(Device& device, const KernelRequest& request) {
  const TensorDesc &logits = request.inputs[0], &y = request.outputs[0];
  const std::int64_t batch = logits.shape.size(0), classes = logits.shape.size(1),
                     samples = y.shape.size(1);
  if (classes == 0 && samples > 0) {
    throw errors::InvalidArgumentError("num_classes should be positive, got 0");
  }
  check_32_bits(batch, "Multinomial");
  const RandomState state(device, request, request.attributes<MultinomialAttrs>().seeds);
  const cudaKernel_t weigh = device.kernel(kernel_name("MultinomialWeights", logits.dtype));
  const cudaKernel_t add = device.kernel("Cumsum_columns_float64");
  const cudaKernel_t draw = device.kernel(kernel_name("MultinomialDraw", y.dtype));
  const std::size_t bytes =
      rounded_to_pack(static_cast<std::size_t>(batch * classes) * sizeof(double));
  // The amount that TensorFlow reserves, in words for doubles.
  const std::int64_t reserved = batch * ((samples + 3) / 4 * 4) * 2;
  return make_kernel(
      [=](CudaQueue& queue, const LaunchArgs& args) {
        if (batch == 0 || samples == 0) return;
        state.put(queue, args.workspace);
        std::byte* const weights = args.workspace + RandomState::kBytes;
        std::byte* const sums = weights + bytes;
        const std::int64_t inner = 1;
        const int exclusive = 0, reverse = 0;
        launch(queue, weigh, blocks_for(queue.device(), batch * kBlockThreads), args.inputs[0],
               weights, batch, classes);
        launch(queue, add, blocks_for(queue.device(), batch), weights, sums, batch, classes, inner,
               exclusive, reverse);
        launch(queue, draw, blocks_for(queue.device(), batch * samples), args.workspace, sums,
               args.outputs[0], batch, classes, samples);
      },
      state.traits({.workspace = RandomState::kBytes + 2 * bytes}, reserved));
}

bool accepts_multinomial(const KernelRequest& request) {
  const DType dtype = request.inputs[0].dtype;
  return request.outputs[0].shape.fully_known() &&
         (dtype == DType::float32 || dtype == DType::float64);
}

}  // namespace

void add_multinomial_kernels(CudaEntries& entries) {
  entries.push_back({"Multinomial", "cuda", accepts_multinomial, prepare_multinomial});
}

}  // namespace towerflow::cuda
