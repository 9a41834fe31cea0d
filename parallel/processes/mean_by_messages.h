#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "core/graph/array.h"
#include "parallel/processes/mean_exchange.h"

namespace towerflow::parallel::processes {

/// A mean whose numbers travel in messages.
///
/// Of a short buffer, each process sends all to every other one, and each adds them all. Of a long
/// one, each process sends a part to every other one, adds the parts that it gets, and sends the
/// mean back. A part travels in pieces, so that some are added while others are under way.
class MeanByMessages final : public MeanExchange {
 public:
  MeanByMessages(const types::ProcessGroup& group, std::string what, int tag, DType dtype,
                 std::int64_t elements, std::vector<int> givers = {});

  std::byte* numbers() override { return at(numbers_, {}); }
  const std::byte* means() const override { return static_cast<const std::byte*>(means_.raw()); }

  void begin(int rank, int size, Messages& messages) override;
  void sent(const Message& message, Messages& messages) override;
  void received(const Message& message, Messages& messages) override;
  bool ended() const override { return pending_ == 0; }
  std::vector<int> awaited() const override;

 private:
  /// The traffic with another process.
  struct Peer {
    std::vector<Array> given;  ///< what it gives: of a long buffer the pieces under way
    int arrived = 0;           ///< pieces that it gave
    int asked = 0, means = 0;  ///< pieces of its mean that are awaited or there; that are there
    int unsent = 0;            ///< messages to it
  };

  Peer& peer(int rank) { return peers_[static_cast<std::size_t>(rank)]; }
  const Peer& peer(int rank) const { return peers_[static_cast<std::size_t>(rank)]; }
  /// Returns a piece of the part that a process adds up.
  Range piece(int rank, int number) const { return piece_of(part_of(rank), number); }
  int pieces(int rank) const { return pieces_of(part_of(rank)); }
  /// Returns where a range is in one of the two buffers.
  std::byte* at(Array& buffer, Range range) const;

  void send(Array& buffer, Range range, const Message& message, Messages& messages);
  void receive(void* data, Range range, const Message& message, Messages& messages);
  void ask_for_piece(int from, int number, Messages& messages);
  void ask_for_mean(int from, Messages& messages);
  void begin_whole(Messages& messages);
  void begin_pieces(Messages& messages);
  void add_pieces(Messages& messages);
  void add(Range range, int slot);

  Array numbers_, means_;
  const bool whole_;  ///< whether the buffer is short
  std::vector<Peer> peers_;
  int added_ = 0;    ///< pieces of the own part that are added up
  int pending_ = 0;  ///< messages under way
};

}  // namespace towerflow::parallel::processes
