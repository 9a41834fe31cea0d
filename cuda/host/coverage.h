#pragma once

#include <cstdint>
#include <string_view>

#include "cuda/host/host_kernel.h"
#include "cuda/host/visible.h"
#include "cuda/table/table.h"

namespace towerflow::cuda::host {

// What a process reaches of the backend is counted if TOWERFLOW_CUDA_COVERAGE names a file. When it
// ends, it appends a line for each entry of the table, each kernel and each epilogue:
//
//   entry cudaMalloc 12
//   kernel Softmax_float32 3
//   bytes Softmax_float32 2048 4096
//
// The last line says how many different bytes the kernel's largest launch accessed, and how many in
// all: more if bytes were read several times.
//
// scripts/cuda-coverage adds them up.

bool counts_coverage();

/// Makes the entries that a table has got count their calls. Does nothing unless
/// `counts_coverage()`.
TOWERFLOW_CUDA_VISIBLE void count_calls(Table& table);

/// Count a launch of a kernel and what it accessed, and one product with an epilogue of cuBLASLt.
/// They do nothing unless `counts_coverage()`.
void count_launch(std::string_view kernel, const KernelTrace& trace);
void count_epilogue(std::uint32_t epilogue);

}  // namespace towerflow::cuda::host
