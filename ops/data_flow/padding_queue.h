#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ops/data_flow/queue.h"

namespace towerflow::types {

struct PaddingFIFOQueueOptions {
  std::string shared_name{};
  std::string name{};  ///< "padding_fifo_queue"
};

/// A FIFO queue whose elements may differ in size: `shapes`, one a component, may have unknown
/// dimensions. `dequeue_many` and `dequeue_up_to` give each of these the largest size among the
/// elements that they take, and fill what is missing with zeros, empty strings or false, at the
/// end; `dequeue` gives an element as it went in. (tf.PaddingFIFOQueue)
///
/// errors   ValueError: not one shape a component, a shape of unknown rank, capacity 0; in a run
///          InvalidArgumentError: an element that does not fit the shapes; ResourceExhaustedError:
///          sizes that together pass what can be addressed
class PaddingFIFOQueue : public QueueBase {
 public:
  PaddingFIFOQueue() = default;
  PaddingFIFOQueue(std::int64_t capacity, std::vector<DType> dtypes, std::vector<Shape> shapes,
                   PaddingFIFOQueueOptions options = {}, Site site = Site::current());
};

}  // namespace towerflow::types
