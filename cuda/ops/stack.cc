// Tensors joined along a new dimension, and taken apart again.
#include "cuda/ops/many_copies.h"
#include "ops/array/stack_attrs.h"
#include "ops/kernel_dims.h"

namespace towerflow::cuda {
namespace {

/// The whole as [outer, parts, inner].
struct StackSizes {
  StackSizes(const Shape& whole, std::int64_t given) {
    const std::size_t axis = checked_axis(given, whole.rank());
    for (std::size_t d = 0; d < whole.rank(); ++d) {
      if (d != axis) (d < axis ? outer : inner) *= whole.size(d);
    }
    parts = whole.size(axis);
  }
  std::int64_t outer = 1, parts = 1, inner = 1;
};

std::unique_ptr<PreparedKernel> prepare_pack(Device& device, const KernelRequest& request) {
  const StackSizes sizes(request.outputs[0].shape, request.attributes<PackAttrs>().axis);
  std::vector<RowsCopy> copies;
  for (std::size_t i = 0; i < request.inputs.size(); ++i) {
    copies.push_back({.input = i,
                      .rows = sizes.outer,
                      .width = sizes.inner,
                      .from_pitch = sizes.inner,
                      .to_offset = static_cast<std::int64_t>(i) * sizes.inner,
                      .to_pitch = sizes.parts * sizes.inner});
  }
  return prepare_copies(device, request.outputs[0].dtype, std::move(copies));
}

std::unique_ptr<PreparedKernel> prepare_unpack(Device& device, const KernelRequest& request) {
  const StackSizes sizes(request.inputs[0].shape, request.attributes<UnpackAttrs>().axis);
  std::vector<RowsCopy> copies;
  for (std::size_t i = 0; i < request.outputs.size(); ++i) {
    copies.push_back({.output = i,
                      .rows = sizes.outer,
                      .width = sizes.inner,
                      .from_offset = static_cast<std::int64_t>(i) * sizes.inner,
                      .from_pitch = sizes.parts * sizes.inner,
                      .to_pitch = sizes.inner});
  }
  return prepare_copies(device, request.inputs[0].dtype, std::move(copies));
}

}  // namespace

void add_stack_kernels(CudaEntries& entries) {
  entries.push_back({"Pack", "cuda", {}, prepare_pack});
  entries.push_back({"Unpack", "cuda", {}, prepare_unpack});
}

}  // namespace towerflow::cuda
