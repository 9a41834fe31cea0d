// Elementwise ops of two tensors that broadcast.
#include "core/graph/error.h"
#include "cuda/device/elementwise_ops.h"
#include "cuda/ops/operands.h"
#include "cuda/ops/pair.h"

namespace towerflow::cuda {
namespace {

std::unique_ptr<PreparedKernel> prepare_binary(Device& device, const KernelRequest& request) {
  const TensorDesc& y = request.outputs[0];
  const std::int64_t n = y.shape.elements();
  const cudaKernel_t kernel = device.kernel(kernel_name(request.op->name, request.inputs[0].dtype));
  const Shape &a = request.inputs[0].shape, &b = request.inputs[1].shape;
  const device::BinaryShape shape =
      pair_shape(request, broadcast_strides(a, y.shape), broadcast_strides(b, y.shape));
  std::vector<InPlacePair> in_place;
  for (int input = 0; input < 2; ++input) {
    if (request.inputs[static_cast<std::size_t>(input)] == y) in_place.push_back({0, input});
  }
  return make_kernel(
      [kernel, n, shape](CudaQueue& queue, const LaunchArgs& args) {
        launch(queue, kernel, blocks_for(queue.device(), n), args.inputs[0], args.inputs[1],
               args.outputs[0], n, shape);
      },
      {.in_place = std::move(in_place)});
}

/// Returns the CPU's error of an op that has no result for some integers.
CudaQueue::MakeError missing_result(const std::string& op) {
  return [op](const device::DataError&) {
    if (op == "Pow") {
      return std::make_exception_ptr(
          errors::InvalidArgumentError("Integers to negative integer powers are not allowed"));
    }
    constexpr const char* kText = "Integer division by zero";
    if (op == "TruncateDiv" || op == "TruncateMod") {
      return std::make_exception_ptr(errors::InternalError(kText));
    }
    return std::make_exception_ptr(errors::InvalidArgumentError(kText));
  };
}

std::unique_ptr<PreparedKernel> prepare_partial(Device& device, const KernelRequest& request) {
  const TensorDesc& y = request.outputs[0];
  const std::int64_t n = y.shape.elements();
  const cudaKernel_t kernel = device.kernel(kernel_name(request.op->name, request.inputs[0].dtype));
  const device::BinaryShape prepared =
      pair_shape(request, broadcast_strides(request.inputs[0].shape, y.shape),
                 broadcast_strides(request.inputs[1].shape, y.shape));
  return make_kernel(
      [kernel, n, prepared, make_error = missing_result(request.op->name)](CudaQueue& queue,
                                                                           const LaunchArgs& args) {
        device::BinaryShape shape = prepared;
        shape.error = queue.error_record(make_error);
        launch(queue, kernel, blocks_for(queue.device(), n), args.inputs[0], args.inputs[1],
               args.outputs[0], n, shape);
      },
      {.checks_data = true});
}

void add_binary_op(CudaEntries& entries, const char* op, std::initializer_list<DType> dtypes) {
  entries.push_back({op, "cuda", takes(dtypes), prepare_binary});
}

}  // namespace

void add_binary_kernels(CudaEntries& entries) {
#define TOWERFLOW_FLOATING(op) add_binary_op(entries, #op, {DType::float32, DType::float64});
#define TOWERFLOW_SHORT(op) add_binary_op(entries, #op, {DType::float16, DType::bfloat16});
#define TOWERFLOW_INTEGER(op) add_binary_op(entries, #op, {DType::int32, DType::int64});
#define TOWERFLOW_NUMBERS(op) \
  add_binary_op(entries, #op, {DType::float32, DType::float64, DType::int32, DType::int64});
#define TOWERFLOW_LOGICAL(op) add_binary_op(entries, #op, {DType::bool_});
#define TOWERFLOW_BYTE(op) add_binary_op(entries, #op, {DType::uint8});
#define TOWERFLOW_PARTIAL(op) \
  entries.push_back(          \
      {#op, "cuda", takes({DType::int32, DType::int64, DType::uint8}), prepare_partial});
  TOWERFLOW_FLOATING_BINARY_OPS(TOWERFLOW_FLOATING)
  TOWERFLOW_SHORT_BINARY_OPS(TOWERFLOW_SHORT)
  TOWERFLOW_INTEGER_BINARY_OPS(TOWERFLOW_INTEGER)
  TOWERFLOW_COMPARISON_OPS(TOWERFLOW_NUMBERS)
  TOWERFLOW_LOGICAL_OPS(TOWERFLOW_LOGICAL)
  TOWERFLOW_INTEGER_BINARY_OPS(TOWERFLOW_BYTE)
  TOWERFLOW_COMPARISON_OPS(TOWERFLOW_BYTE)
  for (const char* op : {"Equal", "NotEqual"}) add_binary_op(entries, op, {DType::bool_});
  TOWERFLOW_PARTIAL_INTEGER_OPS(TOWERFLOW_PARTIAL)
#undef TOWERFLOW_FLOATING
#undef TOWERFLOW_SHORT
#undef TOWERFLOW_INTEGER
#undef TOWERFLOW_NUMBERS
#undef TOWERFLOW_LOGICAL
#undef TOWERFLOW_BYTE
#undef TOWERFLOW_PARTIAL
}

}  // namespace towerflow::cuda
