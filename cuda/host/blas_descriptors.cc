// The descriptors of cuBLASLt: operations, layouts and preferences.
#include "cuda/host/blas_descriptors.h"

#include <cstdint>
#include <utility>

#include "cuda/host/libraries.h"
#include "cuda/host/library_handles.h"

namespace towerflow::cuda::host {
namespace {

auto& operations = *new LibraryHandles<cublasLtMatmulDesc_t, BlasAttributes>;
auto& layouts = *new LibraryHandles<cublasLtMatrixLayout_t, BlasAttributes>;
auto& preferences = *new LibraryHandles<cublasLtMatmulPreference_t, BlasAttributes>;

template <typename Handle>
cublasStatus_t write_attribute(const LibraryHandles<Handle, BlasAttributes>& all, Handle handle,
                               int name, const void* from, std::size_t size) {
  const auto attributes = all.find(handle);
  return attributes == nullptr ? CUBLAS_STATUS_INVALID_VALUE : attributes->write(name, from, size);
}

template <typename Handle>
cublasStatus_t read_attribute(const LibraryHandles<Handle, BlasAttributes>& all, Handle handle,
                              int name, void* to, std::size_t size, std::size_t* written) {
  const auto attributes = all.find(handle);
  return attributes == nullptr ? CUBLAS_STATUS_INVALID_VALUE
                               : attributes->read(name, to, size, written);
}

/// Destroying nothing is allowed; the library reads freed memory where a handle is destroyed twice.
template <typename Handle>
cublasStatus_t destroy(LibraryHandles<Handle, BlasAttributes>& all, Handle handle) {
  return handle == nullptr || all.remove(handle) ? CUBLAS_STATUS_SUCCESS
                                                 : CUBLAS_STATUS_INVALID_VALUE;
}

}  // namespace

std::shared_ptr<const BlasAttributes> find_operation(cublasLtMatmulDesc_t handle) {
  return operations.find(handle);
}

std::shared_ptr<const BlasAttributes> find_layout(cublasLtMatrixLayout_t handle) {
  return layouts.find(handle);
}

std::shared_ptr<const BlasAttributes> find_preference(cublasLtMatmulPreference_t handle) {
  return preferences.find(handle);
}

cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t* operation,
                                        cublasComputeType_t compute, cudaDataType_t scale) {
  if (operation == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
  auto attributes = std::make_shared<BlasAttributes>();
  attributes->declare(CUBLASLT_MATMUL_DESC_COMPUTE_TYPE, std::int32_t{compute});
  attributes->declare(CUBLASLT_MATMUL_DESC_SCALE_TYPE, std::int32_t{scale});
  for (const int name :
       {CUBLASLT_MATMUL_DESC_POINTER_MODE, CUBLASLT_MATMUL_DESC_TRANSA, CUBLASLT_MATMUL_DESC_TRANSB,
        CUBLASLT_MATMUL_DESC_TRANSC, CUBLASLT_MATMUL_DESC_SM_COUNT_TARGET,
        CUBLASLT_MATMUL_DESC_A_SCALE_MODE, CUBLASLT_MATMUL_DESC_B_SCALE_MODE,
        CUBLASLT_MATMUL_DESC_C_SCALE_MODE, CUBLASLT_MATMUL_DESC_D_SCALE_MODE,
        CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_SCALE_MODE, CUBLASLT_MATMUL_DESC_D_OUT_SCALE_MODE}) {
    attributes->declare(name, std::int32_t{0});
  }
  attributes->declare(CUBLASLT_MATMUL_DESC_FILL_MODE, std::int32_t{CUBLAS_FILL_MODE_FULL});
  attributes->declare(CUBLASLT_MATMUL_DESC_EPILOGUE, std::uint32_t{CUBLASLT_EPILOGUE_DEFAULT});
  for (const int name :
       {CUBLASLT_MATMUL_DESC_BIAS_BATCH_STRIDE, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD,
        CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_BATCH_STRIDE,
        CUBLASLT_MATMUL_DESC_ALPHA_VECTOR_BATCH_STRIDE}) {
    attributes->declare(name, std::int64_t{0});
  }
  for (const int name :
       {CUBLASLT_MATMUL_DESC_BIAS_POINTER, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER,
        CUBLASLT_MATMUL_DESC_A_SCALE_POINTER, CUBLASLT_MATMUL_DESC_B_SCALE_POINTER,
        CUBLASLT_MATMUL_DESC_C_SCALE_POINTER, CUBLASLT_MATMUL_DESC_D_SCALE_POINTER,
        CUBLASLT_MATMUL_DESC_AMAX_D_POINTER, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_SCALE_POINTER,
        CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_AMAX_POINTER, CUBLASLT_MATMUL_DESC_D_OUT_SCALE_POINTER,
        CUBLASLT_MATMUL_DESC_EMULATION_DESCRIPTOR}) {
    attributes->declare<void*>(name, nullptr);
  }
  attributes->declare(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_DATA_TYPE, std::int32_t{-1});
  attributes->declare(CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, std::int32_t{-1});
  attributes->declare(CUBLASLT_MATMUL_DESC_FAST_ACCUM, std::int8_t{0});
  *operation = operations.add(std::move(attributes));
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t operation) {
  return destroy(operations, operation);
}

cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t operation,
                                              cublasLtMatmulDescAttributes_t name, const void* from,
                                              std::size_t size) {
  return write_attribute(operations, operation, name, from, size);
}

