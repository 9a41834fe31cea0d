#pragma once

#include <cstdint>
#include <string>

#include "core/graph/collections.h"
#include "ops/data_flow/queue.h"

namespace towerflow::slim {

struct PrefetchQueueOptions {
  std::int64_t capacity = 8;  ///< elements that the queue holds at most
  int num_threads = 1;        ///< that fill it
  bool dynamic_pad = false;   ///< whether sizes may be unknown: each element keeps its own
  std::string shared_name{};
  std::string name{};  ///< "prefetch_queue"
};

/// Returns a queue that holds the next values of `tensors`, such as batches, filled by a queue
/// runner that is added to QUEUE_RUNNERS; adds a summary of how full it is. Several towers can
/// dequeue from it.
///
/// shapes   must be known, with `dynamic_pad` their ranks      dtypes  all
/// errors   ValueError: no tensors, an unknown shape
/// source   tf.contrib.slim.prefetch_queue.prefetch_queue
QueueBase prefetch_queue(const Collected<Tensor>& tensors, PrefetchQueueOptions options = {},
                         Site site = Site::current());

}  // namespace towerflow::slim
