#include "ops/nn/in_top_k.h"

#include <fmt/format.h>

#include <cmath>

#include "core/graph/op_builder.h"
#include "ops/family.h"
#include "ops/nn/kernels.h"
#include "ops/nn/window_args.h"

namespace towerflow::nn {
namespace {

void in_top_k_shape(InferenceContext& context) {
  require_dtype(context, 1, "targets", {DType::int32, DType::int64});
  require_rank(context, 0, 2);
  require_rank(context, 1, 1);
  const Dim rows = context.shape(0).has_rank() ? context.shape(0)[0] : Dim(None);
  const Dim targets = context.shape(1).has_rank() ? context.shape(1)[0] : Dim(None);
  if (rows.known() && targets.known() && rows != targets) {
    fail_with_shapes(context, fmt::format("Dimensions must be equal, but are {} and {}",
                                          rows.size(), targets.size()));
  }
  context.add_output(DType::bool_, Shape{rows.known() ? rows : targets});
}

template <class Index>
bool is_in_top(const float* row, std::int64_t classes, Index target, Index k) {
  if (target < 0 || target >= classes || !std::isfinite(row[target])) return false;
  std::int64_t larger = 0;
  for (std::int64_t i = 0; i < classes && larger < k; ++i) {
    if (!std::isfinite(row[i])) return false;
    if (row[i] > row[target]) ++larger;
  }
  return larger < k;
}

template <class Index>
std::unique_ptr<PreparedKernel> in_top_k_kernel(const KernelRequest& request) {
  const std::int64_t rows = request.inputs[0].shape.size(0);
  const std::int64_t classes = request.inputs[0].shape.size(1);
  if (request.inputs[2].shape.rank() != 0) {
    throw errors::InvalidArgumentError(
        fmt::format("k must be a scalar, but has shape {}", request.inputs[2].shape.text()));
  }
  return rows_kernel(
      rows, classes, [classes](SliceRange range, const void* const* inputs, void* const* outputs) {
        const Index* targets = in<Index>(inputs, 1);
        for (std::int64_t i = range.begin; i < range.end; ++i) {
          out<bool>(outputs, 0)[i] = is_in_top(in<float>(inputs, 0) + i * classes, classes,
                                               targets[i], in<Index>(inputs, 2)[0]);
        }
      });
}

}  // namespace

static void register_in_top_k_ops(OpRegistry& registry) {
  registry.add({.name = "InTopKV2",
                .inputs = {"predictions: float32", "targets: T", "k: T"},
                .outputs = {"precision: bool"},
                .shape = in_top_k_shape,
                .gradient = NoGradient{"the result has dtype bool", false}});
}

static void register_in_top_k_kernels(KernelTable& table) {
  add_kernel(table, "InTopKV2", "reference", 1, {DType::int32}, in_top_k_kernel<std::int32_t>);
  add_kernel(table, "InTopKV2", "reference", 1, {DType::int64}, in_top_k_kernel<std::int64_t>);
}

Tensor in_top_k(const Operand& predictions, const Operand& targets, const Operand& k,
                InTopKOptions options, Site site) {
  Graph& graph = graph_of(predictions, targets);
  const NameScope scope(graph, options.name.empty() ? "in_top_k" : options.name, site);
  OpBuilder builder("InTopKV2", options.name, site, {&predictions, &targets, &k});
  builder.input(predictions, "predictions", DType::float32).index_input(targets, "targets");
  return builder.type("T", builder.tensors()[1].dtype()).input(k, "k", "T").output();
}

}  // namespace towerflow::nn

namespace towerflow {
OpFamily in_top_k_family() {
  return {.ops = nn::register_in_top_k_ops, .kernels = nn::register_in_top_k_kernels};
}
}  // namespace towerflow
