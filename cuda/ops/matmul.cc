// Products of matrices, alone and with the sum and relu that follow them.
#include "cuda/backend/blas_product.h"
#include "cuda/ops/operands.h"
#include "ops/nn/fused_matmul_attrs.h"

namespace towerflow::cuda {
namespace {

/// Fills in the sizes of the product of inputs 0 and 1.
ProductShape product_shape(const KernelRequest& request, const MatMulAttrs& attrs) {
  const Shape& made = request.outputs[0].shape;
  return {.rows = made.size(0),
          .inner = request.inputs[0].shape.size(attrs.transpose_a ? 0 : 1),
          .columns = made.size(1),
          .transpose_a = attrs.transpose_a,
          .transpose_b = attrs.transpose_b,
          .dtype = request.outputs[0].dtype};
}

std::unique_ptr<PreparedKernel> prepare_product(Device& device, const ProductShape& shape) {
  const auto product = std::make_shared<const BlasProduct>(device, shape);
  const bool adds = shape.addend != ProductShape::Addend::none;
  return make_kernel(
      [product, adds](CudaQueue& queue, const LaunchArgs& args) {
        product->run(queue, args.inputs[0], args.inputs[1], adds ? args.inputs[2] : nullptr,
                     args.outputs[0], args.workspace);
      },
      {.workspace = product->workspace_bytes()});
}

std::unique_ptr<PreparedKernel> prepare_matmul(Device& device, const KernelRequest& request) {
  const ProductShape shape = product_shape(request, request.attributes<MatMulAttrs>());
  if (shape.rows * shape.columns == 0 || shape.inner == 0) {
    return make_kernel(
        [bytes = request.outputs[0].bytes()](CudaQueue& queue, const LaunchArgs& args) {
          queue.fill_with_zeros(args.outputs[0], bytes);
        });
  }
  return prepare_product(device, shape);
}

std::unique_ptr<PreparedKernel> prepare_fused_matmul(Device& device, const KernelRequest& request) {
  const auto& attrs = request.attributes<nn::FusedMatMulAttrs>();
  ProductShape shape = product_shape(request, attrs.product);
  shape.addend = request.inputs[2].shape.rank() == 1 ? ProductShape::Addend::bias
                                                     : ProductShape::Addend::matrix;
  shape.relu = attrs.relu;
  return prepare_product(device, shape);
}

bool accepts_fused(const KernelRequest& request) {
  const auto& attrs = request.attributes<nn::FusedMatMulAttrs>().product;
  const Shape& a = request.inputs[0].shape;
  return request.inputs[0].dtype == DType::float32 &&
         BlasProduct::can_fuse(attrs.transpose_a, attrs.transpose_b) && a.fully_known() &&
         a.elements() > 0 && request.outputs[0].shape.elements() > 0;
}

}  // namespace

void add_matmul_kernels(CudaEntries& entries) {
  entries.push_back({"MatMul", "cuBLASLt",
                     takes({DType::float32, DType::float64, DType::float16, DType::bfloat16}),
                     prepare_matmul});
  entries.push_back({"_FusedMatMul", "cuBLASLt", accepts_fused, prepare_fused_matmul});
}

}  // namespace towerflow::cuda
