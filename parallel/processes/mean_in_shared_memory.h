#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/graph/array.h"
#include "parallel/processes/mean_exchange.h"
#include "parallel/processes/shared_memory.h"

namespace towerflow::parallel::processes {

/// A mean over processes of one host, which read each other's numbers where they are.
///
/// The memory of each process has two counters, its numbers, and the means of its part. One counter
/// tells to how many exchanges it has given its numbers, the other one of how many it has added up
/// its part. Each process sees the means of all parts as one piece of memory.
///
/// Nothing is overwritten while another process reads it. Numbers are read until all processes have
/// added up their parts, which ends the exchange. Means are read until all processes have given
/// their numbers to the next exchange, and none of it is added up before that.
///
/// Of a short buffer, each process adds up all of it, and goes on without waiting for the others to
/// do so. Two buffers for numbers take turns. When a process writes to one of them again, the
/// exchange with the other one has ended; every process gave its numbers to that one after it had
/// added up those of the exchange before.
class MeanInSharedMemory final : public MeanExchange {
 public:
  MeanInSharedMemory(const types::ProcessGroup& group, std::string what, int tag, DType dtype,
                     std::int64_t elements, std::vector<int> givers = {});

  std::byte* numbers() override;
  const std::byte* means() const override;

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
  std::size_t offset_of_means() const;
  std::byte* own_means(Range range);
  void introduce(Messages& messages);
  void join(int rank, const SharedMemory::Address& address);
  /// Returns the ranks whose counter has not reached this exchange.
  std::vector<int> behind(std::atomic<std::uint64_t> Counters::*counter) const;
  bool all_reached(std::atomic<std::uint64_t> Counters::*counter) const;
  void add(Range range);

  const bool whole_;  ///< whether the buffer is short
  SharedMemory memory_;
  Array short_means_;
  JoinedMemory long_means_;
  std::uint64_t exchange_ = 0;  ///< number of the exchange that has begun, from 1
  SharedMemory::Address address_;
  std::vector<Peer> peers_;
  int unmapped_ = 0, unsent_ = 0;
  int added_ = 0;  ///< pieces of the own part that are added up
  bool ended_ = true;
};

}  // namespace towerflow::parallel::processes
