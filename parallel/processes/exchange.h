#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/graph/array.h"
#include "core/graph/types.h"
#include "parallel/processes/message_engine.h"

namespace towerflow::parallel::types {
class ProcessGroup;
}

namespace towerflow::parallel::processes {

/// What an exchange sends and receives messages with.
class Messages {
 public:
  virtual ~Messages() = default;
  /// Starts a message of a phase, 0 or 1, which `Exchange::sent` or `Exchange::received` reports
  /// when it has ended.
  virtual void send(const void* data, std::size_t bytes, int to, int phase) = 0;
  virtual void receive(void* data, std::size_t bytes, int from, int phase) = 0;
};

/// An operation in which all processes of a group take part, as steps between messages. The group
/// calls these functions, one at a time.
class Exchange {
 public:
  /// `what` names it in errors: "the mean of conv1/weights". Exchanges with the same tag must begin
  /// in the same order in all processes, and one ends before the next one with its tag begins.
  Exchange(std::string what, int tag) : what_(std::move(what)), tag_(tag) {}
  virtual ~Exchange() = default;
  Exchange(const Exchange&) = delete;
  Exchange& operator=(const Exchange&) = delete;

  const std::string& what() const { return what_; }
  int tag() const { return tag_; }

  virtual void begin(int rank, int size, Messages& messages) = 0;
  virtual void sent(int to, int phase, Messages& messages) = 0;
  virtual void received(int from, int phase, Messages& messages) = 0;
  /// Returns whether all its messages have ended and the result is there.
  virtual bool ended() const = 0;
  /// Returns the processes whose messages are missing.
  virtual std::vector<int> awaited() const = 0;

 private:
  friend class types::ProcessGroup;

  std::string what_;
  int tag_;
  bool finished_ = false;  ///< set by the group
};

/// Adds up a buffer of float32 or float64 numbers over the processes that give one, and divides by
/// their number, in place. The others get the mean too.
///
/// Each process gets an equal part of the buffer from every other one, adds these parts in rank
/// order, starting from zero, divides, and sends the result to the others. (Reduce-scatter by
/// direct exchange, then all-gather; Thakur, Rabenseifner, Gropp 2005, section 4.) The sum does not
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
  void sent(int to, int phase, Messages& messages) override;
  void received(int from, int phase, Messages& messages) override;
  bool ended() const override { return means_ == size_ - 1 && sent_ == to_send_; }
  std::vector<int> awaited() const override;

 private:
  struct Part {
    std::byte* data;
    std::size_t bytes;
  };
  Part part(int rank);
  bool gives(int rank) const;
  void add_parts(Messages& messages);

  Array buffer_;
  std::vector<Array> parts_;  ///< by rank: its part of what this process adds up
  std::vector<int> givers_;
  int rank_ = 0, size_ = 0;
  int to_arrive_ = 0, to_send_ = 0;  ///< parts of other processes, and messages
  int arrived_ = 0, means_ = 0, sent_ = 0;
  std::vector<unsigned> done_;  ///< by rank: a bit for each message that has come or gone
};

/// Collects a byte string of any length from each process in all processes.
class GatherExchange final : public Exchange {
 public:
  GatherExchange(std::string what, int tag, std::string bytes);

  /// Returns the strings by rank.
  const std::vector<std::string>& strings() const { return strings_; }

  void begin(int rank, int size, Messages& messages) override;
  void sent(int to, int phase, Messages& messages) override;
  void received(int from, int phase, Messages& messages) override;
  bool ended() const override { return missing_ == 0 && unsent_ == 0; }
  std::vector<int> awaited() const override;

 private:
  std::string own_;
  std::uint64_t own_size_ = 0;
  std::vector<std::string> strings_;
  std::vector<std::uint64_t> sizes_;
  std::vector<bool> complete_;
  int missing_ = 0, unsent_ = 0;
};

}  // namespace towerflow::parallel::processes
