// The models, and programs with ops that they do not use, with feeds and fetches.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/graph/fetch.h"
#include "core/runtime/session.h"

namespace towerflow::testing {

/// A program in the default graph.
struct Program {
  std::vector<Tensor> outputs;
  std::vector<Operation> targets;  ///< updates, to be run one at a time
  Feeds feeds;
  /// A step without a defined order in TensorFlow: there the non-trainable variables after it
  /// depend on timing.
  std::optional<Operation> unordered_step{};
};

/// Returns the functions that build programs, by name: mnist, char_lstm, three_stage_gan,
/// multi_gpu_model and batch_norm on two towers; slices, each optimizer's update of a table with
/// repeated row lookups; ops.
const std::map<std::string, Program (*)()>& programs();

}  // namespace towerflow::testing
