// Elementwise ops of one tensor.
#include "cuda/device/elementwise_ops.h"
#include "cuda/ops/operands.h"

namespace towerflow::cuda {
namespace {

std::unique_ptr<PreparedKernel> prepare_unary(Device& device, const KernelRequest& request) {
  const TensorDesc& x = request.inputs[0];
  const std::int64_t n = x.shape.elements();
  const cudaKernel_t kernel = device.kernel(kernel_name(request.op->name, x.dtype));
  const bool same_type = x.dtype == request.outputs[0].dtype;
  return make_kernel(
      [kernel, n](CudaQueue& queue, const LaunchArgs& args) {
        launch(queue, kernel, blocks_for(queue.device(), n), args.inputs[0], args.outputs[0], n);
      },
      {.in_place = same_type ? std::vector<InPlacePair>{{0, 0}} : std::vector<InPlacePair>{}});
}

void add_unary_op(CudaEntries& entries, const char* op, std::initializer_list<DType> dtypes) {
  entries.push_back({op, "cuda", takes(dtypes), prepare_unary});
}

}  // namespace

void add_unary_kernels(CudaEntries& entries) {
#define TOWERFLOW_FLOATING(op) add_unary_op(entries, #op, {DType::float32, DType::float64});
#define TOWERFLOW_SHORT(op) add_unary_op(entries, #op, {DType::float16, DType::bfloat16});
#define TOWERFLOW_INTEGER(op) add_unary_op(entries, #op, {DType::int32, DType::int64});
  TOWERFLOW_FLOATING_UNARY_OPS(TOWERFLOW_FLOATING)
  TOWERFLOW_SHORT_UNARY_OPS(TOWERFLOW_SHORT)
  TOWERFLOW_INTEGER_UNARY_OPS(TOWERFLOW_INTEGER)
  TOWERFLOW_PREDICATE_OPS(TOWERFLOW_FLOATING)
  add_unary_op(entries, "LogicalNot", {DType::bool_});
#undef TOWERFLOW_FLOATING
#undef TOWERFLOW_SHORT
#undef TOWERFLOW_INTEGER
}

}  // namespace towerflow::cuda
