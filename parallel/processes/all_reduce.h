#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "train/optimizer.h"

namespace towerflow::parallel::types {

struct ProcessAllReduceOptions {
  /// Gradients are exchanged in groups of at least this many bytes, the last variables first, whose
  /// gradients are ready first. A larger gradient is a group of its own.
  std::int64_t bucket_bytes = std::int64_t{4} << 20;
  std::string name{};  ///< of the name scope; "all_reduce" if empty
};

}  // namespace towerflow::parallel::types

namespace towerflow::parallel {

/// Averages gradients over the processes of `process_group()`, for `apply_gradients`: the result is
/// the mean of each process's gradient, added in rank order. With towers in a process, average over
/// them first: if more towers of one process than of another have a gradient, it counts for more,
/// and the result is the mean over towers. If some processes lack a gradient, all get the mean of
/// the others.
///
/// The exchange of a group of gradients begins when the last of them is computed, and goes on while
/// the rest of the backward pass runs. Slices remain slices: they are concatenated in rank order
/// and divided by the number of processes that have them. A gradient that is absent in every
/// process stays absent. A step changes its variables only after all exchanges have ended, so that
/// one that fails changes nothing. In a group of one process, the gradients are returned as they
/// are.
///
/// Every process must call it with the same variables in the same order, and run what depends on
/// the result equally often; the call waits for the others and compares.
///
/// shapes   as the gradients; all must be the same in every process but the number of slices
/// dtypes   float32, float64; TypeError otherwise
/// errors   ValueError: another process lists other variables, shapes or dtypes, naming the first
///          difference; in the call and at run time those of ProcessGroup
/// source   horovod.tensorflow.allreduce of each gradient
std::vector<GradAndVar> all_reduce(const std::vector<GradAndVar>& grads_and_vars,
                                   ProcessAllReduceOptions options = {},
                                   Site site = Site::current());

}  // namespace towerflow::parallel
