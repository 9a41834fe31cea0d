// Pooling of images and its gradients.
#include <fmt/format.h>

#include <algorithm>

#include "core/graph/error.h"
#include "cuda/ops/reduction.h"
#include "ops/nn/pool_attrs.h"

namespace towerflow::cuda {
namespace {

device::PoolShape pool_shape(const PoolGeometry& g) {
  const auto axis = [](const WindowAxis& a) {
    check_32_bits(a.input, "pooling");
    return device::PoolShape::Axis{.input = static_cast<int>(a.input),
                                   .window = static_cast<int>(a.window),
                                   .stride = static_cast<int>(a.stride),
                                   .output = static_cast<int>(a.output),
                                   .pad_before = static_cast<int>(a.pad_before)};
  };
  constexpr std::int64_t kMostWindow = 65535;
  if (g.rows.window * g.columns.window >= kMostWindow) {
    throw errors::UnimplementedError(
        fmt::format("pooling on a GPU takes windows of fewer than {} elements", kMostWindow));
  }
  check_32_bits(g.batch, "pooling");
  return {.batch = static_cast<int>(g.batch),
          .channels = static_cast<int>(g.channels),
          .rows = axis(g.rows),
          .columns = axis(g.columns)};
}

/// A pooling kernel and how it is launched.
struct Pool {
  Pool(Device& device, const char* op, DType dtype, const PoolGeometry& g)
      : kernel(device.kernel(kernel_name(op, dtype))),
        shape(pool_shape(g)),
        pack(static_cast<std::int64_t>(16 / dtype_size(dtype))),
        packed(g.channels % pack == 0 ? 1 : 0),
        results(g.batch * g.result_elements()),
        images(g.batch * g.image_elements()) {}
  /// Returns the blocks for a kernel whose threads compute these elements.
  dim3 blocks(const Device& device, std::int64_t elements) const {
    return blocks_for(device, packed != 0 ? elements / pack : elements);
  }

