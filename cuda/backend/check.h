#pragma once

#include "cuda/table/status.h"

namespace towerflow::cuda {

/// Throws the typed error of a failed call: ResourceExhaustedError if memory was short, otherwise
/// InternalError.
[[noreturn, gnu::cold]] void raise_failure(const Failure& failure);

/// Returns whether all calls fail after this one, so that only a new process helps.
bool is_sticky(const Failure& failure);

}  // namespace towerflow::cuda

/// Calls an entry of a table, and throws if it fails: TOWERFLOW_CUDA(table, cudaSetDevice(0));
#define TOWERFLOW_CUDA(table, call)                                               \
  do {                                                                            \
    const auto& towerflow_table = (table);                                        \
    if (const auto towerflow_status = towerflow_table.call;                       \
        !::towerflow::cuda::is_success(towerflow_status)) [[unlikely]] {          \
      ::towerflow::cuda::raise_failure(                                           \
          ::towerflow::cuda::describe(towerflow_table, towerflow_status, #call)); \
    }                                                                             \
  } while (false)
