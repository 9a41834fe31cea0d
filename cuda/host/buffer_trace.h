#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "cuda/host/host_kernel.h"

namespace towerflow::cuda::host {

/// A set of bytes of a buffer. Memory is used only for the 64 kB pages with bytes in the set.
class ByteSet {
 public:
  explicit ByteSet(std::size_t bytes) : pages_((bytes >> kPageBits) + 1) {}

  void add(std::size_t at, std::size_t bytes) {
    while (bytes > 0) {
      const std::size_t bit = at & 63;
      const std::size_t now = bytes < 64 - bit ? bytes : 64 - bit;
      word(at) |= (~std::uint64_t{0} >> (64 - now)) << bit;
      at += now;
      bytes -= now;
    }
  }

  /// Appends the runs of bytes in the set, as addresses from `base` on.
  void append_runs(const std::byte* base, bool written, std::vector<Operand>& runs) const;

 private:
  static constexpr std::size_t kPageBits = 16;
  static constexpr std::size_t kWords = (std::size_t{1} << kPageBits) / 64;

  std::uint64_t& word(std::size_t at) {
    auto& page = pages_[at >> kPageBits];
    if (page == nullptr) page = std::make_unique<std::uint64_t[]>(kWords);
    return page[(at >> 6) & (kWords - 1)];
  }

  std::vector<std::unique_ptr<std::uint64_t[]>> pages_;
};

/// Who has written each byte of a buffer in a launch. Memory is used only for the 16 kB pages of
/// bytes that were written.
class ByteWriters {
 public:
  explicit ByteWriters(std::size_t bytes) : pages_((bytes >> kPageBits) + 1) {}

  /// Returns whether all bytes were written by `who` or by nobody.
  bool allow(std::size_t at, std::size_t bytes, std::uint32_t who) const {
    bool all = true;
    for (std::size_t i = at; i < at + bytes; ++i) {
      const auto& page = pages_[i >> kPageBits];
      if (page == nullptr) continue;
      const std::uint32_t writer = page[i & (kPageBytes - 1)];
      all &= writer == 0 || writer == who;
    }
    return all;
  }
  void add(std::size_t at, std::size_t bytes, std::uint32_t who) {
    for (std::size_t i = at; i < at + bytes; ++i) {
      auto& page = pages_[i >> kPageBits];
      if (page == nullptr) page = std::make_unique<std::uint32_t[]>(kPageBytes);
      page[i & (kPageBytes - 1)] = who;
    }
  }

 private:
  static constexpr std::size_t kPageBits = 14, kPageBytes = std::size_t{1} << kPageBits;

  std::vector<std::unique_ptr<std::uint32_t[]>> pages_;
};

/// The buffers of a launch and what was accessed in each.
class BufferTrace {
 public:
  struct Entry {
    explicit Entry(const Buffer& b)
        : buffer(b), read(b.bytes), written(b.bytes), writers(b.bytes) {}
    Buffer buffer;
    ByteSet read, written;
    ByteWriters writers;
  };

  void add(const Buffer& buffer);
  /// Returns the buffer that contains these host addresses, nullptr if there is none.
  Entry* find(const void* host, std::size_t bytes);
  /// Returns whether `who` may access the bytes, which nobody else has written in this launch.
  static bool allows(Entry& entry, const void* host, std::size_t bytes, bool write,
                     std::uint32_t who) {
    const std::size_t at = offset(entry, host);
    if (!entry.writers.allow(at, bytes, who)) return false;
    if (write) entry.writers.add(at, bytes, who);
    return true;
  }
  void record(Entry& entry, const void* host, std::size_t bytes, bool write) {
    const std::size_t at = offset(entry, host);
    (write ? entry.written : entry.read).add(at, bytes);
    (write ? bytes_written_ : bytes_read_) += bytes;
  }
  KernelTrace result() const;
  const std::vector<Entry>& entries() const { return entries_; }

 private:
  static std::size_t offset(const Entry& entry, const void* host) {
    return static_cast<std::size_t>(static_cast<const std::byte*>(host) - entry.buffer.host);
  }
  static bool contains(const Entry& entry, const void* host, std::size_t bytes) {
    const std::size_t at = offset(entry, host);
    return at < entry.buffer.bytes && bytes <= entry.buffer.bytes - at;
  }

  std::vector<Entry> entries_;
  std::size_t last_ = 0;
  std::size_t bytes_read_ = 0, bytes_written_ = 0;
};

}  // namespace towerflow::cuda::host
