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

/// Runs an operation whose failure changes nothing: the queue is closed already, or the session.
void run_quietly(const Callable& callable) {
  try {
    callable({});
  } catch (const std::exception&) {
    return;
  }
}

}  // namespace

struct QueueRunner::State {
  QueueBase queue;
  std::vector<Operation> enqueue_ops;
  QueueRunnerOptions options;
  std::mutex mutex;
  std::map<const void*, std::size_t> running;  // threads that fill the queue, by session
  std::vector<std::exception_ptr> exceptions;

  bool means_closed(const errors::OpError& error) const {
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
  ~Membership() { leave(); }
  Membership(const Membership&) = delete;
  Membership& operator=(const Membership&) = delete;

  /// Whether this was the last thread of the session.
  bool leave() {
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

namespace {

/// What one thread works with. Nothing here needs the Session object itself.
struct Job {
  std::shared_ptr<ResourceStore> resources;
  Callable enqueue, close, cancel;
  Coordinator* coord = nullptr;
  std::shared_ptr<Cancellation> interrupted = std::make_shared<Cancellation>();
  std::shared_ptr<SourceTurns> turns{};  // which the threads take to read, if they do
  std::size_t member = 0;

  bool should_stop() const {
    return interrupted->cancelled() || (coord != nullptr && coord->should_stop());
  }
  void set_cause(const std::string& queue, const std::exception_ptr& error, bool raise) const {
    auto* found = dynamic_cast<QueueResource*>(resources->find_resource(queue));
    if (found != nullptr) found->set_cause(error, raise);
  }
};

/// Lets the other threads go on without this one, whatever it ends with.
class LeavesTurns {
 public:
  explicit LeavesTurns(const Job& job) : job_(job) {}
  ~LeavesTurns() {
    if (job_.turns != nullptr) job_.turns->leave(job_.member);
  }
  LeavesTurns(const LeavesTurns&) = delete;
  LeavesTurns& operator=(const LeavesTurns&) = delete;

 private:
  const Job& job_;
};

/// Runs the enqueue operation until it must stop. True when the input has ended, false after a
/// request to stop; throws any other error.
template <class MeansClosed>
bool fill(const Job& job, MeansClosed&& means_closed) {
  const LeavesTurns leaves(job);
  while (!job.should_stop()) {
    try {
      job.enqueue({});
    } catch (const errors::OpError& error) {
      if (means_closed(error)) return true;
      throw;
    }
  }
  return false;
}

void report(const Job& job, const std::string& queue, std::exception_ptr error) {
  if (!job.coord->should_stop()) job.set_cause(queue, error, false);
  job.coord->request_stop(std::move(error));
}

}  // namespace

QueueRunner::QueueRunner(const QueueBase& queue, std::vector<Operation> enqueue_ops,
                         QueueRunnerOptions options, Site site)
    : state_(std::make_shared<State>()) {
  if (!queue.valid() || enqueue_ops.empty()) {
    throw ValueError("Must provide queue and enqueue_ops.", {.site = site});
  }
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
  return members;
}

std::vector<Thread> QueueRunner::create_threads(Session& session, CreateThreadsOptions options) {
  const auto resources = session.shared_resources();
  const auto members = join(resources);
  if (members.empty()) return {};
  const std::string queue = resource_name(state_->queue);
  const EnqueueTurns turns = make_enqueue_turns(*resources, state_->enqueue_ops);
  std::vector<Thread> threads;
  for (std::size_t i = 0; i < state_->enqueue_ops.size(); ++i) {
    const Operation& operation = state_->enqueue_ops[i];
    Job job{resources,
            {},
            session.make_callable({close_op()}),
            session.make_callable({cancel_op()}),
            options.coord};
    job.turns = turns.turns;
    job.member = turns.members[i];
    job.enqueue = session.make_callable({operation}, {}, job.interrupted.get());
    const auto body = [state = state_, member = members[i], job, queue] {
      try {
        const bool ended =
            fill(job, [&](const errors::OpError& error) { return state->means_closed(error); });
        if (member->leave() && ended) run_quietly(job.close);
        return;
      } catch (...) {
        member->leave();
        if (job.interrupted->cancelled()) return;
        if (job.coord != nullptr) return report(job, queue, std::current_exception());
        job.set_cause(queue, std::current_exception(), true);
        std::lock_guard lock(state->mutex);
        state->exceptions.push_back(std::current_exception());
      }
      run_quietly(job.cancel);
    };
    threads.emplace_back(fmt::format("QueueRunnerThread-{}-{}", name(), operation.name()), body,
                         [interrupted = job.interrupted] { interrupted->cancel(); });
  }
  if (options.coord != nullptr) {
    threads.emplace_back(fmt::format("QueueRunnerThread-{}-close_on_stop", name()),
                         [coord = options.coord, cancel = session.make_callable({cancel_op()})] {
                           coord->wait_for_stop();
                           run_quietly(cancel);
                         });
  }
  for (Thread& thread : threads) {
    if (options.start) thread.start();
    if (options.coord != nullptr) options.coord->register_thread(thread);
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
