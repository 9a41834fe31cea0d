#include "ops/nn/l2_normalize.h"

#include "core/graph/op_builder.h"
#include "core/graph/scopes.h"
#include "ops/math/binary.h"
#include "ops/math/unary.h"

namespace towerflow::nn {

template <class Unused>
Tensor l2_normalize(const Operand& x, Axis axis, L2NormalizeOptions options, Site site) {
  Graph& graph = graph_of(x);
  const NameScope scope(graph, options.name.empty() ? "l2_normalize" : options.name, site);
  const Tensor value = convert_operand(graph, x, "x", std::nullopt);
  const Tensor squares = square(value, {}, site);
  const Tensor sum = reduce_sum(squares, std::move(axis), {.keepdims = true}, site);
  const Tensor inverse = rsqrt(maximum(sum, options.epsilon, {}, site), {}, site);
  return multiply(value, inverse, {.name = scope.name()}, site);
}
template Tensor l2_normalize<void>(const Operand&, Axis, L2NormalizeOptions, Site);

Tensor l2_normalize(const Operand& x, L2NormalizeOptions options, Site site) {
  return l2_normalize<void>(x, std::nullopt, std::move(options), site);
}

}  // namespace towerflow::nn
