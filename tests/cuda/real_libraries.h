#pragma once

#include <dlfcn.h>

#include "cuda/table/table.h"

namespace towerflow::cuda::testing {

/// Returns the table of the real cuDNN, or nullptr where it is not installed. Without a driver it
/// makes and judges descriptors all the same.
inline const Table* real_cudnn() {
  static Table table;
  static void* const library = [] {
    void* const opened = dlopen("libcudnn.so.9", RTLD_NOW | RTLD_GLOBAL);
    if (opened == nullptr) return opened;
#define TOWERFLOW_ENTRY(name) table.name = reinterpret_cast<types::name>(dlsym(opened, #name));
    TOWERFLOW_CUDA_CUDNN(TOWERFLOW_ENTRY)
#undef TOWERFLOW_ENTRY
    return opened;
  }();
  return library == nullptr ? nullptr : &table;
}

/// The same of cuBLASLt.
inline const Table* real_cublaslt() {
  static Table table;
  static void* const library = [] {
    void* const opened = dlopen("libcublasLt.so.13", RTLD_NOW | RTLD_GLOBAL);
    if (opened == nullptr) return opened;
#define TOWERFLOW_ENTRY(name) table.name = reinterpret_cast<types::name>(dlsym(opened, #name));
    TOWERFLOW_CUDA_CUBLASLT(TOWERFLOW_ENTRY)
#undef TOWERFLOW_ENTRY
    return opened;
  }();
  return library == nullptr ? nullptr : &table;
}

/// The same of NVRTC, which compiles without a driver.
inline const Table* real_nvrtc() {
  static Table table;
  static void* const library = [] {
    void* const opened = dlopen("libnvrtc.so.13", RTLD_NOW | RTLD_GLOBAL);
    if (opened == nullptr) return opened;
#define TOWERFLOW_ENTRY(name) table.name = reinterpret_cast<types::name>(dlsym(opened, #name));
    TOWERFLOW_CUDA_NVRTC(TOWERFLOW_ENTRY)
#undef TOWERFLOW_ENTRY
    return opened;
  }();
  return library == nullptr ? nullptr : &table;
}

}  // namespace towerflow::cuda::testing