  cudaKernel_t kernel;
  device::PoolShape shape;
  std::int64_t pack;
  int packed;
  std::int64_t results, images;
};

using Index = std::uint16_t;
constexpr std::nullptr_t kNoIndex = nullptr;

PoolGeometry max_pool_geometry(const KernelRequest& request) {
  const auto& attrs = request.attributes<nn::MaxPoolAttrs>();
  return nn::pool_geometry(attrs.pool, request.inputs[0].shape, attrs.explicit_paddings);
}

std::unique_ptr<PreparedKernel> prepare_max_pool(Device& device, const KernelRequest& request) {
  const Pool pool(device, "MaxPool", request.inputs[0].dtype, max_pool_geometry(request));
  return make_kernel([pool](CudaQueue& queue, const LaunchArgs& args) {
    launch(queue, pool.kernel, pool.blocks(queue.device(), pool.results), args.inputs[0],
           args.outputs[0], kNoIndex, pool.shape, pool.packed);
  });
}

/// The places of the largest elements are found again, so that the forward pass need not keep them.
std::unique_ptr<PreparedKernel> prepare_max_pool_grad(Device& device,
                                                      const KernelRequest& request) {
  const PoolGeometry g = max_pool_geometry(request);
  const DType dtype = request.inputs[0].dtype;
  const Pool forward(device, "MaxPool", dtype, g), backward(device, "MaxPoolGrad", dtype, g);
  return make_kernel(
      [forward, backward](CudaQueue& queue, const LaunchArgs& args) {
        auto* const index = reinterpret_cast<Index*>(args.workspace);
        void* const no_result = nullptr;
        launch(queue, forward.kernel, forward.blocks(queue.device(), forward.results),
               args.inputs[0], no_result, index, forward.shape, forward.packed);
        launch(queue, backward.kernel, backward.blocks(queue.device(), backward.images), index,
               args.inputs[2], args.outputs[0], backward.shape, backward.packed);
      },
      {.workspace = static_cast<std::size_t>(forward.results) * sizeof(Index)});
}

/// The gradient of pooling y, the result of a relu, and of the relu; output 1, if there is one, is
/// its sum over all but the channels.
std::unique_ptr<PreparedKernel> prepare_max_pool_relu_grad(Device& device,
                                                           const KernelRequest& request) {
  const auto& attrs = request.attributes<nn::MaxPoolReluGradAttrs>();
  const PoolGeometry g = nn::pool_geometry(attrs.pool, request.inputs[0].shape);
  const TensorDesc& dx = request.outputs[0];
  const Pool forward(device, "MaxPool", dx.dtype, g),
      backward(device, "MaxPoolReluGrad", dx.dtype, g);
  const CudaReduction sums(
      device,
      {.op = "Sum", .dtype = dx.dtype, .shape = dx.shape, .reduced = {true, true, true, false}});
  const std::size_t places = static_cast<std::size_t>(forward.results) * sizeof(Index);
  return make_kernel(
      [forward, backward, sums, adds = attrs.channel_sums](CudaQueue& queue,
                                                           const LaunchArgs& args) {
        auto* const index = reinterpret_cast<Index*>(args.workspace);
        void* const no_result = nullptr;
        launch(queue, forward.kernel, forward.blocks(queue.device(), forward.results),
               args.inputs[0], no_result, index, forward.shape, forward.packed);
        launch(queue, backward.kernel, backward.blocks(queue.device(), backward.images), index,
               args.inputs[1], args.inputs[0], args.outputs[0], backward.shape, backward.packed);
        if (adds) sums.run(queue, args.outputs[0], args.outputs[1], args.workspace);
      },
      {.workspace = std::max(places, sums.workspace_bytes())});
}

/// Of the images, the result of pooling them, and the gradient of the images' gradient.
std::unique_ptr<PreparedKernel> prepare_max_pool_grad_grad(Device& device,
                                                           const KernelRequest& request) {
  const PoolGeometry g =
      nn::pool_geometry(request.attributes<nn::PoolAttrs>(), request.inputs[0].shape);
  const DType dtype = request.inputs[0].dtype;
  const Pool forward(device, "MaxPool", dtype, g), again(device, "MaxPoolGradGrad", dtype, g);
  return make_kernel(
      [forward, again](CudaQueue& queue, const LaunchArgs& args) {
        auto* const index = reinterpret_cast<Index*>(args.workspace);
        void* const no_result = nullptr;
        launch(queue, forward.kernel, forward.blocks(queue.device(), forward.results),
               args.inputs[0], no_result, index, forward.shape, forward.packed);
        launch(queue, again.kernel, blocks_for(queue.device(), again.results), index,
               args.inputs[2], args.outputs[0], again.shape);
      },
      {.workspace = static_cast<std::size_t>(forward.results) * sizeof(Index)});
}

std::unique_ptr<PreparedKernel> prepare_max_pool_argmax(Device& device,
                                                        const KernelRequest& request) {
  const auto& attrs = request.attributes<nn::ArgmaxAttrs>();
  const PoolGeometry g = nn::pool_geometry(attrs.pool.pool(), request.inputs[0].shape);
  const DType dtype = request.inputs[0].dtype;
  const Pool forward(device, "MaxPool", dtype, g);
  const cudaKernel_t kernel =
      device.kernel(fmt::format("MaxPoolArgmax_{}_{}", dtype_name(dtype), dtype_name(attrs.index)));
  const int with_batch = attrs.pool.include_batch_in_index ? 1 : 0;
  return make_kernel(
      [forward, kernel, with_batch](CudaQueue& queue, const LaunchArgs& args) {
        auto* const index = reinterpret_cast<Index*>(args.workspace);
        void* const no_result = nullptr;
        launch(queue, forward.kernel, forward.blocks(queue.device(), forward.results),
               args.inputs[0], no_result, index, forward.shape, forward.packed);
        launch(queue, kernel, blocks_for(queue.device(), forward.results), args.inputs[0], index,
               args.outputs[0], args.outputs[1], with_batch, forward.shape);
      },
      {.workspace = static_cast<std::size_t>(forward.results) * sizeof(Index)});
}

std::unique_ptr<PreparedKernel> prepare_avg_pool(Device& device, const KernelRequest& request) {
  const Pool pool(device, "AvgPool", request.inputs[0].dtype,
                  nn::pool_geometry(request.attributes<nn::PoolAttrs>(), request.inputs[0].shape));
  return make_kernel([pool](CudaQueue& queue, const LaunchArgs& args) {
    launch(queue, pool.kernel, pool.blocks(queue.device(), pool.results), args.inputs[0],
           args.outputs[0], pool.shape, pool.packed);
  });
}

std::unique_ptr<PreparedKernel> prepare_avg_pool_grad(Device& device,
                                                      const KernelRequest& request) {
  const Pool pool(device, "AvgPoolGrad", request.outputs[0].dtype,
                  nn::pool_geometry(request.attributes<nn::PoolAttrs>(), request.outputs[0].shape));
  return make_kernel([pool](CudaQueue& queue, const LaunchArgs& args) {
    launch(queue, pool.kernel, pool.blocks(queue.device(), pool.images), args.inputs[1],
           args.outputs[0], pool.shape, pool.packed);
  });
}

}  // namespace

void add_pool_kernels(CudaEntries& entries) {
  const auto floats = {DType::float32, DType::float64, DType::float16, DType::bfloat16};
  entries.push_back({"MaxPool", "cuda", takes(floats), prepare_max_pool});
  entries.push_back({"MaxPoolGrad", "cuda", takes(floats), prepare_max_pool_grad});
  entries.push_back(
      {"_MaxPoolReluGrad", "cuda", takes({DType::float32}), prepare_max_pool_relu_grad});
  entries.push_back({"MaxPoolGradGrad", "cuda", takes(floats), prepare_max_pool_grad_grad});
  entries.push_back({"MaxPoolWithArgmax", "cuda", takes(floats), prepare_max_pool_argmax});
  entries.push_back({"AvgPool", "cuda", takes(floats), prepare_avg_pool});
  entries.push_back({"AvgPoolGrad", "cuda", takes(floats, 1), prepare_avg_pool_grad});
}

}  // namespace towerflow::cuda
