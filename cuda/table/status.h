#pragma once

#include <string>

#include "cuda/table/table.h"

namespace towerflow::cuda {

/// A call that failed, with all that its library says about it.
struct Failure {
  Group group = Group::runtime;  ///< of the library
  int status = 0;
  std::string name;        ///< of the status: "cudaErrorMemoryAllocation"
  std::string text;        ///< "out of memory"
  std::string expression;  ///< "table.cudaMalloc(&memory, bytes)"

  /// "CUDA returned 2 (cudaErrorMemoryAllocation: out of memory) from table.cudaMalloc(..)"
  std::string message() const;
};

/// These return what is known about a status. `table` has the entries of its library.
Failure describe(const Table& table, cudaError_t status, const char* expression);
Failure describe(const Table& table, cublasStatus_t status, const char* expression);
Failure describe(const Table& table, cudnnStatus_t status, const char* expression);
Failure describe(const Table& table, ncclResult_t status, const char* expression);
Failure describe(const Table& table, nvrtcResult status, const char* expression);

inline bool is_success(cudaError_t status) { return status == cudaSuccess; }
inline bool is_success(cublasStatus_t status) { return status == CUBLAS_STATUS_SUCCESS; }
inline bool is_success(cudnnStatus_t status) { return status == CUDNN_STATUS_SUCCESS; }
inline bool is_success(ncclResult_t status) { return status == ncclSuccess; }
inline bool is_success(nvrtcResult status) { return status == NVRTC_SUCCESS; }

}  // namespace towerflow::cuda

/// Calls `handler(Failure)` if a call of one of the libraries fails. The handler throws, or logs:
///
///   TOWERFLOW_CUDA_CHECK(table, table.cudaSetDevice(device), raise_failure);
#define TOWERFLOW_CUDA_CHECK(table, call, handler)                                              \
  do {                                                                                          \
    if (const auto towerflow_status = (call); !::towerflow::cuda::is_success(towerflow_status)) \
        [[unlikely]] {                                                                          \
      handler(::towerflow::cuda::describe((table), towerflow_status, #call));                   \
    }                                                                                           \
  } while (false)
