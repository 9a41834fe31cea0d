#pragma once

#include <condition_variable>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "dataset/dataset_iterator.h"

namespace towerflow::data {

/// The results of threads that compute elements ahead of their reader, in order.
///
/// A thread reserves the place of the next result in order and fills it later. The reader waits for
/// the oldest one. When the object is destroyed or the iterator stops, all waits end.
class ElementsAhead {
 public:
  /// One result: an element, an error, or the end.
  struct Place {
    ElementValue element;
    std::exception_ptr error;
    bool end = false;
    bool ready = false;
  };

  /// At most `limit` results are computed ahead.
  ElementsAhead(std::size_t limit, IteratorContext& context);

  /// Starts `count` threads, if they have not been started, each of which calls `work` once. Throws
  /// ResourceExhaustedError if none can be started.
  void start(std::size_t count, const std::function<void()>& work);
  bool started() const { return !threads_.empty(); }
  /// Ends all waits and joins the threads; the owner calls it before anything else is destroyed.
  void stop();

  /// Waits for room and returns the next place, nullptr if the threads are to end.
  Place* reserve();
  void fill(Place& place);
  /// Reads the oldest result into `element`; returns false at the end. Rethrows an error that was
  /// stored; throws CancelledError if the wait is cancelled.
  bool take(ElementValue& element, const Pull& pull);

  /// What ends the waits of the threads themselves, further up.
  Cancellation& cancellation() { return stopped_; }

 private:
  const std::size_t limit_;
  Cancellation stopped_;
  CancellationCallback stops_with_iterator_;
  std::mutex mutex_;
  std::condition_variable room_, ready_;
  std::deque<Place> places_;
  bool ended_ = false;  // the end was reserved or taken
  bool stopping_ = false;
  CancellationCallback wakes_threads_;
  std::vector<std::thread> threads_;
};

}  // namespace towerflow::data
