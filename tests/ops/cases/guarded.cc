#include "tests/ops/cases/guarded.h"

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <mutex>
#include <system_error>
#include <vector>

namespace towerflow::testing {
namespace {

constexpr std::byte kSentinel{0xa5};
// Guard bytes on each side, on an accelerator, where memory begins at a multiple of 256 bytes:
// operands have no better alignment than those of a plan.
constexpr std::size_t kAround = 256 + Array::kAlignment;

std::size_t rounded(std::size_t bytes, std::size_t unit) {
  return (bytes + unit - 1) / unit * unit;
}

/// Memory between two inaccessible pages, kept for the next buffer of the same size: mapping and
/// protecting it anew for each operand took most of the time of the checks.
class GuardedPages {
 public:
  /// Returns `inner` bytes, a multiple of `page`, with undefined contents.
  std::byte* take(std::size_t inner, std::size_t page) {
    const std::lock_guard lock(mutex_);
    std::vector<std::byte*>& kept = kept_[inner];
    if (!kept.empty()) {
      std::byte* const block = kept.back();
      kept.pop_back();
      return block;
    }
    void* const mapped =
        mmap(nullptr, inner + 2 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mapped == MAP_FAILED) throw std::system_error(errno, std::generic_category(), "mmap");
    std::byte* const block = static_cast<std::byte*>(mapped) + page;
    if (mprotect(block, inner, PROT_READ | PROT_WRITE) != 0) {
      throw std::system_error(errno, std::generic_category(), "mprotect");
    }
    return block;
  }
  void give_back(std::byte* block, std::size_t inner) {
    const std::lock_guard lock(mutex_);
    kept_[inner].push_back(block);
  }

 private:
  std::mutex mutex_;
  std::map<std::size_t, std::vector<std::byte*>> kept_;
};

GuardedPages& guarded_pages() {
  static GuardedPages pages;
  return pages;
}

}  // namespace

GuardedBuffer::GuardedBuffer(const Array& value, const Device& device)
    : value_(value), device_(device), bytes_(value.bytes()) {
  if (value.dtype() == DType::string) {
    value_ = value.copy();
    address_ = static_cast<std::byte*>(value_.raw());
    return;
  }
  if (device.on_host())
    allocate_on_host();
  else
    allocate_on_device();
}

GuardedBuffer::~GuardedBuffer() {
  if (inner_ > 0) guarded_pages().give_back(block_, inner_);
}

void GuardedBuffer::allocate_on_host() {
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  const std::size_t operand = rounded(std::max<std::size_t>(bytes_, 1), Array::kAlignment);
  inner_ = rounded(operand, page);
  block_ = guarded_pages().take(inner_, page);
  before_ = inner_ - operand;
  address_ = block_ + before_;
  after_ = operand - bytes_;
  std::memset(block_, static_cast<int>(kSentinel), inner_);
  if (bytes_ > 0) std::memcpy(address_, value_.raw(), bytes_);
}

void GuardedBuffer::allocate_on_device() {
  const std::size_t operand = rounded(bytes_, Array::kAlignment);
  const std::size_t whole = kAround + operand + kAround;
  memory_ = device_.backend->allocate(device_.index, whole);
  staging_ = device_.backend->allocate_staging(whole);
  block_ = static_cast<std::byte*>(staging_.get());
  before_ = kAround;
  after_ = whole - kAround - bytes_;
  address_ = static_cast<std::byte*>(memory_.get()) + before_;
  std::memset(block_, static_cast<int>(kSentinel), whole);
  if (bytes_ > 0) std::memcpy(block_ + before_, value_.raw(), bytes_);
}

void GuardedBuffer::upload(const std::vector<GuardedBuffer*>& buffers) { transfer(buffers, true); }

void GuardedBuffer::download(const std::vector<GuardedBuffer*>& buffers) {
  transfer(buffers, false);
}

/// All in one queue: a wait for each copy took a fifth of the time of the checks.
void GuardedBuffer::transfer(const std::vector<GuardedBuffer*>& buffers, bool to_device) {
  std::unique_ptr<Queue> queue;
  for (const GuardedBuffer* buffer : buffers) {
    if (buffer == nullptr || buffer->memory_ == nullptr) continue;
    const Device& device = buffer->device_;
    if (queue == nullptr) {
      queue = device.backend->make_queue(device.index, to_device ? Lane::upload : Lane::download);
      queue->start(false);
    }
    const std::size_t whole = buffer->before_ + buffer->bytes_ + buffer->after_;
    if (to_device)
      queue->copy(buffer->memory_.get(), buffer->block_, whole);
    else
      queue->copy(buffer->block_, buffer->memory_.get(), whole);
  }
  if (queue == nullptr) return;
  if (const auto failed = queue->synchronize()) std::rethrow_exception(failed->error);
}

Array GuardedBuffer::value() const {
  if (value_.dtype() == DType::string) return value_;
  Array found(value_.dtype(), value_.shape());
  if (bytes_ > 0) std::memcpy(found.raw(), block_ + before_, bytes_);
  return found;
}

std::string GuardedBuffer::damage_text() const {
  if (value_.dtype() == DType::string) return "";
  // Compares all bytes at once first: counting them one by one is slow under sanitizers.
  const std::vector<std::byte> untouched(std::max(before_, after_), kSentinel);
  const auto changed = [&](const std::byte* from, std::size_t bytes) -> std::ptrdiff_t {
    if (bytes == 0 || std::memcmp(from, untouched.data(), bytes) == 0) return 0;
    return std::count_if(from, from + bytes, [](std::byte b) { return b != kSentinel; });
  };
  const auto before = changed(block_, before_);
  const auto after = changed(block_ + before_ + bytes_, after_);
  std::string text;
  if (before > 0) text = fmt::format("{} bytes before it", before);
  if (after > 0) text += fmt::format("{}{} bytes behind it", text.empty() ? "" : ", ", after);
  return text;
}

}  // namespace towerflow::testing
