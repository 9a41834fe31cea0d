#include "ops/nn/dropout.h"

#include <fmt/format.h>

#include "core/graph/graph.h"
#include "core/graph/op_builder.h"
#include "ops/array/select.h"
#include "ops/array/shape_of.h"
#include "ops/math/binary.h"
#include "ops/random/random_ops.h"
#include "ops/random/seed.h"

namespace towerflow::nn {
namespace {

/// Returns 1 - keep_prob if keep_prob is a number, not a tensor.
std::optional<double> rate_of(const ScalarOperand& keep_prob) {
  if (keep_prob.any_tensor() != nullptr) return std::nullopt;
  const Array value = keep_prob.array() != nullptr
                          ? cast_elements(*keep_prob.array(), DType::float64)
                          : to_array(*keep_prob.nested(), DType::float64);
  return value.elements() == 1 ? std::optional(1.0 - value.data<double>()[0]) : std::nullopt;
}

void check_rate(double rate, Site site) {
  if (rate >= 0.0 && rate < 1.0) return;
  throw ValueError(fmt::format("`rate` must be a scalar tensor or a float in the range [0, 1). "
                               "Received: rate={}",
                               rate),
                   {.site = site, .op = "dropout", .hint = "keep_prob is in (0, 1]"});
}

Tensor rate_tensor(const ScalarOperand& keep_prob, Site site) {
  try {
    return Operand(1.0, site) - keep_prob;
  } catch (const TypeError&) {
    throw ValueError("`keep_prob` must be a floating point number or Tensor.",
                     {.site = site, .op = "dropout"});
  }
}

/// Computes x / (1 - rate) with TensorFlow's nodes.
Tensor scaled_by_rate(const Tensor& x, const Tensor& rate, Site site) {
  if (rate.shape().has_rank() && rate.shape().rank() != 0) {
    throw ValueError(fmt::format("Shape {} must have rank 0", rate.shape().text()),
                     {.site = site, .op = "dropout"});
  }
  if (rate.dtype() != x.dtype()) {
    throw ValueError(fmt::format("`x.dtype` is {}, `keep_prob.dtype` is {}: they must be the same",
                                 dtype_name(x.dtype()), dtype_name(rate.dtype())),
                     {.site = site, .op = "dropout"});
  }
  const Tensor one = convert_operand(x.graph(), Operand(1, site), "Const", x.dtype());
  const Tensor kept = subtract(one, rate, {}, site);
  return x.graph()
      .add({.op = "RealDiv", .name = "RealDiv", .inputs = {x, kept}, .site = site})
      .output(0);
}

}  // namespace

Tensor dropout(const Operand& x, const ScalarOperand& keep_prob, DropoutOptions options,
               Site site) {
  Graph& graph = graph_of(x, keep_prob);
  const std::optional<double> number = rate_of(keep_prob);
  std::optional<Tensor> rate;
  if (!number) rate = rate_tensor(keep_prob, site);  // outside the scope, as in TensorFlow
  const NameScope scope(graph, options.name.empty() ? "dropout" : options.name, site);
  if (number) check_rate(*number, site);
  const Tensor value = convert_operand(graph, x, "x", std::nullopt);
  if (!is_floating(value.dtype())) {
    throw ValueError(fmt::format("`x.dtype` must be a floating point tensor as `x` will be scaled. "
                                 "Received: x_dtype={}",
                                 dtype_name(value.dtype())),
                     {.site = site, .op = "dropout"});
  }
  if (number && *number == 0.0) {  // draws nothing, but uses a seed, so that later ops keep theirs
    random::get_seed(graph.seed, options.seed, graph.next_op_seed);
    return value;
  }
  Tensor scaled = value;
  if (number) {
    const Operand factor(1.0 / (1.0 - *number), site);
    scaled = multiply(value, convert_operand(graph, factor, "Const", value.dtype()), {}, site);
  } else {
    scaled = scaled_by_rate(value, *rate, site);
  }
  const Operand sizes =
      options.noise_shape ? *options.noise_shape : Operand(shape(value, {}, site), site);
  const Tensor drawn = random_uniform(sizes, {.dtype = value.dtype(), .seed = options.seed}, site);
  const Tensor kept =
      greater_equal(drawn, rate ? Operand(*rate, site) : Operand(*number, site), {}, site);
  const Tensor zero = convert_operand(graph, Operand(0, site), "Const", value.dtype());
  Tensor result = where_v2(kept, scaled, zero, {}, site);
  result.set_shape(value.shape(), site);
  return result;
}

}  // namespace towerflow::nn
