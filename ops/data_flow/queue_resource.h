#pragma once

#include <condition_variable>
#include <deque>
#include <exception>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "core/device/cancellation.h"
#include "core/device/cpu/thread_pool.h"
#include "core/device/kernel.h"
#include "core/device/resource_store.h"
#include "core/device/tensor_desc.h"
#include "ops/data_flow/queue_attrs.h"
#include "ops/data_flow/queue_order.h"

namespace towerflow {

/// What a queue was made with.
struct QueueSpec {
  std::string kind;  ///< "FIFOQueue"
  std::string name;  ///< as messages show it
  std::size_t capacity = 0;
  std::vector<DType> dtypes;  ///< of the components of an element
  /// The same; empty when elements may differ, with unknown sizes where they are padded.
  std::vector<Shape> shapes;
  RunnerMark runner{};
};

/// Who waits: the run that may be cancelled, the pool that may use the thread's core meanwhile, and
/// the launch that a warning would be about.
struct QueueCaller {
  Cancellation& cancellation;
  ThreadPool& pool;
  const LaunchArgs* launch = nullptr;
};

/// The values of one enqueue, a component each.
struct QueueValues {
  const std::vector<TensorDesc>& descs;
  const void* const* data;
};

/// The queue of one session behind FIFOQueueV2, RandomShuffleQueueV2 and PaddingFIFOQueueV2.
///
/// Callers that must wait form two lines, one to enqueue and one to dequeue, and are served in the
/// order in which they came, as in TensorFlow. A wait ends with CancelledError when its run is
/// cancelled or the session closes.
class QueueResource final : public Resource {
 public:
  QueueResource(QueueSpec spec, std::unique_ptr<QueueOrder> order)
      : spec_(std::move(spec)), order_(std::move(order)) {}

  const QueueSpec& spec() const { return spec_; }

  /// Adds one element; waits while the queue is full. InvalidArgumentError for values that do not
  /// fit the queue, CancelledError when it is closed.
  /// `record` is what the element was made of.
  void enqueue(const QueueValues& values, const QueueCaller& caller, const RecordPlace& record);
  /// Adds the rows of the values, each as soon as there is room.
  void enqueue_many(const QueueValues& values, const QueueCaller& caller);

  /// Takes `count` elements; waits until there are so many besides those that stay behind, or the
  /// queue is closed. `fewer` is content with what is left of a closed queue. OutOfRangeError when
  /// too few are left; these stay in the queue.
  std::vector<QueueElement> dequeue(std::size_t count, bool fewer, const QueueCaller& caller);
  /// Gives the memory of elements back for later ones.
  void recycle(std::vector<QueueElement> elements);

  /// No more elements will come. Waits its turn behind the enqueues that wait already; a second
  /// close is a CancelledError.
  void close(const QueueCaller& caller);
  /// The same at once: the enqueues that wait end with CancelledError. Neither plans nor allocates,
  /// so that there is nothing that could keep a queue from being ended.
  void cancel() noexcept;
  /// A queue runner has been started for it: a dequeue that waits need not warn that none was.
  void note_runner();
  /// Says why the queue will be closed. Once it is and runs dry, dequeues throw `cause` itself when
  /// `raise`, else their OutOfRangeError names it. The first cause stays.
  void set_cause(std::exception_ptr cause, bool raise);

  /// Where the queue stands, whatever has been enqueued ahead of need. FailedPreconditionError
  /// while a dequeue of more elements than fit the queue has some of them.
  QueueOrder::Position position() const;
  /// Before the queue is used: as if `count` elements had been dequeued that will be enqueued once
  /// more. FailedPreconditionError when it has been used.
  void skip(std::uint64_t count);
  /// Before the queue is used: goes on from where another was, once the elements that it held are
  /// enqueued in their order. FailedPreconditionError when it has been used, InvalidArgumentError
  /// for a position that it cannot have.
  void resume(QueueOrder::Position position);

  std::size_t size() const;
  bool is_closed() const;
  bool is_shut_down() const;
  void shut_down() override;

 private:
  struct Waiter {
    std::condition_variable changed;
    const std::size_t* needs = nullptr;  // elements that must be there for a dequeue to go on
    bool cancelled = false;
  };
  using Line = std::deque<Waiter*>;
  struct Dequeue;
  class Place;

  template <class Step, class Undo>
  void serve(Line& line, const QueueCaller& caller, const char* what, const std::size_t* needs,
             Step&& step, Undo&& undo);
  bool lacks_runner() const;
  void warn_of_runner(const LaunchArgs& launch) const;
  void check(const QueueValues& values, bool many) const;
  void check_open() const;
  QueueElement filled(const QueueValues& values, std::size_t row, bool many);
  void admit(QueueElement element);
  void drop_skipped();
  void check_unused() const;
  std::size_t needed(std::size_t count) const;
  bool try_dequeue(Dequeue& attempt);
  void undo_dequeue(Dequeue& attempt);
  [[noreturn]] void throw_ended(std::size_t count) const;
  void wake_dequeuer();
  void wake_enqueuer();
  void wake_all();

  const QueueSpec spec_;
  mutable std::mutex mutex_;
  std::unique_ptr<QueueOrder> order_;
  Line enqueuers_, dequeuers_;
  bool closed_ = false;
  bool shut_down_ = false;
  bool may_fill_ = false;  // something was enqueued, or a runner started
  std::exception_ptr cause_;
  bool raise_cause_ = false;
  std::size_t in_hand_ = 0;                      // taken by dequeues that wait for more
  std::uint64_t to_skip_ = 0;                    // elements to be dropped before the first dequeue
  std::optional<QueueOrder::Position> resumed_;  // until something is dequeued

  std::mutex spare_mutex_;
  std::vector<QueueElement> spare_;
};

}  // namespace towerflow
