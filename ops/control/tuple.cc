#include "ops/control/tuple.h"

#include "core/graph/error.h"
#include "core/graph/scopes.h"
#include "ops/array/view.h"
#include "ops/control/group.h"

namespace towerflow {

Tensor with_dependencies(const std::vector<Operation>& dependencies, const Tensor& output,
                         WithDependenciesOptions options, Site site) {
  const std::string name = options.name.empty() ? "control_dependency" : options.name;
  const NameScope scope(output.graph(), name, site);
  const ColocationScope beside = colocate_with(output.op());
  const ControlDependencies after = control_dependencies(dependencies);
  return identity(output, {.name = scope.name()}, site);
}

std::vector<OptionalGradient> tuple(const std::vector<OptionalGradient>& gradients,
                                    TupleOptions options, Site site) {
  std::vector<Operation> gate;
  for (const OptionalGradient& gradient : gradients) {
    if (gradient) gate.push_back(gradient->op());
  }
  Graph& graph = gate.empty() ? get_default_graph() : gate[0].graph();
  const NameScope scope(graph, options.name.empty() ? "tuple" : options.name, site);
  if (gate.empty()) {
    throw ValueError("'tensors' must have at least one Tensor, all are absent.", {.site = site});
  }
  gate.insert(gate.end(), options.control_inputs.begin(), options.control_inputs.end());
  const Operation all = group(gate, {}, site);
  std::vector<OptionalGradient> result;
  for (const OptionalGradient& gradient : gradients) {
    if (!gradient) {
      result.push_back(gradient);
      continue;
    }
    result.push_back(
        gradient->with_values(with_dependencies({all}, gradient->representative(), {}, site)));
  }
  return result;
}

std::vector<std::optional<Tensor>> tuple(const std::vector<std::optional<Tensor>>& tensors,
                                         TupleOptions options, Site site) {
  std::vector<OptionalGradient> wrapped;
  for (const std::optional<Tensor>& tensor : tensors) {
    wrapped.push_back(tensor ? OptionalGradient(*tensor) : std::nullopt);
  }
  std::vector<std::optional<Tensor>> result;
  for (const OptionalGradient& gated : tuple(wrapped, std::move(options), site)) {
    result.push_back(gated ? std::optional(gated->dense()) : std::nullopt);
  }
  return result;
}

std::vector<Tensor> tuple(const std::vector<Tensor>& tensors, TupleOptions options, Site site) {
  std::vector<OptionalGradient> wrapped(tensors.begin(), tensors.end());
  std::vector<Tensor> result;
  for (const OptionalGradient& gated : tuple(wrapped, std::move(options), site)) {
    result.push_back(gated->dense());
  }
  return result;
}

}  // namespace towerflow
