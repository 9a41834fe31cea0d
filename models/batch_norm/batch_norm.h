#pragma once

#include <string>
#include <vector>

#include "core/graph/operand.h"
#include "models/data_set.h"
#include "train/optimizer.h"

namespace towerflow::models::batch_norm {

/// Batch normalization on towers, with the ways in which the source text collects the updates of
/// the moving averages, and two optimizers, one for convolutions and one for the other layers.

inline constexpr const char* kTowerName = "device";
inline constexpr double kBatchNormDecay = 0.9;
inline constexpr double kMovingAverageDecay = 0.9999;

enum class Collecting {
  /// In the loop, appends the whole collection so far to a list, which then has the updates of
  /// tower 0 once for each tower. A step runs an operation once however often it is listed.
  extended,
  /// Once, after the loop: every tower's updates.
  after,
  /// In the loop, replaces the list by the collection so far: in the end every tower's, as after
  /// the loop. The updates are grouped with the training, not waited for.
  replaced,
  /// Only the updates in the first tower's name scope.
  first,
};

/// The ways by their names: "extended", "after", "replaced", "first".
const std::vector<std::pair<std::string, Collecting>>& ways();
/// Returns the way of that name. Throws ValueError if there is none.
Collecting way(const std::string& name);

/// Builds two convolutions with batch normalization and pooling, and two fully connected layers.
/// The averages are normalized by the moments of the batch and their updates added to UPDATE_OPS if
/// `training`; else by the moving averages.
///
/// shapes   images [N, 784] -> logits [N, 10]
Tensor inference(const Tensor& images, bool training);

struct TowersOptions {
  int num_gpus = 2;
  Collecting collecting = Collecting::after;
  Operand learning_rate = 0.05;
};

/// The training graph in the default graph.
struct Towers {
  Variable global_step;
  std::vector<Tensor> losses;       ///< one per tower
  std::vector<GradAndVar> grads;    ///< averaged
  std::vector<Fetch> updates;       ///< as collected, including duplicates
  Operation apply_gradient_op;      ///< of both optimizers
  Operation variables_averages_op;  ///< moving averages of all trainable variables
  Operation train_op;               ///< runs all of these
};
Towers build_towers(const TowersOptions& options, const BatchFunction& next_batch);

/// Returns a table of what each way collects on `num_towers` towers, and of what a moving mean
/// consists after a step: measured on small batches.
std::string table_of_ways(int num_towers);

}  // namespace towerflow::models::batch_norm
