// Tensors repeated along dimensions: broadcast, and tiled.
#include <fmt/format.h>

#include "core/graph/error.h"
#include "cuda/ops/position_copy.h"
#include "ops/kernel_dims.h"

namespace towerflow::cuda {
namespace {

std::unique_ptr<PreparedKernel> prepare_broadcast_to(Device& device, const KernelRequest& request) {
  const Shape &x = request.inputs[0].shape, &y = request.outputs[0].shape;
  if (broadcast_shapes(x, y) != y || integers_of(request.values.at(1)) != y.sizes()) {
    throw errors::InvalidArgumentError(
        fmt::format("the shape {} does not broadcast to {}", x.text(), y.text()));
  }
  const std::vector<std::int64_t> strides = broadcast_strides(x, y);
  Positions positions;
  for (std::size_t d = 0; d < y.rank(); ++d) positions.add(y.size(d), strides[d]);
  return prepare_load(device, request, std::move(positions));
}

std::unique_ptr<PreparedKernel> prepare_tile(Device& device, const KernelRequest& request) {
  const Shape &x = request.inputs[0].shape, &y = request.outputs[0].shape;
  const std::vector<std::int64_t> strides = row_major_strides(x);
  const std::vector<std::int64_t> multiples = integers_of(request.values.at(1));
  Positions positions;
  for (std::size_t d = 0; d < x.rank(); ++d) {
    if (multiples[d] < 0) throw errors::InvalidArgumentError("Expected multiples >= 0");
    positions.add(x.size(d) == 0 ? 0 : y.size(d) / x.size(d), 0);
    positions.add(x.size(d), strides[d]);
  }
  return prepare_load(device, request, std::move(positions));
}

}  // namespace

void add_broadcast_to_kernels(CudaEntries& entries) {
  entries.push_back({"BroadcastTo", "cuda", {}, prepare_broadcast_to, {1}});
  entries.push_back({"Tile", "cuda", {}, prepare_tile, {1}});
}

}  // namespace towerflow::cuda
