// Numbers converted to another type.
#include <fmt/format.h>

#include "cuda/ops/operands.h"

namespace towerflow::cuda {
namespace {

std::unique_ptr<PreparedKernel> prepare_cast(Device& device, const KernelRequest& request) {
  const TensorDesc &x = request.inputs[0], &y = request.outputs[0];
  if (x.dtype == y.dtype) {
    return make_kernel([bytes = x.bytes()](CudaQueue& queue, const LaunchArgs& args) {
      if (bytes > 0) queue.copy(args.outputs[0], args.inputs[0], bytes);
    });
  }
  const std::int64_t n = x.shape.elements();
  const cudaKernel_t kernel =
      device.kernel(fmt::format("Cast_{}_{}", dtype_name(x.dtype), dtype_name(y.dtype)));
  return make_kernel([kernel, n](CudaQueue& queue, const LaunchArgs& args) {
    launch(queue, kernel, blocks_for(queue.device(), n), args.inputs[0], args.outputs[0], n);
  });
}

bool is_cast(DType dtype) {
  switch (dtype) {
    case DType::bool_:
    case DType::uint8:
    case DType::int8:
    case DType::int16:
    case DType::uint16:
    case DType::int32:
    case DType::int64:
    case DType::float16:
    case DType::bfloat16:
    case DType::float32:
    case DType::float64:
      return true;
    default:
      return false;
  }
}

}  // namespace

void add_cast_kernels(CudaEntries& entries) {
  entries.push_back({"Cast", "cuda",
                     [](const KernelRequest& request) {
                       return is_cast(request.inputs[0].dtype) && is_cast(request.outputs[0].dtype);
                     },
                     prepare_cast});
}

}  // namespace towerflow::cuda
