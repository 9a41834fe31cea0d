#pragma once

#include <memory>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "autodiff/gradients.h"
#include "autodiff/loop_gradients.h"
#include "core/graph/op_def.h"

namespace towerflow {

/// The nodes through which gradients flow from ys to xs: ancestors of ys that are reached from xs
/// through differentiable tensors.
class NodesBetween {
 public:
  NodesBetween(const std::vector<Tensor>& ys, const std::vector<Tensor>& xs);

  bool contains(const Node* node) const { return between_.contains(node); }
  /// Returns whether there are branches or loops among the nodes.
  bool has_flow() const { return has_flow_; }
  /// With branches or loops: returns the nodes in the order of a search from the ys that takes near
  /// ones first.
  const std::vector<Node*>& from_ys() const { return from_ys_; }
  /// Returns the nodes, consumers before their inputs.
  const std::vector<Node*>& nodes_in_reverse() const { return order_; }

 private:
  std::unordered_set<const Node*> between_;
  std::vector<Node*> order_, from_ys_;
  bool has_flow_ = false;
};

/// What a sweep saw at each node that a gradient reached.
struct FlowRecord {
  struct Step {
    bool stopped = false;    ///< among the call's stop_gradients
    bool undefined = false;  ///< its gradient is not defined
    std::vector<bool>
        passed_gradient{};  ///< for each input, whether a gradient was passed on to it
  };
  std::unordered_map<const Node*, Step> steps;
};

/// Adds the copies of variables, which are read in their place.
void add_copies(GradientTargets& targets);

/// Walks the tape once from ys back to xs and appends the nodes of the gradients, in the open name
/// scope. Gradients that do not exist are absent in the result.
///
/// The gradients of branches and loops are kept in `loops`, whose `finish` must be called after the
/// name scope has ended. Fills in `record` if given; an op without a defined gradient then ends its
/// path instead of throwing LookupError.
std::vector<OptionalGradient> sweep(const std::vector<Tensor>& ys, const std::vector<Tensor>& xs,
                                    const GradientsOptions& options, Site site,
                                    std::unique_ptr<LoopGradients>& loops,
                                    FlowRecord* record = nullptr);

}  // namespace towerflow
