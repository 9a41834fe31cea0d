#pragma once

#include <string>
#include <vector>

#include "autodiff/why_none.h"
#include "ops/variables/variable.h"

namespace towerflow::types {

/// What a loss of one tower gives a variable in training.
enum class Training {
  dense,   ///< a gradient, a tensor
  slices,  ///< a gradient, IndexedSlices
  absent,  ///< no gradient
  frozen,  ///< a gradient that the train op does not apply
};

/// A loss and the op that trains with it.
struct TrainedLoss {
  std::string name;            ///< "generator"
  std::vector<Tensor> losses;  ///< one per tower
  Operation train_op;          ///< what a step runs
};

/// What the loss of one tower gives one variable.
struct TowerTraining {
  Training kind = Training::dense;
  WhyNone why{};  ///< why the gradient is absent, if it is
};

/// What one loss does to one variable.
struct VariableTraining {
  std::vector<TowerTraining> towers;  ///< one for each of TrainedLoss::losses
  Operation update{};                 ///< the op that updates the variable; unset if none does
  std::string optimizer{};            ///< "Momentum", the name scope of `update`; empty without it
};

/// What trains a graph's trainable variables.
struct WhoTrains {
  std::vector<Variable> variables;
  std::vector<std::vector<VariableTraining>> losses;  ///< of each loss, one for each variable
  std::vector<Variable> untrained;                    ///< those that no train op updates
  std::vector<Operation> updates_run;      ///< the collected update ops that a train op runs
  std::vector<Operation> updates_not_run;  ///< those that no train op runs
  std::vector<Operation> updates_twice;    ///< those that were collected more than once
  /// If none of them is run: operations that a train op runs and that write the same variables.
  std::vector<Operation> updates_instead;
  std::string text;  ///< all of this as a table
};

struct WhoTrainsOptions {
  /// The collections with the update ops.
  std::vector<std::string> update_collections{GraphKeys::UPDATE_OPS};
};

}  // namespace towerflow::types

namespace towerflow {

/// Describes a training before it runs: for each trainable variable, loss and tower whether there
/// is a gradient and of which kind, or why not; which optimizer applies it; which of the collected
/// update ops run; and which variables nobody trains. Gradients are computed in a trial that leaves
/// the graph unchanged.
///
///   fmt::print("{}", tf::who_trains_what({{"loss", losses, train_op}}).text);
///
/// errors   ValueError: no loss, an empty list of towers, a train op that is unset or of another
///          graph; else those of `gradients`
WhoTrains who_trains_what(const std::vector<TrainedLoss>& trained,
                          const WhoTrainsOptions& options = {}, Site site = Site::current());

}  // namespace towerflow
