#include "tests/ops/cases/plan_case.h"

#include "core/runtime/passes.h"

namespace towerflow::testing {

PlanGraph plan_case(const BuiltCase& built, const std::vector<Array>& arrays) {
  std::vector<FeedSpec> feeds;
  for (std::size_t i = 0; i < arrays.size(); ++i) {
    feeds.push_back({built.operands()[i], arrays[i].dtype(), arrays[i].shape()});
  }
  PassLog log;
  return build_plan_graph(built.fetches(), feeds, log);
}

void place_case(PlanGraph& graph, const BuiltCase& built, const DeviceSet& devices) {
  ColocationGroups groups;
  for (std::size_t i = 0; i < built.graph().size(); ++i) {
    groups.add(built.graph().operation(i).node(), true);
  }
  PassLog log;
  HomeDevices homes;
  auto ledger = place(graph, devices, groups, homes, true, log);
  move_late_to_host(graph, devices, ledger, log);
}

PlanGraph rewrite_case(PlanGraph graph, const DeviceSet& devices) {
  PassLog log;
  fold_constants(graph, devices, log);
  share_subexpressions(graph, log);
  apply_rewrites(graph, devices, PassOptions{}, log);
  return graph;
}

}  // namespace towerflow::testing
