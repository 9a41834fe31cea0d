#include "cuda/backend/kernel_table.h"

#include "cuda/ops/families.h"

namespace towerflow::cuda {

#define TOWERFLOW_DECLARE(name) void add_##name##_kernels(CudaEntries& entries);
TOWERFLOW_CUDA_FAMILIES(TOWERFLOW_DECLARE)
#undef TOWERFLOW_DECLARE
void add_widened_kernels(CudaEntries& entries);

const CudaEntries& cuda_kernels() {
  static const CudaEntries entries = [] {
    CudaEntries made;
#define TOWERFLOW_ADD(name) add_##name##_kernels(made);
    TOWERFLOW_CUDA_FAMILIES(TOWERFLOW_ADD)
#undef TOWERFLOW_ADD
    add_widened_kernels(made);  // behind all others
    return made;
  }();
  return entries;
}

}  // namespace towerflow::cuda
