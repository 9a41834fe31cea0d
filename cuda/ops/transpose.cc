// Transpositions.
#include <fmt/format.h>

#include "core/graph/error.h"
#include "cuda/ops/position_copy.h"
#include "ops/kernel_dims.h"

namespace towerflow::cuda {
namespace {

std::unique_ptr<PreparedKernel> prepare_transpose(Device& device, const KernelRequest& request) {
  const Shape& x = request.inputs[0].shape;
  const std::vector<std::int64_t> strides = row_major_strides(x);
  std::vector<bool> taken(x.rank(), false);
  Positions positions;
  for (const std::int64_t given : integers_of(request.values.at(1))) {
    const std::size_t axis = checked_axis(given, x.rank());
    if (taken[axis]) {
      throw errors::InvalidArgumentError(
          fmt::format("axis {} occurs twice in the permutation of a transpose", axis));
    }
    taken[axis] = true;
    positions.add(x.size(axis), strides[axis]);
  }
  return prepare_load(device, request, std::move(positions));
}

}  // namespace

void add_transpose_kernels(CudaEntries& entries) {
  entries.push_back({"Transpose", "cuda", {}, prepare_transpose, {1}});
}

}  // namespace towerflow::cuda
