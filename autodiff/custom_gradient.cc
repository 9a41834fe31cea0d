#include "autodiff/custom_gradient.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_set>

#include "core/graph/gradient_registry.h"
#include "core/graph/graph.h"
#include "core/graph/op_def.h"
#include "ops/array/identity_n.h"
#include "ops/array/indexed_slices.h"
#include "ops/array/view.h"

namespace towerflow {
namespace {

std::size_t count_of_variables(Graph& graph) {
  const Collections& collections = graph.collections();
  return collections.all(GraphKeys::GLOBAL_VARIABLES).size() +
         collections.all(GraphKeys::LOCAL_VARIABLES).size();
}

/// Returns the trainable variables that ys depend on through differentiable values, without looking
/// beyond xs; sorted by name.
std::vector<Variable> variables_between(const std::vector<Tensor>& xs,
                                        const std::vector<Tensor>& ys) {
  std::unordered_set<const Node*> seen, storage;
  std::vector<const Node*> stack;
  const auto visit = [&](const Tensor& tensor) {
    if (!is_differentiable(tensor.dtype())) return;
    if (std::find(xs.begin(), xs.end(), tensor) != xs.end()) return;
    if (seen.insert(&tensor.node()).second) stack.push_back(&tensor.node());
  };
  for (const Tensor& y : ys) visit(y);
  while (!stack.empty()) {
    const Node* node = stack.back();
    stack.pop_back();
    if (node->op->effect == Effect::variable) storage.insert(node);
    for (const Tensor& input : node->inputs) visit(input);
  }
  std::vector<Variable> variables;
  for (const Variable& variable :
       ys[0].graph().collections().get<Variable>(GraphKeys::GLOBAL_VARIABLES, std::nullopt)) {
    if (variable.trainable() && storage.contains(&variable.op().node())) {
      variables.push_back(variable);
    }
  }
  std::sort(variables.begin(), variables.end(),
            [](const Variable& a, const Variable& b) { return a.name() < b.name(); });
  return variables;
}

/// Returns the gradient rule of the IdentityN over ys, inputs and variables: absent for ys,
/// otherwise the result of the custom gradient.
GradientRule custom_rule(const custom::Result& result, std::vector<Variable> variables, Site site) {
  return [gradient = result.gradient, count = result.ys.size(), variables, site](
             const Operation&, const std::vector<OptionalGradient>& dys) {
    std::vector<Tensor> y_gradients;
    for (std::size_t i = 0; i < count; ++i) {
      // An output of integers receives no gradient.
      y_gradients.push_back(dys[i] ? dense_gradient(dys[i], site) : Tensor());
    }
    std::vector<OptionalGradient> dxs(count), more, variable_gradients;
    if (const auto* plain = std::get_if<CustomGradient>(&gradient)) {
      more = (*plain)(y_gradients);
    } else {
      std::tie(more, variable_gradients) =
          std::get<CustomVariableGradient>(gradient)(y_gradients, variables);
      if (variable_gradients.size() != variables.size()) {
        throw ValueError(fmt::format("Must return gradient for each variable from custom_gradient "
                                     "grad_fn: {} for {} variables",
                                     variable_gradients.size(), variables.size()),
                         {.site = site});
      }
    }
    dxs.insert(dxs.end(), more.begin(), more.end());
    dxs.insert(dxs.end(), variable_gradients.begin(), variable_gradients.end());
    return dxs;
  };
}

}  // namespace

namespace custom {

std::vector<OptionalGradient> as_list(const Tensor& gradient) { return {Gradient(gradient)}; }
std::vector<OptionalGradient> as_list(const std::vector<Tensor>& gradients) {
  return {gradients.begin(), gradients.end()};
}
std::vector<OptionalGradient> as_list(std::vector<OptionalGradient> gradients) { return gradients; }

std::vector<Tensor> all_of(const Tensor& tensor) { return {tensor}; }
std::vector<Tensor> all_of(std::vector<Tensor> tensors) { return tensors; }

}  // namespace custom

std::vector<Tensor> custom::call(const std::function<Result(const std::vector<Tensor>&)>& function,
                                 const std::vector<Operand>& inputs, Site site) {
  std::vector<Tensor> xs;
  for (const Operand& input : inputs) {
    const Tensor* tensor = input.any_tensor();
    Graph& graph = tensor != nullptr ? tensor->graph() : get_default_graph();
    xs.push_back(convert_operand(graph, input, "", std::nullopt));
  }
  Graph& graph = xs.empty() ? get_default_graph() : xs[0].graph();
  const std::size_t before = count_of_variables(graph);
  const Result result = function(xs);
  if (count_of_variables(graph) != before) {
    throw TypeError(
        "A function with a custom gradient must not make variables.",
        {.site = site, .hint = "create them before the call and use them in the function"});
  }
  if (result.ys.empty()) return {};
  for (const Tensor& y : result.ys) {
    if (&y.graph() != &graph) {
      throw ValueError("All custom_gradient outputs should be from the same graph",
                       {.site = site, .node = y.op().name()});
    }
  }
  for (const Tensor& y : result.ys) identity(y, {}, site);  // TensorFlow adds these too
  std::vector<Variable> variables = variables_between(xs, result.ys);
  if (!variables.empty() && !std::holds_alternative<CustomVariableGradient>(result.gradient)) {
    std::vector<std::string> names;
    for (const Variable& variable : variables) names.push_back(variable.name());
    throw TypeError(fmt::format("custom_gradient grad_fn must accept 'variables', since function "
                                "uses variables: {}",
                                fmt::join(names, ", ")),
                    {.site = site,
                     .hint = "pass them as inputs, or take a second parameter "
                             "const std::vector<tf::Variable>&"});
  }
  std::vector<Tensor> all(result.ys);
  all.insert(all.end(), xs.begin(), xs.end());
  all.insert(all.end(), variables.begin(), variables.end());
  auto& own = graph.extension<GraphGradients>().by_name;
  const std::string name = fmt::format("CustomGradient-{}", own.size());
  own.emplace(name, custom_rule(result, variables, site));
  const GradientOverrideScope override(graph, {{"IdentityN", name}});
  std::vector<Tensor> tied = identity_n(all, {}, site);
  tied.resize(result.ys.size());
  return tied;
}

}  // namespace towerflow
