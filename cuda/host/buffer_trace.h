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
/// bytes that were written. A page notes one writer for each word of 4 bytes until parts of words
/// are accessed, and one for each byte from then on.
class ByteWriters {
 public:
  explicit ByteWriters(std::size_t bytes) : pages_((bytes >> kPageBits) + 1) {}

  /// Returns whether all bytes were written by `who` or by nobody. If so, a write is noted.
  bool allow(std::size_t at, std::size_t bytes, bool write, std::uint32_t who) {
    while (bytes > 0) {
      const std::size_t in_page = at & (kPageBytes - 1);
      const std::size_t now = bytes < kPageBytes - in_page ? bytes : kPageBytes - in_page;
      if (!allow_in_page(pages_[at >> kPageBits], in_page, now, write, who)) return false;
      at += now;
      bytes -= now;
    }
    return true;
  }

 private:
  static constexpr std::size_t kPageBits = 14, kPageBytes = std::size_t{1} << kPageBits;
  static constexpr std::size_t kWord = 4;

  /// The writers of the words of a page, or of its bytes.
  struct Page {
    std::unique_ptr<std::uint32_t[]> writers;
    bool by_words = true;
  };

  static bool allow_in_page(Page& page, std::size_t at, std::size_t bytes, bool write,
                            std::uint32_t who) {
    if (page.writers == nullptr) {
      if (!write) return true;
      page.writers = std::make_unique<std::uint32_t[]>(kPageBytes / kWord);
    }
    if (page.by_words) {
      if ((at | bytes) % kWord == 0) {
        return allow_units(page, at / kWord, bytes / kWord, write, who);
      }
      keep_bytes(page);
    }
    return allow_units(page, at, bytes, write, who);
  }

  static bool allow_units(Page& page, std::size_t first, std::size_t count, bool write,
                          std::uint32_t who) {
    for (std::size_t i = first; i < first + count; ++i) {
      std::uint32_t& writer = page.writers[i];
      if (writer != 0 && writer != who) return false;
      if (write) writer = who;
    }
    return true;
  }

  /// Makes a page note a writer for each byte.
  static void keep_bytes(Page& page);

  std::vector<Page> pages_;
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
  Entry* find(const void* host, std::size_t bytes) {
    if (last_ < entries_.size() && contains(entries_[last_], host, bytes)) return &entries_[last_];
    return find_other(host, bytes);
  }
  /// Returns whether `who` may access the bytes, which nobody else has written in this launch.
  static bool allows(Entry& entry, const void* host, std::size_t bytes, bool write,
                     std::uint32_t who) {
    return entry.writers.allow(offset(entry, host), bytes, write, who);
  }
  void record(Entry& entry, const void* host, std::size_t bytes, bool write) {
    const std::size_t at = offset(entry, host);
    (write ? entry.written : entry.read).add(at, bytes);
    (write ? bytes_written_ : bytes_read_) += bytes;
  }
  KernelTrace result() const;
  const std::vector<Entry>& entries() const { return entries_; }

 private:
  Entry* find_other(const void* host, std::size_t bytes);
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
