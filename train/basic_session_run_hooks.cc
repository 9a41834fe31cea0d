#include "train/basic_session_run_hooks.h"

#include <fmt/format.h>

#include <cmath>
#include <sstream>
#include <thread>

#include "core/graph/log.h"
#include "core/graph/short_float.h"
#include "train/global_step.h"
#include "train/summary/merge.h"

namespace towerflow::train {
namespace {

double seconds_between(std::chrono::steady_clock::time_point a,
                       std::chrono::steady_clock::time_point b) {
  return std::chrono::duration<double>(b - a).count();
}

}  // namespace

namespace types {

HookTimer::HookTimer(const char* hook, std::optional<std::int64_t> steps,
                     std::optional<double> seconds)
    : steps_(steps), seconds_(seconds) {
  if (steps.has_value() == seconds.has_value()) {
    throw ValueError(fmt::format("{}: exactly one of steps and seconds should be given", hook));
  }
  if (steps ? *steps < 1 : !(*seconds > 0)) {
    throw ValueError(fmt::format("{}: an interval of {} {} is not valid", hook,
                                 steps ? static_cast<double>(*steps) : *seconds,
                                 steps ? "steps" : "seconds"));
  }
}

bool HookTimer::is_due(std::int64_t before, std::int64_t step) {
  if (steps_) return step / *steps_ > before / *steps_;
  if (seconds_between(last_, Clock::now()) < *seconds_) return false;
  last_ = Clock::now();
  return true;
}

bool HookTimer::is_due_first(std::int64_t step) {
  last_ = Clock::now();
  return !steps_ || step % *steps_ == 0;
}

SessionRunHook::~SessionRunHook() = default;

StopAtStepHook::StopAtStepHook(StopAtStepOptions options) : options_(options) {
  if (options.num_steps.has_value() == options.last_step.has_value()) {
    throw ValueError("StopAtStepHook: exactly one of num_steps and last_step should be given");
  }
}

void StopAtStepHook::after_create_session(SessionRunContext& context, Coordinator& coord) {
  last_step_ =
      options_.last_step ? *options_.last_step : context.global_step() + *options_.num_steps;
  if (context.global_step() >= last_step_) coord.request_stop();
}

void StopAtStepHook::after_run(SessionRunContext& context, const SessionRunValues&) {
  if (context.global_step() >= last_step_) context.request_stop();
}

SessionRunArgs NanTensorHook::before_run(SessionRunContext& context) {
  before_ = context.global_step();
  return {{loss_}, {}};
}

void NanTensorHook::after_run(SessionRunContext& context, const SessionRunValues& values) {
  double loss = 0;
  const Array& given = values.results[0];
  const Array value = is_short_float(given.dtype()) ? widened(given) : given;
  dispatch_dtype(value.dtype(), [&]<class T>() {
    if constexpr (std::is_floating_point_v<T>) {
      for (const T x : value.flat<T>()) {
        if (std::isfinite(loss)) loss = static_cast<double>(x);
      }
    }
  });
  if (std::isfinite(loss)) return;
  const std::string text = fmt::format(
      "Model diverged with loss = {} in {} at step {}", std::isnan(loss) ? "NaN" : "infinity",
      options_.what.empty() ? loss_.name() : options_.what, before_);
  if (options_.fail_on_nan_loss) {
    throw NanLossDuringTrainingError(text, {.hint = options_.hint});
  }
  log_message(LogLevel::warning, text);
  context.request_stop();
}

namespace {

std::vector<std::pair<std::string, Tensor>> with_tensor_names(const std::vector<Tensor>& tensors) {
  std::vector<std::pair<std::string, Tensor>> named;
  for (const Tensor& tensor : tensors) named.emplace_back(tensor.name(), tensor);
  return named;
}

}  // namespace

LoggingTensorHook::LoggingTensorHook(const std::vector<Tensor>& tensors,
                                     LoggingTensorOptions options)
    : LoggingTensorHook(with_tensor_names(tensors), std::move(options)) {}

LoggingTensorHook::LoggingTensorHook(std::vector<std::pair<std::string, Tensor>> tensors,
                                     LoggingTensorOptions options)
    : tensors_(std::move(tensors)), options_(std::move(options)) {
  if (!options_.at_end || options_.every_n_iter || options_.every_n_secs) {
    timer_.emplace("LoggingTensorHook", options_.every_n_iter, options_.every_n_secs);
  }
}

SessionRunArgs LoggingTensorHook::before_run(SessionRunContext&) {
  due_ = timer_ && (runs_ == 0 ? timer_->is_due_first(0) : timer_->is_due(runs_ - 1, runs_));
  ++runs_;
  SessionRunArgs args;
  if (due_ || options_.at_end) {
    for (const auto& [name, tensor] : tensors_) args.fetches.emplace_back(tensor);
  }
  return args;
}

void LoggingTensorHook::after_run(SessionRunContext&, const SessionRunValues& values) {
  if (due_) log(values.results);
  if (options_.at_end) last_ = values.results;
}

void LoggingTensorHook::end(SessionRunContext&) {
  if (options_.at_end && !last_.empty()) log(last_);
}

void LoggingTensorHook::log(std::span<const Array> values) {
  std::ostringstream text;
  if (options_.formatter) {
    text << options_.formatter(values);
  } else {
    for (std::size_t i = 0; i < values.size(); ++i) {
      text << (i > 0 ? ", " : "") << tensors_[i].first << " = " << values[i];
    }
    const auto now = std::chrono::steady_clock::now();
    if (logged_) text << fmt::format(" ({:.3f} sec)", seconds_between(*logged_, now));
    logged_ = now;
  }
  log_message(LogLevel::info, text.str());
}

StepCounterHook::StepCounterHook(StepCounterOptions options)
    : options_(std::move(options)),
      timer_("StepCounterHook", options_.every_n_steps, options_.every_n_secs) {}

void StepCounterHook::after_create_session(SessionRunContext& context, Coordinator&) {
  seen_ = interval_start_step_ = context.global_step();
  interval_start_time_ = std::chrono::steady_clock::now();
}

void StepCounterHook::after_run(SessionRunContext& context, const SessionRunValues&) {
  const std::int64_t step = context.global_step();
  if (!timer_.is_due(std::exchange(seen_, step), step)) return;
  const auto now = std::chrono::steady_clock::now();
  const double rate = static_cast<double>(step - std::exchange(interval_start_step_, step)) /
                      seconds_between(interval_start_time_, now);
  interval_start_time_ = now;
  log_message(LogLevel::info, fmt::format("global_step/sec: {:g}", rate));
  if (options_.summary_writer) {
    options_.summary_writer->add_event(
        {.wall_time = summary::seconds_since_1970(),
         .step = step,
         .summary = std::vector<summary::SummaryValue>{
             {.tag = "global_step/sec", .simple_value = static_cast<float>(rate)}}});
  }
}

CheckpointSaverHook::CheckpointSaverHook(TrainingFolder checkpoint_dir,
                                         CheckpointSaverOptions options)
    : folder_(std::move(checkpoint_dir)), options_(std::move(options)) {
  if (!folder_) throw ValueError("CheckpointSaverHook: the folder has no name");
  if (options_.save_secs || options_.save_steps) {
    timer_.emplace("CheckpointSaverHook", options_.save_steps, options_.save_secs);
  }
}

void CheckpointSaverHook::begin() { folder_.use(options_.saver); }

void CheckpointSaverHook::after_create_session(SessionRunContext& context, Coordinator&) {
  seen_ = saved_ = context.global_step();
}

void CheckpointSaverHook::after_run(SessionRunContext& context, const SessionRunValues&) {
  const std::int64_t step = context.global_step();
  if (timer_ && timer_->is_due(std::exchange(seen_, step), step)) save(context);
}

void CheckpointSaverHook::end(SessionRunContext& context) {
  if (saved_ != context.global_step()) save(context);
}

void CheckpointSaverHook::save(SessionRunContext& context) {
  folder_.save(context.session(), context.global_step(), options_.listeners);
  saved_ = context.global_step();
}

SummarySaverHook::SummarySaverHook(SummarySaverOptions options)
    : options_(std::move(options)),
      timer_("SummarySaverHook", options_.save_steps, options_.save_secs) {
  if (options_.output_dir.empty() == !options_.summary_writer) {
    throw ValueError(
        "SummarySaverHook: exactly one of output_dir and summary_writer should be given");
  }
}

void SummarySaverHook::begin() {
  if (!options_.summary_op) options_.summary_op = summary::merge_all();
}

void SummarySaverHook::after_create_session(SessionRunContext& context, Coordinator&) {
  if (!options_.summary_writer) {
    options_.summary_writer =
        std::make_shared<summary::FileWriter>(options_.output_dir, context.session().graph());
  }
  options_.summary_writer->add_session_log({.status = summary::SessionLog::START},
                                           context.global_step());
}

SessionRunArgs SummarySaverHook::before_run(SessionRunContext& context) {
  const std::int64_t step = context.global_step();
  due_ = options_.summary_op && (seen_ ? timer_.is_due(*seen_, step) : timer_.is_due_first(step));
  seen_ = step;
  // Fetched as part of the step: a separate run would take another batch from the queues.
  return due_ ? SessionRunArgs{{*options_.summary_op}, {}} : SessionRunArgs{};
}

void SummarySaverHook::after_run(SessionRunContext& context, const SessionRunValues& values) {
  if (!due_) return;
  options_.summary_writer->add_summary(
      values.results[0], options_.use_step_before_run ? *seen_ : context.global_step());
}

void SummarySaverHook::end(SessionRunContext&) {
  if (options_.output_dir.empty()) {
    options_.summary_writer->flush();
  } else {
    options_.summary_writer->close();
  }
}

void GlobalStepWaiterHook::begin() {
  counter_ = get_global_step();
  if (!counter_) {
    throw RuntimeError("Global step should be created to use GlobalStepWaiterHook.",
                       {.hint = "get_or_create_global_step makes it"});
  }
}

SessionRunArgs GlobalStepWaiterHook::before_run(SessionRunContext& context) {
  if (std::exchange(started_, true) || wait_until_step_ <= 0) return {};
  log_message(LogLevel::info, fmt::format("Waiting for global step {} before starting training.",
                                          wait_until_step_));
  while (train::global_step(context.session(), *counter_) < wait_until_step_) {
    std::this_thread::sleep_for(std::chrono::milliseconds(500));
  }
  return {};
}

void FinalOpsHook::end(SessionRunContext& context) {
  try {
    values_ = context.session().run(final_ops_, feeds_);
  } catch (const errors::OutOfRangeError&) {
    log_message(LogLevel::warning,
                "the operations of FinalOpsHook read the input, which has ended: they should only "
                "read variables, as the values of metrics do");
    throw;
  }
}

SessionRunArgs FeedFnHook::before_run(SessionRunContext&) { return {{}, feed_fn_()}; }

}  // namespace types
}  // namespace towerflow::train
