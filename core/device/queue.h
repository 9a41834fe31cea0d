#pragma once

#include <cstddef>
#include <exception>
#include <optional>

#include "core/device/event.h"
#include "core/device/queue_clock.h"

namespace towerflow {

/// The first error of a queue and the instruction that failed. Neither that instruction nor a later
/// one has had an effect.
struct QueueError {
  std::exception_ptr error;
  std::size_t instruction = 0;
};

/// Runs kernels and copies in order. Belongs to a frame; used by one run at a time.
///
/// If the queue is asynchronous, `copy`, `record`, and `PreparedKernel::enqueue` return at once,
/// and operands must live until `synchronize` returns. The queue may hold them back, to give its
/// device more at once, until `flush`, `synchronize` or a `wait` for what may itself wait for them.
/// Everything that is enqueued ends: after an error the queue skips what follows and marks events
/// recorded there as failed; it also skips work that waits for a failed event.
class Queue {
 public:
  virtual ~Queue() = default;
  /// Returns whether work may continue after the call that enqueued it has returned.
  virtual bool asynchronous() const { return false; }
  /// Begins a run; `timed` if both clocks are needed.
  virtual void start(bool timed) = 0;
  /// Announces that the work enqueued until `end` is instruction number `index` of the run. `span`,
  /// which may be null, receives its times. Required if the queue is asynchronous or timed.
  virtual void begin(std::size_t index, Span* span) = 0;
  virtual void end() = 0;

  /// Copies between host memory and the memory of the queue's device, or within either. Host memory
  /// must be pinned if the queue is asynchronous.
  virtual void copy(void* to, const void* from, std::size_t bytes) = 0;
  virtual void record(Event& event) = 0;
  /// Makes later work wait until the work before `event`, of any backend, has ended. Blocks until
  /// the event is recorded; returns early if the run is cancelled. If that work failed, this queue
  /// does nothing more and CancelledError is thrown here or reported by `synchronize`.
  virtual void wait(Event& event, Cancellation& cancellation) = 0;
  /// Does the same for an event use recorded by another run.
  virtual void wait(const EventUse& moment, Cancellation& cancellation) = 0;
  /// Holds nothing back any more. Called before the thread waits for something else than this
  /// queue, such as a lock that its holder keeps until an event recorded here is done.
  virtual void flush() {}
  /// Returns whether `synchronize` would report an error, so that enqueueing more is pointless.
  virtual bool failed() const { return false; }
  /// Returns whether work that was enqueued may still find that its data are wrong.
  virtual bool may_find_wrong_data() const { return false; }
  /// Waits until everything enqueued so far has ended and returns its first error.
  virtual std::optional<QueueError> synchronize() noexcept = 0;

  /// Returns the time of the run's virtual clock after all work that has ended; 0 if the queue
  /// keeps none.
  virtual double virtual_time() const { return 0; }
  /// Sets the virtual clock forward to `time`; called while the queue has no work.
  virtual void advance(double time) { static_cast<void>(time); }
};

}  // namespace towerflow
