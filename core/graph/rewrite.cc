#include "core/graph/rewrite.h"

namespace towerflow {

std::vector<RewriteRule>& rewrite_rules() {
  static std::vector<RewriteRule>* rules = [] {
    auto* made = new std::vector<RewriteRule>;
    register_rewrite_rules(*made);
    return made;
  }();
  return *rules;
}

}  // namespace towerflow
