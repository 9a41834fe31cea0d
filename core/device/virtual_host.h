#pragma once

#include <condition_variable>
#include <limits>
#include <mutex>
#include <vector>

#include "core/device/cancellation.h"

namespace towerflow {

/// The host of several workers on the virtual clock. Each worker makes one run after another on
/// simulated accelerators of its own; the host's one core does what the workers want of it, in the
/// order in which they want it on that clock, and of equal times the first worker's first.
///
/// A worker waits here until no other can come before it. Until then the others may still be at an
/// earlier time, however far the threads of this machine have come. Thread-safe.
class VirtualHost {
 public:
  explicit VirtualHost(int workers) : times_(static_cast<std::size_t>(workers), 0) {}
  VirtualHost(const VirtualHost&) = delete;
  VirtualHost& operator=(const VirtualHost&) = delete;

  /// Returns the time before which a worker wants nothing more.
  double now(int worker) const;
  /// Notes that a worker wants nothing more before `time`; earlier than its time, that has no
  /// effect.
  void advance(int worker, double time);
  /// Lets the others go on without a worker, which has ended or waits for them.
  void leave(int worker);
  /// Lets a worker that has left take part again, from `time` on.
  void join(int worker, double time);

  /// Waits until no other worker can do anything before this one's time.
  void await_turn(int worker);
  /// Waits until a worker that wants the core at `time` is the next to have it. Returns when it has
  /// it: at `time`, or when the core is free. No lock of the runtime may be held. Throws
  /// CancelledError if the run is cancelled.
  double take_core(int worker, double time, Cancellation& cancellation);
  /// Ends what `take_core` began.
  void free_core(int worker, double time);
  /// Returns the time since which the core has had nothing to do.
  double core_is_free() const;

 private:
  static constexpr double kNever = std::numeric_limits<double>::infinity();

  double& time_of(int worker) { return times_[static_cast<std::size_t>(worker)]; }
  bool is_turn(int worker) const;

  mutable std::mutex mutex_;  // guards the members below
  std::condition_variable moved_;
  std::vector<double> times_;  // of each worker; kNever if it has left
  double free_ = 0;            // since when the core has had nothing to do
};

}  // namespace towerflow
