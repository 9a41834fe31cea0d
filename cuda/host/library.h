#pragma once

#include <cuda_runtime_api.h>

#include <map>
#include <memory>
#include <string>

#include "cuda/host/host_kernel.h"

namespace towerflow::cuda::host {

/// A kernel of a library, with the attributes that the program has set.
struct LoadedKernel {
  const HostKernel* kernel = nullptr;
  std::size_t max_dynamic_shared = 0;  ///< bytes that a launch may ask for
};

/// What cudaLibraryLoadData made of an image.
struct LoadedLibrary {
  bool is_image = false;                          ///< whether the bytes are a program at all
  std::map<std::string, cudaKernel_t> kernels{};  ///< those that were asked for
};

}  // namespace towerflow::cuda::host
