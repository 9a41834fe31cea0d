#pragma once

#include <atomic>
#include <functional>
#include <mutex>

namespace towerflow {

class CancellationCallback;

/// Ends waits of one run: when it fails elsewhere, is interrupted, or its session closes.
///
/// A run that has begun to change variables finishes its step: after `commit` only `abort`, which
/// is for errors of the run itself, ends it. Safe from several threads.
class Cancellation {
 public:
  Cancellation() = default;
  Cancellation(const Cancellation&) = delete;
  Cancellation& operator=(const Cancellation&) = delete;

  bool cancelled() const { return cancelled_.load(std::memory_order_acquire); }
  /// Wakes all that wait; does nothing to a run that has committed.
  void cancel();
  /// The same, also after a commit.
  void abort();
  /// From now on the run is to finish. False when it was cancelled before.
  bool commit();

 private:
  friend class CancellationCallback;
  void wake_all();

  std::mutex mutex_;
  std::atomic<bool> cancelled_{false};
  bool committed_ = false;
  CancellationCallback* first_ = nullptr;
};

/// Keeps a callback registered while it lives: called on the cancelling thread, at once when the
/// run is cancelled already. It must not call back into the Cancellation. Allocates nothing when
/// the function captures no more than two pointers.
class CancellationCallback {
 public:
  CancellationCallback(Cancellation& cancellation, std::function<void()> wake);
  ~CancellationCallback();
  CancellationCallback(const CancellationCallback&) = delete;
  CancellationCallback& operator=(const CancellationCallback&) = delete;

 private:
  friend class Cancellation;
  Cancellation& cancellation_;
  std::function<void()> wake_;
  CancellationCallback* previous_ = nullptr;
  CancellationCallback* next_ = nullptr;
};

}  // namespace towerflow
