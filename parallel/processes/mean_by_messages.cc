#include "parallel/processes/mean_by_messages.h"

#include <algorithm>
#include <utility>

#include "parallel/processes/rank_order_mean.h"

namespace towerflow::parallel::processes {
namespace {

/// A process sends at most so much of a short buffer, to all others together: one round of messages
/// then takes less time than two of smaller ones.
constexpr std::size_t kSentToEach = 64 * 1024;
/// Pieces that may arrive from a process before the first of them is added.
constexpr int kAhead = 4;

constexpr int kGive = 0, kMean = 1;  // phases

}  // namespace

MeanByMessages::MeanByMessages(std::string what, int tag, DType dtype, std::int64_t elements,
                               std::vector<int> givers)
    : MeanExchange(std::move(what), tag, dtype, elements, std::move(givers)),
      buffer_(dtype, Shape{elements}) {}

std::vector<MeanExchange::Piece> MeanByMessages::means() const {
  return {{static_cast<const std::byte*>(buffer_.raw()), buffer_.bytes()}};
}

std::byte* MeanByMessages::at(Range range) {
  return static_cast<std::byte*>(buffer_.raw()) + bytes({0, range.begin});
}

void MeanByMessages::send(Range range, const Message& message, Messages& messages) {
  messages.send(at(range), bytes(range), message);
  ++peer(message.peer).unsent;
  ++pending_;
}

void MeanByMessages::receive(void* data, Range range, const Message& message, Messages& messages) {
  messages.receive(data, bytes(range), message);
  ++pending_;
}

void MeanByMessages::begin(int rank, int size, Messages& messages) {
  rank_ = rank;
  size_ = size;
  added_ = pending_ = 0;
  peers_.resize(static_cast<std::size_t>(size));
  for (int other = 0; other < size; ++other) {
    Peer& to = peer(other);
    to.arrived = to.asked = to.means = to.unsent = 0;
    to.gone.assign(static_cast<std::size_t>(pieces(other)), false);
  }
  whole_ = buffer_.bytes() * static_cast<std::size_t>(size - 1) <= kSentToEach;
  whole_ ? begin_whole(messages) : begin_pieces(messages);
}

void MeanByMessages::begin_whole(Messages& messages) {
  const Range all{0, elements()};
  for_each_other(rank_, size_, [&](int other) {
    if (!gives(other)) return;
    std::vector<Array>& given = peer(other).given;
    if (given.empty()) given.emplace_back(dtype(), buffer_.shape());
    receive(given[0].raw(), all, {other, kGive, 0}, messages);
  });
  if (!gives(rank_)) return;
  for_each_other(rank_, size_, [&](int other) { send(all, {other, kGive, 0}, messages); });
}

void MeanByMessages::begin_pieces(Messages& messages) {
  for_each_other(rank_, size_, [&](int other) {
    if (!gives(other)) return;
    const int ahead = std::min(kAhead, pieces(rank_));
    for (int number = 0; number < ahead; ++number) ask_for_piece(other, number, messages);
  });
  for_each_other(rank_, size_, [&](int other) {
    std::vector<bool>& gone = peer(other).gone;
    if (!gives(rank_)) {
      gone.assign(gone.size(), true);
      ask_for_means(other, messages);
      return;
    }
    for (int number = 0; number < pieces(other); ++number) {
      send(piece(other, number), {other, kGive, number}, messages);
    }
  });
  add_pieces(messages);
}

/// Receives a piece of the own part, which takes the place of an earlier one.
void MeanByMessages::ask_for_piece(int from, int number, Messages& messages) {
  std::vector<Array>& given = peer(from).given;
  const auto slot = static_cast<std::size_t>(number % kAhead);
  const Range range = piece(rank_, number);
  if (slot == given.size()) given.emplace_back(dtype(), Shape{range.size});
  receive(given[slot].raw(), range, {from, kGive, number}, messages);
}

/// Receives the means of what has been sent, which they replace.
void MeanByMessages::ask_for_means(int from, Messages& messages) {
  Peer& to = peer(from);
  for (; to.asked < pieces(from) && to.gone[static_cast<std::size_t>(to.asked)]; ++to.asked) {
    const Range range = piece(from, to.asked);
    receive(at(range), range, {from, kMean, to.asked}, messages);
  }
}

void MeanByMessages::sent(const Message& message, Messages& messages) {
  --pending_;
  --peer(message.peer).unsent;
  if (whole_) {
    if (pending_ == 0) add({0, elements()}, 0);
  } else if (message.phase == kGive) {
    peer(message.peer).gone[static_cast<std::size_t>(message.piece)] = true;
    ask_for_means(message.peer, messages);
  }
}

void MeanByMessages::received(const Message& message, Messages& messages) {
  --pending_;
  ++(message.phase == kGive ? peer(message.peer).arrived : peer(message.peer).means);
  if (whole_) {
    if (pending_ == 0) add({0, elements()}, 0);
  } else if (message.phase == kGive) {
    add_pieces(messages);
  }
}

/// Adds the pieces of the own part that all have given, and sends their means.
void MeanByMessages::add_pieces(Messages& messages) {
  const int all = pieces(rank_);
  const auto is_missing = [&](int rank) {
    return rank != rank_ && gives(rank) && peer(rank).arrived <= added_;
  };
  for (; added_ < all; ++added_) {
    for (int rank = 0; rank < size_; ++rank) {
      if (is_missing(rank)) return;
    }
    const Range range = piece(rank_, added_);
    add(range, added_ % kAhead);
    for_each_other(rank_, size_, [&](int other) {
      send(range, {other, kMean, added_}, messages);
      if (gives(other) && added_ + kAhead < all) {
        ask_for_piece(other, added_ + kAhead, messages);
      }
    });
  }
}

/// Replaces a range of the own buffer by the mean of what all givers have there.
void MeanByMessages::add(Range range, int slot) {
  std::vector<const void*> parts;
  for (int rank = 0; rank < size_; ++rank) {
    if (!gives(rank)) continue;
    const auto& given = peer(rank).given;
    parts.push_back(rank == rank_ ? at(range) : given[static_cast<std::size_t>(slot)].raw());
  }
  mean_in_order(dtype(), parts, range.size, at(range));
}

std::vector<int> MeanByMessages::awaited() const {
  const bool misses_parts = whole_ || added_ < pieces(rank_);
  std::vector<int> ranks;
  // Without the piece of one process no other can go on: that one alone is awaited.
  for (int rank = 0; rank < size_ && misses_parts; ++rank) {
    if (rank != rank_ && gives(rank) && peer(rank).arrived <= added_) ranks.push_back(rank);
  }
  for (int rank = 0; rank < size_ && ranks.empty(); ++rank) {
    if (rank == rank_) continue;
    const bool lacks_mean = !whole_ && peer(rank).means < pieces(rank);
    if (peer(rank).unsent > 0 || lacks_mean) ranks.push_back(rank);
  }
  return ranks;
}

}  // namespace towerflow::parallel::processes
