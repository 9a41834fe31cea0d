#include "train/queue_runner.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <utility>

#include "core/device/cancellation.h"
#include "core/device/resource_store.h"
#include "core/graph/log.h"
#include "core/graph/scopes.h"
#include "ops/data_flow/queue_attrs.h"
#include "ops/data_flow/queue_resource.h"
#include "train/enqueue_turns.h"

namespace towerflow::train {
namespace {

/// Returns the name under which the session stores the queue.
std::string resource_name(const QueueBase& queue) {
  const auto& attrs = queue.queue_ref().op().attrs().as<QueueAttrs>();
  return attrs.shared_name.empty() ? queue.name() : attrs.shared_name;
}

}  // namespace

struct QueueRunner::State {
  QueueBase queue;
  std::vector<Operation> enqueue_ops;
  QueueRunnerOptions options;
  std::mutex mutex;
  std::map<const void*, std::size_t> running;  // number of threads filling the queue, by session
  std::vector<std::exception_ptr> exceptions;  // with capacity for the errors of all threads

  void add_exception(std::exception_ptr error) {
    std::lock_guard lock(mutex);
    exceptions.push_back(std::move(error));
  }
  bool is_queue_closed(const errors::OpError& error) const {
    const auto& codes = options.queue_closed_exception_types;
    return std::find(codes.begin(), codes.end(), error.code()) != codes.end();
  }
};

/// Counts a thread among those that fill the queue of a session, until the thread ends or, if it
/// was never started, its handle is destroyed.
class QueueRunner::Membership {
 public:
  /// The caller must hold the state's mutex.
  Membership(std::shared_ptr<State> state, std::shared_ptr<ResourceStore> session)
      : state_(std::move(state)), session_(std::move(session)) {
    ++state_->running[session_.get()];
  }
  ~Membership() { end_thread(); }
  Membership(const Membership&) = delete;
  Membership& operator=(const Membership&) = delete;

  /// Marks the thread as ended. Returns whether it was the last one of the session.
  bool end_thread() {
    std::lock_guard lock(state_->mutex);
    if (std::exchange(left_, true)) return false;
    const auto it = state_->running.find(session_.get());
    if (--it->second > 0) return false;
    state_->running.erase(it);
    return true;
  }

 private:
  std::shared_ptr<State> state_;
  std::shared_ptr<ResourceStore> session_;  // so that no other session reuses its address
  bool left_ = false;
};

/// Ends the queue of a session with the runner's operations or, if these fail, directly.
///
/// Everything needed is prepared when the threads are created. Later there may be no memory or a
/// graph that can no longer be planned, but threads waiting in the queue must still be woken.
class QueueRunner::QueueCloser {
 public:
  QueueCloser(Session& session, const QueueRunner& runner)
      : resources_(session.shared_resources()),
        close_(session.make_callable({runner.close_op()})),
        cancel_(session.make_callable({runner.cancel_op()})) {
    close_.prepare();
    cancel_.prepare();
    session.run(runner.queue().queue_ref().op());  // makes the queue
    queue_ = resources_->find_resource<QueueResource>(resource_name(runner.queue()));
    if (queue_ == nullptr) throw RuntimeError("the session has no queue " + runner.name());
  }

  QueueResource& queue() const { return *queue_; }
  /// Both throw the operation's error unless the queue or the session was already closed.
  void close() { end(close_); }
  void cancel() {
    std::lock_guard lock(cancel_mutex_);
    end(cancel_);
  }

 private:
  void end(const Callable& operation) {
    try {
      operation();
    } catch (const errors::CancelledError&) {
      queue_->cancel();
    } catch (...) {
      queue_->cancel();
      if (!queue_->is_shut_down()) throw;
    }
  }

  std::shared_ptr<ResourceStore> resources_;
  Callable close_;  // called only by the last thread
  std::mutex cancel_mutex_;
  Callable cancel_;
  QueueResource* queue_ = nullptr;
};

/// The data of one thread. Does not need the Session object itself.
struct QueueRunner::Job {
  std::shared_ptr<State> state;
  std::shared_ptr<Membership> member;
  std::shared_ptr<QueueCloser> end;
  Callable enqueue{};
  Coordinator* coord = nullptr;
  std::shared_ptr<Cancellation> interrupted = std::make_shared<Cancellation>();
  std::shared_ptr<SourceTurns> turns{};  // in which the threads read; null if they take no turns
  std::size_t turn = 0;

  void run() const {
    end->queue().note_runner();
    try {
      const bool ended = fill();
      if (member->end_thread() && ended) end->close();
    } catch (...) {
      member->end_thread();
      if (!interrupted->cancelled()) report(std::current_exception());
    }
  }

 private:
  /// Removes this thread from the turns when it ends for any reason, so that the others go on.
  class TurnsRemover {
   public:
    explicit TurnsRemover(const Job& job) : job_(job) {}
    ~TurnsRemover() {
      if (job_.turns != nullptr) job_.turns->remove_thread(job_.turn);
    }
    TurnsRemover(const TurnsRemover&) = delete;
    TurnsRemover& operator=(const TurnsRemover&) = delete;

   private:
    const Job& job_;
  };

  bool should_stop() const {
    return interrupted->cancelled() || (coord != nullptr && coord->should_stop());
  }

