#pragma once

#include <cstddef>
#include <exception>
#include <optional>

#include "core/device/event.h"
#include "core/device/queue_clock.h"

namespace towerflow {

/// The first error of what a queue was told to do, and the instruction that it belongs to. Nothing
/// of that instruction or a later one has been done.
struct QueueError {
  std::exception_ptr error;
  std::size_t instruction = 0;
};

/// Runs kernels and copies in order. Belongs to a frame; used by one run at a time.
///
/// `copy`, `record`, and `PreparedKernel::enqueue` return at once where the queue is asynchronous;
/// operands must live until `synchronize` returns. What is enqueued always ends: after an error the
/// queue leaves out what follows, marks the events recorded there as failed, and does nothing that
/// waits for a failed event.
class Queue {
 public:
  virtual ~Queue() = default;
  /// Whether work may go on after the call that enqueued it has returned.
  virtual bool asynchronous() const { return false; }
  /// A run begins; `timed` when both clocks are to be kept.
  virtual void start(bool timed) = 0;
  /// What is enqueued until `end` is instruction number `index` of the run; `span`, which may be
  /// null, is told when it was at work. Needed where the queue is asynchronous or timed.
  virtual void begin(std::size_t index, Span* span) = 0;
  virtual void end() = 0;

  /// Copies between memory of the host and of the queue's device, or within either. Where the queue
  /// is asynchronous the host's memory is pinned.
  virtual void copy(void* to, const void* from, std::size_t bytes) = 0;
  virtual void record(Event& event) = 0;
  /// Lets later work start only when the work before `event`, of whatever backend, has ended.
  /// Blocks until it is recorded; returns early when the run is cancelled. Where the work has
  /// failed, this queue does nothing more: it throws CancelledError, now or from `synchronize`.
  virtual void wait(Event& event, Cancellation& cancellation) = 0;
  /// The same for what another run has recorded.
  virtual void wait(const Moment& moment, Cancellation& cancellation) = 0;
  /// Whether there is an error for `synchronize` to give: then nothing more need be enqueued.
  virtual bool failed() const { return false; }
  /// Returns when everything enqueued so far has ended, with the first error among it.
  virtual std::optional<QueueError> synchronize() noexcept = 0;
};

}  // namespace towerflow
