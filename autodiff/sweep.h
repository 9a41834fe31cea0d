#pragma once

#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "autodiff/gradients.h"
#include "core/graph/op_def.h"

namespace towerflow {

/// The nodes that gradients pass on their way from ys to xs: ancestors of ys that xs reach through
/// tensors that can be differentiated.
class Between {
 public:
  Between(const std::vector<Tensor>& ys, const std::vector<Tensor>& xs);

  bool contains(const Node* node) const { return between_.contains(node); }
  /// Consumers before their inputs.
  const std::vector<Node*>& nodes_in_reverse() const { return order_; }

 private:
  std::unordered_set<const Node*> between_;
  std::vector<Node*> order_;
};

/// What a sweep saw at each node that a gradient reached.
struct FlowRecord {
  struct Step {
    bool stopped = false;      ///< among the call's stop_gradients
    bool undefined = false;    ///< nobody has defined its gradient
    std::vector<bool> gave{};  ///< for each input, whether a gradient was passed on to it
  };
  std::unordered_map<const Node*, Step> steps;
};

/// Walks the tape from ys back to xs once and appends the nodes of the gradients, in the open name
/// scope. Absent gradients stay absent; the caller knows what to do about them.
///
/// With a `record` it is filled in, and an op without a defined gradient ends its path where
/// otherwise it is a LookupError.
std::vector<OptionalGradient> sweep(const std::vector<Tensor>& ys, const std::vector<Tensor>& xs,
                                    const GradientsOptions& options, Site site,
                                    FlowRecord* record = nullptr);

}  // namespace towerflow
