// Rewrites that fuse the gradients of pooling, of the relu before it and of a bias.
#include "ops/family.h"
#include "ops/fusion.h"
#include "ops/nn/bias_add_attrs.h"
#include "ops/nn/pool_attrs.h"

namespace towerflow::nn {
namespace {

/// ReluGrad(MaxPoolGrad(y, pooled, dy), y) -> _MaxPoolReluGrad(y, dy), where y is the relu's result
bool fuse_relu_grad(PlanGraph& graph, int id) {
  const PlanNode& node = graph.nodes[static_cast<std::size_t>(id)];
  const PlanNode* pool = fusible_producer(graph, node.inputs[0], id, "MaxPoolGrad");
  if (pool == nullptr || !is_float32(graph, node.inputs[0])) return false;
  const auto attrs = pool->attrs.as<MaxPoolAttrs>().pool;
  if (attrs.padding == Padding::explicit_numbers) return false;
  if (attrs.format != DataFormat::nhwc || pool->inputs[0] != node.inputs[1]) return false;
  return graph.replace(id, "_MaxPoolReluGrad", MaxPoolReluGradAttrs{attrs, false},
                       {pool->inputs[0], pool->inputs[2]});
}

/// BiasAddGrad(dx) with dx = _MaxPoolReluGrad(y, dy) -> output 1 of a _MaxPoolReluGrad with channel
/// sums; BiasAddGrad becomes an Identity.
bool fuse_channel_sums(PlanGraph& graph, int id) {
  const PlanNode& node = graph.nodes[static_cast<std::size_t>(id)];
  const PlanNode& pool = graph.node(node.inputs[0]);
  if (pool.dead || pool.op->name != "_MaxPoolReluGrad" || pool.device != node.device) return false;
  auto attrs = pool.attrs.as<MaxPoolReluGradAttrs>();
  if (attrs.channel_sums || node.attrs.as<BiasAddAttrs>().format != DataFormat::nhwc) return false;
  attrs.channel_sums = true;
  const int made = node.inputs[0].node;
  return graph.replace(
      {{made, pool.op->name, attrs, pool.inputs}, {id, "Identity", {}, {{made, 1}}}});
}

}  // namespace

static void register_pool_rules(std::vector<RewriteRule>& rules) {
  rules.push_back(
      {"gradients of pooling and relu", "layers", fuse_relu_grad, {"ReluGrad"}, {"MaxPoolGrad"}});
  rules.push_back({"gradients of pooling, relu and bias",
                   "layers",
                   fuse_channel_sums,
                   {"BiasAddGrad"},
                   {"MaxPoolGrad", "ReluGrad"}});
}

}  // namespace towerflow::nn

namespace towerflow {
OpFamily pool_rules_family() { return {.rules = nn::register_pool_rules}; }
}  // namespace towerflow
