// Rewrites that fuse a convolution with the ops that follow it.
#include "ops/family.h"
#include "ops/fusion.h"
#include "ops/nn/bias_add_attrs.h"
#include "ops/nn/conv2d_attrs.h"

namespace towerflow::nn {
namespace {

/// BiasAdd(Conv2D(x, filter), bias) -> _FusedConv2D(x, filter, bias)
bool fuse_conv2d_bias(PlanGraph& graph, int id) {
  const PlanNode& node = graph.nodes[static_cast<std::size_t>(id)];
  const PlanNode* conv = fusible_producer(graph, node.inputs[0], id, "Conv2D");
  if (conv == nullptr || !is_float32(graph, node.inputs[0])) return false;
  const auto attrs = conv->attrs.as<Conv2DAttrs>();
  if (attrs.format != DataFormat::nhwc || node.attrs.as<BiasAddAttrs>().format != attrs.format)
    return false;
  return graph.replace(id, "_FusedConv2D", FusedConv2DAttrs{attrs, false},
                       {conv->inputs[0], conv->inputs[1], node.inputs[1]});
}

/// Relu(_FusedConv2D) -> _FusedConv2D with relu
bool fuse_conv2d_relu(PlanGraph& graph, int id) {
  const PlanNode& node = graph.nodes[static_cast<std::size_t>(id)];
  const PlanNode* conv = fusible_producer(graph, node.inputs[0], id, "_FusedConv2D");
  if (conv == nullptr) return false;
  auto attrs = conv->attrs.as<FusedConv2DAttrs>();
  if (attrs.relu) return false;
  attrs.relu = true;
  return graph.replace(id, conv->op->name, attrs, conv->inputs);
}

}  // namespace

static void register_conv2d_rules(std::vector<RewriteRule>& rules) {
  rules.push_back({"convolution and bias", "layers", fuse_conv2d_bias, {"BiasAdd"}, {"Conv2D"}});
  rules.push_back(
      {"convolution and relu", "layers", fuse_conv2d_relu, {"Relu"}, {"Conv2D", "BiasAdd"}});
}

}  // namespace towerflow::nn

namespace towerflow {
OpFamily conv2d_rules_family() { return {.rules = nn::register_conv2d_rules}; }
}  // namespace towerflow
