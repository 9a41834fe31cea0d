#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "data/record_share.h"
#include "models/model.h"
#include "models/process_positions.h"
#include "parallel/processes/group.h"
#include "parallel/processes/training_hooks.h"
#include "train/gradient_scope.h"

namespace towerflow::models {

/// How a training is divided among the processes of `parallel::process_group()`, or that it is not.
class Processes {
 public:
  /// `across`: whether to train with the other processes.
  explicit Processes(bool across);

  bool several() const { return group_ != nullptr; }
  /// Returns whether this process writes checkpoints and summaries.
  bool writes() const { return rank_ == 0; }
  data::RecordShare share() const { return {rank_, size_}; }

  /// Returns how many examples of an epoch each process has. A file whose records cannot be divided
  /// evenly has up to `size - 1` more, which an epoch of the other processes leaves out.
  std::int64_t examples_each(const Model& model, const std::vector<std::string>& files) const;
  /// Compares a text about the training with the other processes. Throws ValueError if they differ.
  void require_same(const std::string& text) const;
  /// Returns the seeds and positions of the processes, nothing for one.
  std::optional<ProcessPositions> positions(const train::TrainingFolder& folder,
                                            std::optional<std::int64_t> seed,
                                            std::int64_t save_every) const;

  /// Returns a scope of the default graph in which gradients are averaged over the processes; null
  /// for one process.
  std::unique_ptr<train::GradientScope> averaged_gradients() const;
  /// Returns the hooks that the processes need, none for one.
  std::vector<std::shared_ptr<train::SessionRunHook>> hooks(
      const std::shared_ptr<parallel::StopTogetherHook>& stop) const;

 private:
  parallel::ProcessGroup* group_ = nullptr;  // null unless there are several
  std::int64_t rank_ = 0, size_ = 1;
};

}  // namespace towerflow::models
