// MatMul fused with the sum and relu that follow it: an op for plans, its kernel and its rules.
#include "core/device/cpu/launch.h"
#include "ops/family.h"
#include "ops/fusion.h"
#include "ops/nn/fused_matmul_attrs.h"
#include "ops/onednn/matmul.h"

namespace towerflow::nn {
namespace {

void fused_matmul_shape(InferenceContext& context) {
  const auto& attrs = context.attrs<FusedMatMulAttrs>().product;
  context.add_output(context.dtype(0), Shape{context.shape(0)[attrs.transpose_a ? 1 : 0],
                                             context.shape(1)[attrs.transpose_b ? 0 : 1]});
}

std::unique_ptr<PreparedKernel> fused_matmul_kernel(const KernelRequest& request) {
  const auto& attrs = request.attributes<FusedMatMulAttrs>();
  const Shape& product = request.outputs[0].shape;
  const bool turned = attrs.product.transpose_a;
  const bool adds = request.inputs[2].shape.rank() == 2;
  return sliced_kernel(
      onednn::make_matmul(
          {.rows = product.size(0),
           .inner = request.inputs[0].shape.size(turned ? 0 : 1),
           .columns = product.size(1),
           .transpose_a = turned,
           .transpose_b = attrs.product.transpose_b},
          {.bias = request.inputs[2].shape.rank() == 1, .addend = adds, .relu = attrs.relu}),
      adds ? std::vector<InPlacePair>{{0, 2}} : std::vector<InPlacePair>{});
}

/// Add(MatMul(a, b), bias), where bias is a vector -> _FusedMatMul(a, b, bias)
bool fuse_matmul_bias(PlanGraph& graph, int id) {
  const PlanNode& node = graph.nodes[static_cast<std::size_t>(id)];
  if (!is_float32(graph, node.inputs[0])) return false;
  const PlanNode* product = fusible_producer(graph, node.inputs[0], id, "MatMul");
  if (product == nullptr) return false;
  const Shape& row = graph.spec(node.inputs[1]).shape;
  const Shape& made = graph.spec(node.inputs[0]).shape;
  if (!row.fully_known() || row.rank() != 1 || !made.has_rank() || made[1] != row[0]) return false;
  return graph.replace(id, "_FusedMatMul",
                       FusedMatMulAttrs{product->attrs.as<MatMulAttrs>(), false},
                       {product->inputs[0], product->inputs[1], node.inputs[1]});
}

/// Returns the value behind an Identity that only `reader` reads, which then has to wait for what
/// the Identity waits for; else `value`. The gradients of an op wait for one another this way.
ValueId behind_gate(const PlanGraph& graph, ValueId value, int reader) {
  const PlanNode& gate = graph.node(value);
  const bool fits = gate.op->name == "Identity" && !gate.dead && gate.feed < 0 &&
                    gate.device == graph.nodes[static_cast<std::size_t>(reader)].device &&
                    !gate.is_known(0) && graph.uses(value) == 1 &&
                    can_defer(graph, value.node, reader);
  return fits ? gate.inputs[0] : value;
}

/// Add(MatMul(a, b), c) or Add(c, MatMul(a, b)) of one shape -> _FusedMatMul(a, b, c). The gradient
/// of a loop with respect to a matrix is such a sum over the iterations.
bool fuse_matmul_sum(PlanGraph& graph, int id) {
  PlanNode& node = graph.nodes[static_cast<std::size_t>(id)];
  for (const std::size_t of_product : {0, 1}) {
    const ValueId read = node.inputs[of_product], other = node.inputs[1 - of_product];
    const Shape& shape = graph.spec(read).shape;
    if (!is_float32(graph, read) || !shape.fully_known() || shape != graph.spec(other).shape)
      continue;
    const ValueId made = behind_gate(graph, read, id);
    const PlanNode* product = fusible_producer(graph, made, id, "MatMul");
    if (product == nullptr) continue;
    const std::vector<int> awaited = graph.node(read).control;
    if (!graph.replace(id, "_FusedMatMul",
                       FusedMatMulAttrs{product->attrs.as<MatMulAttrs>(), false},
                       {product->inputs[0], product->inputs[1], other})) {
      return false;
    }
    if (made != read) {
      node.control.insert(node.control.end(), awaited.begin(), awaited.end());
      graph.update_index(id);
    }
    return true;
  }
  return false;
}

/// Relu(_FusedMatMul) -> _FusedMatMul with relu
bool fuse_matmul_relu(PlanGraph& graph, int id) {
  const PlanNode& node = graph.nodes[static_cast<std::size_t>(id)];
  const PlanNode* product = fusible_producer(graph, node.inputs[0], id, "_FusedMatMul");
  if (product == nullptr) return false;
  auto attrs = product->attrs.as<FusedMatMulAttrs>();
  if (attrs.relu) return false;
  attrs.relu = true;
  return graph.replace(id, product->op->name, attrs, product->inputs);
}

}  // namespace

static void register_fused_matmul_ops(OpRegistry& registry) {
  registry.add({.name = "_FusedMatMul",
                .inputs = {"a: T", "b: T", "bias_or_addend: T"},
                .outputs = {"product: T"},
                .attrs = attributes<FusedMatMulAttrs>(),
                .shape = fused_matmul_shape,
                .gradient = NoGradient{"it is created after the gradients, in plans only"},
                .cost = matmul_cost,
                .plan_only = true});
}

static void register_fused_matmul_kernels(KernelTable& table) {
  table.add(
      {.op = "_FusedMatMul", .label = "oneDNN", .accepts = {}, .prepare = fused_matmul_kernel});
}

static void register_fused_matmul_rules(std::vector<RewriteRule>& rules) {
  rules.push_back(
      {"product and bias", "layers", fuse_matmul_bias, {"AddV2", "BiasAdd"}, {"MatMul"}});
  rules.push_back({"product and sum", "layers", fuse_matmul_sum, {"AddV2"}, {"MatMul"}});
  rules.push_back(
      {"product and relu", "layers", fuse_matmul_relu, {"Relu"}, {"MatMul", "AddV2", "BiasAdd"}});
}

}  // namespace towerflow::nn

namespace towerflow {
OpFamily fused_matmul_family() {
  return {.ops = nn::register_fused_matmul_ops,
          .kernels = nn::register_fused_matmul_kernels,
          .rules = nn::register_fused_matmul_rules};
}
}  // namespace towerflow
