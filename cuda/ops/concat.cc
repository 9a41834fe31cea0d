// Tensors joined along a dimension.
#include "cuda/ops/many_copies.h"
#include "ops/kernel_dims.h"

namespace towerflow::cuda {
namespace {

std::unique_ptr<PreparedKernel> prepare_concat(Device& device, const KernelRequest& request) {
  const Shape& y = request.outputs[0].shape;
  const std::size_t count = request.inputs.size() - 1;
  const std::size_t axis =
      checked_axis(integers_of(request.values.at(static_cast<int>(count)))[0], y.rank());
  std::int64_t outer = 1, inner = 1;
  for (std::size_t d = 0; d < y.rank(); ++d) {
    if (d != axis) (d < axis ? outer : inner) *= y.size(d);
  }
  std::vector<RowsCopy> copies;
  std::int64_t before = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const std::int64_t width = request.inputs[i].shape.size(axis) * inner;
    copies.push_back({.input = i,
                      .rows = outer,
                      .width = width,
                      .from_pitch = width,
                      .to_offset = before,
                      .to_pitch = y.size(axis) * inner});
    before += width;
  }
  return prepare_copies(device, request.outputs[0].dtype, std::move(copies));
}

}  // namespace

void add_concat_kernels(CudaEntries& entries) {
  // The axis follows the values: an entry for each number of values.
  constexpr int kMostValues = 64;
  for (int count = 1; count <= kMostValues; ++count) {
    entries.push_back({"ConcatV2",
                       "cuda",
                       [count](const KernelRequest& request) {
                         return request.inputs.size() == static_cast<std::size_t>(count) + 1;
                       },
                       prepare_concat,
                       {count}});
  }
}

}  // namespace towerflow::cuda
