// A tensor taken apart along a dimension.
#include "cuda/ops/many_copies.h"
#include "ops/kernel_dims.h"

namespace towerflow::cuda {
namespace {

std::unique_ptr<PreparedKernel> prepare_pieces(Device& device, const KernelRequest& request,
                                               std::size_t value, int axis_input) {
  const Shape& x = request.inputs[value].shape;
  const std::size_t axis = checked_axis(integers_of(request.values.at(axis_input))[0], x.rank());
  std::int64_t outer = 1, inner = 1;
  for (std::size_t d = 0; d < x.rank(); ++d) {
    if (d != axis) (d < axis ? outer : inner) *= x.size(d);
  }
  std::vector<RowsCopy> copies;
  std::int64_t before = 0;
  for (std::size_t i = 0; i < request.outputs.size(); ++i) {
    const std::int64_t width = request.outputs[i].shape.size(axis) * inner;
    copies.push_back({.input = value,
                      .output = i,
                      .rows = outer,
                      .width = width,
                      .from_offset = before,
                      .from_pitch = x.size(axis) * inner,
                      .to_pitch = width});
    before += width;
  }
  return prepare_copies(device, request.inputs[value].dtype, std::move(copies));
}

std::unique_ptr<PreparedKernel> prepare_split(Device& device, const KernelRequest& request) {
  return prepare_pieces(device, request, 1, 0);
}
std::unique_ptr<PreparedKernel> prepare_split_v(Device& device, const KernelRequest& request) {
  return prepare_pieces(device, request, 0, 2);
}

}  // namespace

void add_split_kernels(CudaEntries& entries) {
  entries.push_back({"Split", "cuda", {}, prepare_split});
  entries.push_back({"SplitV", "cuda", {}, prepare_split_v});
}

}  // namespace towerflow::cuda
