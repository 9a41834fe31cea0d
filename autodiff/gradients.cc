#include "autodiff/gradients.h"

#include <fmt/format.h>

#include "autodiff/aggregate.h"
#include "autodiff/sweep.h"
#include "core/graph/scopes.h"
#include "ops/array/fill.h"
#include "ops/variables/copies.h"

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

/// Returns the gradients of the first tensors of a sweep, each with those of its copies added.
/// `copies` are the copies of each, which follow in `swept`, in this order.
std::vector<OptionalGradient> with_copies(const std::vector<OptionalGradient>& swept,
                                          const std::vector<Tensor>& targets,
                                          const std::vector<std::size_t>& copies,
                                          AggregationMethod method, Site site) {
  std::vector<OptionalGradient> sums;
  std::size_t next = targets.size();
  for (std::size_t i = 0; i < targets.size(); ++i) {
    std::vector<Gradient> parts;
    if (swept[i]) parts.push_back(*swept[i]);
    for (std::size_t k = 0; k < copies[i]; ++k, ++next) {
      if (swept[next]) parts.push_back(*swept[next]);
    }
    sums.emplace_back();
    if (!parts.empty()) {
      sums.back() = aggregate_gradients(parts, targets[i].op().name(), method, site);
    }
  }
  return sums;
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
  add_copies(options.stop_gradients);
  std::vector<Tensor> sources, swept = targets;
  std::vector<std::size_t> copies;  // how many each target has, which follow the targets in `swept`
  for (const Tensor& x : targets) {
    const std::vector<Tensor> more = copies_of(x);
    copies.push_back(more.size());
    swept.insert(swept.end(), more.begin(), more.end());
  }
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
    result = sweep(sources, swept, options, site, loops);
    if (swept.size() > targets.size()) {
      result = with_copies(result, targets, copies, options.aggregation_method, site);
    }
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
