#include "parallel/async.h"

#include <fmt/format.h>

#include <algorithm>
#include <condition_variable>
#include <exception>
#include <limits>
#include <mutex>
#include <thread>

#include "core/device/start_thread.h"
#include "core/device/virtual_host.h"
#include "core/device/wall_clock.h"
#include "core/graph/scopes.h"
#include "ops/array/cast.h"
#include "ops/array/indexed_slices.h"
#include "ops/math/binary.h"

namespace towerflow::parallel {
namespace {

/// Runs of different workers have different numbers in an interleaving.
std::int64_t number_of(int worker, std::int64_t step) {
  return (static_cast<std::int64_t>(worker) << 40) + step;
}

void check_options(const AsyncOptions& options, Site site) {
  if (options.workers < 1) {
    throw ValueError(fmt::format("workers must be at least 1, got {}", options.workers),
                     {.site = site});
  }
  if (options.steps < 1) {
    throw ValueError(fmt::format("steps must be at least 1, got {}", options.steps),
                     {.site = site});
  }
  if (options.bound.value_or(0) < 0) {
    throw ValueError(fmt::format("bound must not be negative, got {}", *options.bound),
                     {.site = site});
  }
  if (options.virtual_time && options.interleaving != nullptr && options.interleaving->replays()) {
    throw ValueError("an interleaving is replayed in its own order, not in that of virtual time",
                     {.site = site});
  }
}

/// Returns the gradients multiplied by a scalar.
std::vector<GradAndVar> times(const std::vector<GradAndVar>& pairs, const Tensor& factor) {
  std::vector<GradAndVar> scaled;
  for (const GradAndVar& pair : pairs) {
    OptionalGradient grad = pair.grad;
    if (grad && grad->is_dense()) {
      grad = Gradient(multiply(grad->dense(), cast(factor, grad->dense().dtype())));
    } else if (grad) {
      IndexedSlices slices = grad->slices();
      slices.values = multiply(slices.values, cast(factor, slices.values.dtype()));
      grad = Gradient(slices);
    }
    scaled.push_back({grad, pair.var});
  }
  return scaled;
}

class AsyncTraining {
 public:
  AsyncTraining(Session& session, const std::vector<Fetch>& fetches, const AsyncOptions& options)
      : session_(session),
        fetches_(fetches),
        options_(options),
        replays_(options.interleaving != nullptr && options.interleaving->replays()),
        made_(static_cast<std::size_t>(options.workers), 0),
        ended_(static_cast<std::size_t>(options.workers), false),
        waits_(static_cast<std::size_t>(options.workers), false) {
    if (options.virtual_time) host_.emplace(options.workers);
  }

  std::vector<AsyncStep> run() {
    begun_ = wall_clock_seconds();
    std::vector<std::thread> threads;
    try {
      for (int worker = 0; worker < options_.workers; ++worker) {
        threads.push_back(start_thread([this, worker] { work(worker); }));
      }
    } catch (...) {
      fail();
      for (int worker = options_.workers; worker-- > static_cast<int>(threads.size());) end(worker);
    }
    for (std::thread& thread : threads) thread.join();
    if (error_ != nullptr) std::rethrow_exception(error_);
    return std::move(steps_);
  }

 private:
  void work(int worker) {
    std::int64_t step = 0;
    try {
      for (; begin_step(worker, step); ++step) end_step(make(worker, step));
    } catch (const errors::OutOfRangeError&) {
      // In a replay, each worker ends where it ended in the recorded training.
      const bool early = is_recorded(worker, step) && !is_recorded_failure(worker, step);
      ++step;
      if (!replays_) stop();
      if (early) fail();
    } catch (...) {
      ++step;
      fail();
    }
    // Others must not wait for the turns of steps that are not made.
    if (is_recorded(worker, step)) options_.interleaving->abandon(number_of(worker, step));
    end(worker);
  }

  /// Notes that a worker makes no more steps.
  void end(int worker) {
    const std::lock_guard lock(mutex_);
    ended_[static_cast<std::size_t>(worker)] = true;
    let_go(worker);
    if (host_) host_->leave(worker);
  }

  /// Waits until a worker may begin a step; returns false if it makes no more of them.
  bool begin_step(int worker, std::int64_t step) {
    while (true) {
      if (host_) host_->await_turn(worker);
      std::unique_lock lock(mutex_);
      if (replays_) return !stopped_ && is_recorded(worker, step);
      if (may_begin(step)) {
        if (stopped_ || given_ == options_.steps) return false;
        ++given_;
        return true;
      }
      const auto index = static_cast<std::size_t>(worker);
      waits_[index] = true;
      if (host_) host_->leave(worker);
      moved_.wait(lock, [&] { return !waits_[index]; });
    }
  }

  /// Returns whether a worker that has made `step` steps need not wait for a slower one.
  bool may_begin(std::int64_t step) const {
    return stopped_ || !options_.bound || step - slowest() <= *options_.bound;
  }

