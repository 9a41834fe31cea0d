#pragma once

#include <cstdint>
#include <string_view>

#include "cuda/host/visible.h"
#include "cuda/table/table.h"

namespace towerflow::cuda::host {

// What a process reaches of the backend is counted if TOWERFLOW_CUDA_COVERAGE names a file. When it
// ends, it appends a line for each entry of the table, each kernel and each epilogue:
//
//   entry cudaMalloc 12
//   kernel softmax_float32 0
//
// scripts/cuda-coverage adds them up.

bool counts_coverage();

/// Makes the entries that a table has got count their calls. Does nothing unless
/// `counts_coverage()`.
TOWERFLOW_CUDA_VISIBLE void count_calls(Table& table);

/// Count one launch of a kernel, and one product with an epilogue of cuBLASLt. They do nothing
/// unless `counts_coverage()`.
void count_launch(std::string_view kernel);
void count_epilogue(std::uint32_t epilogue);

}  // namespace towerflow::cuda::host
