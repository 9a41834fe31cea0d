#include "ops/metrics/metric_parts.h"

#include <fmt/format.h>

#include "core/graph/collections.h"
#include "core/graph/scopes.h"
#include "ops/array/fill.h"
#include "ops/array/rank_size.h"
#include "ops/array/view.h"
#include "ops/control/cond.h"
#include "ops/math/binary.h"
#include "ops/math/squeezable.h"

namespace towerflow::metrics {
Variable metric_variable(const Shape& shape, const std::string& name, Site site, DType dtype) {
  VariableOptions options;
  options.trainable = false;
  options.collections = {{GraphKeys::LOCAL_VARIABLES, GraphKeys::METRIC_VARIABLES}};
  options.synchronization = VariableSynchronization::ON_READ;
  options.aggregation = VariableAggregation::SUM;
  options.name = name;
  return Variable([=] { return zeros(shape, {.dtype = dtype}, site); }, std::move(options), site);
}

VariableScopeGuard open_metric_scope(const std::string& name, const char* otherwise, Site site) {
  if (!name.empty()) return variable_scope(name, {}, site);
  return variable_scope(std::nullopt, {.default_name = otherwise}, site);
}

void check_compatible(const Tensor& a, const Tensor& b, Site site) {
  if (a.shape().compatible(b.shape())) return;
  throw ValueError(
      fmt::format("Shapes {} and {} are incompatible", a.shape().text(), b.shape().text()),
      {.site = site, .hint = "labels and predictions of a metric have the same shape"});
}

std::optional<Tensor> align_weights(const Tensor& values, const std::optional<Operand>& weights,
                                    Site site) {
  if (!weights) return std::nullopt;
  const Tensor given = convert_operand(get_default_graph(), *weights, "", std::nullopt);
  const Shape &a = given.shape(), &b = values.shape();
  if (a.has_rank() && a.rank() == 0) return given;
  const auto squeezed = [&] { return without_last_dimension(given, site); };
  const auto expanded = [&] { return expand_dims(given, {-1}, {}, site); };
  const auto same = [&] { return given; };
  if (a.has_rank() && b.has_rank()) {
    if (a.rank() == b.rank() + 1) return squeezed();
    return b.rank() == a.rank() + 1 ? expanded() : given;
  }
  const Tensor given_rank = rank(given, {}, site);
  const Tensor difference = Operand(given_rank, site) - rank(values, {}, site);
  const auto expanded_if_less = [&] {
    const Tensor has_less = equal(difference, -1, {}, site);
    return cond(has_less, expanded, same, {}, site);
  };
  const auto squeezed_if_more = [&] {
    const Tensor has_more = equal(difference, 1, {}, site);
    if (!may_be_squeezed(a)) return cond(has_more, same, expanded_if_less, {}, site);
    return cond(has_more, squeezed, expanded_if_less, {}, site);
  };
  const Tensor is_scalar = equal(given_rank, 0, {}, site);
  return cond(is_scalar, same, squeezed_if_more, {}, site);
}

AlignedInputs align_inputs(const Operand& labels, const Operand& predictions,
                           const std::optional<Operand>& weights, Site site) {
  AlignedInputs aligned;
  const Tensor given = convert_operand(get_default_graph(), predictions, "", std::nullopt);
  std::tie(aligned.labels, aligned.predictions) =
      remove_squeezable_dimensions(labels, given, 0, site);
  check_compatible(aligned.predictions, aligned.labels, site);
  aligned.weights = align_weights(aligned.predictions, weights, site);
  return aligned;
}

void add_to_metric_collections(const Tensor& tensor,
                               const std::optional<std::vector<std::string>>& collections) {
  if (!collections) return;
  for (const std::string& key : *collections) {
    tensor.graph().collections().add(key, CollectionItem::of(tensor));
  }
}

}  // namespace towerflow::metrics
