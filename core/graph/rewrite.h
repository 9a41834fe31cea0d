#pragma once

#include <functional>
#include <string>
#include <vector>

#include "core/graph/plan_graph.h"

namespace towerflow {

/// Replaces a pattern of nodes by a faster one with the same values.
///
/// `apply` is called for each living node as the possible last node of a pattern, and returns
/// whether it changed anything. It changes nodes only with `PlanGraph::replace`, which checks that
/// their devices have kernels; other nodes of the pattern are removed when nothing reads them any
/// more. A node may absorb a predecessor only if it is the predecessor's only use.
struct RewriteRule {
  std::string name;
  std::string kind;  ///< "layers", "updates", ..: PassOptions can skip kinds and names
  std::function<bool(PlanGraph& graph, int node)> apply;
  /// Ops that may end the pattern: the rule is tried only at their nodes, or at every node if
  /// empty.
  std::vector<std::string> last{};
  std::vector<std::string> inner{};  ///< other ops of its pattern, for documentation
};

/// Returns the current rules in order of registration, the library's, from
/// `register_rewrite_rules`, first. Safe from any thread.
std::vector<RewriteRule> rewrite_rules();

/// Adds a program's own rule after the existing ones; plans made from then on use it. Rules of kind
/// "elementwise" are tried after all others, whenever they were added. Safe from any thread.
///
/// errors   ValueError: no name, no kind, a name that another rule has, or nothing to apply
void add_rewrite_rule(RewriteRule rule);

/// Adds the rules of the library; defined above this folder, in ops/register_all.cc.
void register_rewrite_rules(std::vector<RewriteRule>& rules);

/// A pass over a plan whose nodes have devices, after the rewrite rules. It may add nodes.
struct PlanPass {
  std::string name;
  /// Returns what it did, for the plan report; "" if nothing.
  std::function<std::string(PlanGraph& graph)> run;
};

/// Adds the passes of the library; defined above this folder, in ops/register_all.cc.
void register_plan_passes(std::vector<PlanPass>& passes);

}  // namespace towerflow
