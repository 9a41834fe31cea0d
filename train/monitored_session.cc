#include "train/monitored_session.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>

#include "core/graph/log.h"
#include "ops/variables/initialization.h"
#include "train/basic_session_run_hooks.h"
#include "train/global_step.h"
#include "train/queue_runner.h"

namespace towerflow::train {
namespace {

using Hooks = std::vector<std::shared_ptr<SessionRunHook>>;

constexpr double kSaveSecs = 600;
constexpr std::int64_t kSummarySteps = 100;

/// Returns the hooks that the options ask for, which come after those of the program.
Hooks built_in_hooks(const MonitoredTrainingSessionOptions& options) {
  Hooks hooks;
  const TrainingFolder& folder = options.checkpoint_dir;
  const std::string summary_dir =
      !options.summary_dir.empty() || !folder ? options.summary_dir : folder.path();
  if (!summary_dir.empty() && options.log_step_count_steps > 0) {
    hooks.push_back(std::make_shared<StepCounterHook>(
        StepCounterOptions{.every_n_steps = options.log_step_count_steps}));
  }
  SummarySaverOptions summaries{.save_steps = options.save_summaries_steps,
                                .save_secs = options.save_summaries_secs,
                                .output_dir = summary_dir};
  if (!summaries.save_steps && !summaries.save_secs) summaries.save_steps = kSummarySteps;
  if (!summary_dir.empty() && summaries.save_steps != 0) {
    if (options.scaffold) summaries.summary_op = options.scaffold->summary_op();
    hooks.push_back(std::make_shared<SummarySaverHook>(std::move(summaries)));
  }
  if (!folder) return hooks;
  CheckpointSaverOptions saving{.save_secs = options.save_checkpoint_secs,
                                .save_steps = options.save_checkpoint_steps,
                                .saver = options.saver,
                                .listeners = options.saver_listeners};
  if (!saving.save_secs && !saving.save_steps) saving.save_secs = kSaveSecs;
  if (saving.save_steps == 0) saving.save_steps.reset();
  hooks.push_back(std::make_shared<CheckpointSaverHook>(folder, std::move(saving)));
  return hooks;
}

/// Makes the missing parts of the scaffold. The folder makes its own Saver, which also saves the
/// position of the input.
void finalize_scaffold(MonitoredTrainingSessionOptions& options) {
  if (!options.scaffold) return;
  if (options.init_op || options.saver) {
    throw ValueError("MonitoredTrainingSession: init_op and saver are parts of the scaffold");
  }
  TrainingFolder& folder = options.checkpoint_dir;
  if (folder) folder.use(options.scaffold->saver());
  options.scaffold = Scaffold(
      {.saver = folder ? folder.saver() : std::nullopt, .copy_from_scaffold = &*options.scaffold});
  options.scaffold->finalize();
}

/// Calls `begin` of each hook, which may add to the graph, and returns all hooks: those of the
/// program, then the others.
Hooks begin_hooks(MonitoredTrainingSessionOptions& options) {
  for (const auto& hook : options.hooks) hook->begin();
  finalize_scaffold(options);
  Hooks hooks = options.hooks;
  for (const auto& hook : built_in_hooks(options)) {
    hook->begin();
    hooks.push_back(hook);
  }
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

Fetch init_op_of(const MonitoredTrainingSessionOptions& options) {
  if (options.scaffold) return *options.scaffold->init_op();
  if (options.init_op) return *options.init_op;
  return global_variables_initializer();
}

/// Returns what initializes local variables if neither a scaffold nor an init_op of the program
/// does.
std::optional<Fetch> local_init_op_of(const MonitoredTrainingSessionOptions& options) {
  if (options.scaffold || options.init_op) return std::nullopt;
  return local_variables_initializer();
}

/// Returns the names of the variables that lack a value, separated by commas.
std::string missing_values(Session& session, const Tensor& ready_op) {
  const Array names = session.run(ready_op);
  if (names.dtype() != DType::string) return "";
  return fmt::format("{}", fmt::join(names.flat<std::string>(), ", "));
}

/// Throws RuntimeError if variables lack values. (SessionManager._model_ready)
void require_ready(Session& session, const std::optional<Tensor>& ready_op, const char* what,
                   const Scaffold& scaffold) {
  if (!ready_op) return;
  const std::string missing = missing_values(session, *ready_op);
  if (missing.empty()) return;
  const Fetch& init = *scaffold.init_op();
  throw RuntimeError(fmt::format(
      "Init operations did not make model {}.  Init op: {}, init fn: {}, error: Variables not "
      "initialized: {}",
      what, init.operation() ? init.operation().name() : "a tensor",
      scaffold.init_fn() ? "given" : "None", missing));
}

bool is_same_fetch(const Fetch& a, const Fetch& b) {
  return a.slices() == nullptr && b.slices() == nullptr && a.tensor() == b.tensor() &&
         a.operation() == b.operation();
}

}  // namespace

class MonitoredSessionState {
 public:
  explicit MonitoredSessionState(MonitoredTrainingSessionOptions options)
      : hooks_(begin_hooks(options)),
        counter_(checked_global_step(options)),
        stop_grace_period_secs_(options.stop_grace_period_secs),
        init_(init_op_of(options)),
        local_init_(local_init_op_of(options)),
        session_(options.config) {
    if (options.scaffold) {
      initialize_by(*options.scaffold, options);
    } else {
      session_.run(init_);
      restore(options);
      // Local variables may begin with the values of others, which are known only now.
      if (local_init_) session_.run(*local_init_);
    }
    read_step();
    if (!get_collection<QueueRunner>(GraphKeys::QUEUE_RUNNERS).empty()) {
      threads_ = start_queue_runners(session_, {.coord = &coord_});
    }
    for (const auto& hook : hooks_) {
      hook->after_create_session(context_, coord_);
      read_step();  // the hook may have set variables
    }
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
  /// Returns whether there was a checkpoint to resume from.
  bool restore(MonitoredTrainingSessionOptions& options) {
    if (!options.checkpoint_dir || options.checkpoint_dir.resumed_from().empty()) return false;
    options.checkpoint_dir.restore(session_, options.input_files);
    return true;
  }

  void initialize_by(Scaffold& scaffold, MonitoredTrainingSessionOptions& options) {
    if (!restore(options)) {
      session_.run(std::vector<Fetch>{init_}, scaffold.init_feed_dict());
      if (scaffold.init_fn()) scaffold.init_fn()(scaffold, session_);
    }
    require_ready(session_, scaffold.ready_for_local_init_op(), "ready for local_init", scaffold);
    if (scaffold.local_init_op()) {
      session_.run(std::vector<Fetch>{*scaffold.local_init_op()}, scaffold.local_init_feed_dict());
    }
    require_ready(session_, scaffold.ready_op(), "ready", scaffold);
  }

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
  Fetch init_;
  std::optional<Fetch> local_init_;
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
