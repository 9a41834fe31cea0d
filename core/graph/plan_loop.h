#pragma once

#include <string>
#include <vector>

#include "core/graph/plan_graph.h"

namespace towerflow {

/// A loop of the tape as one node of a plan, whose inputs are the values at its start.
///
/// The first `states` inputs are the initial values of the loop variables, the next ones
/// invariants; these are the feeds of both graphs, in this order. The other inputs are variables
/// that the loop writes or refers to; the graphs have nodes of their own for them. Outputs are
/// `exits`.
struct PlanLoop {
  OpDef op;  ///< the op of the node: its effect, the variables it writes, its shape rule
  std::string name;
  std::size_t states = 0;
  std::vector<OutputSpec> feeds;  ///< what the tape says of them in every iteration
  PlanGraph condition;  ///< fetches whether to go on, then what leaves the loop besides variables
  PlanGraph body;       ///< fetches the next values that it computes
  /// For each loop variable, its next value: a fetch of `body`, or feed -1 - n if it is passed on.
  std::vector<int> next;
  /// For each output, a loop variable, or `states` + a fetch of `condition`.
  std::vector<std::size_t> exits;
  bool does_io = false;  ///< contains an op that touches files or the log
};

/// Returns a copy of a graph of a loop for feeds of these shapes.
PlanGraph specialized(const PlanGraph& graph, std::span<const Shape> feeds);

/// Returns the shapes that the feeds of a loop have in every iteration, if it starts with `first`:
/// a size that changes is unknown.
std::vector<Shape> loop_shapes(const PlanLoop& loop, std::vector<Shape> first);

}  // namespace towerflow
