#include "cuda/backend/kernel_table.h"

#include "cuda/ops/families.h"

namespace towerflow::cuda {

#define TOWERFLOW_DECLARE(name) void add_##name##_kernels(CudaEntries& entries);
TOWERFLOW_CUDA_FAMILIES(TOWERFLOW_DECLARE)
#undef TOWERFLOW_DECLARE

const CudaEntries& cuda_kernels() {
  static const CudaEntries entries = [] {
    CudaEntries made;
#define TOWERFLOW_ADD(name) add_##name##_kernels(made);
    TOWERFLOW_CUDA_FAMILIES(TOWERFLOW_ADD)
#undef TOWERFLOW_ADD
    return made;
  }();
  return entries;
}

}  // namespace towerflow::cuda
