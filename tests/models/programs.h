// The models, and programs of ops that they do not use, with what is fed and fetched.
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
  std::vector<Operation> targets;  ///< updates, to be run one after the other
  Feeds feeds;
  Feeds target_feeds{};  ///< besides, where a target runs
  /// A step of which TensorFlow keeps no order: what variables beside the trainable ones are after
  /// it depends on timing there.
  std::optional<Operation> unordered_step{};
};

/// By name: mnist, three_stage_gan, collected_towers and update_ops on two towers; slices, each
/// optimizer's update of a table of which rows are looked up twice; ops.
const std::map<std::string, Program (*)()>& programs();

}  // namespace towerflow::testing
