#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/device/resource_store.h"
#include "core/graph/tensor.h"
#include "ops/data_flow/source_turns.h"

namespace towerflow::train {

/// The turns that the threads of a queue runner take.
struct EnqueueTurns {
  std::shared_ptr<SourceTurns> turns;  ///< null if the order is fixed without turns
  std::vector<std::size_t> members;    ///< member of each entry of `enqueue_ops`
};

/// Sets up turns for threads that each run one of `enqueue_ops`, which may list an operation
/// several times. An operation takes its turn when it reads from its reader or queue, if that is
/// its only source and no other operation reads through the same node; otherwise when it enqueues.
///
/// A single operation takes turns only if several threads run it and its only source is a queue: a
/// reader's records carry their order already.
EnqueueTurns make_enqueue_turns(ResourceStore& resources,
                                const std::vector<Operation>& enqueue_ops);

}  // namespace towerflow::train
