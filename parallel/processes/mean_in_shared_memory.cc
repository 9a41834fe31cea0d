#include "parallel/processes/mean_in_shared_memory.h"

#include <algorithm>
#include <new>
#include <utility>

#include "parallel/processes/rank_order_mean.h"

namespace towerflow::parallel::processes {
namespace {

/// A buffer of so many bytes is added up by each process as a whole: to wait for the parts of the
/// others then takes more time than to add them.
constexpr std::size_t kAddedByEach = 64 * 1024;
constexpr std::size_t kPage = 4096;

std::size_t whole_pages(std::size_t bytes) { return (bytes + kPage - 1) / kPage * kPage; }

}  // namespace

MeanInSharedMemory::MeanInSharedMemory(std::string what, int tag, DType dtype,
                                       std::int64_t elements, std::vector<int> givers)
    : MeanExchange(std::move(what), tag, dtype, elements, std::move(givers)),
      memory_(kPage + 2 * whole_pages(bytes({0, elements}))) {
  static_assert(sizeof(Counters) <= kPage && std::atomic<std::uint64_t>::is_always_lock_free);
  new (memory_.data()) Counters{};
}

MeanInSharedMemory::Counters& MeanInSharedMemory::own_counters() {
  return *std::launder(reinterpret_cast<Counters*>(memory_.data()));
}

/// Returns where a range is in the memory of each process during an exchange.
std::size_t MeanInSharedMemory::offset(std::uint64_t exchange, Range range) const {
  const std::size_t buffer = exchange % 2 * whole_pages(bytes({0, elements()}));
  return kPage + buffer + bytes({0, range.begin});
}

const std::byte* MeanInSharedMemory::of_peer(int rank, Range range) const {
  return peers_[static_cast<std::size_t>(rank)].data + offset(exchange_, range);
}

std::byte* MeanInSharedMemory::numbers() { return memory_.data() + offset(exchange_ + 1, {}); }

std::vector<MeanExchange::Piece> MeanInSharedMemory::means() const {
  if (whole_) return {{short_means_.data(), short_means_.size()}};
  std::vector<Piece> pieces;
  for (int rank = 0; rank < size_; ++rank) {
    const Range part = part_of(rank, size_);
    pieces.push_back({of_peer(rank, part), bytes(part)});
  }
  return pieces;
}

void MeanInSharedMemory::begin(int rank, int size, Messages& messages) {
  rank_ = rank;
  size_ = size;
  ++exchange_;
  added_ = 0;
  ended_ = false;
  whole_ = bytes({0, elements()}) * static_cast<std::size_t>(size - 1) <= kAddedByEach;
  if (whole_) short_means_.resize(bytes({0, elements()}));
  if (peers_.empty()) introduce(messages);
  own_counters().given.store(exchange_, std::memory_order_release);
}

/// Tells the others where the memory of this process is.
void MeanInSharedMemory::introduce(Messages& messages) {
  peers_.resize(static_cast<std::size_t>(size_));
  peers_[static_cast<std::size_t>(rank_)].data = memory_.data();
  address_ = memory_.address();
  unmapped_ = unsent_ = size_ - 1;
  for_each_other(rank_, size_, [&](int other) {
    Peer& peer = peers_[static_cast<std::size_t>(other)];
    messages.receive(&peer.address, sizeof(peer.address), {other, 0, 0});
  });
  for_each_other(rank_, size_, [&](int other) {
    messages.send(&address_, sizeof(address_), {other, 0, 0});
  });
}

void MeanInSharedMemory::sent(const Message&, Messages&) { --unsent_; }

void MeanInSharedMemory::received(const Message& message, Messages&) {
  Peer& peer = peers_[static_cast<std::size_t>(message.peer)];
  peer.memory = MappedMemory(peer.address);
  peer.data = peer.memory.data();
  --unmapped_;
}

std::vector<int> MeanInSharedMemory::behind(std::atomic<std::uint64_t> Counters::*counter) const {
  std::vector<int> ranks;
  for (int rank = 0; rank < size_; ++rank) {
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
  const Range all{0, elements()}, part = whole_ ? all : part_of(rank_, size_);
  const int pieces = pieces_of(part);
  if (own_counters().added.load(std::memory_order_relaxed) < exchange_) {
    if (!all_reached(&Counters::given)) return false;
    // One piece at a time: meanwhile the program can begin other exchanges.
    if (added_ < pieces) {
      const Range piece = piece_of(part, added_++);
      add(piece, whole_ ? short_means_.data() + bytes({0, piece.begin})
                        : memory_.data() + offset(exchange_, piece));
    }
    if (added_ == pieces) own_counters().added.store(exchange_, std::memory_order_release);
    // The first exchange ends when all others have mapped this memory.
    ended_ = whole_ && added_ == pieces && exchange_ > 1;
    return true;
  }
  ended_ = all_reached(&Counters::added);
  return ended_;
}

/// Writes the mean of a range of what all givers have there.
void MeanInSharedMemory::add(Range range, std::byte* to) {
  std::vector<const void*> parts;
  for (int rank = 0; rank < size_; ++rank) {
    if (gives(rank)) parts.push_back(of_peer(rank, range));
  }
  mean_in_order(dtype(), parts, range.size, to);
}

std::vector<int> MeanInSharedMemory::awaited() const {
  const std::vector<int> ranks = behind(&Counters::given);
  return ranks.empty() ? behind(&Counters::added) : ranks;
}

}  // namespace towerflow::parallel::processes
