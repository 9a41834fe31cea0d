// Leaky relu and its gradient.
#include "cuda/ops/operands.h"
#include "ops/nn/leaky_relu_attrs.h"

namespace towerflow::cuda {
namespace {

std::unique_ptr<PreparedKernel> prepare_leaky_relu(Device& device, const KernelRequest& request) {
  const std::int64_t n = request.outputs[0].shape.elements();
  const double alpha = request.attributes<nn::LeakyReluAttrs>().alpha;
  const cudaKernel_t kernel = device.kernel(kernel_name(request.op->name, request.inputs[0].dtype));
  if (request.inputs.size() == 1) {
    return make_kernel(
        [kernel, n, alpha](CudaQueue& queue, const LaunchArgs& args) {
          launch(queue, kernel, blocks_for(queue.device(), n), args.inputs[0], args.outputs[0], n,
                 alpha);
        },
        {.in_place = {{0, 0}}});
  }
  return make_kernel(
      [kernel, n, alpha](CudaQueue& queue, const LaunchArgs& args) {
        launch(queue, kernel, blocks_for(queue.device(), n), args.inputs[0], args.inputs[1],
               args.outputs[0], n, alpha);
      },
      {.in_place = {{0, 0}, {0, 1}}});
}

}  // namespace

void add_activations_kernels(CudaEntries& entries) {
  const auto floats = takes({DType::float32, DType::float64, DType::float16, DType::bfloat16});
  entries.push_back({"LeakyRelu", "cuda", floats, prepare_leaky_relu});
  entries.push_back({"LeakyReluGrad", "cuda", floats, prepare_leaky_relu});
}

}  // namespace towerflow::cuda
