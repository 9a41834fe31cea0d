// Running sums and products.
#include <fmt/format.h>

#include "core/graph/error.h"
#include "cuda/ops/operands.h"
#include "ops/kernel_dims.h"
#include "ops/math/scan_attrs.h"

namespace towerflow::cuda {
namespace {

/// Long rows that are dense in memory get a block each, other lines a thread.
std::unique_ptr<PreparedKernel> prepare_scan(Device& device, const KernelRequest& request,
                                             bool exclusive, bool reverse) {
  constexpr std::int64_t kLongRow = 1024;
  const TensorDesc& x = request.inputs[0];
  if (request.values.at(1).shape().rank() != 0) {
    throw errors::InvalidArgumentError(fmt::format(
        "the axis of a {} must be a scalar, not {}",
        request.op->name == "Cumsum" ? "cumsum" : "cumprod", request.values.at(1).shape().text()));
  }
  const std::size_t axis = checked_axis(integers_of(request.values.at(1))[0], x.shape.rank());
  if (x.shape.elements() == 0) return make_kernel([](CudaQueue&, const LaunchArgs&) {});
  const std::int64_t n = x.shape.size(axis);
  std::int64_t outer = 1, inner = 1;
  for (std::size_t d = 0; d < x.shape.rank(); ++d) {
    if (d != axis) (d < axis ? outer : inner) *= x.shape.size(d);
  }
  const bool by_rows = inner == 1 && n >= kLongRow;
  const cudaKernel_t kernel = device.kernel(
      fmt::format("{}_{}_{}", request.op->name, by_rows ? "rows" : "columns", dtype_name(x.dtype)));
  const int before = exclusive ? 1 : 0, backwards = reverse ? 1 : 0;
  return make_kernel([=](CudaQueue& queue, const LaunchArgs& args) {
    if (by_rows) {
      return launch(queue, kernel, blocks_for(queue.device(), outer * kBlockThreads),
                    args.inputs[0], args.outputs[0], outer, n, before, backwards);
    }
    launch(queue, kernel, blocks_for(queue.device(), outer * inner), args.inputs[0],
           args.outputs[0], outer, n, inner, before, backwards);
  });
}

std::unique_ptr<PreparedKernel> prepare_cumsum(Device& device, const KernelRequest& request) {
  const auto& attrs = request.attributes<CumsumAttrs>();
  return prepare_scan(device, request, attrs.exclusive, attrs.reverse);
}
std::unique_ptr<PreparedKernel> prepare_cumprod(Device& device, const KernelRequest& request) {
  const auto& attrs = request.attributes<CumprodAttrs>();
  return prepare_scan(device, request, attrs.exclusive, attrs.reverse);
}

}  // namespace

void add_cumsum_kernels(CudaEntries& entries) {
  const auto numbers = takes({DType::float32, DType::float64, DType::int32, DType::int64});
  entries.push_back({"Cumsum", "cuda", numbers, prepare_cumsum});
  entries.push_back({"Cumprod", "cuda", numbers, prepare_cumprod});
}

}  // namespace towerflow::cuda
