#include "cuda/host/device_pages.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <new>

namespace towerflow::cuda::host {
namespace {

constexpr std::size_t kUnit = 512;                        // of addresses, as on a card
constexpr std::size_t kGap = 512;                         // unused bytes between allocations
constexpr std::size_t kRounds = 8;                        // addresses for each byte of memory
constexpr std::size_t kGivenBack = std::size_t{1} << 20;  // allocations whose pages are given back

std::size_t page_bytes() { return static_cast<std::size_t>(sysconf(_SC_PAGESIZE)); }

std::size_t rounded(std::size_t bytes, std::size_t unit) {
  return (bytes + unit - 1) / unit * unit;
}

}  // namespace

DevicePages::DevicePages(std::size_t capacity)
    : capacity_(capacity),
      reserved_(rounded(std::max<std::size_t>(capacity, 1), page_bytes()) * kRounds) {
  const int file = memfd_create("emulated GPU", MFD_CLOEXEC);
  if (file < 0 || ftruncate(file, static_cast<off_t>(reserved_)) != 0) {
    if (file >= 0) close(file);
    throw std::bad_alloc();
  }
  void* pages =
      mmap(nullptr, reserved_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, file, 0);
  close(file);
  void* addresses =
      mmap(nullptr, reserved_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (pages == MAP_FAILED || addresses == MAP_FAILED) {
    if (pages != MAP_FAILED) munmap(pages, reserved_);
    if (addresses != MAP_FAILED) munmap(addresses, reserved_);
    throw std::bad_alloc();
  }
  host_ = static_cast<std::byte*>(pages);
  device_ = static_cast<std::byte*>(addresses);
}

DevicePages::~DevicePages() {
  munmap(host_, reserved_);
  munmap(device_, reserved_);
}

std::size_t DevicePages::find_hole(std::size_t bytes) const {
  std::size_t offset = 0;
  for (const auto& [begin, size] : blocks_) {
    if (begin - offset >= bytes) break;
    offset = begin + size;
  }
  return offset;
}

std::byte* DevicePages::allocate(std::size_t bytes) {
  const std::size_t wanted = rounded(bytes, kUnit);
  if (wanted < bytes || wanted > capacity_ - in_use_) return nullptr;
  const std::size_t with_gap = wanted + kGap;
  const bool fresh = with_gap <= reserved_ - unused_;
  const std::size_t offset = fresh ? unused_ : find_hole(with_gap);
  if (!fresh && (offset > reserved_ || with_gap > reserved_ - offset)) return nullptr;
  if (fresh) unused_ += with_gap;
  blocks_[offset] = with_gap;
  in_use_ += wanted;
  std::memset(host_ + offset, 0xff, wanted);
  return device_ + offset;
}

void DevicePages::release(std::byte* device) {
  const auto block = blocks_.find(static_cast<std::size_t>(device - device_));
  const std::size_t bytes = block->second - kGap;
  std::byte* begin = host_ + block->first;
  std::byte* end = begin + bytes;
  if (bytes >= kGivenBack) {
    // Whoever still reads the pages that go back to the system finds zeros, elsewhere 0xff.
    const std::size_t page = page_bytes();
    std::byte* first = host_ + rounded(block->first, page);
    std::byte* last = host_ + (block->first + bytes) / page * page;
    madvise(first, static_cast<std::size_t>(last - first), MADV_REMOVE);
    std::memset(begin, 0xff, static_cast<std::size_t>(first - begin));
    std::memset(last, 0xff, static_cast<std::size_t>(end - last));
  } else {
    std::memset(begin, 0xff, bytes);
  }
  in_use_ -= bytes;
  blocks_.erase(block);
}

}  // namespace towerflow::cuda::host
