#include "autodiff/gradients.h"

#include <fmt/format.h>

#include "autodiff/sweep.h"
#include "core/graph/scopes.h"
#include "ops/array/fill.h"

namespace towerflow {
namespace {

/// Returns the graph of all tensors of a call. Throws ValueError if they are in several graphs.
Graph& common_graph(const OperandList& ys, const std::vector<Tensor>& xs,
                    const GradientsOptions& options, Site site) {
  std::vector<Tensor> all;
  for (const Operand& y : ys.items()) {
    if (y.any_tensor() != nullptr) all.push_back(*y.any_tensor());
  }
  all.insert(all.end(), xs.begin(), xs.end());
  for (const GradientTarget& stop : options.stop_gradients) all.push_back(stop.tensor());
  for (const OptionalGradient& grad_y : options.grad_ys) {
    if (grad_y) all.push_back(grad_y->representative());
  }
  for (const Tensor& tensor : all) {
    if (&tensor.graph() != &all[0].graph()) {
      throw ValueError(
          fmt::format("{} must be from the same graph as {}", tensor.name(), all[0].name()),
          {.site = site,
           .node = tensor.op().name(),
           .hint = "build the whole program under one graph.as_default()"});
    }
  }
  return all.empty() ? get_default_graph() : all[0].graph();
}

/// Converts the `index`th y, from which gradients start, to a tensor.
Tensor convert_y(Graph& graph, const Operand& y, std::size_t index) {
  if (y.tensor() != nullptr) return *y.tensor();
  if (y.slices() != nullptr)
    y.slices()->throw_slices("which gradients does not accept as ys", "", y.site());
  return convert_operand(graph, y, fmt::format("y_{}", index), std::nullopt);
}

}  // namespace

GradientTarget::GradientTarget(const PresentGradient& gradient)
    : tensor_(gradient.gradient().representative()) {
  if (!gradient.gradient().is_dense()) slices_ = std::make_shared<const PresentGradient>(gradient);
}

const Tensor& GradientTarget::differentiable() const {
  if (slices_ == nullptr) return tensor_;
  slices_->gradient().throw_slices("which gradients does not accept as xs", "", slices_->site());
}

std::vector<OptionalGradient> gradients(const OperandList& ys, std::span<const GradientTarget> xs,
                                        GradientsOptions options, Site site) {
  std::vector<Tensor> targets;
  for (const GradientTarget& x : xs) targets.push_back(x.differentiable());
  Graph& graph = common_graph(ys, targets, options, site);
  std::vector<Tensor> sources;
  std::vector<OptionalGradient> result;
  const std::string tower = graph.get_name_scope();
  const RoleScope role(graph, NodeRole::gradient);
  std::unique_ptr<LoopGradients> loops;
  {
    const NameScope scope(graph, options.name.empty() ? "gradients" : options.name, site);
    for (const Operand& y : ys.items()) sources.push_back(convert_y(graph, y, sources.size()));
    if (!options.grad_ys.empty() && options.grad_ys.size() != ys.size()) {
      throw ValueError(fmt::format("Length mismatch. Passed {} grad_ys for {} ys",
                                   options.grad_ys.size(), ys.size()),
                       {.site = site});
    }
    result = sweep(sources, targets, options, site, loops);
  }
  if (loops != nullptr) loops->finish();
  if (options.unconnected_gradients == UnconnectedGradients::zero) {
    // Outside the scope, as in TensorFlow: "zeros_like".
    for (std::size_t i = 0; i < result.size(); ++i) {
      if (!result[i]) result[i] = zeros_like(targets[i], {}, site);
    }
  }
  if (sources.empty()) return result;
  const auto origins = std::make_shared<std::vector<GradientOrigin>>();
  for (const Tensor& x : targets) origins->push_back({sources[0], x, tower, site});
  for (std::size_t i = 0; i < result.size(); ++i) {
    result[i] = result[i].with_origin({origins, &(*origins)[i]});
  }
  return result;
}

}  // namespace towerflow
