#include "train/gradient_scope.h"

#include <utility>

#include "core/graph/graph.h"

namespace towerflow::train {
namespace {

/// The changes of a graph's open scopes, the outermost first.
struct OpenGradientScopes {
  std::vector<types::GradientChanges> changes;
};

/// Passes pairs through one function of each open scope.
std::vector<GradAndVar> through_scopes(std::vector<GradAndVar> pairs,
                                       GradientFunction GradientChanges::*function) {
  if (pairs.empty()) return pairs;
  const auto& open = pairs[0].var.graph().extension<OpenGradientScopes>().changes;
  // A function may open scopes of its own.
  const std::vector<GradientChanges> changes(open.rbegin(), open.rend());
  for (const GradientChanges& change : changes) {
    if (change.*function) pairs = (change.*function)(pairs);
  }
  return pairs;
}

}  // namespace

types::GradientScope::GradientScope(Graph& graph, GradientChanges changes) : graph_(graph) {
  graph_.extension<OpenGradientScopes>().changes.push_back(std::move(changes));
}

types::GradientScope::~GradientScope() {
  graph_.extension<OpenGradientScopes>().changes.pop_back();
}

GradientScope transform_gradients(GradientFunction function, Site site) {
  if (!function) throw ValueError("transform_gradients needs a function", {.site = site});
  return GradientScope(get_default_graph(), {.applied = std::move(function)});
}

std::vector<GradAndVar> transformed_gradients(std::vector<GradAndVar> grads_and_vars) {
  return through_scopes(std::move(grads_and_vars), &GradientChanges::applied);
}

std::vector<GradAndVar> changed_computed_gradients(std::vector<GradAndVar> grads_and_vars) {
  return through_scopes(std::move(grads_and_vars), &GradientChanges::computed);
}

}  // namespace towerflow::train
