// Tensors of one number.
#include "cuda/ops/operands.h"

namespace towerflow::cuda {
namespace {

/// The number is in device memory: it is read by every thread.
std::unique_ptr<PreparedKernel> prepare_fill(Device& device, const KernelRequest& request) {
  const TensorDesc& y = request.outputs[0];
  const std::int64_t n = y.shape.elements();
  View<1> view;
  view.add(n, {0});
  const cudaKernel_t kernel = device.kernel(copy_kernel_name("StridedCopy", y.dtype));
  return make_kernel([kernel, n, shape = view.strided("Fill")](CudaQueue& queue,
                                                               const LaunchArgs& args) {
    launch(queue, kernel, blocks_for(queue.device(), n), args.inputs[1], args.outputs[0], n, shape);
  });
}

std::unique_ptr<PreparedKernel> prepare_zeros(Device&, const KernelRequest& request) {
  return make_kernel(
      [bytes = request.outputs[0].bytes()](CudaQueue& queue, const LaunchArgs& args) {
        queue.fill_with_zeros(args.outputs[0], bytes);
      });
}

}  // namespace

void add_fill_kernels(CudaEntries& entries) {
  entries.push_back({"Fill", "cuda", {}, prepare_fill});
  entries.push_back({"ZerosLike", "cuda", {}, prepare_zeros});
}

}  // namespace towerflow::cuda
