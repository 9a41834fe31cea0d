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

/// The data paths from x to y, and what stands in them.
class Paths {
 public:
  Paths(const Tensor& y, const Tensor& x);

  bool exist() const { return y_ == x_ || on_path_.contains(&y_.node()); }
  /// What y is computed from, in tape order, y's node last.
  const std::vector<const Node*>& ancestors() const { return ancestors_; }
  /// A node that takes an output of `node` on the way to y, the first on the tape; nullptr for y's.
  const Node* consumer(const Node* node) const;
  /// Finds the most informative place where the gradient stops: the first cause in NoneCause's
  /// order, the first on the tape. There must be a path without a gradient.
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
  std::unordered_set<const Node*> on_path_;  // behind x
};

/// Gradients, updates, and all that is computed from them: a hand-written update as well as an
/// optimizer's. On the way from x they lead to other losses' nodes.
std::unordered_set<const Node*> training_nodes(const Graph& graph);

/// The way from x to y when what is assigned to variables counts, and, if wanted, control inputs.
/// Assignments of training nodes do not, unless y is computed from them.
class Detour {
 public:
  Detour(const Tensor& y, const Tensor& x, const std::vector<const Node*>& ancestors, bool control);

  /// Whether there is one; then the crossing nearest to y is:
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