  /// Lets the workers go on for which what `worker` has done is enough, at its virtual time.
  void let_go(int worker) {
    for (std::size_t i = 0; i < waits_.size(); ++i) {
      if (!waits_[i] || !may_begin(made_[i])) continue;
      waits_[i] = false;
      if (host_) host_->join(static_cast<int>(i), host_->now(worker));
    }
    moved_.notify_all();
  }

  /// Returns whether the step is one of a training that is replayed.
  bool is_recorded(int worker, std::int64_t step) const {
    return replays_ && options_.interleaving->contains(number_of(worker, step));
  }

  bool is_recorded_failure(int worker, std::int64_t step) const {
    return options_.interleaving->has_failed(number_of(worker, step));
  }

  /// Returns the fewest steps that a worker which still works has made.
  std::int64_t slowest() const {
    std::int64_t least = std::numeric_limits<std::int64_t>::max();
    for (std::size_t i = 0; i < made_.size(); ++i) {
      if (!ended_[i]) least = std::min(least, made_[i]);
    }
    return least;
  }

  AsyncStep make(int worker, std::int64_t step) {
    AsyncStep made{.worker = worker, .step = step, .values = {}};
    const Feeds feeds = options_.feeds ? options_.feeds(worker, step) : Feeds{};
    RunMetadata metadata;
    made.begin = now(worker);
    made.values = session_.run(fetches_, feeds,
                               {.worker = worker,
                                .interleaving = options_.interleaving,
                                .run = number_of(worker, step),
                                .virtual_host = host_ ? &*host_ : nullptr},
                               &metadata);
    made.end = now(worker);
    made.staleness = metadata.staleness;
    return made;
  }

  double now(int worker) const {
    return host_ ? host_->now(worker) : wall_clock_seconds() - begun_;
  }

  void end_step(AsyncStep made) {
    if (host_) host_->await_turn(made.worker);
    const std::lock_guard lock(mutex_);
    ++made_[static_cast<std::size_t>(made.worker)];
    made.update = static_cast<std::int64_t>(steps_.size());
    steps_.push_back(std::move(made));
    if (options_.on_step && !stopped_ && !options_.on_step(steps_.back())) stopped_ = true;
    let_go(steps_.back().worker);
  }

  void stop() {
    const std::lock_guard lock(mutex_);
    stopped_ = true;  // `end` lets the others go on
  }

  /// Keeps the exception that is being handled, if it is the first one. A cancelled run is the
  /// consequence of another error, or of a replay that was stopped before its end.
  void fail() {
    bool cancelled = false;
    try {
      throw;
    } catch (const errors::CancelledError&) {
      cancelled = true;
    } catch (...) {
    }
    const std::lock_guard lock(mutex_);
    if (cancelled && replays_ && stopped_) return;
    if (error_ == nullptr || (only_cancelled_ && !cancelled)) {
      error_ = std::current_exception();
      only_cancelled_ = cancelled;
    }
    stopped_ = true;  // `end` lets the others go on
  }

  Session& session_;
  const std::vector<Fetch>& fetches_;
  const AsyncOptions& options_;
  const bool replays_;
  std::optional<VirtualHost> host_;  // in virtual time
  double begun_ = 0;
  std::mutex mutex_;  // guards the members below
  std::condition_variable moved_;
  std::vector<std::int64_t> made_;  // steps, per worker
  std::vector<bool> ended_;         // per worker
  std::vector<bool> waits_;         // per worker: for slower ones
  std::int64_t given_ = 0;          // steps begun
  bool stopped_ = false;
  std::exception_ptr error_;
  bool only_cancelled_ = false;
  std::vector<AsyncStep> steps_;
};

}  // namespace

train::GradientFunction scaled_gradients(const Operand& factor) {
  return [factor](const std::vector<GradAndVar>& pairs) {
    return times(pairs, convert_to_tensor(factor));
  };
}

types::StalenessScale::StalenessScale(const Variable& global_step)
    : global_step_(global_step), begun_(cast(global_step, DType::float64)) {
  if (global_step.dtype() == DType::float64) {
    throw TypeError(
        fmt::format("{} is float64: a count of steps is an integer", global_step.name()));
  }
}

std::vector<GradAndVar> types::StalenessScale::operator()(
    const std::vector<GradAndVar>& pairs) const {
  std::vector<Operation> computed;
  for (const GradAndVar& pair : pairs) {
    if (!pair.grad) continue;
    const Gradient& grad = *pair.grad;
    computed.push_back((grad.is_dense() ? grad.dense() : grad.slices().values).op());
  }
  const auto after = control_dependencies(computed);
  const Tensor others = cast(global_step_.read_value(), DType::float64) - begun_;
  return times(pairs, 1.0 / maximum(others, 1.0));
}

std::vector<AsyncStep> train_async(Session& session, const std::vector<Fetch>& fetches,
                                   const AsyncOptions& options, Site site) {
  check_options(options, site);
  return AsyncTraining(session, fetches, options).run();
}

}  // namespace towerflow::parallel
