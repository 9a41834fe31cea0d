#include "cuda/backend/blas_product.h"

#include <fmt/format.h>

#include <mutex>

#include "core/graph/error.h"
#include "cuda/backend/check.h"

namespace towerflow::cuda {
namespace {

constexpr std::uint64_t kMostWorkspace = std::uint64_t{32} << 20;
constexpr std::uint32_t kAlignment = 64;  // of all operands in an arena
constexpr std::size_t kWorkspaceAlignment = 256;

cudaDataType data_type(DType dtype) {
  switch (dtype) {
    case DType::float64:
      return CUDA_R_64F;
    case DType::float16:
      return CUDA_R_16F;
    case DType::bfloat16:
      return CUDA_R_16BF;
    default:
      return CUDA_R_32F;
  }
}

cublasLtEpilogue_t epilogue_of(const ProductShape& shape) {
  const bool bias = shape.addend == ProductShape::Addend::bias;
  if (bias) return shape.relu ? CUBLASLT_EPILOGUE_RELU_BIAS : CUBLASLT_EPILOGUE_BIAS;
  return shape.relu ? CUBLASLT_EPILOGUE_RELU : CUBLASLT_EPILOGUE_DEFAULT;
}

}  // namespace

/// cuBLASLt's epilogues want matrices that are stored by column. A row-major matrix is the
/// transposed one by column, so what is computed is c' = b' a'.
struct BlasProduct::Descriptors {
  explicit Descriptors(Device& own) : device(own.shared_from_this()), handle(own.blas()) {}
  ~Descriptors() {
    const Table& table = device->table();
    for (const auto layout : {first, second, result}) {
      if (layout != nullptr) table.cublasLtMatrixLayoutDestroy(layout);
    }
    if (operation != nullptr) table.cublasLtMatmulDescDestroy(operation);
  }

  template <class T>
  void set(cublasLtMatmulDescAttributes_t name, const T& value) const {
    TOWERFLOW_CUDA(device->table(),
                   cublasLtMatmulDescSetAttribute(operation, name, &value, sizeof(value)));
  }
  cublasLtMatrixLayout_t layout(std::int64_t rows, std::int64_t columns) const {
    const Table& table = device->table();
    cublasLtMatrixLayout_t made = nullptr;
    // A row-major matrix of rows x columns is one of columns x rows by column.
    TOWERFLOW_CUDA(table, cublasLtMatrixLayoutCreate(&made, data_type(shape.dtype),
                                                     static_cast<std::uint64_t>(columns),
                                                     static_cast<std::uint64_t>(rows), columns));
    const auto batches = static_cast<std::int32_t>(shape.batches);
    const std::int64_t stride = rows * columns;
    TOWERFLOW_CUDA(table, cublasLtMatrixLayoutSetAttribute(made, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT,
                                                           &batches, sizeof(batches)));
    TOWERFLOW_CUDA(
        table, cublasLtMatrixLayoutSetAttribute(made, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET,
                                                &stride, sizeof(stride)));
    return made;
  }
  void choose_algorithm();

  std::shared_ptr<Device> device;  // prepared kernels may outlive the session
  cublasLtHandle_t handle;
  ProductShape shape;
  std::mutex mutex;  // for the address of the bias, which belongs to the operation
  cublasLtMatmulDesc_t operation = nullptr;
  cublasLtMatrixLayout_t first = nullptr, second = nullptr, result = nullptr;  // b', a', c'
  cublasLtMatmulHeuristicResult_t chosen{};
};

void BlasProduct::Descriptors::choose_algorithm() {
  const Table& table = device->table();
  cublasLtMatmulPreference_t preference = nullptr;
  TOWERFLOW_CUDA(table, cublasLtMatmulPreferenceCreate(&preference));
  const auto set_preference = [&](cublasLtMatmulPreferenceAttributes_t name, const auto& value) {
    TOWERFLOW_CUDA(table,
                   cublasLtMatmulPreferenceSetAttribute(preference, name, &value, sizeof(value)));
  };
  set_preference(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, kMostWorkspace);
  for (const auto name :
       {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES,
        CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES}) {
    set_preference(name, kAlignment);
  }
  int count = 0;
  const cublasStatus_t status = table.cublasLtMatmulAlgoGetHeuristic(
      handle, operation, first, second, result, result, preference, 1, &chosen, &count);
  table.cublasLtMatmulPreferenceDestroy(preference);
  if (status == CUBLAS_STATUS_SUCCESS && count == 1) return;
  throw errors::UnimplementedError(
      fmt::format("cuBLASLt has no algorithm for a product of {}x{}x{} ({})", shape.rows,
                  shape.inner, shape.columns, table.cublasLtGetStatusName(status)));
}

BlasProduct::BlasProduct(Device& device, const ProductShape& shape)
    : made_(std::make_unique<Descriptors>(device)) {
  Descriptors& d = *made_;
  d.shape = shape;
  const bool doubles = shape.dtype == DType::float64;
  TOWERFLOW_CUDA(
      device.table(),
      cublasLtMatmulDescCreate(&d.operation, doubles ? CUBLAS_COMPUTE_64F : CUBLAS_COMPUTE_32F,
                               doubles ? CUDA_R_64F : CUDA_R_32F));
  const auto operation = [](bool transposed) {
    return static_cast<std::int32_t>(transposed ? CUBLAS_OP_T : CUBLAS_OP_N);
  };
  d.set(CUBLASLT_MATMUL_DESC_TRANSA, operation(shape.transpose_b));
  d.set(CUBLASLT_MATMUL_DESC_TRANSB, operation(shape.transpose_a));
  d.set(CUBLASLT_MATMUL_DESC_EPILOGUE, static_cast<std::uint32_t>(epilogue_of(shape)));
  d.first = shape.transpose_b ? d.layout(shape.columns, shape.inner)
                              : d.layout(shape.inner, shape.columns);
  d.second =
      shape.transpose_a ? d.layout(shape.inner, shape.rows) : d.layout(shape.rows, shape.inner);
  d.result = d.layout(shape.rows, shape.columns);
  d.choose_algorithm();
}

BlasProduct::~BlasProduct() = default;

std::size_t BlasProduct::workspace_bytes() const {
  const std::size_t bytes = made_->chosen.workspaceSize;
  return bytes == 0 ? 0 : bytes + kWorkspaceAlignment - kAlignment;
}

void BlasProduct::run(CudaQueue& queue, const void* a, const void* b, const void* addend, void* c,
                      std::byte* workspace) const {
  Descriptors& d = *made_;
  const bool adds_matrix = d.shape.addend == ProductShape::Addend::matrix;
  const bool doubles = d.shape.dtype == DType::float64;
  const float one = 1, beta = adds_matrix ? 1 : 0;
  const double one_64 = 1, beta_64 = adds_matrix ? 1 : 0;
  const auto at = reinterpret_cast<std::uintptr_t>(workspace);
  workspace += (kWorkspaceAlignment - at % kWorkspaceAlignment) % kWorkspaceAlignment;
  const std::lock_guard lock(d.mutex);
  if (d.shape.addend == ProductShape::Addend::bias) {
    d.set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, addend);
  }
  TOWERFLOW_CUDA(
      queue.device().table(),
      cublasLtMatmul(d.handle, d.operation, doubles ? static_cast<const void*>(&one_64) : &one, b,
                     d.first, a, d.second, doubles ? static_cast<const void*>(&beta_64) : &beta,
                     adds_matrix ? addend : c, d.result, c, d.result, &d.chosen.algo, workspace,
                     d.chosen.workspaceSize, queue.stream()));
}

}  // namespace towerflow::cuda
