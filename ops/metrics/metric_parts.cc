#include "ops/metrics/metric_parts.h"

#include <fmt/format.h>

#include "core/graph/collections.h"
#include "core/graph/scopes.h"
#include "ops/array/fill.h"
#include "ops/array/view.h"

namespace towerflow::metrics {
namespace {

bool last_may_be_one(const Shape& shape) {
  const Dim& last = shape[shape.rank() - 1];
  return !last.known() || last.size() == 1;
}

[[noreturn]] void fail_unknown_rank(const Shape& a, const Shape& b, Site site) {
  throw errors::UnimplementedError(
      fmt::format("a metric needs known ranks, got {} and {}", a.text(), b.text()),
      {.site = site, .hint = "set_shape sets what the graph cannot infer"});
}

}  // namespace

Variable metric_variable(const Shape& shape, const std::string& name, Site site) {
  VariableOptions options;
  options.trainable = false;
  options.collections = {{GraphKeys::LOCAL_VARIABLES, GraphKeys::METRIC_VARIABLES}};
  options.synchronization = VariableSynchronization::ON_READ;
  options.aggregation = VariableAggregation::SUM;
  options.name = name;
  return Variable([=] { return zeros(shape, {}, site); }, std::move(options), site);
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

std::pair<Tensor, Tensor> remove_squeezable(const Operand& labels, const Operand& predictions,
                                            Site site) {
  const NameScope scope(get_default_graph(), "remove_squeezable_dimensions", site);
  const Tensor given = convert_operand(get_default_graph(), predictions, "", std::nullopt);
  const Tensor wanted = convert_operand(get_default_graph(), labels, "", std::nullopt);
  const Shape &a = given.shape(), &b = wanted.shape();
  if (!a.has_rank() || !b.has_rank()) fail_unknown_rank(a, b, site);
  if (a.rank() == b.rank() + 1 && last_may_be_one(a)) {
    return {wanted, squeeze(given, {.axis = {-1}}, site)};
  }
  if (b.rank() == a.rank() + 1 && last_may_be_one(b)) {
    return {squeeze(wanted, {.axis = {-1}}, site), given};
  }
  return {wanted, given};
}

std::optional<Tensor> align_weights(const Tensor& values, const std::optional<Operand>& weights,
                                    Site site) {
  if (!weights) return std::nullopt;
  const Tensor given = convert_operand(get_default_graph(), *weights, "", std::nullopt);
  const Shape &a = given.shape(), &b = values.shape();
  if (a.has_rank() && a.rank() == 0) return given;
  if (!a.has_rank() || !b.has_rank()) fail_unknown_rank(a, b, site);
  if (a.rank() == b.rank() + 1) return squeeze(given, {.axis = {-1}}, site);
  if (b.rank() == a.rank() + 1) return expand_dims(given, {-1}, {}, site);
  return given;
}

AlignedInputs align_inputs(const Operand& labels, const Operand& predictions,
                           const std::optional<Operand>& weights, Site site) {
  AlignedInputs aligned;
  const Tensor given = convert_operand(get_default_graph(), predictions, "", std::nullopt);
  std::tie(aligned.labels, aligned.predictions) = remove_squeezable(labels, given, site);
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
