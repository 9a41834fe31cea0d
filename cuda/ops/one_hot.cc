// One-hot vectors.
#include <fmt/format.h>

#include "core/graph/error.h"
#include "cuda/ops/operands.h"
#include "ops/array/one_hot_attrs.h"

namespace towerflow::cuda {
namespace {

std::unique_ptr<PreparedKernel> prepare_one_hot(Device& device, const KernelRequest& request) {
  const Shape& indices = request.inputs[0].shape;
  for (const std::size_t value : {2, 3}) {
    if (request.inputs[value].shape.rank() == 0) continue;
    throw errors::InvalidArgumentError(fmt::format("{} must be a scalar, but has shape {}",
                                                   value == 2 ? "on_value" : "off_value",
                                                   request.inputs[value].shape.text()));
  }
  const int axis = request.attributes<OneHotAttrs>().axis;
  if (axis > static_cast<int>(indices.rank())) {
    throw errors::InvalidArgumentError(fmt::format(
        "Expected axis to be -1 or between [0, {}).  But received: {}", indices.rank() + 1, axis));
  }
  const std::size_t at = axis < 0 ? indices.rank() : static_cast<std::size_t>(axis);
  const TensorDesc& y = request.outputs[0];
  const std::int64_t n = y.shape.elements();
  if (n == 0) return make_kernel([](CudaQueue&, const LaunchArgs&) {});
  check_32_bits(n, "OneHot");
  std::int64_t inner = 1;
  for (std::size_t d = at; d < indices.rank(); ++d) inner *= indices.size(d);
  const auto depth = device::Divisor::of(static_cast<std::uint32_t>(y.shape.size(at)));
  const auto after = device::Divisor::of(static_cast<std::uint32_t>(inner));
  const cudaKernel_t kernel = device.kernel(
      fmt::format("OneHot_{}_{}", dtype_size(y.dtype), dtype_name(request.inputs[0].dtype)));
  return make_kernel([kernel, n, depth, after](CudaQueue& queue, const LaunchArgs& args) {
    launch(queue, kernel, blocks_for(queue.device(), n), args.inputs[0], args.inputs[2],
           args.inputs[3], args.outputs[0], n, depth, after);
  });
}

}  // namespace

void add_one_hot_kernels(CudaEntries& entries) {
  entries.push_back(
      {"OneHot", "cuda", takes({DType::uint8, DType::int32, DType::int64}), prepare_one_hot});
}

}  // namespace towerflow::cuda
