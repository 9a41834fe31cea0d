#include "parallel/processes/mean_by_messages.h"

#include <algorithm>
#include <utility>

#include "parallel/processes/rank_order_mean.h"

namespace towerflow::parallel::processes {
namespace {

/// A process sends at most so much of a short buffer, to all others together: one round of messages
/// then takes less time than two of smaller ones.
constexpr std::size_t kSentToEach = 64 * 1024;
/// Pieces that may arrive from a process before the first of them is added, and pieces of its mean
/// that are awaited at a time.
constexpr int kAhead = 4;
/// Parts of a buffer begin at multiples of this many elements.
constexpr std::int64_t kUnit = 16;

constexpr int kGive = 0, kMean = 1;  // phases

}  // namespace

MeanByMessages::MeanByMessages(const ProcessGroup& group, std::string what, int tag, DType dtype,
                               std::int64_t elements, std::vector<int> givers)
    : MeanExchange(group, std::move(what), tag, dtype, elements, std::move(givers), kUnit),
      numbers_(Array::zeros(dtype, Shape{elements})),
      means_(dtype, Shape{elements}),
      whole_(numbers_.bytes() * static_cast<std::size_t>(size() - 1) <= kSentToEach) {}

std::byte* MeanByMessages::at(Array& buffer, Range range) const {
  return static_cast<std::byte*>(buffer.raw()) + bytes({0, range.begin});
}

void MeanByMessages::send(Array& buffer, Range range, const Message& message, Messages& messages) {
  messages.send(at(buffer, range), bytes(range), message);
  ++peer(message.peer).unsent;
  ++pending_;
}

void MeanByMessages::receive(void* data, Range range, const Message& message, Messages& messages) {
  messages.receive(data, bytes(range), message);
  ++pending_;
}

void MeanByMessages::begin(int, int, Messages& messages) {
  added_ = pending_ = 0;
  peers_.resize(static_cast<std::size_t>(size()));
  for (Peer& to : peers_) to.arrived = to.asked = to.means = to.unsent = 0;
  whole_ ? begin_whole(messages) : begin_pieces(messages);
}

void MeanByMessages::begin_whole(Messages& messages) {
  for_each_other(rank(), size(), [&](int other) {
    if (!gives(other)) return;
    std::vector<Array>& given = peer(other).given;
    if (given.empty()) given.emplace_back(dtype(), numbers_.shape());
    receive(given[0].raw(), all(), {other, kGive, 0}, messages);
  });
  if (gives(rank())) {
    for_each_other(rank(), size(), [&](int other) {
      send(numbers_, all(), {other, kGive, 0}, messages);
    });
  }
  if (pending_ == 0) add(all(), 0);
}

void MeanByMessages::begin_pieces(Messages& messages) {
  for_each_other(rank(), size(), [&](int other) {
    const int ahead = gives(other) ? std::min(kAhead, pieces(rank())) : 0;
    for (int number = 0; number < ahead; ++number) ask_for_piece(other, number, messages);
    for (int number = 0; number < kAhead; ++number) ask_for_mean(other, messages);
  });
  for_each_other(rank(), size(), [&](int other) {
    for (int number = 0; gives(rank()) && number < pieces(other); ++number) {
      send(numbers_, piece(other, number), {other, kGive, number}, messages);
    }
  });
  add_pieces(messages);
}

/// Receives a piece of the own part, which takes the place of an earlier one.
void MeanByMessages::ask_for_piece(int from, int number, Messages& messages) {
  std::vector<Array>& given = peer(from).given;
  const auto slot = static_cast<std::size_t>(number % kAhead);
  const Range range = piece(rank(), number);
  if (slot == given.size()) given.emplace_back(dtype(), Shape{range.size});
  receive(given[slot].raw(), range, {from, kGive, number}, messages);
}

/// Receives the next piece of the mean that a process sends, if there is another one.
void MeanByMessages::ask_for_mean(int from, Messages& messages) {
  Peer& to = peer(from);
  if (to.asked == pieces(from)) return;
  const Range range = piece(from, to.asked);
  receive(at(means_, range), range, {from, kMean, to.asked}, messages);
  ++to.asked;
}

void MeanByMessages::sent(const Message& message, Messages&) {
  --pending_;
  --peer(message.peer).unsent;
  if (whole_ && pending_ == 0) add(all(), 0);
}

void MeanByMessages::received(const Message& message, Messages& messages) {
  --pending_;
  ++(message.phase == kGive ? peer(message.peer).arrived : peer(message.peer).means);
  if (whole_) {
    if (pending_ == 0) add(all(), 0);
  } else if (message.phase == kGive) {
    add_pieces(messages);
  } else {
    ask_for_mean(message.peer, messages);
  }
}

/// Adds the pieces of the own part that all have given, and sends their means.
void MeanByMessages::add_pieces(Messages& messages) {
  const int count = pieces(rank());
  const auto is_missing = [&](int other) {
    return other != rank() && gives(other) && peer(other).arrived <= added_;
  };
  for (; added_ < count; ++added_) {
    for (int other = 0; other < size(); ++other) {
      if (is_missing(other)) return;
    }
    const Range range = piece(rank(), added_);
    add(range, added_ % kAhead);
    for_each_other(rank(), size(), [&](int other) {
      send(means_, range, {other, kMean, added_}, messages);
      if (gives(other) && added_ + kAhead < count) {
        ask_for_piece(other, added_ + kAhead, messages);
      }
    });
  }
}

/// Writes the mean of a range of what all givers have there.
void MeanByMessages::add(Range range, int slot) {
  std::vector<const void*> parts;
  for (int giver = 0; giver < size(); ++giver) {
    if (!gives(giver)) continue;
    auto& given = peer(giver).given;
    parts.push_back(giver == rank() ? at(numbers_, range)
                                    : given[static_cast<std::size_t>(slot)].raw());
  }
  mean_in_order(dtype(), parts, range.size, at(means_, range));
}

std::vector<int> MeanByMessages::awaited() const {
  const bool misses_parts = whole_ || added_ < pieces(rank());
  std::vector<int> ranks;
  // Without the piece of one process no other can go on: that one alone is awaited.
  for (int other = 0; other < size() && misses_parts; ++other) {
    if (other != rank() && gives(other) && peer(other).arrived <= added_) ranks.push_back(other);
  }
  for (int other = 0; other < size() && ranks.empty(); ++other) {
    if (other == rank()) continue;
    const bool lacks_mean = !whole_ && peer(other).means < pieces(other);
    if (peer(other).unsent > 0 || lacks_mean) ranks.push_back(other);
  }
  return ranks;
}

}  // namespace towerflow::parallel::processes
