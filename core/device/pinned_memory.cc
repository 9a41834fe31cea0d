#include "core/device/pinned_memory.h"

#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <mutex>
#include <utility>

#include "core/device/huge_pages.h"
#include "core/graph/error.h"
#include "core/graph/log.h"

namespace towerflow {
namespace {

constexpr std::size_t kAlignment = 64;
constexpr std::size_t kSlab = 256 * 1024;  // pages shared by small blocks
constexpr std::size_t kSmall = kSlab / 4;  // larger blocks have their own pages

std::atomic<std::size_t> locked_bytes{0};
std::atomic<std::size_t> refused_bytes{0};

std::size_t rounded_up(std::size_t bytes, std::size_t unit) {
  return (bytes + unit - 1) / unit * unit;
}

/// Returns the offset at which a large block begins in its pages. An update reads and writes a
/// variable, its slots and its gradients side by side. If they all began at the same offset of a
/// page, the processor would take each load to depend on a preceding store (4 KiB aliasing).
std::size_t next_page_offset() {
  constexpr std::size_t kStep = 4096 + 5 * kAlignment, kPlaces = 31;
  static std::atomic<std::size_t> blocks{0};
  return blocks.fetch_add(1, std::memory_order_relaxed) % kPlaces * kStep;
}

void warn_once(std::size_t bytes, int error) {
  static std::once_flag once;
  std::call_once(once, [&] {
    rlimit limit{};
    getrlimit(RLIMIT_MEMLOCK, &limit);
    char allowed[32] = "unlimited", text[400];  // fixed size, since memory may be low
    if (limit.rlim_cur != RLIM_INFINITY) {
      std::snprintf(allowed, sizeof allowed, "%ju KiB",
                    static_cast<std::uintmax_t>(limit.rlim_cur / 1024));
    }
    const auto end = fmt::format_to_n(
        text, sizeof text,
        "cannot lock {} KiB of variables in memory ({}; the limit, ulimit -l, is {}): they stay "
        "pageable, which makes copies to devices slower and changes no result",
        bytes / 1024, std::strerror(error), allowed);
    log_message(LogLevel::warning, {text, std::min(end.size, sizeof text)});
  });
}

/// Whole pages, locked if that is allowed. All instances are in a list.
class Pages {
 public:
  explicit Pages(std::size_t bytes) {
    const std::size_t page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    const bool huge = bytes >= kHugePage;
    bytes_ = rounded_up(bytes, page);
    mapped_ = bytes_ + (huge ? kHugePage : 0);
    base_ = mmap(nullptr, mapped_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (base_ == MAP_FAILED) {
      throw errors::ResourceExhaustedError(fmt::format("cannot allocate {} bytes", bytes_));
    }
    start_ = static_cast<std::byte*>(base_);
    if (huge) {
      const auto at = reinterpret_cast<std::uintptr_t>(base_);
      start_ += rounded_up(at, kHugePage) - at;
      request_huge_pages(start_, bytes_);
    }
    locked_ = mlock(start_, bytes_) == 0;
    if (!locked_) warn_once(bytes_, errno);
    (locked_ ? locked_bytes : refused_bytes).fetch_add(bytes_);
    std::lock_guard lock(mutex);
    next_ = std::exchange(first, this);
    if (next_ != nullptr) next_->previous_ = this;
    if (observer != nullptr) observer->add_pages(start_, bytes_);
  }
  ~Pages() {
    {
      std::lock_guard lock(mutex);
      if (observer != nullptr) observer->remove_pages(start_);
      (previous_ == nullptr ? first : previous_->next_) = next_;
      if (next_ != nullptr) next_->previous_ = previous_;
    }
    (locked_ ? locked_bytes : refused_bytes).fetch_sub(bytes_);
    munmap(base_, mapped_);
  }
  Pages(const Pages&) = delete;
  Pages& operator=(const Pages&) = delete;

  std::byte* start() const { return start_; }
  static void set_observer(PinnedObserver* next) {
    std::lock_guard lock(mutex);
    for (Pages* pages = first; observer != nullptr && pages != nullptr; pages = pages->next_) {
      observer->remove_pages(pages->start_);
    }
    observer = next;
    for (Pages* pages = first; observer != nullptr && pages != nullptr; pages = pages->next_) {
      observer->add_pages(pages->start_, pages->bytes_);
    }
  }
  static bool contains(const void* address) {
    std::lock_guard lock(mutex);
    for (const Pages* pages = first; pages != nullptr; pages = pages->next_) {
      if (address >= pages->start_ && address < pages->start_ + pages->bytes_) return true;
    }
    return false;
  }

 private:
  static inline std::mutex mutex;  // guards the list of all instances, and the observer
  static inline Pages* first = nullptr;
  static inline PinnedObserver* observer = nullptr;

  Pages* previous_ = nullptr;
  Pages* next_ = nullptr;
  void* base_ = nullptr;
  std::byte* start_ = nullptr;
  std::size_t bytes_ = 0;
  std::size_t mapped_ = 0;
  bool locked_ = false;
};

/// Hands out pieces of one slab after another. A slab lives as long as any of its pieces.
class Slabs {
 public:
  std::shared_ptr<void> take(std::size_t bytes) {
    std::lock_guard lock(mutex_);
    std::shared_ptr<Pages> slab = slab_.lock();
    if (slab == nullptr || used_ + bytes > kSlab) {
      slab = std::make_shared<Pages>(kSlab);
      slab_ = slab;
      used_ = 0;
    }
    std::byte* start = slab->start() + used_;
    used_ += bytes;
    return {std::move(slab), start};
  }

 private:
  std::mutex mutex_;
  std::weak_ptr<Pages> slab_;
  std::size_t used_ = 0;
};

}  // namespace

std::shared_ptr<void> allocate_pinned(std::size_t bytes) {
  static auto* slabs = new Slabs;  // blocks may outlive every static object
  const std::size_t wanted = rounded_up(std::max<std::size_t>(bytes, 1), kAlignment);
  if (wanted <= kSmall) return slabs->take(wanted);
  const std::size_t skew = next_page_offset();
  auto pages = std::make_shared<Pages>(wanted + skew);
  std::byte* start = pages->start() + skew;
  return {std::move(pages), start};
}

void observe_pinned(PinnedObserver* observer) { Pages::set_observer(observer); }

bool is_pinned(const void* address) { return Pages::contains(address); }

PinnedState pinned_state() { return {locked_bytes.load(), refused_bytes.load()}; }

}  // namespace towerflow
