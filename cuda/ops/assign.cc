// Assignments to variables.
#include <fmt/format.h>

#include "core/graph/error.h"
#include "cuda/ops/operands.h"

namespace towerflow::cuda {
namespace {

std::unique_ptr<PreparedKernel> prepare_assign(Device&, const KernelRequest& request) {
  const TensorDesc &variable = request.inputs[0], &value = request.inputs[1];
  if (value.shape != variable.shape) {
    throw errors::InvalidArgumentError(
        fmt::format("Assign requires shapes of both tensors to match. lhs shape= {} rhs shape= {}",
                    variable.shape.text(), value.shape.text()));
  }
  // The value may be the variable itself.
  return make_kernel([bytes = variable.bytes()](CudaQueue& queue, const LaunchArgs& args) {
    if (bytes == 0 || args.inputs[0] == args.inputs[1]) return;
    queue.copy(const_cast<void*>(args.inputs[0]), args.inputs[1], bytes);
  });
}

/// Adds or subtracts in place.
std::unique_ptr<PreparedKernel> prepare_assign_change(Device& device, const KernelRequest& request,
                                                      const char* op) {
  const TensorDesc& variable = request.inputs[0];
  if (request.inputs[1].shape != variable.shape) {
    throw errors::InvalidArgumentError(fmt::format("the variable has shape {}, the value {}",
                                                   variable.shape.text(),
                                                   request.inputs[1].shape.text()));
  }
  const cudaKernel_t kernel = device.kernel(kernel_name(op, variable.dtype));
  return make_kernel(
      [kernel, n = variable.shape.elements()](CudaQueue& queue, const LaunchArgs& args) {
        if (n == 0) return;
        const device::BinaryShape shape;
        launch(queue, kernel, blocks_for(queue.device(), n), args.inputs[0], args.inputs[1],
               args.inputs[0], n, shape);
      });
}

}  // namespace

void add_assign_kernels(CudaEntries& entries) {
  entries.push_back({"Assign", "copy", {}, prepare_assign});
  const auto numbers = takes({DType::float32, DType::float64, DType::int32, DType::int64});
  entries.push_back(
      {"AssignAdd", "cuda", numbers, [](Device& device, const KernelRequest& request) {
         return prepare_assign_change(device, request, "AddV2");
       }});
  entries.push_back(
      {"AssignSub", "cuda", numbers, [](Device& device, const KernelRequest& request) {
         return prepare_assign_change(device, request, "Sub");
       }});
}

}  // namespace towerflow::cuda
