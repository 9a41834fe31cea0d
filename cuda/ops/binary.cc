// Elementwise ops of two tensors that broadcast.
#include "cuda/device/elementwise_ops.h"
#include "cuda/ops/operands.h"

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

device::BinaryShape binary_shape(const KernelRequest& request) {
  const Shape &a = request.inputs[0].shape, &b = request.inputs[1].shape;
  const Shape& y = request.outputs[0].shape;
  device::BinaryShape shape;
  if (y.elements() == 0) return shape;
  if (a.elements() == y.elements() && b.elements() == y.elements()) return shape;
  const bool one_a = a.elements() == 1, one_b = b.elements() == 1;
  if (one_a || one_b) {
    shape.kind = one_a ? device::BinaryShape::left : device::BinaryShape::right;
    return shape;
  }
  View<2> view;
  const auto from_a = broadcast_strides(a, y), from_b = broadcast_strides(b, y);
  for (std::size_t d = 0; d < y.rank(); ++d) view.add(y.size(d), {from_a[d], from_b[d]});
  const bool packed = pack_innermost(view, pack_of(request));
  shape.kind = packed ? device::BinaryShape::packed : device::BinaryShape::strided;
  shape.operands = view.strided(request.op->name.c_str());
  return shape;
}

std::unique_ptr<PreparedKernel> prepare_binary(Device& device, const KernelRequest& request) {
  const TensorDesc& y = request.outputs[0];
  const std::int64_t n = y.shape.elements();
  const cudaKernel_t kernel = device.kernel(kernel_name(request.op->name, request.inputs[0].dtype));
  std::vector<InPlacePair> in_place;
  for (int input = 0; input < 2; ++input) {
    if (request.inputs[static_cast<std::size_t>(input)] == y) in_place.push_back({0, input});
  }
  return make_kernel(
      [kernel, n, shape = binary_shape(request)](CudaQueue& queue, const LaunchArgs& args) {
        launch(queue, kernel, blocks_for(queue.device(), n), args.inputs[0], args.inputs[1],
               args.outputs[0], n, shape);
      },
      {.in_place = std::move(in_place)});
}

void add_binary_op(CudaEntries& entries, const char* op, std::initializer_list<DType> dtypes) {
  entries.push_back({op, "cuda", takes(dtypes), prepare_binary});
}

}  // namespace

void add_binary_kernels(CudaEntries& entries) {
#define TOWERFLOW_FLOATING(op) add_binary_op(entries, #op, {DType::float32, DType::float64});
#define TOWERFLOW_SHORT(op) add_binary_op(entries, #op, {DType::float16, DType::bfloat16});
#define TOWERFLOW_INTEGER(op) add_binary_op(entries, #op, {DType::int32, DType::int64});
#define TOWERFLOW_NUMBERS(op) \
  add_binary_op(entries, #op, {DType::float32, DType::float64, DType::int32, DType::int64});
#define TOWERFLOW_LOGICAL(op) add_binary_op(entries, #op, {DType::bool_});
  TOWERFLOW_FLOATING_BINARY_OPS(TOWERFLOW_FLOATING)
  TOWERFLOW_SHORT_BINARY_OPS(TOWERFLOW_SHORT)
  TOWERFLOW_INTEGER_BINARY_OPS(TOWERFLOW_INTEGER)
  TOWERFLOW_COMPARISON_OPS(TOWERFLOW_NUMBERS)
  TOWERFLOW_LOGICAL_OPS(TOWERFLOW_LOGICAL)
#undef TOWERFLOW_FLOATING
#undef TOWERFLOW_SHORT
#undef TOWERFLOW_INTEGER
#undef TOWERFLOW_NUMBERS
#undef TOWERFLOW_LOGICAL
}

}  // namespace towerflow::cuda
