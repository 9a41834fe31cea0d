#include "ops/nn/count_losses.h"

#include <fmt/format.h>

#include "core/graph/op_builder.h"
#include "ops/array/constant.h"
#include "ops/array/fill.h"
#include "ops/array/select.h"
#include "ops/math/binary.h"
#include "ops/math/unary.h"
#include "ops/nn/relu.h"

namespace towerflow::nn {
namespace {

void check_equal_shapes(const Tensor& first, const Tensor& second, const char* names, Site site) {
  if (first.shape().compatible(second.shape())) return;
  throw ValueError(fmt::format("{} must have the same shape, received ({} vs {}).", names,
                               first.shape().text(), second.shape().text()),
                   {.site = site});
}

/// log(targets!) after Stirling, and 0 for targets from 0 to 1.
Tensor stirling(const Operand& targets, Site site) {
  const Tensor& counts = *targets.tensor();
  const Operand half(constant(0.5, {.dtype = counts.dtype()}, site), site);
  const Operand two_pi(constant(6.283185307179586, {.dtype = counts.dtype()}, site), site);
  const Operand entropy(targets * Operand(log(counts, {}, site), site), site);
  const Operand difference(entropy - targets, site);
  const Operand width(log(two_pi * targets, {}, site), site);
  const Operand correction(half * width, site);
  const Tensor whole = difference + correction;
  const Tensor zero = zeros_like(counts, {}, site);
  const Tensor one = ones_like(counts, {}, site);
  const Tensor above = targets >= Operand(zero, site);
  const Tensor below = targets <= Operand(one, site);
  return where(logical_and(above, below, {}, site), zero, whole, {}, site);
}

/// pos_weight - 1, of a number without a node.
Operand less_one(const Operand& pos_weight, Site site) {
  if (pos_weight.nested() != nullptr) {
    const Nested::Value& number = pos_weight.nested()->value();
    if (const auto* real = std::get_if<double>(&number)) return Operand(*real - 1, site);
    if (const auto* whole = std::get_if<std::int64_t>(&number)) return Operand(*whole - 1, site);
  }
  return Operand(pos_weight.at(site) - Operand(1, site), site);
}

}  // namespace

Tensor log_poisson_loss(const Operand& targets, const Operand& log_input,
                        LogPoissonLossOptions options, Site site) {
  Graph& graph = graph_of(log_input, targets);
  const NameScope scope(graph, options.name.empty() ? "log_poisson_loss" : options.name, site);
  const Operand logs(convert_operand(graph, log_input, "log_input", std::nullopt), site);
  const Operand counts(convert_operand(graph, targets, "targets", std::nullopt), site);
  check_equal_shapes(*logs.tensor(), *counts.tensor(), "`log_input` and `targets`", site);
  const Operand means(exp(logs, {}, site), site);
  const Operand products(logs * counts, site);
  const Tensor loss = means - products;
  if (!options.compute_full_loss) return loss;
  const Operand more(stirling(counts, site), site);
  return Operand(loss, site) + more;
}

Tensor weighted_cross_entropy_with_logits(const Operand& labels, const Operand& logits,
                                          const Operand& pos_weight,
                                          WeightedCrossEntropyOptions options, Site site) {
  Graph& graph = graph_of(logits, labels);
  const NameScope scope(graph, options.name.empty() ? "logistic_loss" : options.name, site);
  const Operand x(convert_operand(graph, logits, "logits", std::nullopt), site);
  const Operand truth(convert_operand(graph, labels, "labels", std::nullopt), site);
  check_equal_shapes(*x.tensor(), *truth.tensor(), "`logits` and `labels`", site);
  const Operand one(1, site);
  const Operand extra(less_one(pos_weight, site) * truth, site);
  const Operand weight(one + extra, site);
  const Operand others(one - truth, site);
  const Tensor linear = others * x;
  const Operand size(abs(x, {}, site), site);
  const Operand softness(log1p(exp(-size, {}, site), {}, site), site);
  const Operand hinge(relu(-x, {}, site), site);
  const Operand rest(softness + hinge, site);
  const Tensor weighted = weight * rest;
  return add(linear, weighted, {.name = scope.name()}, site);
}

}  // namespace towerflow::nn
