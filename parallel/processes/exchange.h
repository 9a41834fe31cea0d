#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/graph/types.h"
#include "parallel/processes/message_engine.h"

namespace towerflow::parallel::types {
class ProcessGroup;
}

namespace towerflow::parallel::processes {

/// Identifies a message of an exchange. Messages of one phase from one process arrive in the order
/// in which they were sent, and `receive` must ask for them in that order.
struct Message {
  int peer = 0;   ///< the other process
  int phase = 0;  ///< 0 or 1
  int piece = 0;  ///< its number, which the exchange chooses
};

/// What an exchange sends and receives messages with. `Exchange::sent` and `Exchange::received`
/// report when a message has ended; messages may end in another order.
class Messages {
 public:
  virtual ~Messages() = default;
  virtual void send(const void* data, std::size_t bytes, const Message& message) = 0;
  virtual void receive(void* data, std::size_t bytes, const Message& message) = 0;
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
  virtual void sent(const Message& message, Messages& messages) = 0;
  virtual void received(const Message& message, Messages& messages) = 0;
  /// Makes progress that takes no message. Returns whether it did.
  virtual bool look() { return false; }
  /// Returns whether all its messages have ended and the result is there.
  virtual bool ended() const = 0;
  /// Returns the processes that have yet to take part.
  virtual std::vector<int> awaited() const = 0;

 private:
  friend class types::ProcessGroup;

  std::string what_;
  int tag_;
  bool finished_ = false;  ///< set by the group
};

/// Calls `visit` with the other ranks, the next one first, so that not all send to the same.
template <class Visit>
void for_each_other(int rank, int size, const Visit& visit) {
  for (int i = 1; i < size; ++i) visit((rank + i) % size);
}

/// Collects a byte string of any length from each process in all processes.
class GatherExchange final : public Exchange {
 public:
  GatherExchange(std::string what, int tag, std::string bytes);

  /// Returns the strings by rank.
  const std::vector<std::string>& strings() const { return strings_; }

  void begin(int rank, int size, Messages& messages) override;
  void sent(const Message& message, Messages& messages) override;
  void received(const Message& message, Messages& messages) override;
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
