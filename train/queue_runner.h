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
  Operation close_op{};   ///< run when the input has ended; closes the queue when not given
  Operation cancel_op{};  ///< run to unblock everybody; closes and cancels when not given
  /// Errors of an enqueue that mean the end of the input.
  std::vector<errors::Code> queue_closed_exception_types{errors::Code::out_of_range};
};

struct CreateThreadsOptions {
  Coordinator* coord = nullptr;  ///< takes errors and asks to stop; must outlive the threads
  bool start = false;
};

/// Fills a queue: for each of its enqueue operations a thread that runs it again and again, until
/// the input ends (the last thread then closes the queue), an error comes or a stop is requested.
/// A cheap handle. (tf.train.QueueRunner)
///
/// An error goes to the coordinator, whose `join` throws it. Without a coordinator it is kept in
/// `exceptions_raised`, and the queue ends with it: once it runs dry, its dequeues throw that
/// error. Whatever becomes of memory or of the graph meanwhile, a stop closes the queue: what that
/// takes is made when the threads are, and where `close_op` or `cancel_op` fails all the same the
/// queue is closed without it and the failure reported.
class QueueRunner {
 public:
  QueueRunner() = default;
  /// Adds the operations that close the queue to the graph, unless `options` has them.
  QueueRunner(const QueueBase& queue, std::vector<Operation> enqueue_ops,
              QueueRunnerOptions options = {}, Site site = Site::current());

  const QueueBase& queue() const;
  const std::string& name() const { return queue().name(); }
  const std::vector<Operation>& enqueue_ops() const;
  Operation close_op() const;
  Operation cancel_op() const;
  const std::vector<errors::Code>& queue_closed_exception_types() const;
  /// Errors of threads without a coordinator.
  std::vector<std::exception_ptr> exceptions_raised() const;

  /// Threads that fill the queue of `session`, one an enqueue operation, and with a coordinator one
  /// more that cancels the queue when it stops. None when those of an earlier call still run, or
  /// may still be started. They end when the session closes. Throws, with no thread left, what
  /// planning the operations that end the queue throws, and ResourceExhaustedError where a thread
  /// cannot be started.
  std::vector<Thread> create_threads(Session& session, CreateThreadsOptions options = {});

 private:
  struct State;
  class Membership;
  class End;
  struct Job;
  /// One for each thread to be; none when threads of the session still run.
  std::vector<std::shared_ptr<Membership>> join(const std::shared_ptr<ResourceStore>& session);

  std::shared_ptr<State> state_;
};

inline std::string collection_name(const QueueRunner& runner) { return runner.name(); }

}  // namespace towerflow::train::types

namespace towerflow::train {

/// Adds to the QUEUE_RUNNERS of the default graph. (tf.train.add_queue_runner)
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
