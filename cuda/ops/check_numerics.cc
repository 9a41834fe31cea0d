// The check that all elements are finite.
#include "ops/math/check_numerics_attrs.h"

#include <fmt/format.h>

#include "core/graph/error.h"
#include "cuda/ops/operands.h"

namespace towerflow::cuda {
namespace {

std::unique_ptr<PreparedKernel> prepare_check_numerics(Device& device,
                                                       const KernelRequest& request) {
  const TensorDesc& x = request.inputs[0];
  const cudaKernel_t kernel = device.kernel(kernel_name("CheckNumerics", x.dtype));
  const CudaQueue::MakeError make_error =
      [message = request.attributes<CheckNumericsAttrs>().message](const device::DataError& found) {
        const bool nan = found.notes[0] != 0, inf = found.notes[1] != 0;
        return std::make_exception_ptr(
            errors::InvalidArgumentError(fmt::format("{} : Tensor had {} values", message,
                                                     nan && inf ? "Inf and NaN"
                                                     : nan      ? "NaN"
                                                                : "Inf")));
      };
  return make_kernel(
      [kernel, make_error, n = x.shape.elements(), bytes = x.bytes()](CudaQueue& queue,
                                                                      const LaunchArgs& args) {
        if (n == 0) return;
        device::DataError* const error = queue.error_record(make_error);
        launch(queue, kernel, blocks_for(queue.device(), n), args.inputs[0], error, n);
        if (args.inputs[0] != args.outputs[0]) queue.copy(args.outputs[0], args.inputs[0], bytes);
      },
      {.in_place = {{0, 0}}, .checks_data = true});
}

}  // namespace

void add_check_numerics_kernels(CudaEntries& entries) {
  entries.push_back(
      {"CheckNumerics", "cuda", takes({DType::float32, DType::float64}), prepare_check_numerics});
}

}  // namespace towerflow::cuda
