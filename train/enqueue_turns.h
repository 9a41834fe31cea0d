#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/device/resource_store.h"
#include "core/graph/tensor.h"
#include "ops/data_flow/source_turns.h"

namespace towerflow::train {

/// Which turns the threads of a queue runner take.
struct EnqueueTurns {
  std::shared_ptr<SourceTurns> turns;  ///< none where the order is settled without
  std::vector<std::size_t> members;    ///< by enqueue operation of the list
};

/// Sets up turns for threads that each run one of `enqueue_ops`, among which one may be several
/// times. An operation takes its turn where it reads: at the one reader or queue that it takes
/// its element from, if there is one and no other operation takes from the same node; else where it
/// enqueues.
///
/// Nothing is set up for one operation that reads from a reader, whose records carry the order
/// already, nor for one operation on one thread.
EnqueueTurns make_enqueue_turns(ResourceStore& resources,
                                const std::vector<Operation>& enqueue_ops);

}  // namespace towerflow::train
