// Batch normalisation and its gradient.
#include <fmt/format.h>

#include <algorithm>

#include "core/graph/error.h"
#include "cuda/ops/operands.h"
#include "ops/nn/fused_batch_norm_attrs.h"

namespace towerflow::cuda {
namespace {

/// Images or volumes as [outer, channels, inner], and how kernels are launched for them.
struct NormShape {
  NormShape(const Device& device, const TensorDesc& x, nn::VolumeFormat format) {
    const std::size_t axis = nn::volume_channel_axis(format);
    check_32_bits(x.shape.size(axis), "a batch normalisation");
    shape.channels = static_cast<int>(x.shape.size(axis));
    shape.outer = 1;
    for (std::size_t i = 0; i < axis; ++i) shape.outer *= x.shape.size(i);
    for (std::size_t i = axis + 1; i < x.shape.rank(); ++i) shape.inner *= x.shape.size(i);
    count = shape.outer * shape.inner;
    pack = static_cast<std::int64_t>(16 / dtype_size(x.dtype));
    packed = (shape.inner == 1 ? shape.channels : shape.inner) % pack == 0 ? 1 : 0;
    const std::int64_t tiles =
        shape.inner == 1 ? (shape.channels + kTile - 1) / kTile : std::int64_t{shape.channels};
    constexpr std::int64_t kLeast = 256, kMostGridY = 65535;  // elements of a part; parts
    const std::int64_t wanted =
        2 * device.properties().multiProcessorCount / std::max<std::int64_t>(tiles, 1);
    parts =
        static_cast<int>(std::clamp<std::int64_t>(std::min(wanted, count / kLeast), 1, kMostGridY));
    sums =
        dim3(static_cast<unsigned>(std::max<std::int64_t>(tiles, 1)), static_cast<unsigned>(parts));
  }
  std::int64_t elements() const { return count * shape.channels; }
  /// Returns the bytes of `rows` numbers for each channel.
  std::size_t floats(std::size_t rows) const {
    return rounded_to_pack(rows * static_cast<std::size_t>(shape.channels) * sizeof(float));
  }
  std::size_t sums_bytes() const {
    return static_cast<std::size_t>(parts) * 2 * static_cast<std::size_t>(shape.channels) *
           sizeof(double);
  }
  dim3 of_elements(const Device& device) const {
    return blocks_for(device, packed != 0 ? elements() / pack : elements());
  }

  static constexpr std::int64_t kTile = kBlockThreads;
  device::ChannelShape shape;
  std::int64_t count = 0, pack = 1;  // elements of a channel, of a thread
  int packed = 0, parts = 1;
  dim3 sums;
};

void check_old_statistics(const KernelRequest& request, std::int64_t channels) {
  const auto& attrs = request.attributes<nn::BatchNormAttrs>();
  if (attrs.norm.is_training && attrs.exponential_avg_factor == 1) return;
  for (const std::size_t i : {std::size_t{3}, std::size_t{4}}) {
    if (request.inputs[i].shape == Shape{channels}) continue;
    throw errors::InvalidArgumentError(fmt::format(
        "The running {} of a batch normalization has the shape {}, but there are {} channels.",
        i == 3 ? "mean" : "variance", request.inputs[i].shape.text(), channels));
  }
}

std::unique_ptr<PreparedKernel> prepare_batch_norm(Device& device, const KernelRequest& request) {
  const auto attrs = request.attributes<nn::BatchNormAttrs>();
  const TensorDesc& x = request.inputs[0];
  const NormShape s(device, x, attrs.norm.format);
  check_old_statistics(request, s.shape.channels);
  const cudaKernel_t shift = device.kernel(kernel_name("BatchNormShift", x.dtype));
  const cudaKernel_t sums = device.kernel(kernel_name("BatchNormSums", x.dtype));
  const cudaKernel_t statistics = device.kernel("BatchNormStatistics");
  const cudaKernel_t apply = device.kernel(kernel_name("BatchNormApply", x.dtype));
  return make_kernel(
      [=](CudaQueue& queue, const LaunchArgs& args) {
        if (s.shape.channels == 0) return;
        std::byte* const shifts = args.workspace;
        std::byte* const factors = shifts + s.floats(1);
        std::byte* const totals = factors + s.floats(1);
        const dim3 channels = blocks_for(queue.device(), s.shape.channels);
        if (attrs.norm.is_training && s.count > 0) {
          launch(queue, shift, channels, args.inputs[0], shifts, s.shape);
          launch(queue, sums, s.sums, args.inputs[0], shifts, totals, s.shape);
        }
        const device::BatchNormParameters p{.scale = args.input<float>(1),
                                            .old_mean = args.input<float>(3),
                                            .old_variance = args.input<float>(4),
                                            .running_mean = args.output<float>(1),
                                            .running_variance = args.output<float>(2),
                                            .mean = args.output<float>(3),
                                            .variance = args.output<float>(4),
                                            .factor = reinterpret_cast<float*>(factors),
                                            .epsilon = attrs.norm.epsilon,
                                            .weight = attrs.exponential_avg_factor};
        const void* const used = attrs.norm.is_training ? totals : nullptr;
        launch(queue, statistics, channels, used, s.parts, shifts, p, s.shape);
        if (s.count == 0) return;
        launch(queue, apply, s.of_elements(queue.device()), args.inputs[0], args.outputs[3],
               factors, args.inputs[2], args.outputs[0], s.shape, s.packed);
      },
      {.workspace = 2 * s.floats(1) + s.sums_bytes(), .in_place = {{0, 0}}});
}

/// Of dy, x, the scale, and the mean and variance of the forward pass.
std::unique_ptr<PreparedKernel> prepare_batch_norm_grad(Device& device,
                                                        const KernelRequest& request) {
  const auto attrs = request.attributes<nn::BatchNormGradAttrs>();
  const TensorDesc& x = request.inputs[1];
  const NormShape s(device, x, attrs.format);
  const cudaKernel_t sums = device.kernel(kernel_name("BatchNormGradSums", x.dtype));
  const cudaKernel_t statistics = device.kernel("BatchNormGradStatistics");
  const cudaKernel_t apply = device.kernel(kernel_name("BatchNormGradApply", x.dtype));
  return make_kernel(
      [=](CudaQueue& queue, const LaunchArgs& args) {
        if (s.shape.channels == 0) return;
        std::byte* const params = args.workspace;
        std::byte* const totals = params + s.floats(4);
        launch(queue, sums, s.sums, args.inputs[0], args.inputs[1], args.inputs[3], totals,
               s.shape);
        const int is_training = attrs.is_training ? 1 : 0;
        launch(queue, statistics, blocks_for(queue.device(), s.shape.channels), totals, s.parts,
               args.inputs[3], args.inputs[4], args.inputs[2], args.outputs[1], args.outputs[2],
               params, attrs.epsilon, is_training, s.shape);
        if (s.count == 0) return;
        launch(queue, apply, s.of_elements(queue.device()), args.inputs[0], args.inputs[1], params,
               args.outputs[0], s.shape, s.packed);
      },
      {.workspace = s.floats(4) + s.sums_bytes(), .in_place = {{0, 0}, {0, 1}}});
}

}  // namespace

void add_fused_batch_norm_kernels(CudaEntries& entries) {
  // Statistics are float32: images of float64 are for the CPU.
  const auto images = {DType::float32, DType::float16, DType::bfloat16};
  entries.push_back({"FusedBatchNormV3", "cuda", takes(images), prepare_batch_norm});
  entries.push_back({"FusedBatchNormGradV3", "cuda", takes(images, 1), prepare_batch_norm_grad});
}

}  // namespace towerflow::cuda
