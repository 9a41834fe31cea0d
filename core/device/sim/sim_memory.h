#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <type_traits>

namespace towerflow {

/// The memory of one simulated accelerator. Device addresses are in a reserved range without access
/// rights. The pages are mapped at a fixed distance from it that only the device's queues use.
/// Reading or writing a device address on the host faults, as with a real accelerator.
class SimMemory : public std::enable_shared_from_this<SimMemory> {
 public:
  SimMemory(int device, std::size_t bytes);
  ~SimMemory();
  SimMemory(const SimMemory&) = delete;
  SimMemory& operator=(const SimMemory&) = delete;

  /// Allocates memory aligned to 64 bytes and returns its device address; freed with the last
  /// owner. Throws ResourceExhaustedError with the bytes in use.
  std::shared_ptr<void> allocate(std::size_t bytes);

  /// Returns whether the byte at `address` is in this memory. The byte after its end may be the
  /// host's.
  bool contains(const void* address) const {
    const auto* at = static_cast<const std::byte*>(address);
    return at >= device_ && at < device_ + bytes_;
  }
  /// Returns the host address of the byte at device address `address`.
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
  std::byte* device_ = nullptr;  // device addresses: reserved, no access
  std::byte* host_ = nullptr;    // host addresses of the pages
  mutable std::mutex mutex_;
  std::map<std::size_t, std::size_t> blocks_;  // blocks in use: offset -> bytes
  std::size_t in_use_ = 0;
};

}  // namespace towerflow
