#pragma once

#include <cuda_runtime_api.h>

#include <map>
#include <memory>
#include <string>

#include "cuda/host/host_object.h"

namespace towerflow::cuda::host {

/// A kernel of a library, with the attributes that the program has set.
struct LoadedKernel {
  std::shared_ptr<const HostKernel> kernel;
  std::size_t max_dynamic_shared = 0;  ///< bytes that a launch may ask for
};

/// What cudaLibraryLoadData made of an image.
struct LoadedLibrary {
  bool is_image = false;                          ///< whether the bytes are a program at all
  std::shared_ptr<const HostObject> object{};     ///< has the kernels; null: the plug-in has them
  std::map<std::string, cudaKernel_t> kernels{};  ///< those that were asked for

  /// Returns a kernel, which stays loaded as long as somebody has it.
  std::shared_ptr<const HostKernel> find(const char* name) const {
    return {object, object != nullptr ? object->find(name) : find_kernel(name)};
  }
};

}  // namespace towerflow::cuda::host
