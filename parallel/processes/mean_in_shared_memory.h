#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "parallel/processes/mean_exchange.h"
#include "parallel/processes/shared_memory.h"

namespace towerflow::parallel::processes {

/// A mean over processes of one host, which read each other's numbers where they are.
///
/// Each process has memory with a counter of the exchanges to which it has given its numbers, and
/// another of those whose part it has added up. Of a short buffer, each process adds up all of it.
///
/// Two buffers take turns. A process writes to one again only after the exchange with the other
/// one has ended, which takes the numbers of every process; a process gives them when it no longer
/// reads what the exchange before was about. So nothing is overwritten while another reads it.
class MeanInSharedMemory final : public MeanExchange {
 public:
  MeanInSharedMemory(std::string what, int tag, DType dtype, std::int64_t elements,
                     std::vector<int> givers = {});

  std::byte* numbers() override;
  std::vector<Piece> means() const override;

  void begin(int rank, int size, Messages& messages) override;
  void sent(const Message& message, Messages& messages) override;
  void received(const Message& message, Messages& messages) override;
  bool look() override;
  bool ended() const override { return ended_; }
  std::vector<int> awaited() const override;

 private:
  /// What the memory of a process starts with.
  struct Counters {
    alignas(64) std::atomic<std::uint64_t> given;
    alignas(64) std::atomic<std::uint64_t> added;
  };
  /// Another process, or this one.
  struct Peer {
    SharedMemory::Address address;
    MappedMemory memory;
    const std::byte* data = nullptr;  ///< null until the memory is mapped
    const Counters& counters() const { return *reinterpret_cast<const Counters*>(data); }
  };

  Counters& own_counters();
  std::size_t offset(std::uint64_t exchange, Range range) const;
  const std::byte* of_peer(int rank, Range range) const;
  void introduce(Messages& messages);
  /// Returns the ranks whose counter has not reached this exchange.
  std::vector<int> behind(std::atomic<std::uint64_t> Counters::*counter) const;
  bool all_reached(std::atomic<std::uint64_t> Counters::*counter) const;
  void add(Range range, std::byte* to);

  SharedMemory memory_;
  std::vector<std::byte> short_means_;
  int rank_ = 0, size_ = 0;
  bool whole_ = false;          ///< whether the buffer is short
  std::uint64_t exchange_ = 0;  ///< number of the exchange that has begun, from 1
  SharedMemory::Address address_;
  std::vector<Peer> peers_;
  int unmapped_ = 0, unsent_ = 0;
  int added_ = 0;  ///< pieces of the own part that are added up
  bool ended_ = true;
};

}  // namespace towerflow::parallel::processes
