#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <map>
#include <memory>
#include <shared_mutex>
#include <vector>

#include "cuda/host/device_pages.h"
#include "cuda/host/host_kernel.h"
#include "cuda/host/options.h"

namespace towerflow::cuda::host {

enum class MemoryKind { device, host, registered };

/// A range of memory that devices can access.
struct Allocation {
  Buffer buffer;
  MemoryKind kind = MemoryKind::device;
  int device = 0;  ///< where it is, or which was current when the host's memory was allocated
};

/// The memory of all devices, and the pinned memory of the host. Threads may use it at once; an
/// allocation that is found stays valid until it is freed, which waits for all work.
class Memory {
 public:
  explicit Memory(const Options& options);
  ~Memory();
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  /// These return the statuses of the calls that use them.
  cudaError_t allocate(int device, std::size_t bytes, void** address);
  cudaError_t allocate_host(int device, std::size_t bytes, void** address);
  cudaError_t register_host(int device, void* address, std::size_t bytes, bool read_only);
  /// Frees the allocation that starts at an address. Call it only for one that `starting_at` found.
  void release(const Allocation& allocation);

  /// Returns the allocation that contains a byte, nullptr if there is none.
  const Allocation* find(const void* address) const;
  /// Returns the allocation that contains a range, nullptr if there is none.
  const Allocation* find(const void* address, std::size_t bytes) const;
  const Allocation* starting_at(const void* address) const;
  /// Returns whether an address is a device's, allocated or not.
  bool is_device_address(const void* address) const;

  std::size_t capacity(int device) const;
  std::size_t in_use(int device) const;

 private:
  mutable std::shared_mutex mutex_;
  std::vector<std::unique_ptr<DevicePages>> devices_;
  std::map<const std::byte*, Allocation> allocations_;  // by address
};

}  // namespace towerflow::cuda::host
