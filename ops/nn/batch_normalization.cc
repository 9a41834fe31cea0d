#include "ops/nn/batch_normalization.h"

#include "core/graph/graph.h"
#include "core/graph/op_builder.h"
#include "core/graph/scopes.h"
#include "ops/array/cast.h"
#include "ops/array/view.h"
#include "ops/math/binary.h"
#include "ops/math/reduce.h"
#include "ops/math/unary.h"

namespace towerflow::nn {
namespace {

Operand with_site(const Tensor& tensor, Site site) { return Operand(tensor, site); }

}  // namespace

Moments moments(const Operand& x, const std::vector<int>& axes, MomentsOptions options, Site site) {
  const bool keep = keeps_dims(options.keepdims, options.keep_dims, site);
  const NameScope scope(graph_of(x), options.name.empty() ? "moments" : options.name, site);
  Moments found;
  found.mean = reduce_mean(x, axes, {.keepdims = true, .name = "mean"}, site);
  const Tensor fixed = stop_gradient(found.mean, {}, site);
  const Tensor distance = squared_difference(x, fixed, {}, site);
  found.variance = reduce_mean(distance, axes, {.keepdims = true, .name = "variance"}, site);
  if (!keep) {
    found.mean = squeeze(found.mean, {.axis = axes}, site);
    found.variance = squeeze(found.variance, {.axis = axes}, site);
  }
  return found;
}

Tensor batch_normalization(const Operand& x, const Operand& mean, const Operand& variance,
                           const std::optional<Operand>& offset,
                           const std::optional<Operand>& scale, const Operand& variance_epsilon,
                           BatchNormalizationOptions options, Site site) {
  const NameScope scope(graph_of(x), options.name.empty() ? "batchnorm" : options.name, site);
  // The expressions are in the order in which TensorFlow adds the nodes.
  Tensor inverse = rsqrt(variance + variance_epsilon, {}, site);
  if (scale) inverse = with_site(inverse, site) * *scale;
  const Tensor scaled = x * with_site(inverse, site);
  const Operand shift = offset ? mean : with_site(-mean, site);
  const Tensor moved = shift * with_site(inverse, site);
  return with_site(scaled, site) +
         with_site(offset ? *offset - with_site(moved, site) : moved, site);
}

}  // namespace towerflow::nn
