#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "core/runtime/session.h"
#include "train/gradient_scope.h"

namespace towerflow::parallel::types {

/// A step of one worker of an asynchronous training.
struct AsyncStep {
  int worker = 0;
  std::int64_t step = 0;    ///< of this worker, counted from 0
  std::int64_t update = 0;  ///< among those of all workers, in the order in which they ended
  /// The most updates by other workers that a variable got between this step's read of it and this
  /// step's update.
  std::int64_t staleness = 0;
  /// Seconds since the training began, of the clock that AsyncOptions::virtual_time chooses.
  double begin = 0, end = 0;
  std::vector<Array> values;  ///< of the fetches
};

struct AsyncOptions {
  int workers = 2;
  std::int64_t steps = 1;  ///< of all workers together; the fast ones make more of them
  /// A worker waits while it has made so many steps more than the slowest. (Ho et al. 2013, stale
  /// synchronous parallel) With 0, the workers' steps begin together. No limit if absent.
  std::optional<std::int64_t> bound{};
  /// Records the order of the workers' accesses or, after `Interleaving::replay`, repeats it.
  Interleaving* interleaving = nullptr;
  /// On simulated accelerators: workers begin and end their steps in the order of the virtual
  /// clock, on which the host has one core for all of them. What a worker reads of a variable may
  /// still be newer than on that clock, so `staleness` is at most what it would be there.
  bool virtual_time = false;
  /// Returns what a step of a worker is fed.
  std::function<Feeds(int worker, std::int64_t step)> feeds{};
  /// Called after each step, by one thread at a time; false ends the training.
  std::function<bool(const AsyncStep& step)> on_step{};
};

/// Divides gradients by their staleness. (Zhang et al. 2015, staleness-aware async-SGD)
class StalenessScale {
 public:
  /// `global_step` counts the updates of all workers.
  explicit StalenessScale(const Variable& global_step);

  /// For `transform_gradients`: divides gradients by how often `global_step` was increased since
  /// the step began, if that is more than once.
  std::vector<GradAndVar> operator()(const std::vector<GradAndVar>& grads_and_vars) const;

 private:
  Variable global_step_;
  Tensor begun_;
};

}  // namespace towerflow::parallel::types

namespace towerflow::parallel {

/// Trains asynchronously: each worker runs the same step again and again on a thread of its own,
/// without waiting for the others. All share the session's variables, queues and iterators; worker
/// i takes device /gpu:i for /gpu:0. An update is applied whole, variable by variable, but the
/// values it was computed from may be older than the ones it changes. (Between-graph replication of
/// tf.train.replica_device_setter; the asynchronous trainer of tensorpack)
///
/// Returns the steps in the order in which they ended. With a replayed interleaving, each worker
/// makes the steps that were recorded, and every value is the recorded one bit for bit.
///
/// errors   ValueError: no worker, no step, a negative bound, a replay in virtual time;
///          InvalidArgumentError: virtual time without simulated accelerators, UnimplementedError:
///          with several logical CPUs; the first error of a step, after all workers have ended
///          their steps. OutOfRangeError ends the training, as the input does
std::vector<AsyncStep> train_async(Session& session, const std::vector<Fetch>& fetches,
                                   const AsyncOptions& options, Site site = Site::current());

/// Returns a function for `transform_gradients` that multiplies all gradients: by 1/N, N workers
/// together move as far as one. Slices stay slices.
train::GradientFunction scaled_gradients(const Operand& factor);

}  // namespace towerflow::parallel
