// The sum of images and a bias for each channel, and its gradient.
#include "cuda/ops/pair.h"
#include "cuda/ops/reduction.h"
#include "ops/nn/bias_add_attrs.h"

namespace towerflow::cuda {
namespace {

std::size_t channel_axis(const KernelRequest& request) {
  const bool last = request.attributes<nn::BiasAddAttrs>().format == nn::DataFormat::nhwc;
  return last ? request.inputs[0].shape.rank() - 1 : 1;
}

std::unique_ptr<PreparedKernel> prepare_bias_add(Device& device, const KernelRequest& request) {
  const TensorDesc& y = request.outputs[0];
  const std::int64_t n = y.shape.elements();
  std::vector<std::int64_t> bias(y.shape.rank(), 0);
  bias[channel_axis(request)] = 1;
  const device::BinaryShape shape = pair_shape(request, row_major_strides(y.shape), bias);
  const cudaKernel_t kernel = device.kernel(kernel_name("AddV2", y.dtype));
  return make_kernel(
      [kernel, n, shape](CudaQueue& queue, const LaunchArgs& args) {
        launch(queue, kernel, blocks_for(queue.device(), n), args.inputs[0], args.inputs[1],
               args.outputs[0], n, shape);
      },
      {.in_place = {{0, 0}}});
}

std::unique_ptr<PreparedKernel> prepare_bias_add_grad(Device& device,
                                                      const KernelRequest& request) {
  const TensorDesc& dy = request.inputs[0];
  std::vector<bool> reduced(dy.shape.rank(), true);
  reduced[channel_axis(request)] = false;
  return prepare_reduction(
      device, {.op = "Sum", .dtype = dy.dtype, .shape = dy.shape, .reduced = std::move(reduced)});
}

}  // namespace

void add_bias_add_kernels(CudaEntries& entries) {
  entries.push_back({"BiasAdd", "cuda",
                     takes({DType::float32, DType::float64, DType::float16, DType::bfloat16,
                            DType::int32, DType::int64}),
                     prepare_bias_add});
  entries.push_back({"BiasAddGrad", "cuda",
                     takes({DType::float32, DType::float64, DType::int32, DType::int64,
                            DType::float16, DType::bfloat16}),
                     prepare_bias_add_grad});
}

}  // namespace towerflow::cuda