  /// Runs the enqueue operation until the input ends (returns true) or a stop is requested (returns
  /// false). Throws any other error.
  bool fill() const {
    const TurnsRemover leaves(*this);
    while (!should_stop()) {
      try {
        enqueue();
      } catch (const errors::OpError& error) {
        if (state->is_queue_closed(error)) return true;
        throw;
      }
    }
    return false;
  }

  /// Passes an error to the coordinator, whose stop cancels the queue. Without a coordinator,
  /// stores the error and cancels the queue.
  void report(std::exception_ptr error) const {
    if (coord != nullptr) {
      if (!coord->should_stop()) end->queue().set_cause(error, false);
      return coord->request_stop(std::move(error));
    }
    end->queue().set_cause(error, true);
    state->add_exception(std::move(error));
    try {
      end->cancel();
    } catch (...) {
      state->add_exception(std::current_exception());
    }
  }
};

QueueRunner::QueueRunner(const QueueBase& queue, std::vector<Operation> enqueue_ops,
                         QueueRunnerOptions options, Site site)
    : state_(std::make_shared<State>()) {
  if (!queue.valid() || enqueue_ops.empty()) {
    throw ValueError("Must provide queue and enqueue_ops.", {.site = site});
  }
  queue.queue_ref().op().attrs().as<QueueAttrs>().runner.set();
  if (!options.close_op.valid()) options.close_op = queue.close({}, site);
  if (!options.cancel_op.valid()) {
    options.cancel_op = queue.close({.cancel_pending_enqueues = true}, site);
  }
  state_->queue = queue;
  state_->enqueue_ops = std::move(enqueue_ops);
  state_->options = std::move(options);
}

const QueueBase& QueueRunner::queue() const { return state_->queue; }
const std::vector<Operation>& QueueRunner::enqueue_ops() const { return state_->enqueue_ops; }
Operation QueueRunner::close_op() const { return state_->options.close_op; }
Operation QueueRunner::cancel_op() const { return state_->options.cancel_op; }
const std::vector<errors::Code>& QueueRunner::queue_closed_exception_types() const {
  return state_->options.queue_closed_exception_types;
}

std::vector<std::exception_ptr> QueueRunner::exceptions_raised() const {
  std::lock_guard lock(state_->mutex);
  return state_->exceptions;
}

std::vector<std::shared_ptr<QueueRunner::Membership>> QueueRunner::join(
    const std::shared_ptr<ResourceStore>& session) {
  std::vector<std::shared_ptr<Membership>> members(state_->enqueue_ops.size());
  std::lock_guard lock(state_->mutex);
  if (state_->running.contains(session.get())) return {};
  for (auto& member : members) member = std::make_shared<Membership>(state_, session);
  state_->exceptions.clear();
  state_->exceptions.reserve(2 * members.size());
  return members;
}

std::vector<Thread> QueueRunner::create_threads(Session& session, CreateThreadsOptions options) {
  const auto resources = session.shared_resources();
  const auto members = join(resources);
  if (members.empty()) return {};
  const auto end = std::make_shared<QueueCloser>(session, *this);
  const EnqueueTurns turns = make_enqueue_turns(*resources, state_->enqueue_ops);
  std::vector<Thread> threads;
  try {
    for (std::size_t i = 0; i < members.size(); ++i) {
      const Operation& operation = state_->enqueue_ops[i];
      const auto job = std::make_shared<Job>();
      *job = {.state = state_,
              .member = members[i],
              .end = end,
              .coord = options.coord,
              .turns = turns.turns,
              .turn = turns.members[i]};
      job->enqueue = session.make_callable({operation}, {}, job->interrupted.get());
      threads.emplace_back(
          fmt::format("QueueRunnerThread-{}-{}", name(), operation.name()), [job] { job->run(); },
          [job] { job->interrupted->cancel(); });
    }
    if (options.coord != nullptr) {
      threads.emplace_back(fmt::format("QueueRunnerThread-{}-close_on_stop", name()),
                           [coord = options.coord, end] {
                             coord->wait_for_stop();
                             end->cancel();
                           });
    }
    for (Thread& thread : threads) {
      if (options.coord != nullptr) options.coord->register_thread(thread);
      if (options.start) thread.start();
    }
  } catch (...) {  // all threads or none
    for (Thread& thread : threads) thread.interrupt();
    if (turns.turns != nullptr) turns.turns->dissolve();
    end->queue().cancel();
    if (options.coord != nullptr) options.coord->request_stop(std::current_exception());
    throw;
  }
  return threads;
}

void add_queue_runner(const QueueRunner& runner, const std::string& collection) {
  add_to_collection(collection, runner);
}

std::vector<Thread> start_queue_runners(Session& session, StartQueueRunnersOptions options) {
  const auto runners =
      session.graph().collections().get<QueueRunner>(options.collection, std::nullopt);
  if (runners.empty()) {
    log_message(LogLevel::warning,
                "start_queue_runners was called when no queue runners were defined");
  }
  std::vector<Thread> threads;
  for (QueueRunner runner : runners) {
    for (Thread& thread :
         runner.create_threads(session, {.coord = options.coord, .start = options.start})) {
      threads.push_back(std::move(thread));
    }
  }
  return threads;
}

}  // namespace towerflow::train
