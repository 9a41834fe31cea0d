#include "parallel/lockstep.h"

#include <fmt/format.h>

#include "core/graph/scopes.h"
#include "ops/variables/variable_scope.h"

namespace towerflow::parallel {

Lockstep::Lockstep(LockstepOptions options, Site site) : options_(std::move(options)) {
  if (options_.num_towers < 1) {
    throw ValueError(fmt::format("num_towers must be at least 1, got {}", options_.num_towers),
                     {.site = site});
  }
  // Opened once, so that the names are unique; each part of the model opens them again.
  for (int tower = 0; tower < options_.num_towers; ++tower) {
    scopes_.push_back(name_scope(fmt::format("{}_{}", options_.name, tower), {}, site));
  }
}

std::vector<Tensor> Lockstep::each(const std::function<Tensor(int tower)>& build, Site site) const {
  std::vector<Tensor> made;
  for (int tower = 0; tower < options_.num_towers; ++tower) {
    const Reuse reuse = tower > 0 ? Reuse(true) : Reuse(std::nullopt);
    const auto vars =
        variable_scope(get_variable_scope(), {.reuse = reuse, .auxiliary_name_scope = false}, site);
    const auto on =
        device(options_.device ? options_.device(tower) : fmt::format("/gpu:{}", tower), site);
    const auto scope = name_scope(scopes_[static_cast<std::size_t>(tower)], {}, site);
    made.push_back(build(tower));
  }
  return made;
}

}  // namespace towerflow::parallel
