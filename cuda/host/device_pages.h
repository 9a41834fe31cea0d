#pragma once

#include <cstddef>
#include <map>

namespace towerflow::cuda::host {

/// The pages of one device. Its addresses have no access rights, so that the host faults if it uses
/// one. The pages are mapped a second time at a fixed distance, for the work of streams.
///
/// There are several times more addresses than memory. Freed ones are not used again until all
/// have been used once, so that an access to freed memory hits no other allocation.
class DevicePages {
 public:
  /// errors   std::bad_alloc: the system has not enough addresses
  explicit DevicePages(std::size_t capacity);
  ~DevicePages();
  DevicePages(const DevicePages&) = delete;
  DevicePages& operator=(const DevicePages&) = delete;

  /// Returns the device address of memory that is filled with 0xff (a NaN in all float types), or
  /// nullptr if there is not enough.
  std::byte* allocate(std::size_t bytes);
  void release(std::byte* device);

  std::byte* to_host(std::byte* device) const { return host_ + (device - device_); }
  /// Returns whether an address belongs to the device, allocated or not.
  bool contains(const void* address) const {
    const auto* at = static_cast<const std::byte*>(address);
    return at >= device_ && at < device_ + reserved_;
  }
  std::size_t capacity() const { return capacity_; }
  std::size_t in_use() const { return in_use_; }

 private:
  std::size_t find_hole(std::size_t bytes) const;

  std::size_t capacity_, reserved_;
  std::size_t in_use_ = 0;
  std::size_t unused_ = 0;  // offset from which on no address was used so far
  std::byte* device_ = nullptr;
  std::byte* host_ = nullptr;
  std::map<std::size_t, std::size_t> blocks_;  // in use, with a gap after each: offset -> bytes
};

}  // namespace towerflow::cuda::host
