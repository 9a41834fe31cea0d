#pragma once

#include <functional>
#include <vector>

#include "train/optimizer.h"

namespace towerflow::train::types {

/// Returns the gradients to apply instead of those given to `apply_gradients`: clipped, scaled,
/// averaged with those of other processes.
using GradientFunction = std::function<std::vector<GradAndVar>(const std::vector<GradAndVar>&)>;

/// While it exists, `apply_gradients` in its graph applies what a function returns.
class [[nodiscard]] GradientScope {
 public:
  GradientScope(Graph& graph, GradientFunction function);
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

/// Returns `grads_and_vars` after the functions of the open scopes.
std::vector<GradAndVar> transformed_gradients(std::vector<GradAndVar> grads_and_vars);

}  // namespace towerflow::train
