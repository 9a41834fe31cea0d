#include "parallel/processes/mean_in_shared_memory.h"

#include <algorithm>
#include <new>
#include <utility>

#include "parallel/processes/group.h"
#include "parallel/processes/rank_order_mean.h"

namespace towerflow::parallel::processes {
namespace {

/// A buffer of so many bytes is added up by each process as a whole: to wait for the parts of the
/// others then takes more time than to add them.
constexpr std::size_t kAddedByEach = 64 * 1024;

std::size_t whole_pages(std::size_t bytes) {
  const std::size_t page = JoinedMemory::page_bytes();
  return (bytes + page - 1) / page * page;
}

bool is_short(const ProcessGroup& group, std::size_t bytes) {
  return bytes * static_cast<std::size_t>(group.size() - 1) <= kAddedByEach;
}

/// Returns the elements of a page, at multiples of which parts begin.
std::int64_t elements_of_page(DType dtype) {
  return static_cast<std::int64_t>(JoinedMemory::page_bytes() / dtype_size(dtype));
}

}  // namespace

MeanInSharedMemory::MeanInSharedMemory(const ProcessGroup& group, std::string what, int tag,
                                       DType dtype, std::int64_t elements, std::vector<int> givers)
    : MeanExchange(group, std::move(what), tag, dtype, elements, std::move(givers),
                   elements_of_page(dtype)),
      whole_(is_short(group, bytes(all()))),
      memory_(offset_of_means() + (whole_ ? 0 : whole_pages(bytes(part_of(rank()))))) {
  static_assert(std::atomic<std::uint64_t>::is_always_lock_free);
  new (memory_.data()) Counters{};
  if (whole_) {
    short_means_ = Array(dtype, Shape{elements});
  } else {
    long_means_ = JoinedMemory(whole_pages(bytes(all())));
  }
}

MeanInSharedMemory::Counters& MeanInSharedMemory::own_counters() {
  return *std::launder(reinterpret_cast<Counters*>(memory_.data()));
}

/// Returns where a range of the numbers is in the memory of each process during an exchange.
std::size_t MeanInSharedMemory::offset(std::uint64_t exchange, Range range) const {
  const std::size_t buffer = whole_ ? exchange % 2 * whole_pages(bytes(all())) : 0;
  return whole_pages(sizeof(Counters)) + buffer + bytes({0, range.begin});
}

/// Returns where the means of its part are in the memory of each process.
std::size_t MeanInSharedMemory::offset_of_means() const {
  const std::size_t buffers = whole_ ? 2 : 1;
  return whole_pages(sizeof(Counters)) + buffers * whole_pages(bytes(all()));
}

/// Returns where this process writes the means of a range that it adds up.
std::byte* MeanInSharedMemory::own_means(Range range) {
  if (whole_) return static_cast<std::byte*>(short_means_.raw()) + bytes({0, range.begin});
  const Range in_part{0, range.begin - part_of(rank()).begin};
  return memory_.data() + offset_of_means() + bytes(in_part);
}

std::byte* MeanInSharedMemory::numbers() { return memory_.data() + offset(exchange_ + 1, {}); }

const std::byte* MeanInSharedMemory::means() const {
  return whole_ ? static_cast<const std::byte*>(short_means_.raw()) : long_means_.data();
}

void MeanInSharedMemory::begin(int, int, Messages& messages) {
  ++exchange_;
  added_ = 0;
  ended_ = false;
  if (peers_.empty()) introduce(messages);
  own_counters().given.store(exchange_, std::memory_order_release);
}

/// Tells the others where the memory of this process is.
void MeanInSharedMemory::introduce(Messages& messages) {
  peers_.resize(static_cast<std::size_t>(size()));
  peers_[static_cast<std::size_t>(rank())].data = memory_.data();
  address_ = memory_.address();
  join(rank(), address_);
  unmapped_ = unsent_ = size() - 1;
  for_each_other(rank(), size(), [&](int other) {
    Peer& peer = peers_[static_cast<std::size_t>(other)];
    messages.receive(&peer.address, sizeof(peer.address), {other, 0, 0});
  });
  for_each_other(rank(), size(), [&](int other) {
    messages.send(&address_, sizeof(address_), {other, 0, 0});
  });
}

/// Joins the means that a process adds up to those of the others.
void MeanInSharedMemory::join(int rank, const SharedMemory::Address& address) {
  if (whole_) return;
  const Range part = part_of(rank);
  long_means_.join(bytes({0, part.begin}), address, offset_of_means(), whole_pages(bytes(part)));
}

void MeanInSharedMemory::sent(const Message&, Messages&) { --unsent_; }

void MeanInSharedMemory::received(const Message& message, Messages&) {
  Peer& peer = peers_[static_cast<std::size_t>(message.peer)];
  peer.memory = MappedMemory(peer.address);
  peer.data = peer.memory.data();
  join(message.peer, peer.address);
  --unmapped_;
}

std::vector<int> MeanInSharedMemory::behind(std::atomic<std::uint64_t> Counters::*counter) const {
  std::vector<int> ranks;
  for (int rank = 0; rank < size(); ++rank) {
    const Peer& peer = peers_[static_cast<std::size_t>(rank)];
    const bool reached = peer.data != nullptr &&
                         (peer.counters().*counter).load(std::memory_order_acquire) >= exchange_;
    if (!reached) ranks.push_back(rank);
  }
  return ranks;
}

bool MeanInSharedMemory::all_reached(std::atomic<std::uint64_t> Counters::*counter) const {
  return std::all_of(peers_.begin(), peers_.end(), [&](const Peer& peer) {
    return (peer.counters().*counter).load(std::memory_order_acquire) >= exchange_;
  });
}

bool MeanInSharedMemory::look() {
  if (ended_ || unmapped_ > 0 || unsent_ > 0) return false;
  const Range part = whole_ ? all() : part_of(rank());
  const int pieces = pieces_of(part);
  if (own_counters().added.load(std::memory_order_relaxed) < exchange_) {
    if (!all_reached(&Counters::given)) return false;
    // One piece at a time: meanwhile the program can begin other exchanges.
    if (added_ < pieces) add(piece_of(part, added_++));
    if (added_ == pieces) own_counters().added.store(exchange_, std::memory_order_release);
    // The first exchange ends when all others have mapped this memory.
    ended_ = whole_ && added_ == pieces && exchange_ > 1;
    return true;
  }
  ended_ = all_reached(&Counters::added);
  return ended_;
}

/// Writes the mean of a range of what all givers have there.
void MeanInSharedMemory::add(Range range) {
  std::vector<const void*> parts;
  for (int rank = 0; rank < size(); ++rank) {
    if (!gives(rank)) continue;
    parts.push_back(peers_[static_cast<std::size_t>(rank)].data + offset(exchange_, range));
  }
  mean_in_order(dtype(), parts, range.size, own_means(range));
}

std::vector<int> MeanInSharedMemory::awaited() const {
  const std::vector<int> ranks = behind(&Counters::given);
  return ranks.empty() ? behind(&Counters::added) : ranks;
}

}  // namespace towerflow::parallel::processes
