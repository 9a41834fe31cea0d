#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/graph/dtype.h"
#include "core/graph/shape.h"
#include "ops/random/seed.h"

namespace towerflow {

/// Whether a queue runner was made that is to fill a queue: set when the queue's node exists
/// already, and seen through all copies.
class RunnerMark {
 public:
  void set() const { set_->store(true, std::memory_order_relaxed); }
  bool is_set() const { return set_->load(std::memory_order_relaxed); }
  bool operator==(const RunnerMark&) const { return true; }  // makes no queue another one

 private:
  std::shared_ptr<std::atomic<bool>> set_ = std::make_shared<std::atomic<bool>>(false);
};

/// Attributes of FIFOQueueV2, RandomShuffleQueueV2 and PaddingFIFOQueueV2.
struct QueueAttrs {
  std::vector<DType> component_types;
  std::vector<Shape> shapes;   ///< of the components; empty when elements may differ
  std::int64_t capacity = -1;  ///< in elements; -1 for no limit
  std::int64_t min_after_dequeue = 0;
  random::Seeds seeds{};
  std::string shared_name;
  RunnerMark runner{};
  bool operator==(const QueueAttrs&) const = default;
};

/// Attributes of the dequeue ops: what the queue holds.
struct DequeueAttrs {
  std::vector<DType> component_types;
  std::vector<Shape> shapes;  ///< unknown ones where elements may differ
  bool operator==(const DequeueAttrs&) const = default;
};

/// Attributes of QueueCloseV2.
struct QueueCloseAttrs {
  bool cancel_pending_enqueues = false;
  bool operator==(const QueueCloseAttrs&) const = default;
};

}  // namespace towerflow
