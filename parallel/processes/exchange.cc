#include "parallel/processes/exchange.h"

#include <algorithm>
#include <utility>

#include "core/device/cpu/slicing.h"

namespace towerflow::parallel::processes {
namespace {

/// Elements that are added at a time: a part of each process stays in the first cache.
constexpr std::int64_t kBlock = 2048;
/// Parts of a buffer begin at multiples of this many elements.
constexpr std::int64_t kUnit = 16;

/// Writes the mean of `parts`, added in their order from zero, to `out`, which may be one of them.
template <class T>
void mean_of_parts(const std::vector<const void*>& parts, std::int64_t count, void* out) {
  T sums[kBlock];
  const T divisor = static_cast<T>(parts.size());
  for (std::int64_t begin = 0; begin < count; begin += kBlock) {
    const std::int64_t n = std::min(kBlock, count - begin);
    std::fill_n(sums, n, T(0));
    for (const void* part : parts) {
      const T* from = static_cast<const T*>(part) + begin;
      for (std::int64_t i = 0; i < n; ++i) sums[i] += from[i];
    }
    T* to = static_cast<T*>(out) + begin;
    for (std::int64_t i = 0; i < n; ++i) to[i] = sums[i] / divisor;
  }
}

/// The bits of MeanExchange::done_, for phase 0; shifted by one for phase 1.
constexpr unsigned kReceived = 1, kSent = 4;

/// Calls `visit` with the other ranks, the next one first, so that not all send to the same.
template <class Visit>
void for_each_other(int rank, int size, const Visit& visit) {
  for (int i = 1; i < size; ++i) visit((rank + i) % size);
}

}  // namespace

MeanExchange::MeanExchange(std::string what, int tag, DType dtype, std::int64_t elements,
                           std::vector<int> givers)
    : Exchange(std::move(what), tag), buffer_(dtype, Shape{elements}), givers_(std::move(givers)) {}

bool MeanExchange::gives(int rank) const {
  return givers_.empty() || std::binary_search(givers_.begin(), givers_.end(), rank);
}

MeanExchange::Part MeanExchange::part(int rank) {
  const SliceRange range = slice_range(buffer_.elements(), size_, rank, kUnit);
  const std::size_t width = dtype_size(buffer_.dtype());
  return {static_cast<std::byte*>(buffer_.raw()) + static_cast<std::size_t>(range.begin) * width,
          static_cast<std::size_t>(range.size()) * width};
}

void MeanExchange::begin(int rank, int size, Messages& messages) {
  rank_ = rank;
  size_ = size;
  done_.assign(static_cast<std::size_t>(size), 0);
  parts_.resize(static_cast<std::size_t>(size));
  arrived_ = means_ = sent_ = to_arrive_ = 0;
  to_send_ = (gives(rank) ? 2 : 1) * (size - 1);
  const std::int64_t own = slice_range(buffer_.elements(), size, rank, kUnit).size();
  for_each_other(rank, size, [&](int other) {
    if (!gives(other)) return;
    ++to_arrive_;
    Array& from = parts_[static_cast<std::size_t>(other)];
    if (from.empty()) from = Array(buffer_.dtype(), Shape{own});
    messages.receive(from.raw(), from.bytes(), other, 0);
  });
  for_each_other(rank, size, [&](int other) {
    if (gives(rank)) {
      messages.send(part(other).data, part(other).bytes, other, 0);
    } else {
      messages.receive(part(other).data, part(other).bytes, other, 1);
    }
  });
  if (to_arrive_ == 0 && size > 1) add_parts(messages);
}

void MeanExchange::sent(int to, int phase, Messages& messages) {
  ++sent_;
  done_[static_cast<std::size_t>(to)] |= kSent << phase;
  // The mean of this part replaces what has been sent.
  if (phase == 0) messages.receive(part(to).data, part(to).bytes, to, 1);
}

void MeanExchange::received(int from, int phase, Messages& messages) {
  done_[static_cast<std::size_t>(from)] |= kReceived << phase;
  if (phase == 1) {
    ++means_;
    return;
  }
  if (++arrived_ == to_arrive_) add_parts(messages);
}

void MeanExchange::add_parts(Messages& messages) {
  const Part own = part(rank_);
  std::vector<const void*> parts;
  for (int rank = 0; rank < size_; ++rank) {
    if (!gives(rank)) continue;
    parts.push_back(rank == rank_ ? own.data : parts_[static_cast<std::size_t>(rank)].raw());
  }
  const auto count = static_cast<std::int64_t>(own.bytes / dtype_size(buffer_.dtype()));
  if (buffer_.dtype() == DType::float32) {
    mean_of_parts<float>(parts, count, own.data);
  } else {
    mean_of_parts<double>(parts, count, own.data);
  }
  for_each_other(rank_, size_, [&](int other) { messages.send(own.data, own.bytes, other, 1); });
}

std::vector<int> MeanExchange::awaited() const {
  std::vector<int> ranks;
  // Without the part of one process no other can send its mean: that one alone is awaited.
  const bool misses_parts = arrived_ < to_arrive_;
  for (int rank = 0; rank < size_; ++rank) {
    const unsigned done = done_[static_cast<std::size_t>(rank)];
    const unsigned of_part = gives(rank) ? kReceived : 0;
    const unsigned needed = misses_parts ? of_part : kReceived << 1 | kSent << 1;
    if (rank != rank_ && (done & needed) != needed) ranks.push_back(rank);
  }
  return ranks;
}

GatherExchange::GatherExchange(std::string what, int tag, std::string bytes)
    : Exchange(std::move(what), tag), own_(std::move(bytes)), own_size_(own_.size()) {}

void GatherExchange::begin(int rank, int size, Messages& messages) {
  strings_.resize(static_cast<std::size_t>(size));
  sizes_.resize(static_cast<std::size_t>(size));
  complete_.assign(static_cast<std::size_t>(size), false);
  complete_[static_cast<std::size_t>(rank)] = true;
  missing_ = size - 1;
  unsent_ = (own_.empty() ? 1 : 2) * (size - 1);
  for_each_other(rank, size, [&](int other) {
    messages.receive(&sizes_[static_cast<std::size_t>(other)], sizeof(own_size_), other, 0);
  });
  for_each_other(rank, size, [&](int other) {
    messages.send(&own_size_, sizeof(own_size_), other, 0);
    if (!own_.empty()) messages.send(own_.data(), own_.size(), other, 1);
  });
  // The messages read `own_`, so that it is copied.
  strings_[static_cast<std::size_t>(rank)] = own_;
}

void GatherExchange::sent(int, int, Messages&) { --unsent_; }

void GatherExchange::received(int from, int phase, Messages& messages) {
  const auto at = static_cast<std::size_t>(from);
  if (phase == 0 && sizes_[at] > 0) {
    strings_[at].resize(sizes_[at]);
    messages.receive(strings_[at].data(), strings_[at].size(), from, 1);
    return;
  }
  complete_[at] = true;
  --missing_;
}

std::vector<int> GatherExchange::awaited() const {
  std::vector<int> ranks;
  for (std::size_t rank = 0; rank < complete_.size(); ++rank) {
    if (!complete_[rank]) ranks.push_back(static_cast<int>(rank));
  }
  return ranks;
}

}  // namespace towerflow::parallel::processes
