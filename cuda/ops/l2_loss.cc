// Half the sum of squares.
#include "cuda/ops/reduction.h"

namespace towerflow::cuda {
namespace {

/// The squares are kept in the workspace, then added up.
std::unique_ptr<PreparedKernel> prepare_l2_loss(Device& device, const KernelRequest& request) {
  const TensorDesc& x = request.inputs[0];
  const std::int64_t n = x.shape.elements();
  const cudaKernel_t square = device.kernel(kernel_name("Square", x.dtype));
  const CudaReduction sum(
      device, {.op = "Sum", .dtype = x.dtype, .shape = Shape{n}, .reduced = {true}, .divisor = 2});
  const std::size_t squares = rounded_to_pack(x.bytes());
  return make_kernel(
      [square, sum, n, squares](CudaQueue& queue, const LaunchArgs& args) {
        launch(queue, square, blocks_for(queue.device(), n), args.inputs[0], args.workspace, n);
        sum.run(queue, args.workspace, args.outputs[0], args.workspace + squares);
      },
      {.workspace = squares + sum.workspace_bytes()});
}

}  // namespace

void add_l2_loss_kernels(CudaEntries& entries) {
  entries.push_back({"L2Loss", "cuda", takes({DType::float32, DType::float64}), prepare_l2_loss});
}

}  // namespace towerflow::cuda
