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

/// The parameters of a queue.
struct QueueSpec {
  std::string kind;  ///< "FIFOQueue"
  std::string name;  ///< as shown in messages
  std::size_t capacity = 0;
  std::vector<DType> dtypes;  ///< of the components of an element
  /// Also of the components; empty if elements may differ, with unknown sizes if they are padded.
  std::vector<Shape> shapes;
  RunnerMark runner{};
};

/// The caller of a queue operation that may wait: its run, which may be cancelled, the pool that
/// may use its core meanwhile, and the launch to name in a warning.
struct QueueCaller {
  Cancellation& cancellation;
  ThreadPool& pool;
  const LaunchArgs* launch = nullptr;
};

/// The values of one enqueue, one per component.
struct QueueValues {
  const std::vector<TensorDesc>& descs;
  const void* const* data;
};

/// The queue of one session behind FIFOQueueV2, RandomShuffleQueueV2 and PaddingFIFOQueueV2.
///
/// Callers that must wait form two lines, one of enqueues and one of dequeues, and are served in
/// order of arrival, as in TensorFlow. A wait ends with CancelledError if its run is cancelled or
/// the session closes.
class QueueResource final : public Resource {
 public:
  QueueResource(QueueSpec spec, std::unique_ptr<QueueOrder> order)
      : spec_(std::move(spec)), order_(std::move(order)) {}

  const QueueSpec& spec() const { return spec_; }

  /// Adds one element, made from `record`; waits while the queue is full. Throws
  /// InvalidArgumentError for values that do not match the queue, CancelledError if it is closed.
  void enqueue(const QueueValues& values, const QueueCaller& caller, const RecordPlace& record);
  /// Adds the rows of the values, each as soon as there is room.
  void enqueue_many(const QueueValues& values, const QueueCaller& caller);

  /// Takes `count` elements. Waits until there are that many, besides those that a shuffle holds
  /// back, or the queue is closed. With `fewer`, accepts what is left of a closed queue. Throws
  /// OutOfRangeError if too few are left; these stay in the queue.
  std::vector<QueueElement> dequeue(std::size_t count, bool fewer, const QueueCaller& caller);
  /// Takes back the memory of elements for use by later ones.
  void recycle(std::vector<QueueElement> elements);

  /// Closes the queue to further elements, after the enqueues that wait already. Throws
  /// CancelledError if it is closed already.
  void close(const QueueCaller& caller);
  /// Closes the queue at once; pending enqueues end with CancelledError. Needs no plan and no
  /// memory, so that a queue can always be ended.
  void cancel() noexcept;
  /// Notes that a queue runner was started, so that waiting dequeues need not warn of a missing
  /// one.
  void note_runner();
  /// Sets why the queue will be closed. Once it is closed and empty, dequeues rethrow `cause` if
  /// `raise`, else name it in their OutOfRangeError. Only the first cause is kept.
  void set_cause(std::exception_ptr cause, bool raise);

  /// Returns the position of the queue, whatever has been enqueued ahead. Throws
  /// FailedPreconditionError while a dequeue of more elements than the queue can hold has taken
  /// some of them.
  QueueOrder::Position position() const;
  /// Drops the first `count` elements, which were dequeued in an earlier session and will be
  /// enqueued again. Throws FailedPreconditionError if the queue has been used.
  void skip(std::uint64_t count);
  /// Continues from the position of another queue, once the elements that it held are enqueued
  /// again in order. Throws FailedPreconditionError if the queue has been used,
  /// InvalidArgumentError for a position that it cannot have.
  void resume(QueueOrder::Position position);

  std::size_t size() const;
  bool is_closed() const;
  bool is_shut_down() const;
  void shut_down() override;

 private:
  struct Waiter {
    std::condition_variable changed;
    const std::size_t* needs = nullptr;  // queue size at which a dequeue can make progress
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
  QueueElement make_element(const QueueValues& values, std::size_t row, bool many);
  void admit(QueueElement element);
  void drop_skipped();
  void check_unused() const;
  std::size_t required_size(std::size_t count) const;
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
  std::size_t taken_count_ = 0;                  // taken by dequeues that wait for more
  std::uint64_t to_skip_ = 0;                    // elements to drop before the first dequeue
  std::optional<QueueOrder::Position> resumed_;  // reported until something is dequeued

  std::mutex spare_mutex_;
  std::vector<QueueElement> spare_;
};

}  // namespace towerflow