cublasStatus_t cublasLtMatmulDescGetAttribute(cublasLtMatmulDesc_t operation,
                                              cublasLtMatmulDescAttributes_t name, void* to,
                                              std::size_t size, std::size_t* written) {
  return read_attribute(operations, operation, name, to, size, written);
}

cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t* layout, cudaDataType type,
                                          std::uint64_t rows, std::uint64_t cols, std::int64_t ld) {
  if (layout == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
  auto attributes = std::make_shared<BlasAttributes>();
  attributes->declare(CUBLASLT_MATRIX_LAYOUT_TYPE, std::int32_t{type});
  attributes->declare(CUBLASLT_MATRIX_LAYOUT_ORDER, std::int32_t{CUBLASLT_ORDER_COL});
  attributes->declare(CUBLASLT_MATRIX_LAYOUT_ROWS, rows);
  attributes->declare(CUBLASLT_MATRIX_LAYOUT_COLS, cols);
  attributes->declare(CUBLASLT_MATRIX_LAYOUT_LD, ld);
  attributes->declare(CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, std::int32_t{1});
  attributes->declare(CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, std::int64_t{0});
  attributes->declare(CUBLASLT_MATRIX_LAYOUT_PLANE_OFFSET, std::int64_t{0});
  attributes->declare(CUBLASLT_MATRIX_LAYOUT_BATCH_MODE, std::uint32_t{0});
  *layout = layouts.add(std::move(attributes));
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t layout) {
  return destroy(layouts, layout);
}

cublasStatus_t cublasLtMatrixLayoutSetAttribute(cublasLtMatrixLayout_t layout,
                                                cublasLtMatrixLayoutAttribute_t name,
                                                const void* from, std::size_t size) {
  return write_attribute(layouts, layout, name, from, size);
}

cublasStatus_t cublasLtMatrixLayoutGetAttribute(cublasLtMatrixLayout_t layout,
                                                cublasLtMatrixLayoutAttribute_t name, void* to,
                                                std::size_t size, std::size_t* written) {
  return read_attribute(layouts, layout, name, to, size, written);
}

cublasStatus_t cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t* preference) {
  if (preference == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
  auto attributes = std::make_shared<BlasAttributes>();
  attributes->declare(CUBLASLT_MATMUL_PREF_SEARCH_MODE, std::uint32_t{0});
  attributes->declare(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, std::uint64_t{0});
  attributes->declare(CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK,
                      std::uint32_t{CUBLASLT_REDUCTION_SCHEME_MASK});
  for (const int name :
       {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES,
        CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES}) {
    attributes->declare(name, std::uint32_t{256});
  }
  attributes->declare(CUBLASLT_MATMUL_PREF_MAX_WAVES_COUNT, 0.0F);
  attributes->declare(CUBLASLT_MATMUL_PREF_IMPL_MASK, ~std::uint64_t{0});
  *preference = preferences.add(std::move(attributes));
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t preference) {
  return destroy(preferences, preference);
}

cublasStatus_t cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t preference,
                                                    cublasLtMatmulPreferenceAttributes_t name,
                                                    const void* from, std::size_t size) {
  return write_attribute(preferences, preference, name, from, size);
}

}  // namespace towerflow::cuda::host
