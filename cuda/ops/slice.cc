// Parts of tensors, and their gradients.
#include <fmt/format.h>

#include "core/graph/error.h"
#include "cuda/ops/position_copy.h"
#include "ops/kernel_dims.h"

namespace towerflow::cuda {
namespace {

/// Returns where a part of this shape that begins at `begin` lies in the whole.
Positions part_positions(const Shape& whole, const Shape& part,
                         const std::vector<std::int64_t>& begin) {
  const std::vector<std::int64_t> strides = row_major_strides(whole);
  Positions positions;
  for (std::size_t d = 0; d < whole.rank(); ++d) {
    const std::int64_t size = part.size(d);
    if (begin[d] < 0 || begin[d] > whole.size(d) || size > whole.size(d) - begin[d]) {
      throw errors::InvalidArgumentError(
          fmt::format("Expected a slice inside 0 .. {}, got {} elements from {}", whole.size(d),
                      size, begin[d]));
    }
    positions.offset += begin[d] * strides[d];
    positions.add(size, strides[d]);
  }
  return positions;
}

std::unique_ptr<PreparedKernel> prepare_slice(Device& device, const KernelRequest& request) {
  return prepare_load(device, request,
                      part_positions(request.inputs[0].shape, request.outputs[0].shape,
                                     integers_of(request.values.at(1))));
}

std::unique_ptr<PreparedKernel> prepare_slice_grad(Device& device, const KernelRequest& request) {
  return prepare_store(device, request,
                       part_positions(request.outputs[0].shape, request.inputs[0].shape,
                                      integers_of(request.values.at(1))),
                       0);
}

}  // namespace

void add_slice_kernels(CudaEntries& entries) {
  entries.push_back({"Slice", "cuda", {}, prepare_slice, {1, 2}});
  entries.push_back({"SliceGrad", "cuda", {}, prepare_slice_grad, {1, 2}});
}

}  // namespace towerflow::cuda
