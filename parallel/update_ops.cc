#include "parallel/update_ops.h"

#include <fmt/format.h>

#include <map>
#include <set>

#include "core/graph/scopes.h"
#include "parallel/replaced_updates.h"

namespace towerflow {
namespace {

using TowerUpdates = std::vector<std::vector<Fetch>>;

/// Throws if two towers list the same op.
void check_update_lists(const TowerUpdates& tower_updates, Site site) {
  if (tower_updates.empty()) {
    throw ValueError("combine_update_ops needs the update ops of at least one tower",
                     {.site = site});
  }
  std::map<const Node*, std::size_t> owners;
  for (std::size_t tower = 0; tower < tower_updates.size(); ++tower) {
    for (const Fetch& update : tower_updates[tower]) {
      const Operation op = update.operation();
      const std::size_t owner = owners.try_emplace(&op.node(), tower).first->second;
      if (owner == tower) continue;
      throw ValueError(
          fmt::format("tower {} and tower {} both list the update {}", owner, tower, op.name()),
          {.site = site,
           .node = op.name(),
           .hint = "collect the ops of one tower: tf::get_collection<tf::Fetch>("
                   "tf::GraphKeys::UPDATE_OPS, scope) with the scope of its tf::name_scope"});
    }
  }
}

/// Returns the ops of all towers, each once: a step would not run it twice either.
std::vector<Fetch> in_order(const TowerUpdates& tower_updates) {
  std::vector<Fetch> updates;
  std::set<const Node*> seen;
  for (const auto& of_tower : tower_updates) {
    for (const Fetch& update : of_tower) {
      if (seen.insert(&update.operation().node()).second) updates.push_back(update);
    }
  }
  return updates;
}

}  // namespace

std::vector<Fetch> combine_update_ops(const std::vector<std::vector<Fetch>>& tower_updates,
                                      UpdateOpsPolicy policy, Site site) {
  check_update_lists(tower_updates, site);
  if (policy == UpdateOpsPolicy::first) return tower_updates.front();
  if (policy == UpdateOpsPolicy::last) return tower_updates.back();
  std::vector<Fetch> updates = in_order(tower_updates);
  const bool replaces = policy == UpdateOpsPolicy::all || policy == UpdateOpsPolicy::merged;
  if (!replaces || tower_updates.size() == 1 || updates.empty()) return updates;
  Graph& graph = updates[0].operation().graph();
  const DefaultGraphGuard here(graph);
  const NameScope scope(graph, "update_averaging", site);
  return policy == UpdateOpsPolicy::all ? parallel::postponed_updates(updates, site)
                                        : parallel::merged_updates(tower_updates, site);
}

UpdateOpsPolicy update_ops_policy(const std::string& name, Site site) {
  std::vector<std::string> known;
  for (const auto& [own, policy] : update_ops_policies()) {
    if (own == name) return policy;
    known.push_back(own);
  }
  throw ValueError(fmt::format("there is no policy '{}' for update ops", name),
                   {.site = site, .hint = fmt::format("known: {}", fmt::join(known, ", "))});
}

const std::vector<std::pair<std::string, UpdateOpsPolicy>>& update_ops_policies() {
  static const std::vector<std::pair<std::string, UpdateOpsPolicy>> all{
      {"first", UpdateOpsPolicy::first},
      {"last", UpdateOpsPolicy::last},
      {"all", UpdateOpsPolicy::all},
      {"in_order", UpdateOpsPolicy::in_order},
      {"merged", UpdateOpsPolicy::merged}};
  return all;
}

}  // namespace towerflow
