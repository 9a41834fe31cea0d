#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <mutex>

namespace towerflow {

/// Ends waits of one run: when it fails elsewhere, is interrupted, or its session closes.
///
/// A kernel that may wait registers a callback that wakes it, and asks `cancelled()` each time it
/// wakes. Callbacks run on the cancelling thread and must not call back into this object.
class Cancellation {
 public:
  using Id = std::uint64_t;

  bool cancelled() const {
    std::lock_guard lock(mutex_);
    return cancelled_;
  }
  void cancel();

  /// Registers `wake`; it is called at once when the run is cancelled already.
  Id subscribe(std::function<void()> wake);
  void unsubscribe(Id id);

 private:
  mutable std::mutex mutex_;
  bool cancelled_ = false;
  Id next_id_ = 1;
  std::map<Id, std::function<void()>> callbacks_;
};

/// Keeps a callback registered while it lives.
class CancellationCallback {
 public:
  CancellationCallback(Cancellation& cancellation, std::function<void()> wake)
      : cancellation_(cancellation), id_(cancellation.subscribe(std::move(wake))) {}
  ~CancellationCallback() { cancellation_.unsubscribe(id_); }
  CancellationCallback(const CancellationCallback&) = delete;
  CancellationCallback& operator=(const CancellationCallback&) = delete;

 private:
  Cancellation& cancellation_;
  Cancellation::Id id_;
};

}  // namespace towerflow
