// Slices of a tensor that indices name.
#include <fmt/format.h>

#include "core/graph/error.h"
#include "cuda/ops/slice_rows.h"
#include "ops/array/gather_attrs.h"
#include "ops/kernel_dims.h"

namespace towerflow::cuda {
namespace {

/// The gather kernel, which copies rows of `width` elements that are as wide as they can be.
struct RowGather {
  RowGather(Device& device, DType dtype, DType index, std::int64_t elements) : width(elements) {
    constexpr std::size_t kWidest = 16;
    bytes = dtype_size(dtype);
    while (bytes < kWidest && width % 2 == 0 && width > 0) {
      bytes *= 2;
      width /= 2;
    }
    kernel = device.kernel(fmt::format("Gather_{}_{}", bytes, dtype_name(index)));
  }
  void run(CudaQueue& queue, const void* params, const void* indices, void* out,
           device::DataError* error, std::int64_t outer, std::int64_t size,
           std::int64_t count) const {
    launch(queue, kernel, blocks_for(queue.device(), outer * count * width), params, indices, out,
           error, outer, size, count, width);
  }

  std::size_t bytes;
  std::int64_t width;
  cudaKernel_t kernel;
};

/// A record for kernels whose errors are not reported, or were before.
device::DataError* unread_error(std::byte* at) { return reinterpret_cast<device::DataError*>(at); }

struct GatherSizes {
  GatherSizes(const KernelRequest& request, std::size_t axis, std::size_t batch_dims)
      : size(request.inputs[0].shape.size(axis)) {
    const Shape &params = request.inputs[0].shape, &indices = request.inputs[1].shape;
    for (std::size_t d = 0; d < params.rank(); ++d) {
      if (d != axis) (d < batch_dims ? batch : d < axis ? outer : width) *= params.size(d);
    }
    for (std::size_t d = batch_dims; d < indices.rank(); ++d) count *= indices.size(d);
  }
  std::int64_t batch = 1, outer = 1, size, count = 1, width = 1;
};

std::unique_ptr<PreparedKernel> prepare_gather(Device& device, const KernelRequest& request) {
  const Shape &params = request.inputs[0].shape, &indices = request.inputs[1].shape;
  const std::size_t axis = checked_axis(integers_of(request.values.at(2))[0], params.rank());
  std::int64_t batch_dims =
      request.attrs->empty() ? 0 : request.attributes<GatherAttrs>().batch_dims;
  if (batch_dims < 0) batch_dims += static_cast<std::int64_t>(indices.rank());
  const GatherSizes sizes(request, axis, static_cast<std::size_t>(batch_dims));
  const RowGather gather(device, request.inputs[0].dtype, request.inputs[1].dtype, sizes.width);
  const auto bytes = static_cast<std::int64_t>(dtype_size(request.inputs[0].dtype));
  const auto index_bytes = static_cast<std::int64_t>(dtype_size(request.inputs[1].dtype));
  std::vector<CudaQueue::MakeError> make_errors;  // of each batch
  for (std::int64_t b = 0; b < sizes.batch; ++b) {
    make_errors.push_back([size = sizes.size,
                           before = b * sizes.count](const device::DataError& found) {
      return std::make_exception_ptr(errors::InvalidArgumentError(fmt::format(
          "indices[{}] = {} is not in [0, {})", before + found.position(), found.value(), size)));
    });
  }
  const bool is_empty = request.outputs[0].shape.elements() == 0;
  return make_kernel(
      [=](CudaQueue& queue, const LaunchArgs& args) {
        if (is_empty) return;
        for (std::int64_t b = 0; b < sizes.batch; ++b) {
          const std::int64_t rows = b * sizes.outer;
          gather.run(queue, args.input<std::byte>(0) + rows * sizes.size * sizes.width * bytes,
                     args.input<std::byte>(1) + b * sizes.count * index_bytes,
                     args.output<std::byte>(0) + rows * sizes.count * sizes.width * bytes,
                     queue.error_record(make_errors[static_cast<std::size_t>(b)]), sizes.outer,
                     sizes.size, sizes.count);
        }
      },
      {.checks_data = true});
}

std::unique_ptr<PreparedKernel> prepare_gather_or_zero(Device& device,
                                                       const KernelRequest& request) {
  const GatherSizes sizes(request, 0, 0);
  const RowGather gather(device, request.inputs[0].dtype, request.inputs[1].dtype, sizes.width);
  return make_kernel(
      [=](CudaQueue& queue, const LaunchArgs& args) {
        gather.run(queue, args.inputs[0], args.inputs[1], args.outputs[0],
                   unread_error(args.workspace), 1, sizes.size, sizes.count);
      },
      {.workspace = sizeof(device::DataError)});
}

std::unique_ptr<PreparedKernel> prepare_gather_nd(Device& device, const KernelRequest& request) {
  const Shape& params = request.inputs[0].shape;
  const SliceRows places(device, request.inputs[1], params);
  if (places.rows() > 0 && params.elements() == 0) {
    throw errors::InvalidArgumentError(fmt::format(
        "Requested more than 0 entries, but params is empty. Params shape: {}", params.text()));
  }
  const RowGather gather(device, request.inputs[0].dtype, DType::int64, places.width());
  return make_kernel(
      [=](CudaQueue& queue, const LaunchArgs& args) {
        const std::int64_t* rows = places.run(queue, args.inputs[1], args.workspace);
        gather.run(queue, args.inputs[0], rows, args.outputs[0],
                   unread_error(args.workspace + places.workspace_bytes()), 1, places.slices(),
                   places.rows());
      },
      {.workspace = places.workspace_bytes() + sizeof(device::DataError), .checks_data = true});
}

/// Returns whether there are so few batches that each may have a launch.
bool has_few_batches(const KernelRequest& request) {
  constexpr std::int64_t kMostBatches = 64;
  if (request.attrs->empty() || request.attributes<GatherAttrs>().batch_dims == 0) return true;
  const Shape& indices = request.inputs[1].shape;
  if (!indices.fully_known()) return true;
  std::int64_t dims = request.attributes<GatherAttrs>().batch_dims, batches = 1;
  if (dims < 0) dims += static_cast<std::int64_t>(indices.rank());
  for (std::int64_t d = 0; d < dims; ++d) batches *= indices.size(static_cast<std::size_t>(d));
  return batches <= kMostBatches;
}

}  // namespace

void add_gather_kernels(CudaEntries& entries) {
  entries.push_back({"GatherV2", "cuda", has_few_batches, prepare_gather, {2}});
  entries.push_back({"GatherOrZero", "cuda", {}, prepare_gather_or_zero});
  entries.push_back({"GatherNd", "cuda", {}, prepare_gather_nd});
}

}  // namespace towerflow::cuda
