#pragma once

#include <string>
#include <vector>

#include "core/graph/operand.h"
#include "models/data_set.h"
#include "parallel/lockstep.h"
#include "train/optimizer.h"

namespace towerflow::models::batch_norm {

/// Batch normalization on towers, with the ways in which the source text collects the updates of
/// the moving averages, those that the library adds, and two optimizers, one for convolutions and
/// one for the other layers.

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
  // The text has no more. These are the other policies of `combine_update_ops`, and
  // `sync_batch_normalization`, for which the towers are built layer by layer.
  last,
  all,
  in_order,
  merged,
  synchronised,
};

/// The ways by their names: "extended", "after", and so on.
const std::vector<std::pair<std::string, Collecting>>& ways();
/// Returns the way of that name. Throws ValueError if there is none.
Collecting way(const std::string& name);

/// Builds two convolutions with batch normalization and pooling, and two fully connected layers.
/// The averages are normalized by the moments of the batch and their updates added to UPDATE_OPS if
/// `training`; else by the moving averages.
///
/// shapes   images [N, 784] -> logits [N, 10]
Tensor inference(const Tensor& images, bool training);
/// Builds this network in all towers side by side for a training, normalized by the moments of all.
///
/// shapes   images and logits as above, one of each per tower
std::vector<Tensor> synchronised_inference(const parallel::types::Lockstep& towers,
                                           const std::vector<Tensor>& images);

struct TowersOptions {
  int num_gpus = 2;
  Collecting collecting = Collecting::after;
  Operand learning_rate = 0.05;
  /// Whether the step leaves out the optimizer of the fully connected layers, as the text's first
  /// two ways do.
  bool forget_fc = false;
  /// Whether the optimizers wait for the updates of the moving averages, and the averages of the
  /// variables for the optimizers. In the text only the group of them waits: what
  /// `control_dependencies` surrounds there was made before.
  bool ordered = false;
};

/// The training graph in the default graph.
struct Towers {
  Variable global_step;
  std::vector<Tensor> losses;       ///< one per tower
  std::vector<GradAndVar> grads;    ///< averaged
  std::vector<Fetch> updates;       ///< as collected, including duplicates
  Operation apply_gradient_op;      ///< of both optimizers, or of one: TowersOptions::forget_fc
  Operation variables_averages_op;  ///< moving averages of all trainable variables
  Operation train_op;               ///< runs all of these
};
Towers build_towers(const TowersOptions& options, const BatchFunction& next_batch);

/// What a way collects on some towers, and of what the moving mean of the first layer consists
/// after a step.
struct WayReport {
  std::string name;
  std::size_t collected = 0, distinct = 0;  ///< ops; one that is listed twice runs once
  double keeps = 0;                         ///< share of the value before the step
  std::vector<double> receives;             ///< share of each tower's mean
};

/// Measures a way by its updates on small batches.
WayReport report_of(const std::string& name, Collecting collecting, int num_towers);

/// Format the heading and the rows of a table of ways, without a newline.
std::string report_heading(int num_towers);
std::string report_row(const WayReport& report);

/// Returns the table of all ways.
std::string table_of_ways(int num_towers);

}  // namespace towerflow::models::batch_norm
