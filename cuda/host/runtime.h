#pragma once

#include <type_traits>

#include "cuda/host/coverage.h"
#include "cuda/host/visible.h"
#include "cuda/table/table.h"

namespace towerflow::cuda::host {

/// The functions of the emulated runtime, under CUDA's names and with its types.
#define TOWERFLOW_ENTRY(name) TOWERFLOW_CUDA_VISIBLE std::remove_pointer_t<types::name> name;
TOWERFLOW_CUDA_RUNTIME(TOWERFLOW_ENTRY)
#undef TOWERFLOW_ENTRY

/// Fills the runtime's entries of a table.
inline void add_runtime(Table& table) {
#define TOWERFLOW_ENTRY(name) table.name = &host::name;
  TOWERFLOW_CUDA_RUNTIME(TOWERFLOW_ENTRY)
#undef TOWERFLOW_ENTRY
  count_calls(table);
}

}  // namespace towerflow::cuda::host
