#include "cuda/host/shared_memory.h"

#include <cstdlib>
#include <cstring>
#include <new>

namespace towerflow::cuda::host {
namespace {

constexpr std::size_t kAlignment = 128;
/// Lies behind each variable, so that an index that is too large is found.
constexpr std::size_t kGap = 64;
constexpr std::size_t kMostVariables = 16;

std::size_t round_up(std::size_t bytes, std::size_t unit) {
  return (bytes + unit - 1) / unit * unit;
}
unsigned warp_of(unsigned thread) { return thread / 32; }

}  // namespace

void SharedMemory::Release::operator()(std::byte* bytes) const { std::free(bytes); }

SharedMemory::SharedMemory(std::size_t static_bytes, std::size_t dynamic_bytes)
    : static_bytes_(static_bytes),
      dynamic_at_(static_bytes == 0
                      ? 0
                      : round_up(static_bytes + kMostVariables * (kGap + kAlignment), kAlignment)),
      size_(round_up(dynamic_at_ + dynamic_bytes + kGap, kAlignment)),
      bytes_(static_cast<std::byte*>(std::aligned_alloc(kAlignment, size_))),
      shadow_(size_) {
  if (bytes_ == nullptr) throw std::bad_alloc();
  variables_.push_back({nullptr, dynamic_at_, dynamic_bytes});
}

void SharedMemory::begin_block() {
  std::memset(bytes_.get(), 0xff, size_);
  variables_.resize(1);
  used_ = next_ = 0;
  block_epoch_ = ++epoch_;
}

void* SharedMemory::variable(const void* site, std::size_t bytes, std::size_t alignment) {
  for (const Variable& variable : variables_) {
    if (variable.site == site) return bytes_.get() + variable.begin;
  }
  used_ = round_up(used_, alignment) + bytes;
  if (used_ > static_bytes_ || variables_.size() > kMostVariables) return nullptr;
  const std::size_t begin = round_up(next_, alignment);
  next_ = begin + bytes + kGap;
  variables_.push_back({site, begin, bytes});
  return bytes_.get() + begin;
}

bool SharedMemory::in_one_variable(std::size_t at, std::size_t bytes) const {
  for (const Variable& variable : variables_) {
    if (at >= variable.begin && at - variable.begin < variable.bytes) {
      return bytes <= variable.bytes - (at - variable.begin);
    }
  }
  return false;
}

/// Returns whether the accesses of the mark happened before what `who` does now.
bool SharedMemory::follows(const Mark& mark, SharedAccess who) const {
  if (mark.epoch != epoch_) return true;
  if (mark.thread == who.thread && !mark.many_threads) return true;
  return !mark.many_warps && warp_of(mark.thread) == warp_of(who.thread) &&
         mark.warp_epoch < who.warp_epoch;
}

void SharedMemory::note_read(Mark& mark, SharedAccess who) const {
  if (!follows(mark, who)) {
    mark.many_threads |= mark.thread != who.thread;
    mark.many_warps |= warp_of(mark.thread) != warp_of(who.thread);
    mark.warp_epoch = who.warp_epoch;
    return;
  }
  mark = {epoch_, who.warp_epoch, static_cast<std::uint16_t>(who.thread), false, false};
}

const char* SharedMemory::access(const void* address, std::size_t bytes, bool write,
                                 SharedAccess who) {
  const std::size_t at = offset(address);
  if (!in_one_variable(at, bytes)) return "an access outside of the block's shared memory";
  for (std::size_t i = at; i < at + bytes; ++i) {
    Byte& byte = shadow_[i];
    if (!write && byte.write.epoch < block_epoch_) {
      return "a read of shared memory that was not written";
    }
    if (!follows(byte.write, who) || (write && !follows(byte.read, who))) {
      return "a race of two threads in shared memory";
    }
    if (write) {
      byte.write = {epoch_, who.warp_epoch, static_cast<std::uint16_t>(who.thread), false, false};
    } else {
      note_read(byte.read, who);
    }
  }
  return nullptr;
}

}  // namespace towerflow::cuda::host
