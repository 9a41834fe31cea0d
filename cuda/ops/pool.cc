// Pooling of images and its gradients.
#include <fmt/format.h>

#include "core/graph/error.h"
#include "cuda/ops/operands.h"
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
  entries.push_back({"AvgPool", "cuda", takes(floats), prepare_avg_pool});
  entries.push_back({"AvgPoolGrad", "cuda", takes(floats, 1), prepare_avg_pool_grad});
}

}  // namespace towerflow::cuda
