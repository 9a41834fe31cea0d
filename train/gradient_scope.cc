#include "train/gradient_scope.h"

#include <utility>

#include "core/graph/graph.h"

namespace towerflow::train {
namespace {

/// The functions of a graph's open scopes, the outermost first.
struct OpenGradientScopes {
  std::vector<types::GradientFunction> functions;
};

}  // namespace

types::GradientScope::GradientScope(Graph& graph, GradientFunction function) : graph_(graph) {
  graph_.extension<OpenGradientScopes>().functions.push_back(std::move(function));
}

types::GradientScope::~GradientScope() {
  graph_.extension<OpenGradientScopes>().functions.pop_back();
}

GradientScope transform_gradients(GradientFunction function, Site site) {
  if (!function) throw ValueError("transform_gradients needs a function", {.site = site});
  return GradientScope(get_default_graph(), std::move(function));
}

std::vector<GradAndVar> transformed_gradients(std::vector<GradAndVar> grads_and_vars) {
  if (grads_and_vars.empty()) return grads_and_vars;
  const auto& open = grads_and_vars[0].var.graph().extension<OpenGradientScopes>().functions;
  // A function may open scopes of its own.
  const std::vector<GradientFunction> functions(open.rbegin(), open.rend());
  for (const GradientFunction& function : functions) grads_and_vars = function(grads_and_vars);
  return grads_and_vars;
}

}  // namespace towerflow::train
