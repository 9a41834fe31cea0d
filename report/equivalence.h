#pragma once

#include <string>
#include <vector>

#include "report/compare.h"
#include "train/who_trains.h"

namespace towerflow::types {

/// A training step, and which loss trains what in it.
struct EquivalenceRun {
  ComparedRun run;
  std::vector<TrainedLoss> trained;       ///< its losses, one per tower each
  std::vector<std::int64_t> tower_sizes;  ///< examples of each tower
};

/// Operations whose results depend on how the batch is divided, and what they do to a term.
struct EquivalenceCause {
  std::string what;       ///< "batch normalization", "random numbers", "Mean"
  std::string first;      ///< the first of these operations, in tower 0
  std::size_t count = 0;  ///< in one tower
  /// The difference of the term that is left if they return in the towers what they return for the
  /// whole batch, forward and, for fused batch normalization, backward.
  double left = 0;
};

/// One of the terms whose sum is a loss. Differences are norms, over all variables that the loss
/// trains, relative to that of the term's gradient in one tower.
struct EquivalenceTerm {
  std::string loss;       ///< of TrainedLoss::name
  std::string name;       ///< of the term's node in the one tower
  Site site{};            ///< where it was made
  double share = 0;       ///< the norm of its gradient relative to that of the loss
  double difference = 0;  ///< between the mean of the towers' gradients and that of one tower
  double factor = 1;      ///< the multiple of one tower's gradient that is nearest to the mean
  double beside = 0;      ///< the difference that the factor does not explain
  double weighted = 0;    ///< the difference if the towers count by their examples
  std::vector<EquivalenceCause> causes{};  ///< empty if `difference` is within rounding
  /// The mean of the towers' values of the term, relative to its value in one tower, without these
  /// causes: 1/N for a sum over the examples, 1 for a mean.
  double value = 1;
  double left = 0;  ///< the difference without these causes

  bool equal() const;
};

/// What happens between the gradients of a loss and the update: averaging, clipping, scaling.
struct EquivalenceUpdate {
  std::string loss;
  double gradients = 0;  ///< difference of the mean of the towers' gradients, as of a term
  double applied = 0;    ///< difference of what is applied
  double factor = 1;     ///< the multiple of the one tower's applied gradient nearest to it
  double kept_one = 1;   ///< norm of what is applied relative to that of the gradient, one tower
  double kept_many = 1;  ///< likewise for the towers, relative to the mean of their gradients
};

/// What `equivalence` finds.
struct Equivalence {
  std::vector<std::int64_t> tower_sizes;
  std::vector<EquivalenceTerm> terms;
  std::vector<EquivalenceUpdate> updates;

  /// Returns whether everything agrees within rounding.
  bool equal() const;
  /// Describes all of this as a table with the reasons below it.
  std::string text() const;
};

}  // namespace towerflow::types

namespace towerflow {

/// Largest relative difference that counts as rounding of float32.
inline constexpr double kEquivalenceRounding = 1e-4;

/// Measures how a step on several towers differs from the same step on one tower that has all
/// their examples, term by term of each loss. Both graphs must have the same variables and losses
/// and read the same examples, the towers those of the one in order. Nothing is trained.
///
/// Each loss is taken apart where it is a sum (Add, AddN, through Identity and clipping by value),
/// and the gradient of each term is computed in every tower; the nodes are added to both graphs. A
/// term that differs is traced to the first operations whose inputs agree and whose results do not;
/// these are replaced by the results for the whole batch, and the difference is measured again.
///
/// errors   ValueError: `one` with several towers, other losses or numbers of towers; what running
///          the steps throws
Equivalence equivalence(const EquivalenceRun& one, const EquivalenceRun& many);

}  // namespace towerflow
