// Local response normalisation and its gradient.
#include "ops/nn/lrn_attrs.h"

#include <algorithm>

#include "cuda/ops/operands.h"

namespace towerflow::cuda {
namespace {

device::LrnShape lrn_shape_of(const KernelRequest& request) {
  const auto& attrs = request.attributes<nn::LrnAttrs>();
  const Shape& shape = request.outputs[0].shape;
  const std::int64_t channels = shape.size(3);
  check_32_bits(channels, "LRN");
  return {.rows = channels == 0 ? 0 : shape.elements() / channels,
          .channels = static_cast<int>(channels),
          .radius = static_cast<int>(
              std::clamp<std::int64_t>(attrs.depth_radius, 0, std::max<std::int64_t>(channels, 1))),
          .bias = static_cast<double>(attrs.bias),
          .alpha = static_cast<double>(attrs.alpha),
          .beta = static_cast<double>(attrs.beta)};
}

std::unique_ptr<PreparedKernel> prepare_lrn(Device& device, const KernelRequest& request) {
  const cudaKernel_t kernel = device.kernel(kernel_name("LRN", request.inputs[0].dtype));
  return make_kernel([kernel, shape = lrn_shape_of(request),
                      n = request.outputs[0].shape.elements()](CudaQueue& queue,
                                                               const LaunchArgs& args) {
    launch(queue, kernel, blocks_for(queue.device(), n), args.inputs[0], args.outputs[0], shape);
  });
}

/// Of dy, x and y. The workspace holds two numbers for each number.
std::unique_ptr<PreparedKernel> prepare_lrn_grad(Device& device, const KernelRequest& request) {
  const TensorDesc& dx = request.outputs[0];
  const cudaKernel_t terms = device.kernel(kernel_name("LRNTerms", dx.dtype));
  const cudaKernel_t kernel = device.kernel(kernel_name("LRNGrad", dx.dtype));
  return make_kernel(
      [terms, kernel, shape = lrn_shape_of(request), n = dx.shape.elements()](
          CudaQueue& queue, const LaunchArgs& args) {
        const dim3 blocks = blocks_for(queue.device(), n);
        launch(queue, terms, blocks, args.inputs[0], args.inputs[1], args.inputs[2], args.workspace,
               shape);
        launch(queue, kernel, blocks, args.inputs[0], args.inputs[1], args.workspace,
               args.outputs[0], shape);
      },
      {.workspace = 2 * dx.bytes()});
}

}  // namespace

void add_lrn_kernels(CudaEntries& entries) {
  const auto floats = takes({DType::float32, DType::float64});
  entries.push_back({"LRN", "cuda", floats, prepare_lrn});
  entries.push_back({"LRNGrad", "cuda", floats, prepare_lrn_grad});
}

}  // namespace towerflow::cuda
