// The sum of several tensors, added from the left as on the CPU.
#include "cuda/ops/operands.h"

namespace towerflow::cuda {
namespace {

std::unique_ptr<PreparedKernel> prepare_add_n(Device& device, const KernelRequest& request) {
  const TensorDesc& y = request.outputs[0];
  const std::int64_t n = y.shape.elements();
  const std::size_t count = request.inputs.size();
  const cudaKernel_t add = device.kernel(kernel_name("AddV2", y.dtype));
  return make_kernel([add, n, count, bytes = y.bytes()](CudaQueue& queue, const LaunchArgs& args) {
    void* const sum = args.outputs[0];
    if (count == 1) return queue.copy(sum, args.inputs[0], bytes);
    const device::BinaryShape shape;
    const dim3 blocks = blocks_for(queue.device(), n);
    launch(queue, add, blocks, args.inputs[0], args.inputs[1], sum, n, shape);
    for (std::size_t i = 2; i < count; ++i) {
      launch(queue, add, blocks, sum, args.inputs[i], sum, n, shape);
    }
  });
}

}  // namespace

void add_add_n_kernels(CudaEntries& entries) {
  entries.push_back({"AddN", "cuda",
                     takes({DType::float32, DType::float64, DType::float16, DType::bfloat16,
                            DType::int32, DType::int64}),
                     prepare_add_n});
}

}  // namespace towerflow::cuda
