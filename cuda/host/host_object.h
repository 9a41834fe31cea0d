#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "cuda/host/host_kernel.h"

namespace towerflow::cuda::host {

/// A program that was compiled for the host while the program runs, and its kernels.
class HostObject {
 public:
  /// Returns the bytes that stand for a shared object where a card would have machine code.
  static std::string image_of(std::string_view object);
  static bool is_image(const void* code);

  /// Returns nullptr if the image is not of this process's emulation, or cannot be loaded.
  static std::shared_ptr<const HostObject> load(const void* image);
  ~HostObject();
  HostObject(const HostObject&) = delete;
  HostObject& operator=(const HostObject&) = delete;

  /// Returns nullptr if there is no kernel of that name.
  const HostKernel* find(std::string_view name) const;

 private:
  HostObject() = default;

  int file_ = -1;
  void* library_ = nullptr;
  std::vector<HostKernel> kernels_;
};

}  // namespace towerflow::cuda::host
