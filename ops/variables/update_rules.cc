// Rewrites of averaging towers' gradients and applying them.
#include <optional>
#include <vector>

#include "ops/fusion.h"
#include "ops/math/reduce_ops.h"
#include "ops/variables/mean_update.h"

namespace towerflow {
namespace {

/// Whether `value` is known and holds one integer, 0.
bool is_zero_axis(const PlanGraph& graph, ValueId value) {
  const PlanNode& node = graph.node(value);
  if (!node.is_known(static_cast<std::size_t>(value.output))) return false;
  const Array& axis = node.values[static_cast<std::size_t>(value.output)];
  if (axis.elements() != 1) return false;
  return axis.dtype() == DType::int32
             ? axis.data<std::int32_t>()[0] == 0
             : axis.dtype() == DType::int64 && axis.data<std::int64_t>()[0] == 0;
}

/// The tensor that `value` is after an ExpandDims of axis 0 that node `reader` may do without.
std::optional<ValueId> before_expand(const PlanGraph& graph, ValueId value, int reader) {
  const PlanNode& expand = graph.node(value);
  const bool fits = !expand.dead && expand.op->name == "ExpandDims" && !expand.inputs.empty() &&
                    is_zero_axis(graph, expand.inputs[1]) && can_wait(graph, value.node, reader);
  if (!fits) return std::nullopt;
  return expand.inputs[0];
}

/// The tensors that `value` is a ConcatV2 of along axis 0, made for node `reader` alone; a concat
/// of one tensor is an Identity.
std::vector<ValueId> parts_of(const PlanGraph& graph, ValueId value, int reader) {
  if (const PlanNode* one = only_for(graph, value, reader, "Identity")) return {one->inputs[0]};
  const PlanNode* concat = only_for(graph, value, reader, "ConcatV2");
  if (concat == nullptr || !is_zero_axis(graph, concat->inputs.back())) return {};
  return {concat->inputs.begin(), concat->inputs.end() - 1};
}

/// Mean(ConcatV2(ExpandDims(g, 0).., 0), 0) -> _MeanOfN(g..)
bool fuse_mean(PlanGraph& graph, int id) {
  PlanNode& node = graph.nodes[static_cast<std::size_t>(id)];
  if (node.op->name != "Mean" || node.attrs.as<ReduceAttrs>().keep_dims) return false;
  const DType dtype = graph.spec(node.inputs[0]).dtype;
  if (dtype != DType::float32 && dtype != DType::float64) return false;
  if (!is_zero_axis(graph, node.inputs[1])) return false;
  std::vector<ValueId> gradients;
  for (const ValueId part : parts_of(graph, node.inputs[0], id)) {
    const auto gradient = before_expand(graph, part, id);
    if (!gradient) return false;
    const Shape& shape = graph.spec(*gradient).shape;
    const bool same = gradients.empty() || shape == graph.spec(gradients[0]).shape;
    if (!shape.fully_known() || !same) return false;
    gradients.push_back(*gradient);
  }
  if (gradients.empty()) return false;
  node.op = &OpRegistry::global().get("_MeanOfN");
  node.attrs = {};
  node.inputs = std::move(gradients);
  return true;
}

/// An Apply op whose gradient is a mean -> one pass over mean and update. `kept` are the inputs
/// that stay, in their new order; the gradients come after them.
bool fuse_apply(PlanGraph& graph, int id, const char* from, const char* to, std::size_t gradient,
                std::initializer_list<std::size_t> kept) {
  PlanNode& node = graph.nodes[static_cast<std::size_t>(id)];
  if (node.op->name != from) return false;
  const PlanNode* mean = only_for(graph, node.inputs[gradient], id, "_MeanOfN");
  if (mean == nullptr) return false;
  std::vector<ValueId> inputs;
  for (const std::size_t i : kept) inputs.push_back(node.inputs[i]);
  inputs.insert(inputs.end(), mean->inputs.begin(), mean->inputs.end());
  node.op = &OpRegistry::global().get(to);
  node.inputs = std::move(inputs);
  return true;
}

}  // namespace

void register_mean_update_rules(std::vector<RewriteRule>& rules) {
  rules.push_back({"mean of towers", RewriteKind::update, fuse_mean});
  rules.push_back({"mean and gradient descent", RewriteKind::update, [](PlanGraph& graph, int id) {
                     return fuse_apply(graph, id, "ApplyGradientDescent",
                                       "_MeanApplyGradientDescent", 2, {0, 1});
                   }});
  rules.push_back(
      {"mean and momentum", RewriteKind::update, [](PlanGraph& graph, int id) {
         return fuse_apply(graph, id, "ApplyMomentum", "_MeanApplyMomentum", 3, {0, 1, 2, 4});
       }});
}

}  // namespace towerflow
