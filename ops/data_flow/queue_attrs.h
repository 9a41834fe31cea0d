#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/graph/attrs_def.h"
#include "core/graph/dtype.h"
#include "core/graph/shape.h"
#include "ops/random/seed.h"

namespace towerflow {

/// Whether a queue runner that fills a queue was made. Set after the queue's node exists, and
/// shared by all copies.
class RunnerMark {
 public:
  void set() const { set_->store(true, std::memory_order_relaxed); }
  bool is_set() const { return set_->load(std::memory_order_relaxed); }

 private:
  std::shared_ptr<std::atomic<bool>> set_ = std::make_shared<std::atomic<bool>>(false);
};

/// Attributes of FIFOQueueV2, RandomShuffleQueueV2 and PaddingFIFOQueueV2.
struct QueueAttrs {
  std::vector<DType> component_types;
  std::vector<Shape> shapes;   ///< of the components; empty if elements may differ
  std::int64_t capacity = -1;  ///< in elements; -1 for no limit
  std::int64_t min_after_dequeue = 0;
  random::Seeds seeds{};
  std::string shared_name;
  RunnerMark runner{};  ///< not in `fields`: does not distinguish queues
  static constexpr auto fields =
      std::tuple{attr::required("component_types", &QueueAttrs::component_types),
                 attr::field("shapes", &QueueAttrs::shapes),
                 attr::field("capacity", &QueueAttrs::capacity),
                 attr::field("min_after_dequeue", &QueueAttrs::min_after_dequeue),
                 attr::included(&QueueAttrs::seeds),
                 attr::field("shared_name", &QueueAttrs::shared_name)};
};

/// Returns the attributes of queues that are first in, first out.
AttrsDef fifo_queue_attributes();

/// Attributes of the dequeue ops: the component types and shapes of the queue.
struct DequeueAttrs {
  std::vector<DType> component_types;
  std::vector<Shape> shapes;  ///< unknown or absent if elements may differ
  /// Returns the shape of component i.
  Shape shape(std::size_t i) const { return i < shapes.size() ? shapes[i] : Shape::unknown(); }
  static constexpr auto fields =
      std::tuple{attr::required("component_types", &DequeueAttrs::component_types),
                 attr::field("_shapes", &DequeueAttrs::shapes)};
};

/// Attributes of QueueCloseV2.
struct QueueCloseAttrs {
  bool cancel_pending_enqueues = false;
  static constexpr auto fields =
      std::tuple{attr::field("cancel_pending_enqueues", &QueueCloseAttrs::cancel_pending_enqueues)};
};

}  // namespace towerflow
