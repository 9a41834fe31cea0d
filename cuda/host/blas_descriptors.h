#pragma once

#include <cublasLt.h>

#include <memory>

#include "cuda/host/blas_attributes.h"

namespace towerflow::cuda::host {

/// Return nullptr for a handle that was not created or is destroyed.
std::shared_ptr<const BlasAttributes> find_operation(cublasLtMatmulDesc_t handle);
std::shared_ptr<const BlasAttributes> find_layout(cublasLtMatrixLayout_t handle);
std::shared_ptr<const BlasAttributes> find_preference(cublasLtMatmulPreference_t handle);

}  // namespace towerflow::cuda::host
