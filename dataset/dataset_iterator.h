#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "core/device/cancellation.h"
#include "core/device/cpu/thread_pool.h"
#include "core/graph/array.h"
#include "core/runtime/session.h"

namespace towerflow::data {

class DatasetFunction;

/// The components of one element, in order.
using ElementValue = std::vector<Array>;

/// Who asks for an element: what ends its waits, and the pool that may use its core meanwhile
/// (absent for threads of a dataset).
struct Pull {
  Cancellation& cancellation;
  ThreadPool* pool = nullptr;

  /// Throws CancelledError if the caller no longer waits for the element.
  void check() const;
};

/// A pass over the elements of a dataset. Used by one thread at a time.
///
/// An iterator that throws CancelledError loses nothing: the next call goes on where it stopped.
/// After another error, the next call returns the element after the one that failed.
class DatasetIterator {
 public:
  DatasetIterator() = default;
  DatasetIterator(const DatasetIterator&) = delete;
  DatasetIterator& operator=(const DatasetIterator&) = delete;
  virtual ~DatasetIterator() = default;

  /// Moves the next element into `element`; returns false at the end.
  virtual bool next(ElementValue& element, const Pull& pull) = 0;
  /// Drops up to `count` elements without computing them where possible; returns how many there
  /// were. An element that fails counts. After an exception the position is lost.
  virtual std::uint64_t skip(std::uint64_t count, const Pull& pull);
};

/// What the iterators of one dataset share while an iterator of a session runs: the signal to stop,
/// and the sessions in which functions are computed.
class IteratorContext {
 public:
  /// Returns a callable of the function for one thread, which is fed `feeds`.
  Callable callable(const std::shared_ptr<DatasetFunction>& function, std::vector<Tensor> feeds);

  Cancellation stop;

 private:
  struct Computed {
    std::shared_ptr<DatasetFunction> function;
    std::unique_ptr<Session> session;  // of the function's graph
  };
  std::mutex mutex_;
  std::map<const DatasetFunction*, Computed> functions_;
};

/// A dataset with the values of its arguments: begins a pass over the elements.
using DatasetInstance = std::function<std::unique_ptr<DatasetIterator>(IteratorContext& context)>;

}  // namespace towerflow::data
