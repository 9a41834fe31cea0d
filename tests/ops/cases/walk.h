#pragma once

#include <set>
#include <string>
#include <vector>

#include "core/graph/plan_graph.h"
#include "core/runtime/device_set.h"

namespace towerflow::testing {

/// What came of walking a graph.
struct Walked {
  std::vector<Array> values;          ///< of the fetches
  std::set<std::string> ops;          ///< whose nodes were computed
  std::set<std::string> kernels;      ///< "Cumsum: rows", each that ran
  int in_place = 0;                   ///< launches with a result in the memory of an operand
  std::vector<std::string> problems;  ///< empty when there is nothing wrong
};

/// Which kernels compute a node.
enum class WalkKernels {
  reference,  ///< the last one that takes it: where there are several, the one to be believed
  all,        ///< each that takes it; what they give is compared, and the last one's goes on
};

/// Computes the nodes of a plan that `place` has placed, one by one, each kernel on operands
/// between guards in the memory of its device: a kernel must write every byte of its results and
/// none around them, leave alone what it only reads, and give what the other kernels of its op
/// give. `feeds` are the values of the nodes that are fed, in their order; `tolerance` is that of
/// `difference`.
Walked run_nodes(PlanGraph graph, const std::vector<Array>& feeds, const DeviceSet& devices,
                 WalkKernels kernels, double tolerance);

}  // namespace towerflow::testing
