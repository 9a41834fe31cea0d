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

/// A FIFO queue whose elements may differ in size: `shapes`, one per component, may have unknown
/// dimensions. `dequeue_many` and `dequeue_up_to` give these dimensions the largest size among the
/// elements they take, and pad smaller elements at the end with zeros, empty strings or false;
/// `dequeue` returns an element unchanged. (tf.PaddingFIFOQueue)
///
/// errors   ValueError: a number of shapes other than that of components, a shape of unknown rank,
///          capacity 0; at run time InvalidArgumentError: an element that does not match its
///          shapes, ResourceExhaustedError: padded elements larger than the address space
class PaddingFIFOQueue : public QueueBase {
 public:
  PaddingFIFOQueue() = default;
  PaddingFIFOQueue(std::int64_t capacity, std::vector<DType> dtypes, std::vector<Shape> shapes,
                   PaddingFIFOQueueOptions options = {}, Site site = Site::current());
};

}  // namespace towerflow::types
