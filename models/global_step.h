#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "models/training.h"
#include "report/equivalence.h"

namespace towerflow::models {

struct GlobalStepOptions {
  int num_towers = 1;
  std::int64_t batch_size = 64;  ///< of all towers together
  std::int64_t seed = 1;
  OptionValues values{};  ///< the model's specific options
  DeviceOptions devices{};
  PassOptions passes{};
};

/// The training step of a model's last stage on one batch that its towers divide: each takes the
/// examples that follow those of the tower before it, the first towers one more if the batch
/// cannot be divided evenly. For comparing trainings with different numbers of towers.
class GlobalStep {
 public:
  /// Throws ValueError if there are fewer examples than towers.
  GlobalStep(const Model& model, const GlobalStepOptions& options);

  /// Makes step k read the k-th of these batches of features and labels; by default every step
  /// reads the batch that the model keeps in memory. Throws ValueError for batches of other shapes.
  void set_batches(std::vector<std::pair<Array, Array>> batches);

  /// Returns what to compare; valid as long as this object.
  ComparedRun run() const;
  /// Returns the same with the losses.
  EquivalenceRun equivalence_run() const;
  Graph& graph() { return graph_; }
  const TrainingGraph& built() const { return built_; }
  const std::vector<std::int64_t>& tower_sizes() const { return tower_sizes_; }
  /// Returns "2 towers of 64 examples"; "3 towers of 22, 21 and 21 examples".
  std::string text() const;

 private:
  const Model& model_;
  GlobalStepOptions options_;
  Graph graph_;
  std::vector<std::int64_t> tower_sizes_;
  Batch whole_;
  TrainingGraph built_;
  std::vector<std::pair<Array, Array>> batches_;
};

/// Reads batches of training examples in file order, as an evaluation reads them: each once,
/// without random changes.
///
/// errors   NotFoundError: no training files in `data_dir`; ValueError: too few examples
std::vector<std::pair<Array, Array>> training_batches(const Model& model,
                                                      const std::string& data_dir,
                                                      std::int64_t batch_size, int count);

}  // namespace towerflow::models
