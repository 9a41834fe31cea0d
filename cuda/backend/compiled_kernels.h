#pragma once

#include <cstddef>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "cuda/table/table.h"

namespace towerflow::cuda {

class Driver;

/// The text of a kernel, which may include the headers of cuda/device/header_texts.h.
struct KernelSource {
  std::string name;  ///< of the kernel
  std::string text;
};

/// The kernels that NVRTC compiles while the program runs, as nvcc compiles those of cuda/device.
/// A text is compiled once for each kind of card. Thread-safe.
class CompiledKernels {
 public:
  explicit CompiledKernels(Driver& driver) : driver_(driver) {}
  ~CompiledKernels();
  CompiledKernels(const CompiledKernels&) = delete;
  CompiledKernels& operator=(const CompiledKernels&) = delete;

  /// Returns the kernel for a card, of the calling thread's device; null if NVRTC is not installed
  /// or refuses it.
  cudaKernel_t find(const cudaDeviceProp& card, const KernelSource& source);

 private:
  /// A kernel, once somebody has tried to compile it.
  struct Compiled {
    std::once_flag tried;
    cudaLibrary_t image = nullptr;
    cudaKernel_t kernel = nullptr;
  };

  bool has_compiler();
  std::vector<char> machine_code(const std::string& architecture, const KernelSource& source) const;
  void load(Compiled& compiled, const std::vector<char>& code, const std::string& name) const;

  Driver& driver_;
  std::once_flag asked_;
  bool has_compiler_ = false;
  std::mutex mutex_;  // guards the map, but not what is in it
  std::map<std::pair<std::string, std::string>, Compiled> kernels_;  // by architecture and text
};

}  // namespace towerflow::cuda
