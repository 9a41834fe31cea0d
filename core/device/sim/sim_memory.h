#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <type_traits>

namespace towerflow {

/// The memory of one simulated accelerator: a range of addresses that nobody may touch, whose pages
/// appear a second time at a fixed distance, which only the device's launcher knows. To read or
/// write a device address on the host faults, as it does with a real accelerator.
class SimMemory : public std::enable_shared_from_this<SimMemory> {
 public:
  SimMemory(int device, std::size_t bytes);
  ~SimMemory();
  SimMemory(const SimMemory&) = delete;
  SimMemory& operator=(const SimMemory&) = delete;

  /// A device address, aligned to 64 bytes; given back with its last holder.
  /// Throws ResourceExhaustedError saying what is in use.
  std::shared_ptr<void> allocate(std::size_t bytes);

  /// Returns whether the byte at `address` is in this memory. The byte after its last may be the
  /// host's.
  bool contains(const void* address) const {
    const auto* at = static_cast<const std::byte*>(address);
    return at >= device_ && at < device_ + bytes_;
  }
  /// Returns the host's address of the byte at the device address `address`.
  template <class T>
  T* to_host_address(T* address) const {
    using Byte = std::conditional_t<std::is_const_v<T>, const std::byte, std::byte>;
    return reinterpret_cast<T*>(reinterpret_cast<Byte*>(address) + (host_ - device_));
  }
  std::size_t capacity() const { return bytes_; }
  std::size_t bytes_in_use() const;

 private:
  void release(std::size_t offset);

  int number_;
  std::size_t bytes_;
  std::byte* device_ = nullptr;  // reserved, no access
  std::byte* host_ = nullptr;    // the pages
  mutable std::mutex mutex_;
  std::map<std::size_t, std::size_t> blocks_;  // offset -> bytes, of what is in use
  std::size_t in_use_ = 0;
};

}  // namespace towerflow
