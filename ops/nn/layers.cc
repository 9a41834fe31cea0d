#include "ops/nn/layers.h"

#include <limits>

#include "core/graph/op_builder.h"
#include "ops/array/cast.h"
#include "ops/array/concat.h"
#include "ops/array/fill.h"
#include "ops/array/rank_size.h"
#include "ops/array/view.h"
#include "ops/control/cond.h"
#include "ops/math/binary.h"
#include "ops/math/matmul.h"
#include "ops/math/reduce.h"
#include "ops/math/unary.h"
#include "ops/nn/bias_add.h"
#include "ops/nn/relu.h"

namespace towerflow::nn {
namespace {

/// Returns the graph of the first operand that has a tensor, else the default graph.
Graph& layer_graph(std::initializer_list<const Operand*> operands) {
  for (const Operand* operand : operands) {
    if (operand->any_tensor() != nullptr) return graph_of(*operand);
  }
  return get_default_graph();
}

/// A product and its biases, converted in the open scope.
struct LayerProduct {
  Tensor product, biases;
  LayerProduct(Graph& graph, const Operand& x, const Operand& weights, const Operand& bias,
               Site site) {
    const Tensor rows = convert_operand(graph, x, "x", std::nullopt);
    const Tensor matrix = convert_operand(graph, weights, "weights", std::nullopt);
    biases = convert_operand(graph, bias, "biases", std::nullopt);
    product = matmul(rows, matrix, {}, site);
  }
};

}  // namespace

Tensor xw_plus_b(const Operand& x, const Operand& weights, const Operand& biases,
                 LayerOptions options, Site site) {
  Graph& graph = layer_graph({&x, &weights, &biases});
  const NameScope scope(graph, options.name.empty() ? "xw_plus_b" : options.name, site);
  const LayerProduct layer(graph, x, weights, biases, site);
  return bias_add(layer.product, layer.biases, {.name = scope.name()}, site);
}

Tensor relu_layer(const Operand& x, const Operand& weights, const Operand& biases,
                  LayerOptions options, Site site) {
  Graph& graph = layer_graph({&x, &weights, &biases});
  const NameScope scope(graph, options.name.empty() ? "relu_layer" : options.name, site);
  const LayerProduct layer(graph, x, weights, biases, site);
  return relu(bias_add(layer.product, layer.biases, {}, site), {.name = scope.name()}, site);
}

Tensor crelu(const Operand& features, CReluOptions options, Site site) {
  Graph& graph = graph_of(features);
  const NameScope scope(graph, options.name.empty() ? "CRelu" : options.name, site);
  const Operand x(convert_operand(graph, features, "features", std::nullopt), site);
  const Operand minus(-x, site);
  const Tensor both = concat({x, minus}, options.axis, {.name = scope.name()}, site);
  return relu(both, {}, site);
}

Tensor zero_fraction(const Operand& value, ZeroFractionOptions options, Site site) {
  Graph& graph = graph_of(value);
  const NameScope scope(graph, options.name.empty() ? "zero_fraction" : options.name, site);
  const Tensor x = convert_operand(graph, value, "value", std::nullopt);
  const Tensor all = size(x, {.out_type = DType::int64}, site);
  const auto count_present = [&](DType dtype) {
    const NameScope counting(graph, "count_nonzero", site);
    const Tensor zero = zeros(Shape{}, {.dtype = x.dtype()}, site);
    const Tensor each = cast(not_equal(x, zero, {}, site), dtype, {}, site);
    return reduce_sum(each, {.name = "nonzero_count"}, site);
  };
  const Tensor is_small = less_equal(all, std::numeric_limits<std::int32_t>::max(), {}, site);
  const Tensor present = cond(
      is_small, [&] { return cast(count_present(DType::int32), DType::int64, {}, site); },
      [&] { return count_present(DType::int64); }, {}, site);
  Tensor fraction;
  {
    const NameScope dividing(graph, "counts_to_fraction", site);
    const Tensor zeros_counted = Operand(all, site) - present;
    const Tensor part = cast(zeros_counted, DType::float32, {}, site);
    const Tensor whole = cast(all, DType::float32, {}, site);
    fraction = Operand(part, site) / Operand(whole, site);
  }
  return identity(fraction, {.name = "fraction"}, site);
}

}  // namespace towerflow::nn
