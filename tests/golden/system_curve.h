#pragma once

#include <string>
#include <vector>

#include "models/data_set.h"
#include "tests/golden/value.h"
#include "train/optimizer.h"

namespace towerflow::golden {

/// Comparison of the models with TensorFlow's programs in systems/ (record_systems.py): their
/// graphs, and ten steps of training from the same values and batches. Each model has a file
/// systems/NAME_test.cc.

/// What a curve needs of a model's training graph.
struct Training {
  std::vector<Tensor> losses;
  std::vector<Operation> train_ops;  ///< what a step runs, one after the other
  std::vector<GradAndVar> grads{};   ///< averaged; compared if the record has them
};

/// Builds a model as `options` say, those of the program in Python; with its own input if `input`
/// is null.
using BuildTraining = Training (*)(const Json& options, const models::InputFunction& input);

/// Checks each graph of systems/NAME.graph.json.gz: nodes, collections and devices. Of an outline,
/// only nodes of the recorded ops.
void check_graphs(const std::string& name, BuildTraining build);

/// Checks each curve of systems/NAME.curves.json[.gz]: all losses, the gradients of the first step
/// and, after the last, all variables, to a relative distance of 1e-4.
void check_curves(const std::string& name, BuildTraining build);

}  // namespace towerflow::golden
