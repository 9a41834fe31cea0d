#pragma once

#include <atomic>
#include <functional>
#include <mutex>

namespace towerflow {

class CancellationCallback;

/// Ends the waits of one run if it fails elsewhere, is interrupted, or its session closes.
///
/// A run that has begun to change variables finishes its step: after `commit`, only `abort` ends
/// it, which is for errors of the run itself. Thread-safe.
class Cancellation {
 public:
  Cancellation() = default;
  Cancellation(const Cancellation&) = delete;
  Cancellation& operator=(const Cancellation&) = delete;

  bool cancelled() const { return cancelled_.load(std::memory_order_acquire); }
  /// Cancels the run and wakes all waits; does nothing after a commit.
  void cancel();
  /// Cancels the run even after a commit.
  void abort();
  /// Marks the run as committed: it will finish. Returns false if it was cancelled before.
  bool commit();
  bool committed() const { return committed_.load(std::memory_order_acquire); }

 private:
  friend class CancellationCallback;
  void wake_all();

  std::mutex mutex_;
  std::atomic<bool> cancelled_{false};
  std::atomic<bool> committed_{false};
  CancellationCallback* first_ = nullptr;
};

/// Registers a callback for the object's lifetime. It is called on the cancelling thread, or at
/// once if the run is already cancelled, and must not call the Cancellation. Allocates nothing if
/// the function captures at most two pointers.
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
