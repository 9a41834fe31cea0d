// Colours in other spaces, and colours that are adjusted by a number.
#include <fmt/format.h>

#include "core/graph/error.h"
#include "cuda/ops/reduction.h"

namespace towerflow::cuda {
namespace {

std::unique_ptr<PreparedKernel> prepare_colour_space(Device& device, const KernelRequest& request) {
  const TensorDesc& x = request.inputs[0];
  const std::size_t rank = x.shape.rank();
  if (rank == 0 || x.shape.size(rank - 1) != 3) {
    throw errors::InvalidArgumentError(
        fmt::format("images must have 3 channels, got shape {}", x.shape.text()));
  }
  const cudaKernel_t kernel = device.kernel(kernel_name(request.op->name, x.dtype));
  return make_kernel(
      [kernel, pixels = x.shape.elements() / 3](CudaQueue& queue, const LaunchArgs& args) {
        launch(queue, kernel, blocks_for(queue.device(), pixels), args.inputs[0], args.outputs[0],
               pixels);
      });
}

void check_adjusted(const KernelRequest& request) {
  const Shape &x = request.inputs[0].shape, &number = request.inputs[1].shape;
  if (x.rank() < 3) {
    throw errors::InvalidArgumentError(
        fmt::format("input must be at least 3-D, got shape {}", x.text()));
  }
  if (number.rank() != 0) {
    throw errors::InvalidArgumentError(fmt::format(
        "the number that adjusts an image must be scalar, got shape {}", number.text()));
  }
}

/// Moves the numbers of each image and channel away from their mean: y = mean + (x - mean) factor.
std::unique_ptr<PreparedKernel> prepare_contrast(Device& device, const KernelRequest& request) {
  check_adjusted(request);
  const Shape& x = request.inputs[0].shape;
  const std::int64_t channels = x.size(x.rank() - 1), n = x.elements();
  const std::int64_t pixels = x.size(x.rank() - 2) * x.size(x.rank() - 3);
  const std::int64_t images = n == 0 ? 0 : n / (pixels * channels);
  const CudaReduction mean(device, {.op = "Sum",
                                    .dtype = DType::float32,
                                    .shape = Shape{images, pixels, channels},
                                    .reduced = {false, true, false},
                                    .divisor = static_cast<double>(pixels)});
  View<2> view;
  view.add(images, {pixels * channels, channels});
  view.add(pixels, {channels, 0});
  view.add(channels, {1, 1});
  device::BinaryShape by_mean, by_factor;
  by_mean.kind = device::BinaryShape::strided;
  by_mean.operands = view.strided("AdjustContrastv2");
  by_factor.kind = device::BinaryShape::right;
  const cudaKernel_t subtract = device.kernel("Sub_float32"),
                     multiply = device.kernel("Mul_float32"), add = device.kernel("AddV2_float32");
  const std::size_t bytes =
      rounded_to_pack(static_cast<std::size_t>(images * channels) * sizeof(float));
  return make_kernel(
      [=](CudaQueue& queue, const LaunchArgs& args) {
        if (n == 0) return;
        void* const y = args.outputs[0];
        const dim3 blocks = blocks_for(queue.device(), n);
        mean.run(queue, args.inputs[0], args.workspace, args.workspace + bytes);
        launch(queue, subtract, blocks, args.inputs[0], args.workspace, y, n, by_mean);
        launch(queue, multiply, blocks, y, args.inputs[1], y, n, by_factor);
        launch(queue, add, blocks, y, args.workspace, y, n, by_mean);
      },
      {.workspace = bytes + mean.workspace_bytes(), .in_place = {{0, 0}}});
}

std::unique_ptr<PreparedKernel> prepare_colour_change(Device& device,
                                                      const KernelRequest& request) {
  check_adjusted(request);
  const Shape& x = request.inputs[0].shape;
  if (const std::int64_t channels = x.size(x.rank() - 1); channels != 3) {
    throw errors::InvalidArgumentError(
        fmt::format("input must have 3 channels but instead has {} channels.", channels));
  }
  const cudaKernel_t kernel = device.kernel(kernel_name(request.op->name, DType::float32));
  return make_kernel(
      [kernel, pixels = x.elements() / 3](CudaQueue& queue, const LaunchArgs& args) {
        launch(queue, kernel, blocks_for(queue.device(), pixels), args.inputs[0], args.inputs[1],
               args.outputs[0], pixels);
      },
      {.in_place = {{0, 0}}});
}

}  // namespace

void add_colours_kernels(CudaEntries& entries) {
  for (const char* op : {"RGBToHSV", "HSVToRGB"}) {
    entries.push_back({op, "cuda", takes({DType::float32, DType::float64}), prepare_colour_space});
  }
  for (const char* op : {"AdjustHue", "AdjustSaturation"}) {
    entries.push_back({op, "cuda", takes({DType::float32}), prepare_colour_change});
  }
  entries.push_back({"AdjustContrastv2", "cuda", takes({DType::float32}), prepare_contrast});
}

}  // namespace towerflow::cuda
