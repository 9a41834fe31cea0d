#pragma once

#include <string>
#include <type_traits>

#include "cuda/host/visible.h"
#include "cuda/table/table.h"

namespace towerflow::cuda::host {

// The emulated calls of the libraries have the names of the calls themselves, so that a list of
// names declares them and fills the table.
#define TOWERFLOW_ENTRY(name) std::remove_pointer_t<types::name> name;
TOWERFLOW_CUDA_CUBLASLT(TOWERFLOW_ENTRY)
TOWERFLOW_CUDA_CUDNN(TOWERFLOW_ENTRY)
TOWERFLOW_CUDA_NCCL(TOWERFLOW_ENTRY)
TOWERFLOW_CUDA_NVRTC(TOWERFLOW_ENTRY)
#undef TOWERFLOW_ENTRY

/// Fill the entries of one library each.
TOWERFLOW_CUDA_VISIBLE void fill_cublaslt(Table& table);
TOWERFLOW_CUDA_VISIBLE void fill_cudnn(Table& table);
TOWERFLOW_CUDA_VISIBLE void fill_nccl(Table& table);
/// Returns what is missing, empty if nothing is.
TOWERFLOW_CUDA_VISIBLE std::string fill_nvrtc(Table& table);

}  // namespace towerflow::cuda::host
