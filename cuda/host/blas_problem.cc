#include "cuda/host/blas_problem.h"

#include <optional>

namespace towerflow::cuda::host {
namespace {

std::optional<Number> number_of(std::int32_t type) {
  switch (type) {
    case CUDA_R_32F:
      return Number::f32;
    case CUDA_R_64F:
      return Number::f64;
    case CUDA_R_16F:
      return Number::f16;
    case CUDA_R_16BF:
      return Number::bf16;
    default:
      return std::nullopt;
  }
}

cublasStatus_t resolve_matrix(const BlasAttributes& layout, BlasMatrix& matrix) {
  matrix.rows = layout.get<std::int64_t>(CUBLASLT_MATRIX_LAYOUT_ROWS);
  matrix.cols = layout.get<std::int64_t>(CUBLASLT_MATRIX_LAYOUT_COLS);
  const auto ld = layout.get<std::int64_t>(CUBLASLT_MATRIX_LAYOUT_LD);
  const auto order = layout.get<std::int32_t>(CUBLASLT_MATRIX_LAYOUT_ORDER);
  matrix.batches = layout.get<std::int32_t>(CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT);
  matrix.batch_stride = layout.get<std::int64_t>(CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET);
  const auto number = number_of(layout.get<std::int32_t>(CUBLASLT_MATRIX_LAYOUT_TYPE));
  if (!number || layout.get<std::int64_t>(CUBLASLT_MATRIX_LAYOUT_PLANE_OFFSET) != 0 ||
      layout.get<std::uint32_t>(CUBLASLT_MATRIX_LAYOUT_BATCH_MODE) != 0 ||
      (order != CUBLASLT_ORDER_COL && order != CUBLASLT_ORDER_ROW)) {
    return CUBLAS_STATUS_NOT_SUPPORTED;
  }
  matrix.number = *number;
  const bool by_row = order == CUBLASLT_ORDER_ROW;
  if (matrix.rows < 1 || matrix.cols < 1 || matrix.batches < 1 || matrix.batch_stride < 0 ||
      ld < (by_row ? matrix.cols : matrix.rows)) {
    return CUBLAS_STATUS_INVALID_VALUE;
  }
  matrix.row_stride = by_row ? ld : 1;
  matrix.col_stride = by_row ? 1 : ld;
  return CUBLAS_STATUS_SUCCESS;
}

bool is_transposed(std::int32_t operation) {
  return operation == CUBLAS_OP_T || operation == CUBLAS_OP_C;
}

cublasStatus_t resolve_types(const BlasAttributes& operation, BlasProblem& p) {
  const auto scale = operation.get<std::int32_t>(CUBLASLT_MATMUL_DESC_SCALE_TYPE);
  if (p.a.number != p.b.number || p.c.number != p.d.number) return CUBLAS_STATUS_NOT_SUPPORTED;
  switch (operation.get<std::int32_t>(CUBLASLT_MATMUL_DESC_COMPUTE_TYPE)) {
    case CUBLAS_COMPUTE_64F:
    case CUBLAS_COMPUTE_64F_PEDANTIC:
      p.single_scalars = false;
      return scale == CUDA_R_64F && p.a.number == Number::f64 && p.d.number == Number::f64
                 ? CUBLAS_STATUS_SUCCESS
                 : CUBLAS_STATUS_NOT_SUPPORTED;
    case CUBLAS_COMPUTE_32F_FAST_TF32:
      p.tf32 = true;
      if (p.a.number != Number::f32) return CUBLAS_STATUS_NOT_SUPPORTED;
      [[fallthrough]];
    case CUBLAS_COMPUTE_32F:
    case CUBLAS_COMPUTE_32F_PEDANTIC:
      if (scale != CUDA_R_32F || p.a.number == Number::f64) return CUBLAS_STATUS_NOT_SUPPORTED;
      return p.d.number == p.a.number || p.d.number == Number::f32 ? CUBLAS_STATUS_SUCCESS
                                                                   : CUBLAS_STATUS_NOT_SUPPORTED;
    default:
      return CUBLAS_STATUS_NOT_SUPPORTED;
  }
}

/// What only other kinds of matrices use: scales of 8-bit floats, emulated types, triangles.
bool uses_unsupported_attribute(const BlasAttributes& operation) {
  for (const int pointer :
       {CUBLASLT_MATMUL_DESC_A_SCALE_POINTER, CUBLASLT_MATMUL_DESC_B_SCALE_POINTER,
        CUBLASLT_MATMUL_DESC_C_SCALE_POINTER, CUBLASLT_MATMUL_DESC_D_SCALE_POINTER,
        CUBLASLT_MATMUL_DESC_AMAX_D_POINTER, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_SCALE_POINTER,
        CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_AMAX_POINTER, CUBLASLT_MATMUL_DESC_D_OUT_SCALE_POINTER,
        CUBLASLT_MATMUL_DESC_EMULATION_DESCRIPTOR}) {
    if (operation.get<void*>(pointer) != nullptr) return true;
  }
  return operation.get<std::int32_t>(CUBLASLT_MATMUL_DESC_FILL_MODE) != CUBLAS_FILL_MODE_FULL ||
         operation.get<std::int32_t>(CUBLASLT_MATMUL_DESC_TRANSC) != CUBLAS_OP_N;
}

/// The combinations that a card was seen to have (docs/cuda.md).
bool has_epilogue(const BlasProblem& p) {
  const bool nn = !p.transpose_a && !p.transpose_b;
  const bool nt = !p.transpose_a && p.transpose_b;
  const bool tn = p.transpose_a && !p.transpose_b;
  switch (p.epilogue) {
    case CUBLASLT_EPILOGUE_DEFAULT:
      return true;
    case CUBLASLT_EPILOGUE_RELU:
    case CUBLASLT_EPILOGUE_RELU_AUX:
    case CUBLASLT_EPILOGUE_BIAS:
    case CUBLASLT_EPILOGUE_RELU_BIAS:
    case CUBLASLT_EPILOGUE_RELU_AUX_BIAS:
    case CUBLASLT_EPILOGUE_DRELU:
    case CUBLASLT_EPILOGUE_DRELU_BGRAD:
    case CUBLASLT_EPILOGUE_GELU:
    case CUBLASLT_EPILOGUE_GELU_BIAS:
      return nn || nt || tn;
    case CUBLASLT_EPILOGUE_BGRADA:
      return nn || nt;
    case CUBLASLT_EPILOGUE_BGRADB:
      return nt;
    default:
      return false;
  }
}

cublasStatus_t resolve_epilogue(const BlasAttributes& operation, BlasProblem& p) {
  p.epilogue = operation.get<std::uint32_t>(CUBLASLT_MATMUL_DESC_EPILOGUE);
  if (!has_epilogue(p)) return CUBLAS_STATUS_NOT_SUPPORTED;
  if (p.epilogue == CUBLASLT_EPILOGUE_DEFAULT) return CUBLAS_STATUS_SUCCESS;
  // Vectors and masks belong to the columns of matrices that are stored by column.
  if (p.d.number == Number::f64 || p.d.row_stride != 1 || p.a.row_stride != 1 ||
      p.b.row_stride != 1) {
    return CUBLAS_STATUS_NOT_SUPPORTED;
  }
  p.bias = operation.get<void*>(CUBLASLT_MATMUL_DESC_BIAS_POINTER);
  p.bias_batch_stride = operation.get<std::int64_t>(CUBLASLT_MATMUL_DESC_BIAS_BATCH_STRIDE);
  const auto bias_type = operation.get<std::int32_t>(CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE);
  if (bias_type != -1 && number_of(bias_type) != p.d.number) return CUBLAS_STATUS_NOT_SUPPORTED;
  if (!p.writes_mask() && !p.reads_mask()) return CUBLAS_STATUS_SUCCESS;
  p.aux = operation.get<void*>(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER);
  p.aux_ld = operation.get<std::int64_t>(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD);
  p.aux_batch_stride = operation.get<std::int64_t>(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_BATCH_STRIDE);
  const bool fits = p.aux_ld % 128 == 0 && p.aux_ld >= p.m && p.aux_batch_stride % 128 == 0 &&
                    p.aux_batch_stride >= 0 &&
                    (p.d.batches == 1 || p.aux_batch_stride >= p.aux_ld * p.n);
  return fits ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_INVALID_VALUE;
}

}  // namespace

std::vector<Extent> BlasMatrix::extents() const {
  const auto size = static_cast<std::int64_t>(size_of(number));
  return {{rows, row_stride * size}, {cols, col_stride * size}, {batches, batch_stride * size}};
}

std::size_t BlasMatrix::bytes() const { return hull_bytes(size_of(number), extents()); }

std::int64_t BlasProblem::bias_gradient_size() const {
  if (epilogue == CUBLASLT_EPILOGUE_BGRADB) return n;
  if (epilogue == CUBLASLT_EPILOGUE_BGRADA || epilogue == CUBLASLT_EPILOGUE_DRELU_BGRAD) return m;
  return 0;
}

std::uint64_t BlasProblem::kind() const {
  std::uint64_t kind = 1;
  const auto append = [&kind](std::uint64_t value) { kind = kind * 31 + value; };
  for (const BlasMatrix* matrix : {&a, &b, &c, &d}) {
    append(static_cast<std::uint64_t>(matrix->number));
    append(matrix->row_stride == 1 ? 0 : 1);
  }
  append(transpose_a ? 1 : 0);
  append(transpose_b ? 1 : 0);
  append(epilogue);
  append(tf32 ? 1 : 0);
  append(scalars_on_device ? 1 : 0);
  return kind;
}

cublasStatus_t resolve(const BlasAttributes& operation, const BlasAttributes& a,
                       const BlasAttributes& b, const BlasAttributes& c, const BlasAttributes& d,
                       BlasProblem& p) {
  cublasStatus_t status = CUBLAS_STATUS_SUCCESS;
  const BlasAttributes* const layouts[] = {&a, &b, &c, &d};
  BlasMatrix* const matrices[] = {&p.a, &p.b, &p.c, &p.d};
  for (int i = 0; i < 4; ++i) {
    status = resolve_matrix(*layouts[i], *matrices[i]);
    if (status != CUBLAS_STATUS_SUCCESS) return status;
  }
  const auto transpose_a = operation.get<std::int32_t>(CUBLASLT_MATMUL_DESC_TRANSA);
  const auto transpose_b = operation.get<std::int32_t>(CUBLASLT_MATMUL_DESC_TRANSB);
  for (const std::int32_t transpose : {transpose_a, transpose_b}) {
    if (transpose != CUBLAS_OP_N && !is_transposed(transpose)) return CUBLAS_STATUS_INVALID_VALUE;
  }
  p.transpose_a = is_transposed(transpose_a);
  p.transpose_b = is_transposed(transpose_b);
  p.m = p.transpose_a ? p.a.cols : p.a.rows;
  p.k = p.transpose_a ? p.a.rows : p.a.cols;
  p.n = p.transpose_b ? p.b.rows : p.b.cols;
  if (p.k != (p.transpose_b ? p.b.cols : p.b.rows) || p.m != p.d.rows || p.n != p.d.cols ||
      p.m != p.c.rows || p.n != p.c.cols || p.a.batches != p.d.batches ||
      p.b.batches != p.d.batches || p.c.batches != p.d.batches) {
    return CUBLAS_STATUS_INVALID_VALUE;
  }
  // Batches of results that overlap would be written in any order.
  if (p.d.batches > 1 &&
      p.d.batch_stride < (p.m - 1) * p.d.row_stride + (p.n - 1) * p.d.col_stride + 1) {
    return CUBLAS_STATUS_INVALID_VALUE;
  }
  if (uses_unsupported_attribute(operation)) return CUBLAS_STATUS_NOT_SUPPORTED;
  switch (operation.get<std::int32_t>(CUBLASLT_MATMUL_DESC_POINTER_MODE)) {
    case CUBLASLT_POINTER_MODE_HOST:
      break;
    case CUBLASLT_POINTER_MODE_DEVICE:
      p.scalars_on_device = true;
      break;
    default:
      return CUBLAS_STATUS_NOT_SUPPORTED;
  }
  status = resolve_types(operation, p);
  return status == CUBLAS_STATUS_SUCCESS ? resolve_epilogue(operation, p) : status;
}

}  // namespace towerflow::cuda::host
