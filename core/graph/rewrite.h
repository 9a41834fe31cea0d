#pragma once

#include <functional>
#include <string>
#include <vector>

#include "core/graph/plan_graph.h"

namespace towerflow {

/// Which switch of PassOptions a rule obeys.
enum class RewriteKind { convolution, update, elementwise };

/// Replaces a pattern of nodes by a faster one with the same values.
///
/// `apply` is called with each living node in turn as the last of its pattern; it changes that node
/// in place (op, attributes, inputs), leaves the others to be removed when nobody reads them any
/// more, and returns whether it did anything. A node may only take over a predecessor whose single
/// use it is. A rule that gives another node other inputs tells `PlanGraph::index_reads` so.
struct RewriteRule {
  std::string name;
  RewriteKind kind;
  std::function<bool(PlanGraph& graph, int node)> apply;
};

/// The rules as they are now, in the order in which they are tried; those of the library enter
/// through `register_rewrite_rules`. Safe from any thread.
std::vector<RewriteRule> rewrite_rules();

/// Adds a program's own rule behind those there are; plans made from then on use it. Elementwise
/// rules are tried after all others, whenever they were added. Safe from any thread.
///
/// errors   ValueError: no name, one that another rule has, or nothing to apply
void add_rewrite_rule(RewriteRule rule);

/// Adds the rules of the library; defined above this folder, in ops/register_all.cc.
void register_rewrite_rules(std::vector<RewriteRule>& rules);

}  // namespace towerflow
