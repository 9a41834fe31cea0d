// The places of the largest and smallest elements along a dimension.
#include <fmt/format.h>

#include "core/graph/error.h"
#include "cuda/ops/operands.h"
#include "ops/kernel_dims.h"

namespace towerflow::cuda {
namespace {

std::unique_ptr<PreparedKernel> prepare_argmax(Device& device, const KernelRequest& request) {
  const TensorDesc &x = request.inputs[0], &y = request.outputs[0];
  const std::size_t axis = checked_axis(integers_of(request.values.at(1))[0], x.shape.rank());
  const std::int64_t n = x.shape.size(axis), results = y.shape.elements();
  if (results == 0) return make_kernel([](CudaQueue&, const LaunchArgs&) {});
  if (n == 0) {
    throw errors::InvalidArgumentError(
        fmt::format("Reduction axis {} is empty in shape {}", axis, x.shape.text()));
  }
  std::int64_t inner = 1;
  for (std::size_t d = axis + 1; d < x.shape.rank(); ++d) inner *= x.shape.size(d);
  check_32_bits(results, request.op->name.c_str());
  constexpr std::int64_t kWarp = 32;
  // Neighbouring threads read neighbours in memory.
  const int group = inner >= kWarp || n < kWarp ? 1 : static_cast<int>(kWarp);
  const cudaKernel_t kernel = device.kernel(
      fmt::format("{}_{}_{}", request.op->name, dtype_name(x.dtype), dtype_name(y.dtype)));
  return make_kernel([kernel, n, results, group, outer = results / inner,
                      width = device::Divisor::of(static_cast<std::uint32_t>(inner))](
                         CudaQueue& queue, const LaunchArgs& args) {
    launch(queue, kernel, blocks_for(queue.device(), results * group), args.inputs[0],
           args.outputs[0], outer, n, width, group);
  });
}

}  // namespace

void add_argmax_kernels(CudaEntries& entries) {
  for (const char* op : {"ArgMax", "ArgMin"}) {
    entries.push_back({op,
                       "cuda",
                       takes({DType::float32, DType::float64, DType::float16, DType::bfloat16,
                              DType::int32, DType::int64, DType::uint8}),
                       prepare_argmax,
                       {1}});
  }
}

}  // namespace towerflow::cuda
