#include "train/monitored_session.h"

#include <algorithm>
#include <chrono>

#include "core/graph/log.h"
#include "ops/control/group.h"
#include "ops/variables/initialization.h"
#include "train/basic_session_run_hooks.h"
#include "train/global_step.h"
#include "train/queue_runner.h"

namespace towerflow::train {
namespace {

using Hooks = std::vector<std::shared_ptr<SessionRunHook>>;

constexpr double kSaveSecs = 600;

/// Returns the program's hooks, followed by those that the options ask for.
Hooks all_hooks(const MonitoredTrainingSessionOptions& options) {
  Hooks hooks = options.hooks;
  const TrainingFolder& folder = options.checkpoint_dir;
  if (!folder) return hooks;
  if (options.log_step_count_steps > 0) {
    hooks.push_back(std::make_shared<StepCounterHook>(
        StepCounterOptions{.every_n_steps = options.log_step_count_steps}));
  }
  if (options.save_summaries_steps > 0) {
    hooks.push_back(std::make_shared<SummarySaverHook>(SummarySaverOptions{
        .save_steps = options.save_summaries_steps, .output_dir = folder.path()}));
  }
  CheckpointSaverOptions saving{.save_secs = options.save_checkpoint_secs,
                                .save_steps = options.save_checkpoint_steps,
                                .saver = options.saver,
                                .listeners = options.saver_listeners};
  if (!saving.save_secs && !saving.save_steps) saving.save_secs = kSaveSecs;
  if (saving.save_steps == 0) saving.save_steps.reset();
  hooks.push_back(std::make_shared<CheckpointSaverHook>(folder, std::move(saving)));
  return hooks;
}

/// Calls `begin` of each hook, which may add to the graph, and returns the hooks.
Hooks begin_hooks(Hooks hooks) {
  for (const auto& hook : hooks) hook->begin();
  return hooks;
}

std::optional<Variable> checked_global_step(const MonitoredTrainingSessionOptions& options) {
  const auto counter = options.global_step ? options.global_step : get_global_step();
  if (options.checkpoint_dir && !counter) {
    throw RuntimeError(
        "there is no global step, and checkpoints are numbered by it",
        {.hint = "pass the variable of get_or_create_global_step to apply_gradients"});
  }
  return counter;
}

Operation initializers() {
  return group({global_variables_initializer(), local_variables_initializer()});
}

bool is_same_fetch(const Fetch& a, const Fetch& b) {
  return a.slices() == nullptr && b.slices() == nullptr && a.tensor() == b.tensor() &&
         a.operation() == b.operation();
}

}  // namespace

class MonitoredSessionState {
 public:
  explicit MonitoredSessionState(MonitoredTrainingSessionOptions options)
      : hooks_(begin_hooks(all_hooks(options))),
        counter_(checked_global_step(options)),
        stop_grace_period_secs_(options.stop_grace_period_secs),
        init_(options.init_op ? *options.init_op : initializers()),
        session_(options.config) {
    session_.run(init_);
    if (options.checkpoint_dir && !options.checkpoint_dir.resumed_from().empty()) {
      options.checkpoint_dir.restore(session_, options.input_files);
    }
    read_step();
    if (!get_collection<QueueRunner>(GraphKeys::QUEUE_RUNNERS).empty()) {
      threads_ = start_queue_runners(session_, {.coord = &coord_});
    }
    for (const auto& hook : hooks_) hook->after_create_session(context_, coord_);
  }

  ~MonitoredSessionState() {
    if (stopped_) return;
    coord_.request_stop();
    try {
      coord_.join(threads_, {.stop_grace_period_secs = stop_grace_period_secs_});
    } catch (...) {
      if (!failed_) log_exception("a training that was not stopped");  // else already known
    }
  }

  std::vector<Array> run(std::span<const Fetch> fetches, const Feeds& feeds) {
    if (should_stop()) throw RuntimeError("Run called even after should_stop requested.");
    try {
      return run_with_hooks(fetches, feeds);
    } catch (const errors::OutOfRangeError&) {
      stop_requested_ = true;
      throw;
    } catch (...) {
      fail(std::current_exception());
      throw;
    }
  }

  void fail(std::exception_ptr error) {
    failed_ = true;
    coord_.request_stop(std::move(error));
  }

