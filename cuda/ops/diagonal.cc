// Diagonals of matrices.
#include <fmt/format.h>

#include "core/graph/error.h"
#include "cuda/ops/operands.h"
#include "ops/array/diagonal_attrs.h"
#include "ops/kernel_dims.h"

namespace towerflow::cuda {
namespace {

/// The diagonals of matrices of this shape that input `k` names.
device::DiagonalShape diagonal_shape(const KernelRequest& request, const Shape& matrices, int k) {
  const std::vector<std::int64_t> numbers = integers_of(request.values.at(k));
  const DiagonalAlign align = request.attributes<DiagonalAttrs>().align;
  const bool upper_left = align == DiagonalAlign::left_left || align == DiagonalAlign::left_right;
  const bool lower_left = align == DiagonalAlign::left_left || align == DiagonalAlign::right_left;
  const device::DiagonalShape shape{.lower = numbers.front(),
                                    .upper = numbers.back(),
                                    .rows = matrices.size(matrices.rank() - 2),
                                    .columns = matrices.size(matrices.rank() - 1),
                                    .upper_left = upper_left ? 1 : 0,
                                    .lower_left = lower_left ? 1 : 0};
  for (const std::int64_t number : numbers) {
    const bool exists = number == 0 || (number > -shape.rows && number < shape.columns);
    if (exists) continue;
    throw errors::InvalidArgumentError(
        fmt::format("diagonal {} is outside a matrix of {} rows and {} columns", number, shape.rows,
                    shape.columns));
  }
  return shape;
}

constexpr std::nullptr_t kNothing = nullptr;

std::unique_ptr<PreparedKernel> prepare_matrix_diag(Device& device, const KernelRequest& request) {
  const TensorDesc& y = request.outputs[0];
  const std::int64_t n = y.shape.elements();
  const device::DiagonalShape shape = diagonal_shape(request, y.shape, 1);
  const cudaKernel_t kernel = device.kernel(copy_kernel_name("MatrixDiag", y.dtype));
  return make_kernel([kernel, n, shape](CudaQueue& queue, const LaunchArgs& args) {
    launch(queue, kernel, blocks_for(queue.device(), n), args.inputs[0], kNothing, args.inputs[4],
           args.outputs[0], n, shape);
  });
}

std::unique_ptr<PreparedKernel> prepare_matrix_set_diag(Device& device,
                                                        const KernelRequest& request) {
  const TensorDesc& y = request.outputs[0];
  const std::int64_t n = y.shape.elements();
  const device::DiagonalShape shape = diagonal_shape(request, y.shape, 2);
  std::vector<Dim> dims(y.shape.dims().begin(), y.shape.dims().end() - 2);
  if (shape.upper > shape.lower) dims.emplace_back(shape.upper - shape.lower + 1);
  dims.emplace_back(shape.longest());
  if (request.inputs[1].shape != Shape(dims)) {
    throw errors::InvalidArgumentError(fmt::format("diagonals of shape {} where {} is needed",
                                                   request.inputs[1].shape.text(),
                                                   Shape(dims).text()));
  }
  const cudaKernel_t kernel = device.kernel(copy_kernel_name("MatrixDiag", y.dtype));
  return make_kernel(
      [kernel, n, shape](CudaQueue& queue, const LaunchArgs& args) {
        launch(queue, kernel, blocks_for(queue.device(), n), args.inputs[1], args.inputs[0],
               kNothing, args.outputs[0], n, shape);
      },
      {.in_place = {{0, 0}}});
}

std::unique_ptr<PreparedKernel> prepare_matrix_diag_part(Device& device,
                                                         const KernelRequest& request) {
  const TensorDesc& y = request.outputs[0];
  const std::int64_t n = y.shape.elements();
  const device::DiagonalShape shape = diagonal_shape(request, request.inputs[0].shape, 1);
  const cudaKernel_t kernel = device.kernel(copy_kernel_name("MatrixDiagPart", y.dtype));
  return make_kernel([kernel, n, shape](CudaQueue& queue, const LaunchArgs& args) {
    launch(queue, kernel, blocks_for(queue.device(), n), args.inputs[0], args.inputs[2],
           args.outputs[0], n, shape);
  });
}

std::unique_ptr<PreparedKernel> prepare_matrix_band_part(Device& device,
                                                         const KernelRequest& request) {
  const TensorDesc& x = request.inputs[0];
  if (x.shape.rank() < 2 || request.values.at(1).shape().rank() != 0 ||
      request.values.at(2).shape().rank() != 0) {
    throw errors::InvalidArgumentError(
        fmt::format("a band part needs matrices and two numbers, not {}", x.shape.text()));
  }
  const std::int64_t rows = x.shape.size(x.shape.rank() - 2),
                     columns = x.shape.size(x.shape.rank() - 1);
  const std::int64_t lower = integers_of(request.values.at(1))[0],
                     upper = integers_of(request.values.at(2))[0];
  if (lower > rows || upper > columns) {
    throw errors::InvalidArgumentError(
        fmt::format("{} diagonals below and {} above the main one, in a matrix of {} rows and {} "
                    "columns",
                    lower, upper, rows, columns));
  }
  const device::DiagonalShape shape{.lower = lower < 0 ? -rows : -lower,
                                    .upper = upper < 0 ? columns : upper,
                                    .rows = rows,
                                    .columns = columns};
  const std::int64_t n = x.shape.elements();
  const cudaKernel_t kernel = device.kernel(copy_kernel_name("MatrixBandPart", x.dtype));
  return make_kernel(
      [kernel, n, shape](CudaQueue& queue, const LaunchArgs& args) {
        launch(queue, kernel, blocks_for(queue.device(), n), args.inputs[0], args.outputs[0], n,
               shape);
      },
      {.in_place = {{0, 0}}});
}

}  // namespace

void add_diagonal_kernels(CudaEntries& entries) {
  const auto fits = [](const KernelRequest& request) {
    constexpr std::size_t kWidest = 8;
    return dtype_size(request.inputs[0].dtype) <= kWidest;
  };
  entries.push_back({"MatrixDiagV3", "cuda", fits, prepare_matrix_diag});
  entries.push_back({"MatrixSetDiagV3", "cuda", fits, prepare_matrix_set_diag});
  entries.push_back({"MatrixDiagPartV3", "cuda", fits, prepare_matrix_diag_part});
  entries.push_back({"MatrixBandPart", "cuda", fits, prepare_matrix_band_part});
}

}  // namespace towerflow::cuda
