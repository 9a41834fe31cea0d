#pragma once

#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "autodiff/sweep.h"
#include "autodiff/why_none.h"

namespace towerflow {

/// Where a path from x to y is cut.
struct Cut {
  NoneCause cause;
  const Node* node;
  const Node* towards_x;
  std::string reason{};
};

/// The data paths from x to y, and where gradients stop on them.
class Paths {
 public:
  Paths(const Tensor& y, const Tensor& x);

  bool exist() const { return y_ == x_ || on_path_.contains(&y_.node()); }
  /// Returns the nodes that y is computed from, in tape order, y's node last.
  const std::vector<const Node*>& ancestors() const { return ancestors_; }
  /// Returns the first node on the tape that takes an output of `node` on the way to y; nullptr for
  /// y's.
  const Node* consumer(const Node* node) const;
  /// Returns the most informative place where the gradient stops: the first cause in NoneCause's
  /// order, and the first place on the tape. Requires a path without a gradient.
  Cut find_break(const FlowRecord& record, const WhyNoneOptions& options) const;

 private:
  bool depends_on_x(const Tensor& tensor, const std::unordered_set<const Node*>& nodes) const {
    return tensor == x_ || nodes.contains(&tensor.node());
  }
  std::optional<Cut> break_at(const Node& node, std::size_t input, const FlowRecord& record,
                              const WhyNoneOptions& options) const;
  Cut break_of_integer() const;

  const Tensor y_, x_;
  std::vector<const Node*> ancestors_;
  std::unordered_set<const Node*> on_path_;  // descendants of x
};

/// Returns gradients, updates, and all that is computed from them, including hand-written updates.
/// From x they would lead to the nodes of other losses.
std::unordered_set<const Node*> training_nodes(const Graph& graph);

/// A path from x to y through assignments to variables and, if `control`, through control inputs.
/// Assignments of training nodes do not count unless y is computed from them.
class Detour {
 public:
  Detour(const Tensor& y, const Tensor& x, const std::vector<const Node*>& ancestors, bool control);

  /// Returns whether there is one; the members below then describe the crossing nearest to y.
  bool found() const { return node != nullptr; }
  const Node* node = nullptr;       ///< the assignment, or the op that has the control input
  const Node* towards_x = nullptr;  ///< what is assigned, or the control input
  const Node* towards_y = nullptr;  ///< the variable, or what uses the op

 private:
  enum class Edge { data, assignment, control };
  struct Step {
    const Node* to;
    Edge edge;
  };

  void find_writers(const Graph& graph, const std::vector<const Node*>& ancestors);
  void name(const Node* x, Step first);

  const bool control_;
  std::unordered_map<const Node*, Step> came_from_;
  std::unordered_map<const Node*, std::vector<const Node*>> writers_;
};

}  // namespace towerflow
