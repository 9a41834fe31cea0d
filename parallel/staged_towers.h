#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "parallel/average_gradients.h"
#include "parallel/batch_size.h"
#include "parallel/clip_gradients.h"
#include "parallel/update_ops.h"
#include "train/optimizer.h"

namespace towerflow::parallel::types {

struct TowersOptions {
  int num_towers = 1;
  /// Returns the device of a tower; "/gpu:0", "/gpu:1", .. if not set.
  std::function<std::string(int tower)> device{};
  std::string name = "tower";  ///< prefix of the towers' name scopes, such as tower_0
  /// Where the towers' variables are stored; that of the caller's variable scope if not set.
  std::optional<VariableHome> home{};
  train::ComputeGradientsOptions compute_gradients{};
  AveragePolicy policy = AveragePolicy::mean_over_present;
  /// For AveragePolicy::weighted_mean: returns a tower's weight []; called in the tower's scopes
  /// after its losses.
  std::function<Tensor(int tower)> weight{};
  std::optional<GradientClip> clip{};              ///< before or after the gradients are averaged
  train::ApplyGradientsOptions apply_gradients{};  ///< such as the global step to increment
  /// Which towers' UPDATE_OPS a step runs; none if not set.
  std::optional<UpdateOpsPolicy> update_ops{};
  std::optional<TowerBatch> batch{};  ///< for `describe`
  std::int64_t epoch_examples = 0;    ///< for `describe`: examples of an epoch; 0 if unknown
  /// Whether towers read their trainable variables as they were before the latest update, from a
  /// copy on the tower's device (StagedVariables).
  bool staged_variables = false;
  /// Whether a step applies the gradients of the step before, and zeros if it is the first
  /// (DeferredGradients). A stage keeps the gradients of its objectives for the next step that
  /// trains them.
  bool deferred_gradients = false;
};

/// One of several losses of a tower: the optimizer that minimizes it, and what it trains.
struct Objective {
  std::string name;  ///< "discriminator"
  train::Optimizer& optimizer;
  /// Returns the variables that the loss trains, such as those of a scope; called in each tower,
  /// after its losses. Those of TowersOptions::compute_gradients if not set.
  std::function<std::vector<Variable>()> variables{};
  std::optional<GradientClip> clip{};  ///< instead of that of TowersOptions
  /// Instead of those of TowersOptions.
  std::optional<train::ApplyGradientsOptions> apply_gradients{};
};

/// Builds the losses of one tower, one for each objective, in their order. It is called as a
/// TowerLoss.
using TowerLosses = std::function<std::vector<Tensor>(int tower, const std::string& scope)>;

/// What the towers made of one objective.
struct TrainedObjective {
  std::vector<Tensor> losses;                        ///< of each tower
  std::vector<std::vector<GradAndVar>> tower_grads;  ///< of each tower, as they are averaged
  std::vector<GradAndVar> grads;                     ///< averaged, as they are applied
  /// The global norms of the gradients before they were clipped: one for each tower, or that of the
  /// average. Empty if nothing is clipped.
  std::vector<Tensor> global_norms;
  Operation train_op;
};

/// A model with several losses, each with its variables and its optimizer, in towers that share
/// variables: a GAN, or a network trained in stages. Builds the nodes of this loop: for each tower,
/// on its device and in its name scope, all losses, then the gradients of each; then for each
/// objective the average and the optimizer's update.
///
///     tf::parallel::StagedTowers towers(
///         {{.name = "generator", .optimizer = g, .variables = of_scope("generator")},
///          {.name = "discriminator", .optimizer = d, .variables = of_scope("discriminator")}},
///         losses, {.num_towers = 2});
///     const auto first = towers.stage({"generator"});
///     const auto both = towers.stage({"generator", "discriminator"});
///
/// errors   ValueError: what `Towers` throws; no objective, two of one name, or a number of losses
///          that is not that of the objectives
class StagedTowers {
 public:
  StagedTowers(const std::vector<Objective>& asked, const TowerLosses& losses,
               const TowersOptions& options = {}, Site site = Site::current());

  /// Returns what the towers made of an objective. Throws ValueError for a name that none has.
  const TrainedObjective& objective(const std::string& name, Site site = Site::current()) const;
  /// Returns an operation that runs the updates of some objectives, the update ops, and what keeps
  /// gradients and variables for the next step, in one step. The variables of the others are
  /// frozen, their slots too. Each update takes gradients at the values before the step as far as
  /// the plan orders reads before writes, as in TensorFlow.
  ///
  /// errors   ValueError: no name, an unknown one, one given twice; several objectives that each
  ///          increment the same global step, which would count a step several times
  Operation stage(const std::vector<std::string>& names, Site site = Site::current()) const;

  /// Returns what was derived from the options, in lines for a banner: devices, the batch of a
  /// step, and for each objective what it trains and in which towers a gradient is absent.
  std::string describe() const;

  std::vector<TrainedObjective> objectives;  ///< in their order
  std::vector<Tensor> weights;               ///< of each tower, with weighted_mean
  std::vector<Fetch> update_ops;             ///< that each stage runs

 private:
  struct Named {
    std::string name, optimizer;
    std::optional<Variable> global_step;
    std::optional<Operation> keep;  ///< of deferred gradients
  };
  std::vector<Named> named_;
  std::vector<std::string> devices_;
  TowersOptions options_;
  std::optional<Operation> refresh_;  ///< of staged variables
};

}  // namespace towerflow::parallel::types
