#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <string>

#include "core/device/cancellation.h"

namespace towerflow {

/// Restores the order of work that was handed out in order and then done by many threads.
///
/// A reader gives each record a ticket; whoever enqueues the record waits for its turn. A dropped
/// ticket, whose run failed, counts as done, so that later ones can continue.
class TicketLine {
 public:
  std::uint64_t issue() {
    std::lock_guard lock(mutex_);
    done_.push_back(false);
    return next_ + done_.size() - 1;
  }
  /// Waits until all earlier tickets are done; returns false if `cancellation` ended the wait.
  bool wait_turn(std::uint64_t ticket, Cancellation& cancellation);
  /// Allocates nothing, since the destructor of a Ticket calls it.
  void done(std::uint64_t ticket) noexcept;

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::uint64_t next_ = 0;  // the ticket whose turn it is
  std::deque<bool> done_;   // for each ticket from `next_` on
};

/// The position of a record in a reader's files. Checkpoints store it for the elements of a queue.
struct RecordPlace {
  std::shared_ptr<const std::string> file;  ///< nullptr if there is no record
  std::uint64_t begin = 0, end = 0;         ///< byte range in the decoded file
  std::uint64_t files = 0;  ///< number of file names that the reader had taken by then
};

/// A ticket of a line, released when it goes out of scope.
class Ticket {
 public:
  Ticket() = default;
  Ticket(std::shared_ptr<TicketLine> line, RecordPlace record)
      : line_(std::move(line)), number_(line_->issue()), record_(std::move(record)) {}
  ~Ticket() { release(); }
  Ticket(Ticket&& other) noexcept = default;
  Ticket& operator=(Ticket&& other) noexcept {
    release();
    line_ = std::move(other.line_);
    number_ = other.number_;
    record_ = std::move(other.record_);
    return *this;
  }

  bool wait_turn(Cancellation& cancellation) {
    return line_ == nullptr || line_->wait_turn(number_, cancellation);
  }
  void release() {
    if (line_ != nullptr) line_->done(number_);
    line_ = nullptr;
    record_ = {};
  }
  /// Returns the position of the record that the ticket was issued for.
  const RecordPlace& record() const { return record_; }

 private:
  std::shared_ptr<TicketLine> line_;
  std::uint64_t number_ = 0;
  RecordPlace record_;
};

}  // namespace towerflow
