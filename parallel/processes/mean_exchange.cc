#include "parallel/processes/mean_exchange.h"

#include <algorithm>
#include <utility>

#include "core/device/cpu/slicing.h"

namespace towerflow::parallel::processes {
namespace {

/// A process sends at most so much of a short buffer, to all others together: one round of messages
/// then takes less time than two of smaller ones.
constexpr std::size_t kShortBytes = 64 * 1024;
/// Elements of a piece: enough that the time of a message is that of its bytes, few enough that it
/// is still in a cache when it is added.
constexpr std::int64_t kPiece = 128 * 1024;
/// Pieces that may arrive from a process before the first of them is added.
constexpr int kAhead = 4;
/// Parts of a buffer begin at multiples of this many elements.
constexpr std::int64_t kUnit = 16;
/// Elements that are added at a time, in the first cache.
constexpr std::int64_t kBlock = 2048;

constexpr int kGive = 0, kMean = 1;  // phases

/// Adds up to four parts, in their order, to what `sums` has; to zero if `first` is 0.
template <class T>
void add_up(const std::vector<const T*>& parts, std::size_t first, std::int64_t count, T* sums) {
  const T* const* part = parts.data() + first;
  const auto add = [&]<std::size_t... I>(std::index_sequence<I...>) {
    const T* const from[] = {part[I]...};
    if (first == 0) {
      for (std::int64_t i = 0; i < count; ++i) sums[i] = (T(0) + ... + from[I][i]);
    } else {
      for (std::int64_t i = 0; i < count; ++i) sums[i] = (sums[i] + ... + from[I][i]);
    }
  };
  switch (std::min<std::size_t>(parts.size() - first, 4)) {
    case 1:
      return add(std::make_index_sequence<1>());
    case 2:
      return add(std::make_index_sequence<2>());
    case 3:
      return add(std::make_index_sequence<3>());
    default:
      return add(std::make_index_sequence<4>());
  }
}

/// Writes the mean of `parts`, added in their order from zero, to `out`, which may be one of them.
template <class T>
void mean_of_parts(std::vector<const T*> parts, std::int64_t count, T* out) {
  T sums[kBlock];
  const T number = static_cast<T>(parts.size());
  // Multiplication by the inverse of a power of two is exact, and faster than division.
  const bool is_power = (parts.size() & (parts.size() - 1)) == 0;
  for (std::int64_t begin = 0; begin < count; begin += kBlock) {
    const std::int64_t n = std::min(kBlock, count - begin);
    for (std::size_t first = 0; first < parts.size(); first += 4) add_up(parts, first, n, sums);
    if (is_power) {
      for (std::int64_t i = 0; i < n; ++i) out[begin + i] = sums[i] * (1 / number);
    } else {
      for (std::int64_t i = 0; i < n; ++i) out[begin + i] = sums[i] / number;
    }
    for (const T*& part : parts) part += n;
  }
}

}  // namespace

MeanExchange::MeanExchange(std::string what, int tag, DType dtype, std::int64_t elements,
                           std::vector<int> givers)
    : Exchange(std::move(what), tag), buffer_(dtype, Shape{elements}), givers_(std::move(givers)) {}

bool MeanExchange::gives(int rank) const {
  return givers_.empty() || std::binary_search(givers_.begin(), givers_.end(), rank);
}

MeanExchange::Range MeanExchange::piece_of(int rank, int piece) const {
  const SliceRange part = slice_range(buffer_.elements(), size_, rank, kUnit);
  const std::int64_t begin = part.begin + piece * kPiece;
  return {begin, std::min(kPiece, part.end - begin)};
}

int MeanExchange::pieces_of(int rank) const {
  const std::int64_t elements = slice_range(buffer_.elements(), size_, rank, kUnit).size();
  return static_cast<int>((elements + kPiece - 1) / kPiece);
}

std::size_t MeanExchange::bytes(Range range) const {
  return static_cast<std::size_t>(range.size) * dtype_size(buffer_.dtype());
}

std::byte* MeanExchange::at(Range range) {
  return static_cast<std::byte*>(buffer_.raw()) + bytes({0, range.begin});
}

void MeanExchange::send(Range range, const Message& message, Messages& messages) {
  messages.send(at(range), bytes(range), message);
  ++peer(message.peer).unsent;
  ++pending_;
}

void MeanExchange::receive(void* data, Range range, const Message& message, Messages& messages) {
  messages.receive(data, bytes(range), message);
  ++pending_;
}

void MeanExchange::begin(int rank, int size, Messages& messages) {
  rank_ = rank;
  size_ = size;
  added_ = pending_ = 0;
  peers_.resize(static_cast<std::size_t>(size));
  for (int other = 0; other < size; ++other) {
    Peer& to = peer(other);
    to.arrived = to.asked = to.means = to.unsent = 0;
    to.gone.assign(static_cast<std::size_t>(pieces_of(other)), false);
  }
  whole_ = buffer_.bytes() * static_cast<std::size_t>(size - 1) <= kShortBytes;
  whole_ ? begin_whole(messages) : begin_pieces(messages);
}

void MeanExchange::begin_whole(Messages& messages) {
  const Range all{0, buffer_.elements()};
  for_each_other(rank_, size_, [&](int other) {
    if (!gives(other)) return;
    std::vector<Array>& given = peer(other).given;
    if (given.empty()) given.emplace_back(buffer_.dtype(), buffer_.shape());
    receive(given[0].raw(), all, {other, kGive, 0}, messages);
  });
  if (!gives(rank_)) return;
  for_each_other(rank_, size_, [&](int other) { send(all, {other, kGive, 0}, messages); });
}

void MeanExchange::begin_pieces(Messages& messages) {
  for_each_other(rank_, size_, [&](int other) {
    if (!gives(other)) return;
    const int ahead = std::min(kAhead, pieces_of(rank_));
    for (int piece = 0; piece < ahead; ++piece) ask_for_piece(other, piece, messages);
  });
  for_each_other(rank_, size_, [&](int other) {
    std::vector<bool>& gone = peer(other).gone;
    if (!gives(rank_)) {
      gone.assign(gone.size(), true);
      ask_for_means(other, messages);
      return;
    }
    for (int piece = 0; piece < pieces_of(other); ++piece) {
      send(piece_of(other, piece), {other, kGive, piece}, messages);
    }
  });
  add_pieces(messages);
}

/// Receives a piece of the own part, which takes the place of an earlier one.
void MeanExchange::ask_for_piece(int from, int piece, Messages& messages) {
  std::vector<Array>& given = peer(from).given;
  const auto slot = static_cast<std::size_t>(piece % kAhead);
  if (slot == given.size()) given.emplace_back(buffer_.dtype(), Shape{piece_of(rank_, piece).size});
  receive(given[slot].raw(), piece_of(rank_, piece), {from, kGive, piece}, messages);
}

/// Receives the means of what has been sent, which they replace.
void MeanExchange::ask_for_means(int from, Messages& messages) {
  Peer& to = peer(from);
  for (; to.asked < pieces_of(from) && to.gone[static_cast<std::size_t>(to.asked)]; ++to.asked) {
    const Range range = piece_of(from, to.asked);
    receive(at(range), range, {from, kMean, to.asked}, messages);
  }
}

void MeanExchange::sent(const Message& message, Messages& messages) {
  --pending_;
  --peer(message.peer).unsent;
  if (whole_) {
    if (pending_ == 0) add({0, buffer_.elements()}, 0);
  } else if (message.phase == kGive) {
    peer(message.peer).gone[static_cast<std::size_t>(message.piece)] = true;
    ask_for_means(message.peer, messages);
  }
}

void MeanExchange::received(const Message& message, Messages& messages) {
  --pending_;
  ++(message.phase == kGive ? peer(message.peer).arrived : peer(message.peer).means);
  if (whole_) {
    if (pending_ == 0) add({0, buffer_.elements()}, 0);
  } else if (message.phase == kGive) {
    add_pieces(messages);
  }
}

/// Adds the pieces of the own part that all have given, and sends their means.
void MeanExchange::add_pieces(Messages& messages) {
  const int pieces = pieces_of(rank_);
  const auto is_missing = [&](int rank) {
    return rank != rank_ && gives(rank) && peer(rank).arrived <= added_;
  };
  for (; added_ < pieces; ++added_) {
    for (int rank = 0; rank < size_; ++rank) {
      if (is_missing(rank)) return;
    }
    const Range range = piece_of(rank_, added_);
    add(range, added_ % kAhead);
    for_each_other(rank_, size_, [&](int other) {
      send(range, {other, kMean, added_}, messages);
      if (gives(other) && added_ + kAhead < pieces) {
        ask_for_piece(other, added_ + kAhead, messages);
      }
    });
  }
}

/// Replaces a range of the own buffer by the mean of what all givers have there.
void MeanExchange::add(Range range, int slot) {
  const auto mean = [&]<class T>(T* out) {
    std::vector<const T*> parts;
    for (int rank = 0; rank < size_; ++rank) {
      if (!gives(rank)) continue;
      const auto& given = peer(rank).given;
      parts.push_back(rank == rank_ ? out : given[static_cast<std::size_t>(slot)].data<T>());
    }
    mean_of_parts<T>(std::move(parts), range.size, out);
  };
  if (buffer_.dtype() == DType::float32) {
    mean(buffer_.data<float>() + range.begin);
  } else {
    mean(buffer_.data<double>() + range.begin);
  }
}

std::vector<int> MeanExchange::awaited() const {
  const bool misses_parts = whole_ || added_ < pieces_of(rank_);
  std::vector<int> ranks;
  // Without the piece of one process no other can go on: that one alone is awaited.
  for (int rank = 0; rank < size_ && misses_parts; ++rank) {
    if (rank != rank_ && gives(rank) && peer(rank).arrived <= added_) ranks.push_back(rank);
  }
  for (int rank = 0; rank < size_ && ranks.empty(); ++rank) {
    if (rank == rank_) continue;
    const bool lacks_mean = !whole_ && peer(rank).means < pieces_of(rank);
    if (peer(rank).unsent > 0 || lacks_mean) ranks.push_back(rank);
  }
  return ranks;
}

}  // namespace towerflow::parallel::processes
