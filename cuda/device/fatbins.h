#pragma once

#include <cstddef>

namespace towerflow::cuda {

/// The compiled kernels of one file of cuda/device, for cudaLibraryLoadData.
struct Fatbin {
  const std::byte* begin = nullptr;
  const std::byte* end = nullptr;
};

}  // namespace towerflow::cuda

/// Returns the fatbins in the plug-in, and their number.
extern "C" __attribute__((visibility("default"))) const towerflow::cuda::Fatbin*
towerflow_cuda_fatbins(std::size_t* count);
