// Choices between two tensors.
#include "cuda/ops/operands.h"

namespace towerflow::cuda {
namespace {

/// Returns the strides of the condition of Select, which may choose rows.
std::vector<std::int64_t> row_strides(const Shape& condition, const Shape& y) {
  if (condition.rank() == 0 || condition.rank() == y.rank()) return broadcast_strides(condition, y);
  std::vector<std::int64_t> strides(y.rank(), 0);
  strides[0] = condition.size(0) == 1 ? 0 : 1;
  return strides;
}

device::SelectShape select_shape(const KernelRequest& request) {
  const Shape& y = request.outputs[0].shape;
  device::SelectShape shape;
  for (std::size_t i = 0; i < 3; ++i) {
    const Shape& operand = request.inputs[i].shape;
    shape.one[i] = operand.elements() == 1 ? 1 : 0;
    if (shape.one[i] == 0 && operand.elements() != y.elements()) shape.strided = 1;
  }
  if (shape.strided == 0) return shape;
  const auto condition = request.op->name == "Select"
                             ? row_strides(request.inputs[0].shape, y)
                             : broadcast_strides(request.inputs[0].shape, y);
  const auto a = broadcast_strides(request.inputs[1].shape, y),
             b = broadcast_strides(request.inputs[2].shape, y);
  View<3> view;
  for (std::size_t d = 0; d < y.rank(); ++d) view.add(y.size(d), {condition[d], a[d], b[d]});
  shape.operands = view.strided(request.op->name.c_str());
  return shape;
}

std::unique_ptr<PreparedKernel> prepare_select(Device& device, const KernelRequest& request) {
  const TensorDesc& y = request.outputs[0];
  const std::int64_t n = y.shape.elements();
  if (n == 0) return make_kernel([](CudaQueue&, const LaunchArgs&) {});
  const device::SelectShape shape = select_shape(request);
  const cudaKernel_t kernel = device.kernel(copy_kernel_name("Select", y.dtype));
  return make_kernel([kernel, n, shape](CudaQueue& queue, const LaunchArgs& args) {
    launch(queue, kernel, blocks_for(queue.device(), n), args.inputs[0], args.inputs[1],
           args.inputs[2], args.outputs[0], n, shape);
  });
}

}  // namespace

void add_select_kernels(CudaEntries& entries) {
  const auto fits = [](const KernelRequest& request) {
    constexpr std::size_t kWidest = 8;
    return dtype_size(request.inputs[1].dtype) <= kWidest;
  };
  entries.push_back({"Select", "cuda", fits, prepare_select});
  entries.push_back({"SelectV2", "cuda", fits, prepare_select});
}

}  // namespace towerflow::cuda
