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

/// The name under which the session keeps the queue.
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
  std::map<const void*, std::size_t> running;  // threads that fill the queue, by session
  std::vector<std::exception_ptr> exceptions;  // with room for those of all threads

  void add_exception(std::exception_ptr error) {
    std::lock_guard lock(mutex);
    exceptions.push_back(std::move(error));
  }
  bool is_queue_closed(const errors::OpError& error) const {
    const auto& codes = options.queue_closed_exception_types;
    return std::find(codes.begin(), codes.end(), error.code()) != codes.end();
  }
};

/// A thread's place among those that fill the queue for a session: left when the thread ends, or
/// with its handle where it was never started.
class QueueRunner::Membership {
 public:
  /// With the state's mutex held.
  Membership(std::shared_ptr<State> state, std::shared_ptr<ResourceStore> session)
      : state_(std::move(state)), session_(std::move(session)) {
    ++state_->running[session_.get()];
  }
  ~Membership() { end_thread(); }
  Membership(const Membership&) = delete;
  Membership& operator=(const Membership&) = delete;

  /// Tells that the thread has ended. Returns whether it was the last one of the session.
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
  std::shared_ptr<ResourceStore> session_;  // so that no other session gets its address
  bool left_ = false;
};

/// Ends the queue of a session, by the runner's operations or, where these fail, by itself.
///
/// All that this takes is made with the threads. Later there may be no memory, or a graph that can
/// no longer be planned, and whoever waits in the queue must be woken all the same.
class QueueRunner::End {
 public:
  End(Session& session, const QueueRunner& runner)
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
  /// Both throw what the operation fails with, but for what is said by a queue that is closed
  /// already, or by a session that is.
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
  Callable close_;  // called by the last thread alone
  std::mutex cancel_mutex_;
  Callable cancel_;
  QueueResource* queue_ = nullptr;
};

/// What one thread works with. Nothing here needs the Session object itself.
struct QueueRunner::Job {
  std::shared_ptr<State> state;
  std::shared_ptr<Membership> member;
  std::shared_ptr<End> end;
  Callable enqueue{};
  Coordinator* coord = nullptr;
  std::shared_ptr<Cancellation> interrupted = std::make_shared<Cancellation>();
  std::shared_ptr<SourceTurns> turns{};  // which the threads take to read, if they do
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
  /// Lets the other threads go on without this one, whatever it ends with.
  class LeavesTurns {
   public:
    explicit LeavesTurns(const Job& job) : job_(job) {}
    ~LeavesTurns() {
      if (job_.turns != nullptr) job_.turns->remove_thread(job_.turn);
    }
    LeavesTurns(const LeavesTurns&) = delete;
    LeavesTurns& operator=(const LeavesTurns&) = delete;

   private:
    const Job& job_;
  };

  bool should_stop() const {
    return interrupted->cancelled() || (coord != nullptr && coord->should_stop());
  }

  /// Runs the enqueue operation until it must stop. True when the input has ended, false after a
  /// request to stop; throws any other error.
  bool fill() const {
    const LeavesTurns leaves(*this);
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

  /// An error goes to the coordinator, whose stop cancels the queue, or is kept.
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
  const auto end = std::make_shared<End>(session, *this);
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
