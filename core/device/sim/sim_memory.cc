#include "core/device/sim/sim_memory.h"

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "core/graph/error.h"

namespace towerflow {
namespace {

constexpr std::size_t kBlockUnit = 64;

[[noreturn]] void refuse_bytes(int device, std::size_t bytes, const char* what) {
  throw errors::ResourceExhaustedError(
      fmt::format("simulated accelerator {}: no {} for {} bytes of memory: {}", device, what, bytes,
                  std::strerror(errno)));
}

}  // namespace

SimMemory::SimMemory(int device, std::size_t bytes) : number_(device), bytes_(bytes) {
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  bytes_ = (bytes + page - 1) / page * page;
  const int file = memfd_create("simulated accelerator", MFD_CLOEXEC);
  if (file < 0 || ftruncate(file, static_cast<off_t>(bytes_)) != 0) {
    if (file >= 0) close(file);
    refuse_bytes(device, bytes_, "file");
  }
  void* pages = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, file, 0);
  close(file);
  if (pages == MAP_FAILED) refuse_bytes(device, bytes_, "pages");
  void* reserved =
      mmap(nullptr, bytes_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (reserved == MAP_FAILED) {
    munmap(pages, bytes_);
    refuse_bytes(device, bytes_, "addresses");
  }
  host_ = static_cast<std::byte*>(pages);
  device_ = static_cast<std::byte*>(reserved);
}

SimMemory::~SimMemory() {
  munmap(host_, bytes_);
  munmap(device_, bytes_);
}

std::shared_ptr<void> SimMemory::allocate(std::size_t bytes) {
  const std::size_t wanted =
      (std::max<std::size_t>(bytes, 1) + kBlockUnit - 1) / kBlockUnit * kBlockUnit;
  std::lock_guard lock(mutex_);
  std::size_t offset = 0;  // of the first hole that is large enough
  for (const auto& [begin, size] : blocks_) {
    if (begin - offset >= wanted) break;
    offset = begin + size;
  }
  if (wanted > bytes_ || offset > bytes_ - wanted) {
    throw errors::ResourceExhaustedError(
        fmt::format("simulated accelerator {} is out of memory: {} bytes asked for, {} of {} in "
                    "use",
                    number_, wanted, in_use_, bytes_),
        {.hint =
             "use a smaller batch, fewer towers per device, or a larger memory= for the device"});
  }
  blocks_[offset] = wanted;
  in_use_ += wanted;
  return {device_ + offset,
          [memory = shared_from_this(), offset](void*) { memory->release(offset); }};
}

void SimMemory::release(std::size_t offset) {
  std::lock_guard lock(mutex_);
  const auto block = blocks_.find(offset);
  in_use_ -= block->second;
  // Returns the pages to the system. Memory allocated here later is written before it is read.
  if (block->second >= std::size_t{1} << 20) {
    const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    const std::size_t begin = (offset + page - 1) / page * page;
    const std::size_t end = (offset + block->second) / page * page;
    if (end > begin) madvise(host_ + begin, end - begin, MADV_REMOVE);
  }
  blocks_.erase(block);
}

std::size_t SimMemory::bytes_in_use() const {
  std::lock_guard lock(mutex_);
  return in_use_;
}

}  // namespace towerflow
