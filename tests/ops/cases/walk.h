#pragma once

#include <set>
#include <string>
#include <vector>

#include "core/graph/plan_graph.h"
#include "core/runtime/device_set.h"

namespace towerflow::testing {

/// The results of walking a graph.
struct WalkResult {
  std::vector<Array> values;          ///< of the fetches
  std::set<std::string> ops;          ///< of computed nodes
  std::set<std::string> kernels;      ///< "Cumsum: rows" for each kernel that ran
  int in_place = 0;                   ///< launches with a result in the memory of an operand
  std::vector<std::string> problems;  ///< empty if there are none
};

/// Which kernels compute a node.
enum class WalkKernels {
  reference,  ///< the last one that accepts it, which is the reference if there are several
  all,        ///< each that accepts it; results are compared, and those of the last one are used
};

/// Computes the nodes of a plan that `place_case` has placed, one by one, each kernel on guarded
/// operands in the memory of its device. A kernel must write every byte of its results and none
/// around them, must not change operands it only reads, and must agree with the other kernels of
/// its op. `feeds` are the values of fed nodes, in their order; `tolerance` is that of
/// `difference`.
WalkResult run_nodes(PlanGraph graph, const std::vector<Array>& feeds, const DeviceSet& devices,
                     WalkKernels kernels, double tolerance);

}  // namespace towerflow::testing
