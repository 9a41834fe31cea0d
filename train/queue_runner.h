#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/graph/collections.h"
#include "core/runtime/session.h"
#include "ops/data_flow/queue.h"
#include "train/coordinator.h"

namespace towerflow::train::types {

struct QueueRunnerOptions {
  Operation close_op{};   ///< runs at the end of the input; by default closes the queue
  Operation cancel_op{};  ///< runs to unblock waiters; by default closes and cancels the queue
  /// Error codes of an enqueue that mean the end of the input.
  std::vector<errors::Code> queue_closed_exception_types{errors::Code::out_of_range};
};

struct CreateThreadsOptions {
  Coordinator* coord = nullptr;  ///< receives errors and stops the threads; must outlive them
  bool start = false;
};

/// Fills a queue with one thread per enqueue operation. Each thread runs its operation repeatedly
/// until the input ends (the last thread then closes the queue), an error occurs or a stop is
/// requested. A cheap handle. (tf.train.QueueRunner)
///
/// Errors are passed to the coordinator, whose `join` throws the first one. Without a coordinator,
/// an error is stored in `exceptions_raised`, and once the queue runs dry its dequeues throw that
/// error. A stop closes the queue even if memory has run out or the graph can no longer be planned:
/// everything it needs is prepared along with the threads. If `close_op` or `cancel_op` itself
/// fails, the queue is closed directly and the failure is reported.
class QueueRunner {
 public:
  QueueRunner() = default;
  /// Adds close and cancel operations to the graph unless `options` provides them.
  QueueRunner(const QueueBase& queue, std::vector<Operation> enqueue_ops,
              QueueRunnerOptions options = {}, Site site = Site::current());

  const QueueBase& queue() const;
  const std::string& name() const { return queue().name(); }
  const std::vector<Operation>& enqueue_ops() const;
  Operation close_op() const;
  Operation cancel_op() const;
  const std::vector<errors::Code>& queue_closed_exception_types() const;
  /// Returns the errors of threads that ran without a coordinator.
  std::vector<std::exception_ptr> exceptions_raised() const;

  /// Creates the threads that fill the queue of `session`, one per enqueue operation, and with a
  /// coordinator one more that cancels the queue when it stops. Creates none if threads of an
  /// earlier call still run or may still be started. The threads end when the session closes.
  /// Throws the errors of planning the close and cancel operations, and ResourceExhaustedError if a
  /// thread cannot be started; no thread is left running then.
  std::vector<Thread> create_threads(Session& session, CreateThreadsOptions options = {});

 private:
  struct State;
  class Membership;
  class QueueCloser;
  struct Job;
  /// Returns a membership per thread to create; none if threads of the session still run.
  std::vector<std::shared_ptr<Membership>> join(const std::shared_ptr<ResourceStore>& session);

  std::shared_ptr<State> state_;
};

inline std::string collection_name(const QueueRunner& runner) { return runner.name(); }

}  // namespace towerflow::train::types

namespace towerflow::train {

/// Adds a runner to a collection of the default graph. (tf.train.add_queue_runner)
void add_queue_runner(const QueueRunner& runner,
                      const std::string& collection = GraphKeys::QUEUE_RUNNERS);

struct StartQueueRunnersOptions {
  Coordinator* coord = nullptr;
  bool start = true;
  std::string collection = GraphKeys::QUEUE_RUNNERS;
};

/// Starts the threads of all queue runners in the collection of the session's graph.
/// (tf.train.start_queue_runners)
std::vector<Thread> start_queue_runners(Session& session, StartQueueRunnersOptions options = {});
inline std::vector<Thread> start_queue_runners(Session& session, Coordinator& coord,
                                               StartQueueRunnersOptions options = {}) {
  options.coord = &coord;
  return start_queue_runners(session, std::move(options));
}

}  // namespace towerflow::train
