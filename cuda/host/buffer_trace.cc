#include "cuda/host/buffer_trace.h"

#include <algorithm>
#include <bit>

namespace towerflow::cuda::host {

void ByteSet::append_runs(const std::byte* base, bool written, std::vector<Operand>& runs) const {
  const auto append = [&](std::size_t begin, std::size_t end) {
    const std::byte* at = base + begin;
    if (!runs.empty() && runs.back().written == written &&
        static_cast<const std::byte*>(runs.back().at) + runs.back().bytes == at) {
      runs.back().bytes += end - begin;
    } else {
      runs.push_back({at, end - begin, written});
    }
  };
  for (std::size_t page = 0; page < pages_.size(); ++page) {
    if (pages_[page] == nullptr) continue;
    for (std::size_t w = 0; w < kWords; ++w) {
      std::uint64_t left = pages_[page][w];
      const std::size_t first = (page << kPageBits) + w * 64;
      while (left != 0) {
        const auto begin = static_cast<std::size_t>(std::countr_zero(left));
        const auto length = static_cast<std::size_t>(std::countr_one(left >> begin));
        append(first + begin, first + begin + length);
        left &= begin + length == 64 ? 0 : ~std::uint64_t{0} << (begin + length);
      }
    }
  }
}

void ByteWriters::keep_bytes(Page& page) {
  auto bytes = std::make_unique<std::uint32_t[]>(kPageBytes);
  for (std::size_t i = 0; i < kPageBytes; ++i) bytes[i] = page.writers[i / kWord];
  page = {.writers = std::move(bytes), .by_words = false};
}

void BufferTrace::add(const Buffer& buffer) {
  for (const Entry& entry : entries_) {
    if (entry.buffer.device == buffer.device) return;
  }
  entries_.emplace_back(buffer);
}

BufferTrace::Entry* BufferTrace::find_other(const void* host, std::size_t bytes) {
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    if (!contains(entries_[i], host, bytes)) continue;
    last_ = i;
    return &entries_[i];
  }
  return nullptr;
}

KernelTrace BufferTrace::result() const {
  KernelTrace trace;
  for (const Entry& entry : entries_) {
    entry.read.append_runs(entry.buffer.device, false, trace.accessed);
    entry.written.append_runs(entry.buffer.device, true, trace.accessed);
  }
  trace.bytes_read = bytes_read_;
  trace.bytes_written = bytes_written_;
  return trace;
}

}  // namespace towerflow::cuda::host
