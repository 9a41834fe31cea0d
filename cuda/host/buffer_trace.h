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

/// The buffers of a launch and what was accessed in each.
class BufferTrace {
 public:
  struct Entry {
    explicit Entry(const Buffer& b) : buffer(b), read(b.bytes), written(b.bytes) {}
    Buffer buffer;
    ByteSet read, written;
  };

  void add(const Buffer& buffer);
  /// Returns the buffer that contains these host addresses, nullptr if there is none.
  Entry* find(const void* host, std::size_t bytes);
  void record(Entry& entry, const void* host, std::size_t bytes, bool write) {
    const auto at =
        static_cast<std::size_t>(static_cast<const std::byte*>(host) - entry.buffer.host);
    (write ? entry.written : entry.read).add(at, bytes);
    (write ? bytes_written_ : bytes_read_) += bytes;
  }
  KernelTrace result() const;
  const std::vector<Entry>& entries() const { return entries_; }

 private:
  static bool contains(const Entry& entry, const void* host, std::size_t bytes) {
    const auto at =
        static_cast<std::size_t>(static_cast<const std::byte*>(host) - entry.buffer.host);
    return at < entry.buffer.bytes && bytes <= entry.buffer.bytes - at;
  }

  std::vector<Entry> entries_;
  std::size_t last_ = 0;
  std::size_t bytes_read_ = 0, bytes_written_ = 0;
};

}  // namespace towerflow::cuda::host
