#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "core/graph/all_reduce.h"
#include "report/scale/cluster.h"
#include "report/scale/step_profile.h"

namespace towerflow::report {

/// How simulated towers share variables and exchange gradients.
struct ScaleStrategy {
  enum class Kind {
    independent,       ///< not at all: the ceiling
    parameter_server,  ///< hosts hold the variables, add the gradients and send the variables
    all_reduce,        ///< as replicated towers with PassOptions::all_reduce
    /// A ring in which each part of the gradients begins at another tower, as NCCL's and Horovod's
    /// rings do. It adds in another order for each part, so that Towerflow has none.
    rotated_ring,
  };
  std::string word;
  Kind kind = Kind::independent;
  AllReduce algorithm = AllReduce::gather;  ///< of Kind::all_reduce
};

/// Returns all strategies, with their words on the command line.
const std::vector<ScaleStrategy>& scale_strategies();

/// Returns the strategy that a word names. Throws ValueError that lists all words.
const ScaleStrategy& scale_strategy(const std::string& word);

struct ScaleOptions {
  ScaleStrategy strategy{};
  /// As AllReduceOptions::bucket_bytes: a bucket takes one more gradient until it has this size.
  double bucket_bytes = 4 << 20;
  int group_size = 0;  ///< as AllReduceOptions::group_size; 0: the towers of a host
  /// Whether buckets travel one after another, each when all towers have it, as Horovod's do; none
  /// is then larger than `bucket_bytes`, except for a single gradient.
  bool in_turn = false;
  int servers = 0;  ///< hosts that hold variables; 0: all
  /// Whether each host adds the gradients of its towers before it sends them to a server, and hands
  /// the variables on to its towers.
  bool add_in_host = false;
  /// Whether variables are read when a step begins, while it computes, as TensorFlow's parameter
  /// servers do; otherwise they are sent as soon as they change.
  bool read_at_start = false;
  /// Standard deviation of the computing time of towers, as a share of it: each tower draws its
  /// time for each of `steps` steps.
  double jitter = 0;
  unsigned seed = 0;
  int steps = 20;  ///< of which the mean counts; 1 without jitter
};

/// The times of a simulated step, in seconds.
struct ScaleResult {
  double step = 0;
  double alone = 0;     ///< what a tower needs without an exchange
  double slowest = 0;   ///< the same of the slowest tower
  double messages = 0;  ///< for which the busiest link carries messages
  PathTime path{};      ///< what the critical path consists of; its total is `step`

  double efficiency() const { return alone / step; }
  /// What the exchange adds to the step.
  double exposed() const { return step > slowest ? step - slowest : 0; }
  /// Messages that travel while towers compute.
  double hidden() const { return messages > exposed() ? messages - exposed() : 0; }
  /// Returns what makes the step longer than computation alone: "network", "host links", "latency",
  /// "memory", "stragglers"; "compute" if all together adds less than 2 %.
  std::string bound() const;
};

/// Simulates a step of `towers` towers, message by message. Every step begins with the variables of
/// the step before, on all towers at once, so that the slowest tower decides.
///
/// errors   ValueError: a number out of range
ScaleResult simulate_step(const StepProfile& profile, const Cluster& cluster,
                          const ScaleOptions& options, int towers);

}  // namespace towerflow::report
