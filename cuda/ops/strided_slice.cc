// Slices with steps, and their gradients.
#include "core/graph/error.h"
#include "cuda/ops/position_copy.h"
#include "ops/array/strided_slice_attrs.h"
#include "ops/kernel_dims.h"

namespace towerflow::cuda {
namespace {

/// Returns where the elements of the slice lie in the whole.
Positions sliced_positions(const KernelRequest& request, const Shape& whole) {
  const auto& attrs = request.attributes<StridedSliceAttrs>();
  const auto begin = integers_of(request.values.at(1)), end = integers_of(request.values.at(2)),
             steps = integers_of(request.values.at(3));
  const std::vector<std::int64_t> strides = row_major_strides(whole);
  Positions positions;
  for (const SliceLayout::Part& part : slice_layout(attrs, begin.size(), whole.rank()).parts) {
    if (part.axis == SliceLayout::kNewAxis) continue;
    const auto axis = static_cast<std::size_t>(part.axis);
    ResolvedSlice slice{0, 1, whole.size(axis)};
    if (part.entry != SliceLayout::kWhole) {
      const auto entry = static_cast<std::size_t>(part.entry);
      const char* wrong = resolve_slice(attrs, entry, begin[entry], end[entry], steps[entry],
                                        whole.size(axis), slice);
      if (wrong != nullptr) throw errors::InvalidArgumentError(wrong);
    }
    positions.offset += slice.begin * strides[axis];
    // The step of a single element might overflow.
    positions.add(slice.count, slice.count > 1 ? slice.stride * strides[axis] : 0);
  }
  return positions;
}

std::unique_ptr<PreparedKernel> prepare_strided_slice(Device& device,
                                                      const KernelRequest& request) {
  return prepare_load(device, request, sliced_positions(request, request.inputs[0].shape));
}

std::unique_ptr<PreparedKernel> prepare_strided_slice_grad(Device& device,
                                                           const KernelRequest& request) {
  return prepare_store(device, request, sliced_positions(request, request.outputs[0].shape), 4);
}

}  // namespace

void add_strided_slice_kernels(CudaEntries& entries) {
  entries.push_back({"StridedSlice", "cuda", {}, prepare_strided_slice, {1, 2, 3}});
  entries.push_back({"StridedSliceGrad", "cuda", {}, prepare_strided_slice_grad, {0, 1, 2, 3}});
}

}  // namespace towerflow::cuda
