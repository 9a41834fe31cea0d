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
#define TOWERFLOW_CUDA(table, call) \
  TOWERFLOW_CUDA_CHECK(table, (table).call, ::towerflow::cuda::raise_failure)
