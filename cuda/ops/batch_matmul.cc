// Products of batches of matrices.
#include <memory>
#include <optional>

#include "cuda/backend/blas_product.h"
#include "cuda/ops/position_copy.h"
#include "ops/math/batch_matmul_attrs.h"

namespace towerflow::cuda {
namespace {

/// An operand, whose matrices are repeated in the workspace unless there are as many as of the
/// result.
struct BatchOperand {
  BatchOperand(Device& device, const KernelRequest& request, std::size_t number) : input(number) {
    const TensorDesc& x = request.inputs[number];
    const Shape& y = request.outputs[0].shape;
    const std::size_t batch_rank = y.rank() - 2, own = x.shape.rank() - 2;
    const std::int64_t matrix = x.shape.size(own) * x.shape.size(own + 1);
    const std::vector<std::int64_t> strides = row_major_strides(x.shape);
    std::int64_t batches = 1;
    Positions positions;
    for (std::size_t d = 0; d < batch_rank; ++d) {
      const std::size_t missing = batch_rank - own;
      const bool repeats = d < missing || x.shape.size(d - missing) == 1;
      positions.add(y.size(d), repeats ? 0 : strides[d - missing]);
      batches *= y.size(d);
    }
    positions.add(matrix, 1);
    if (batches * matrix == x.shape.elements()) return;
    bytes = rounded_to_pack(static_cast<std::size_t>(batches * matrix) * dtype_size(x.dtype));
    repeat.emplace(device, "BatchMatMulV2", x.dtype, std::move(positions));
  }
  const void* run(CudaQueue& queue, const LaunchArgs& args, std::byte* memory) const {
    if (!repeat) return args.inputs[input];
    repeat->run(queue, args.inputs[input], memory);
    return memory;
  }

  std::size_t input, bytes = 0;
  std::optional<PositionCopy> repeat;
};

std::unique_ptr<PreparedKernel> prepare_batch_matmul(Device& device, const KernelRequest& request) {
  const auto& attrs = request.attributes<BatchMatMulAttrs>();
  const Shape &x = request.inputs[0].shape, &y = request.outputs[0].shape;
  const std::int64_t rows = y.size(y.rank() - 2), columns = y.size(y.rank() - 1);
  const std::int64_t inner = x.size(x.rank() - (attrs.adj_x ? 2 : 1));
  if (y.elements() == 0 || inner == 0) {
    return make_kernel(
        [bytes = request.outputs[0].bytes()](CudaQueue& queue, const LaunchArgs& args) {
          if (bytes > 0) queue.fill_with_zeros(args.outputs[0], bytes);
        });
  }
  const BatchOperand a(device, request, 0), b(device, request, 1);
  const auto product = std::make_shared<const BlasProduct>(
      device, ProductShape{.rows = rows,
                           .inner = inner,
                           .columns = columns,
                           .transpose_a = attrs.adj_x,
                           .transpose_b = attrs.adj_y,
                           .batches = y.elements() / (rows * columns),
                           .dtype = request.outputs[0].dtype});
  return make_kernel(
      [a, b, product](CudaQueue& queue, const LaunchArgs& args) {
        const void* left = a.run(queue, args, args.workspace);
        const void* right = b.run(queue, args, args.workspace + a.bytes);
        product->run(queue, left, right, nullptr, args.outputs[0],
                     args.workspace + a.bytes + b.bytes);
      },
      {.workspace = a.bytes + b.bytes + product->workspace_bytes()});
}

}  // namespace

void add_batch_matmul_kernels(CudaEntries& entries) {
  entries.push_back(
      {"BatchMatMulV2", "cuBLASLt", takes({DType::float32, DType::float64}), prepare_batch_matmul});
}

}  // namespace towerflow::cuda
