#include "core/graph/rewrite.h"

#include <fmt/format.h>

#include <algorithm>
#include <mutex>

namespace towerflow {
namespace {

struct Rules {
  std::mutex mutex;
  std::vector<RewriteRule> all;
};

Rules& known_rules() {
  static Rules* rules = [] {
    auto* made = new Rules;
    register_rewrite_rules(made->all);
    return made;
  }();
  return *rules;
}

}  // namespace

std::vector<RewriteRule> rewrite_rules() {
  Rules& rules = known_rules();
  const std::lock_guard lock(rules.mutex);
  return rules.all;
}

void add_rewrite_rule(RewriteRule rule) {
  if (rule.name.empty()) {
    throw ValueError("a rewrite rule needs a name", {.hint = "plan reports count rules by name"});
  }
  if (rule.kind.empty()) {
    throw ValueError(fmt::format("rewrite rule '{}' needs a kind", rule.name),
                     {.hint = "name an existing kind, or a new one"});
  }
  if (!rule.apply) {
    throw ValueError(fmt::format("rewrite rule '{}' needs an `apply` function", rule.name));
  }
  Rules& rules = known_rules();
  const std::lock_guard lock(rules.mutex);
  const bool taken = std::any_of(rules.all.begin(), rules.all.end(),
                                 [&](const RewriteRule& known) { return known.name == rule.name; });
  if (taken) throw ValueError(fmt::format("rewrite rule '{}' is registered already", rule.name));
  rules.all.push_back(std::move(rule));
}

}  // namespace towerflow
