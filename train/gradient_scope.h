#pragma once

#include <functional>
#include <vector>

#include "train/optimizer.h"

namespace towerflow::train::types {

/// Returns the gradients to use instead of those given: clipped, scaled, averaged with those of
/// other processes.
using GradientFunction = std::function<std::vector<GradAndVar>(const std::vector<GradAndVar>&)>;

/// What a scope changes about the gradients of its graph.
struct GradientChanges {
  GradientFunction applied{};   ///< of the gradients given to `apply_gradients`
  GradientFunction computed{};  ///< of those that `compute_gradients` would return
};

/// While it exists, the optimizers of its graph compute and apply gradients with these changes.
class [[nodiscard]] GradientScope {
 public:
  GradientScope(Graph& graph, GradientChanges changes);
  ~GradientScope();
  GradientScope(const GradientScope&) = delete;
  GradientScope& operator=(const GradientScope&) = delete;

 private:
  Graph& graph_;
};

}  // namespace towerflow::train::types

namespace towerflow::train {

/// Opens a scope of the default graph in which the gradients of every `apply_gradients` first pass
/// through `function`, for programs whose optimizers are out of reach. Of scopes within scopes, the
/// inner one's function is called first. The function adds its nodes outside the optimizer's name
/// scope; a variable that it leaves out is not updated.
///
/// errors   ValueError: no function
GradientScope transform_gradients(GradientFunction function, Site site = Site::current());

/// Returns `grads_and_vars` after the `applied` functions of the open scopes.
std::vector<GradAndVar> transformed_gradients(std::vector<GradAndVar> grads_and_vars);
/// Returns `grads_and_vars` after the `computed` functions of the open scopes.
std::vector<GradAndVar> changed_computed_gradients(std::vector<GradAndVar> grads_and_vars);

}  // namespace towerflow::train
