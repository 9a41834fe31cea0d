#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/graph/arguments.h"
#include "parallel/processes/group.h"
#include "train/input/training_positions.h"
#include "train/session_run_hook.h"
#include "train/training_folder.h"

namespace towerflow::models {

/// The seeds and the positions of processes that train together, in their input and in random
/// numbers. Process 0 saves those of all processes in its checkpoints; a training that goes on with
/// as many processes gives each its own. With another number of processes the input starts over, in
/// another order.
///
/// Every process calls the same members in the same order.
class ProcessPositions {
 public:
  /// Reads the checkpoint that process 0 goes on from, and tells the others what it holds.
  /// `folder`, `seed` and `save_every` count in process 0: its folder may be empty, and its
  /// `save_every` is the number of steps between checkpoints, 0 for one at the end alone.
  ProcessPositions(parallel::ProcessGroup& group, const train::TrainingFolder& folder,
                   std::optional<std::int64_t> seed, std::int64_t save_every);

  /// Returns the seed of the graph in this process, none if the training has no seed.
  std::optional<std::int64_t> seed() const { return seed_; }

  /// Takes the positions of the complete default graph, whose input reads `files`. Returns an
  /// operation that initializes the variables and sets the positions that the checkpoint has. If
  /// they are of other data in any process, process 0 logs a warning and the input starts over.
  Operation take(const std::vector<std::string>& files);
  /// Returns the hook that gathers the positions before each checkpoint, after `take`: the last one
  /// of the training. A step increases the global step by `counts_per_step`.
  std::shared_ptr<train::SessionRunHook> hook(std::int64_t counts_per_step) const;

 private:
  /// Returns why `restored_` is of no use in this process, "" if it is of use.
  std::string why_not_restored(const std::vector<std::string>& files) const;

  parallel::ProcessGroup& group_;
  std::string checkpoint_;  ///< in process 0
  bool saves_ = false;
  std::int64_t save_every_ = 0;
  std::optional<std::int64_t> seed_;
  std::optional<train::NamedValues> restored_;  ///< none: the input starts over
  std::vector<train::Saveable> positions_;
  std::optional<Variable> all_;  ///< in process 0: the packed positions, by rank
};

}  // namespace towerflow::models