  void stop() {
    if (std::exchange(stopped_, true)) return;
    std::exception_ptr error;
    // The input threads must still run: an element held by a stopped thread has no saved position.
    if (!failed_ && !reported()) {
      for (const auto& hook : hooks_) {
        try {
          hook->end(context_);
        } catch (...) {
          if (error == nullptr) error = std::current_exception();
        }
      }
    }
    coord_.request_stop();
    coord_.join(threads_, {.stop_grace_period_secs = stop_grace_period_secs_});
    if (error != nullptr) std::rethrow_exception(error);
  }

  bool should_stop() const { return stop_requested_ || failed_ || coord_.should_stop(); }
  bool stop_requested() const { return stop_requested_; }
  void request_stop() { stop_requested_ = true; }
  Session& session() { return session_; }
  std::span<const Fetch> original_fetches() const { return original_; }

  std::int64_t global_step() const { return step_; }

 private:
  void read_step() { step_ = counter_ ? train::global_step(session_, *counter_) : runs_; }

  /// Returns whether a thread or another user of the coordinator reported an error.
  bool reported() const {
    try {
      coord_.raise_requested_exception();
      return false;
    } catch (...) {
      return true;
    }
  }

  std::vector<Array> run_with_hooks(std::span<const Fetch> fetches, const Feeds& feeds) {
    original_ = fetches;
    std::vector<Fetch> all(fetches.begin(), fetches.end());
    Feeds fed = feeds;
    std::vector<std::vector<std::size_t>> fetch_indices;  // indices of each hook's fetches in `all`
    for (const auto& hook : hooks_) {
      const SessionRunArgs args = hook->before_run(context_);
      std::vector<std::size_t>& own = fetch_indices.emplace_back();
      for (const Fetch& fetch : args.fetches) {
        const auto known = std::find_if(
            all.begin(), all.end(), [&](const Fetch& one) { return is_same_fetch(one, fetch); });
        own.push_back(static_cast<std::size_t>(known - all.begin()));
        if (known == all.end()) all.push_back(fetch);
      }
      fed.insert(fed.end(), args.feed_dict.begin(), args.feed_dict.end());
    }
    const auto start = std::chrono::steady_clock::now();
    std::vector<Array> values = session_.run(all, fed);
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
    ++runs_;
    read_step();
    for (std::size_t i = 0; i < hooks_.size(); ++i) {
      SessionRunValues own{{}, seconds.count()};
      for (const std::size_t place : fetch_indices[i]) own.results.push_back(values[place]);
      hooks_[i]->after_run(context_, own);
    }
    original_ = {};
    values.resize(fetches.size());
    return values;
  }

  Hooks hooks_;
  std::optional<Variable> counter_;
  double stop_grace_period_secs_;
  Operation init_;
  Session session_;
  Coordinator coord_;
  std::vector<Thread> threads_;
  SessionRunContext context_{*this};
  std::span<const Fetch> original_;
  std::int64_t step_ = 0, runs_ = 0;
  bool stop_requested_ = false, failed_ = false, stopped_ = false;
};

namespace types {

Session& SessionRunContext::session() const { return state_->session(); }
std::int64_t SessionRunContext::global_step() const { return state_->global_step(); }
std::span<const Fetch> SessionRunContext::original_fetches() const {
  return state_->original_fetches();
}
void SessionRunContext::request_stop() { state_->request_stop(); }
bool SessionRunContext::stop_requested() const { return state_->stop_requested(); }

MonitoredTrainingSession::MonitoredTrainingSession(MonitoredTrainingSessionOptions options)
    : state_(std::make_unique<MonitoredSessionState>(std::move(options))) {}
MonitoredTrainingSession::~MonitoredTrainingSession() = default;

bool MonitoredTrainingSession::should_stop() const { return state_->should_stop(); }
std::vector<Array> MonitoredTrainingSession::run(std::span<const Fetch> fetches,
                                                 const Feeds& feeds) {
  return state_->run(fetches, feeds);
}
std::int64_t MonitoredTrainingSession::global_step() const { return state_->global_step(); }
void MonitoredTrainingSession::stop() { state_->stop(); }
void MonitoredTrainingSession::close() {
  state_->stop();
  state_->session().close();
}
void MonitoredTrainingSession::fail(std::exception_ptr error) { state_->fail(std::move(error)); }
Session& MonitoredTrainingSession::raw_session() { return state_->session(); }

}  // namespace types
}  // namespace towerflow::train
