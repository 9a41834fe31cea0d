#include "cuda/host/memory.h"

#include <sys/mman.h>

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <mutex>

namespace towerflow::cuda::host {
namespace {

const std::byte* byte_at(const void* address) { return static_cast<const std::byte*>(address); }

/// Returns whether the process may write all bytes of a range, by the system's list of mappings.
bool is_writable(const void* address, std::size_t bytes) {
  const auto begin = reinterpret_cast<std::uintptr_t>(address);
  std::uintptr_t covered = begin;
  std::FILE* maps = std::fopen("/proc/self/maps", "r");
  if (maps == nullptr) return false;
  char line[512];
  while (covered < begin + bytes && std::fgets(line, sizeof line, maps) != nullptr) {
    std::uintptr_t first = 0, last = 0;
    char rights[5] = "";
    if (std::sscanf(line, "%zx-%zx %4s", &first, &last, rights) != 3) continue;
    if (first <= covered && covered < last) {
      if (rights[1] != 'w') break;
      covered = last;
    }
  }
  std::fclose(maps);
  return covered >= begin + bytes;
}

}  // namespace

Memory::Memory(const Options& options) {
  for (int i = 0; i < options.devices; ++i) {
    devices_.push_back(std::make_unique<DevicePages>(options.memory));
  }
}

Memory::~Memory() {
  for (const auto& [address, allocation] : allocations_) {
    if (allocation.kind == MemoryKind::host)
      munmap(allocation.buffer.host, allocation.buffer.bytes);
  }
}

cudaError_t Memory::allocate(int device, std::size_t bytes, void** address) {
  *address = nullptr;
  if (bytes == 0) return cudaSuccess;
  std::lock_guard lock(mutex_);
  DevicePages& pages = *devices_[static_cast<std::size_t>(device)];
  std::byte* at = pages.allocate(bytes);
  if (at == nullptr) return cudaErrorMemoryAllocation;
  allocations_[at] = {.buffer = {.device = at, .host = pages.to_host(at), .bytes = bytes},
                      .kind = MemoryKind::device,
                      .device = device};
  *address = at;
  return cudaSuccess;
}

cudaError_t Memory::allocate_host(int device, std::size_t bytes, void** address) {
  *address = nullptr;
  if (bytes == 0) return cudaSuccess;
  // Pages of its own: after they are freed, an access by the host faults.
  void* pages = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (pages == MAP_FAILED) return cudaErrorMemoryAllocation;
  auto* at = static_cast<std::byte*>(pages);
  std::lock_guard lock(mutex_);
  allocations_[at] = {.buffer = {.device = at, .host = at, .bytes = bytes},
                      .kind = MemoryKind::host,
                      .device = device};
  *address = at;
  return cudaSuccess;
}

cudaError_t Memory::register_host(int device, void* address, std::size_t bytes, bool read_only) {
  if (address == nullptr || bytes == 0 || is_device_address(address)) return cudaErrorInvalidValue;
  auto* at = static_cast<std::byte*>(address);
  std::lock_guard lock(mutex_);
  const auto next = allocations_.lower_bound(at);
  const bool overlaps_next = next != allocations_.end() && next->first < at + bytes;
  const bool overlaps_previous = next != allocations_.begin() &&
                                 std::prev(next)->first + std::prev(next)->second.buffer.bytes > at;
  if (overlaps_next || overlaps_previous) return cudaErrorHostMemoryAlreadyRegistered;
  if (!read_only && !is_writable(address, bytes)) return cudaErrorInvalidValue;
  allocations_[at] = {.buffer = {.device = at, .host = at, .bytes = bytes},
                      .kind = MemoryKind::registered,
                      .device = device};
  return cudaSuccess;
}

void Memory::release(const Allocation& allocation) {
  std::lock_guard lock(mutex_);
  const Buffer buffer = allocation.buffer;
  if (allocation.kind == MemoryKind::device) {
    devices_[static_cast<std::size_t>(allocation.device)]->release(buffer.device);
  } else if (allocation.kind == MemoryKind::host) {
    munmap(buffer.host, buffer.bytes);
  }
  allocations_.erase(buffer.device);
}

const Allocation* Memory::find(const void* address) const { return find(address, 1); }

const Allocation* Memory::find(const void* address, std::size_t bytes) const {
  std::shared_lock lock(mutex_);
  auto next = allocations_.upper_bound(byte_at(address));
  if (next == allocations_.begin()) return nullptr;
  const auto& [begin, allocation] = *std::prev(next);
  const auto offset = static_cast<std::size_t>(byte_at(address) - begin);
  const std::size_t size = allocation.buffer.bytes;
  return offset < size && bytes <= size - offset ? &allocation : nullptr;
}

const Allocation* Memory::starting_at(const void* address) const {
  std::shared_lock lock(mutex_);
  const auto at = allocations_.find(byte_at(address));
  return at != allocations_.end() ? &at->second : nullptr;
}

bool Memory::is_device_address(const void* address) const {
  for (const auto& pages : devices_) {
    if (pages->contains(address)) return true;
  }
  return false;
}

std::size_t Memory::capacity(int device) const {
  return devices_[static_cast<std::size_t>(device)]->capacity();
}

std::size_t Memory::in_use(int device) const {
  std::shared_lock lock(mutex_);
  return devices_[static_cast<std::size_t>(device)]->in_use();
}

}  // namespace towerflow::cuda::host
