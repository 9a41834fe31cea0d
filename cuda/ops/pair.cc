#include "cuda/ops/pair.h"

#include <algorithm>

namespace towerflow::cuda {
namespace {

/// Returns the most neighbours that a thread computes: 16 bytes of the widest type.
std::int64_t pack_of(const KernelRequest& request) {
  return 16 / static_cast<std::int64_t>(std::max(dtype_size(request.inputs[0].dtype),
                                                 dtype_size(request.outputs[0].dtype)));
}

/// Counts the innermost dimension of a view in packs, if all addresses allow it: innermost strides
/// are 1 or 0, the others multiples of a pack.
bool pack_innermost(View<2>& view, std::int64_t pack) {
  if (view.sizes.empty() || view.sizes.back() % pack != 0) return false;
  for (const auto& strides : view.strides) {
    if (strides.back() != 0 && strides.back() != 1) return false;
    for (std::size_t d = 0; d + 1 < strides.size(); ++d) {
      if (strides[d] % pack != 0) return false;
    }
  }
  view.sizes.back() /= pack;
  for (auto& strides : view.strides) strides.back() *= pack;
  return true;
}

}  // namespace

device::BinaryShape pair_shape(const KernelRequest& request, const std::vector<std::int64_t>& a,
                               const std::vector<std::int64_t>& b) {
  const Shape& y = request.outputs[0].shape;
  device::BinaryShape shape;
  if (y.elements() == 0) return shape;
  View<2> view;
  for (std::size_t d = 0; d < y.rank(); ++d) view.add(y.size(d), {a[d], b[d]});
  if (view.sizes.empty()) return shape;  // of single numbers
  const std::int64_t in_a = view.strides[0].back(), in_b = view.strides[1].back();
  if (view.sizes.size() == 1) {
    if (in_a == 1 && in_b == 1) return shape;
    if (in_a + in_b == 1) {
      shape.kind = in_a == 0 ? device::BinaryShape::left : device::BinaryShape::right;
      return shape;
    }
  }
  const bool packed = pack_innermost(view, pack_of(request));
  shape.kind = packed ? device::BinaryShape::packed : device::BinaryShape::strided;
  shape.operands = view.strided(request.op->name.c_str());
  return shape;
}

}  // namespace towerflow::cuda
