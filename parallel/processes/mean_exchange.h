#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "core/graph/array.h"
#include "parallel/processes/exchange.h"

namespace towerflow::parallel::processes {

/// Adds up a buffer of float32 or float64 numbers over the processes that give one, and divides by
/// their number, in place. The others get the mean too.
///
/// Of a short buffer, each process sends all to every other one, and each adds them all. Of a long
/// one, each process gets an equal part from every other one, adds these parts, divides, and sends
/// the result to the others. (Reduce-scatter by direct exchange, then all-gather; Thakur,
/// Rabenseifner, Gropp 2005, section 4.) A part travels in pieces, so that some are added while
/// others are under way. Numbers are added in rank order, starting from zero. The sum does not
/// depend on what arrives first: repeats are equal to the bit, and so is the mean of the gradients
/// of as many towers.
class MeanExchange final : public Exchange {
 public:
  /// `givers` are the ranks whose buffers are added up, in ascending order; all if empty.
  MeanExchange(std::string what, int tag, DType dtype, std::int64_t elements,
               std::vector<int> givers = {});

  /// The numbers of this process before the exchange, the mean afterwards.
  Array& buffer() { return buffer_; }

  void begin(int rank, int size, Messages& messages) override;
  void sent(const Message& message, Messages& messages) override;
  void received(const Message& message, Messages& messages) override;
  bool ended() const override { return pending_ == 0; }
  std::vector<int> awaited() const override;

 private:
  /// Elements of the buffer.
  struct Range {
    std::int64_t begin = 0, size = 0;
  };
  /// The traffic with another process.
  struct Peer {
    std::vector<Array> given;  ///< what it gives: of a long buffer the pieces under way
    int arrived = 0;           ///< pieces that it gave
    std::vector<bool> gone;    ///< pieces of its part that have been sent
    int asked = 0, means = 0;  ///< pieces of its mean that are awaited or there; that are there
    int unsent = 0;            ///< messages to it
  };

  bool gives(int rank) const;
  Peer& peer(int rank) { return peers_[static_cast<std::size_t>(rank)]; }
  const Peer& peer(int rank) const { return peers_[static_cast<std::size_t>(rank)]; }
  /// Returns a piece of the part that a process adds up.
  Range piece_of(int rank, int piece) const;
  int pieces_of(int rank) const;
  std::byte* at(Range range);
  std::size_t bytes(Range range) const;

  void send(Range range, const Message& message, Messages& messages);
  void receive(void* data, Range range, const Message& message, Messages& messages);
  void ask_for_piece(int from, int piece, Messages& messages);
  void ask_for_means(int from, Messages& messages);
  void begin_whole(Messages& messages);
  void begin_pieces(Messages& messages);
  void add_pieces(Messages& messages);
  void add(Range range, int slot);

  Array buffer_;
  std::vector<int> givers_;
  int rank_ = 0, size_ = 0;
  bool whole_ = false;  ///< whether the buffer is short
  std::vector<Peer> peers_;
  int added_ = 0;    ///< pieces of the own part that are added up
  int pending_ = 0;  ///< messages under way
};

}  // namespace towerflow::parallel::processes
