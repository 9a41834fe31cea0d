#include "ops/nn/sigmoid_cross_entropy.h"

#include <fmt/format.h>

#include "core/graph/graph.h"
#include "core/graph/op_builder.h"
#include "core/graph/scopes.h"
#include "ops/array/fill.h"
#include "ops/array/operands.h"
#include "ops/array/select.h"
#include "ops/math/binary.h"
#include "ops/math/unary.h"

namespace towerflow::nn {

Tensor sigmoid_cross_entropy_with_logits(SigmoidCrossEntropyOptions options, Site site) {
  if (is_missing(options.labels) || is_missing(options.logits)) {
    throw ValueError("Both `labels` and `logits` must be provided.",
                     {.site = site, .op = "sigmoid_cross_entropy_with_logits"});
  }
  Graph& graph = graph_of(options.logits, options.labels);
  const NameScope scope(graph, options.name.empty() ? "logistic_loss" : options.name, site);
  const Tensor logits = convert_operand(graph, options.logits, "logits", std::nullopt);
  const Tensor labels = convert_operand(graph, options.labels, "labels", std::nullopt);
  if (!labels.shape().compatible(logits.shape())) {
    throw ValueError(fmt::format("`logits` and `labels` must have the same shape, received ({} vs "
                                 "{}).",
                                 logits.shape().text(), labels.shape().text()),
                     {.site = site, .op = "sigmoid_cross_entropy_with_logits"});
  }
  const Tensor zeros = zeros_like(logits, {}, site);
  const Tensor positive = Operand(logits, site) >= zeros;
  const Tensor above = where(positive, logits, zeros, {}, site);
  const Tensor negated = -Operand(logits, site);
  const Tensor negative_size = where(positive, negated, logits, {}, site);
  const Tensor product = Operand(logits, site) * labels;
  const Tensor linear = Operand(above, site) - product;
  const Tensor rest = log1p(exp(negative_size, {}, site), {}, site);
  return add(linear, rest, {.name = scope.name()}, site);
}

}  // namespace towerflow::nn
