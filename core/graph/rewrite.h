#pragma once

#include <functional>
#include <string>
#include <vector>

#include "core/graph/plan_graph.h"

namespace towerflow {

/// Replaces a pattern of nodes by a faster one with the same values.
///
/// `apply` is called with living nodes in turn as the last of its pattern; it changes nodes
/// through `PlanGraph::replace` alone, which asks their devices for kernels, leaves the others of
/// the pattern to be removed when nobody reads them any more, and returns whether it did anything.
/// A node may only take over a predecessor whose single use it is.
struct RewriteRule {
  std::string name;
  std::string kind;  ///< by which, or by its name, it is skipped: "layers", "updates", ..
  std::function<bool(PlanGraph& graph, int node)> apply;
  /// The ops that may be the last of its pattern: it is tried at nodes of these alone, or at every
  /// node where none is listed.
  std::vector<std::string> last{};
  std::vector<std::string> inner{};  ///< other ops of its pattern, for those who look it up
};

/// The rules as they are now, in the order in which they are tried; those of the library enter
/// through `register_rewrite_rules`. Safe from any thread.
std::vector<RewriteRule> rewrite_rules();

/// Adds a program's own rule behind those there are; plans made from then on use it. Rules of the
/// kind "elementwise" are tried after all others, whenever they were added. Safe from any thread.
///
/// errors   ValueError: no name, no kind, a name that another rule has, or nothing to apply
void add_rewrite_rule(RewriteRule rule);

/// Adds the rules of the library; defined above this folder, in ops/register_all.cc.
void register_rewrite_rules(std::vector<RewriteRule>& rules);

}  // namespace towerflow
