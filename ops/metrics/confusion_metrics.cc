// Counts of right and wrong predictions, precision and recall.
#include "core/graph/scopes.h"
#include "ops/array/cast.h"
#include "ops/array/rank_size.h"
#include "ops/array/select.h"
#include "ops/array/view.h"
#include "ops/data_flow/assert_types.h"
#include "ops/math/binary.h"
#include "ops/math/reduce.h"
#include "ops/metrics/metric_parts.h"
#include "ops/variables/assign.h"

namespace towerflow::metrics {
namespace {

/// Counts the true elements. (_count_condition)
Metric count_condition(const Tensor& condition, const std::optional<Tensor>& weights,
                       const MetricOptions& options, Site site) {
  assert_type(condition, DType::bool_, {}, site);
  const Variable count = metric_variable(Shape{}, "count", site);
  Tensor values = cast(condition, DType::float32, {}, site);
  if (weights) {
    const Tensor whole = rank(values, {}, site);
    const Operation checked = assert_rank_in(*weights, {0, whole}, {}, site);
    const ControlDependencies after = control_dependencies({checked}, site);
    const Tensor factors = cast(*weights, DType::float32, {}, site);
    values = multiply(values, factors, {}, site);
  }
  Metric metric;
  metric.value = identity(count, {}, site);
  add_to_metric_collections(metric.value, options.metrics_collections);
  const Tensor more = reduce_sum(values, {}, site);
  metric.update_op = assign_add(count, more, {}, site);
  add_to_metric_collections(metric.update_op, options.updates_collections);
  return metric;
}

AlignedInputs align_bools(const Operand& labels, const Operand& predictions,
                          const std::optional<Operand>& weights, Site site) {
  const Tensor given = cast(predictions, DType::bool_, {}, site);
  const Tensor wanted = cast(labels, DType::bool_, {}, site);
  return align_inputs(wanted, given, weights, site);
}

/// Counts the pairs in which the label and the prediction are as given.
Metric count_pairs(const char* name, bool label, bool prediction, const Operand& labels,
                   const Operand& predictions, const MetricOptions& options, Site site) {
  const VariableScopeGuard scope = open_metric_scope(options.name, name, site);
  const AlignedInputs in = align_bools(labels, predictions, options.weights, site);
  const Tensor label_fits = equal(in.labels, label, {}, site);
  const Tensor prediction_fits = equal(in.predictions, prediction, {}, site);
  const Tensor both = logical_and(label_fits, prediction_fits, {}, site);
  return count_condition(both, in.weights, options, site);
}

/// Returns part / (part + rest), or 0 if both are 0.
Tensor share_of(const Tensor& part, const Tensor& rest, const char* name, Site site) {
  const Tensor all = Operand(part, site) + rest;
  const Tensor any = greater(all, 0, {}, site);
  const Tensor divisor = Operand(part, site) + rest;
  const Tensor share = Operand(part, site) / divisor;
  return where(any, share, 0, {.name = name}, site);
}

using Count = Metric (*)(const Operand&, const Operand&, MetricOptions, Site);

Metric share_metric(const char* name, Count count_rest, const Operand& labels,
                    const Operand& predictions, const MetricOptions& options, Site site) {
  const VariableScopeGuard scope = open_metric_scope(options.name, name, site);
  const AlignedInputs in = align_bools(labels, predictions, options.weights, site);
  MetricOptions inner;
  if (in.weights) inner.weights = Operand(*in.weights, site);
  const Metric part = true_positives(in.labels, in.predictions, inner, site);
  const Metric rest = count_rest(in.labels, in.predictions, inner, site);
  Metric metric;
  metric.value = share_of(part.value, rest.value, "value", site);
  add_to_metric_collections(metric.value, options.metrics_collections);
  metric.update_op = share_of(part.update_op, rest.update_op, "update_op", site);
  add_to_metric_collections(metric.update_op, options.updates_collections);
  return metric;
}

}  // namespace

Metric true_positives(const Operand& labels, const Operand& predictions, MetricOptions options,
                      Site site) {
  return count_pairs("true_positives", true, true, labels, predictions, options, site);
}

Metric true_negatives(const Operand& labels, const Operand& predictions, MetricOptions options,
                      Site site) {
  return count_pairs("true_negatives", false, false, labels, predictions, options, site);
}

Metric false_positives(const Operand& labels, const Operand& predictions, MetricOptions options,
                       Site site) {
  return count_pairs("false_positives", false, true, labels, predictions, options, site);
}

Metric false_negatives(const Operand& labels, const Operand& predictions, MetricOptions options,
                       Site site) {
  return count_pairs("false_negatives", true, false, labels, predictions, options, site);
}

Metric precision(const Operand& labels, const Operand& predictions, MetricOptions options,
                 Site site) {
  return share_metric("precision", false_positives, labels, predictions, options, site);
}

Metric recall(const Operand& labels, const Operand& predictions, MetricOptions options, Site site) {
  return share_metric("recall", false_negatives, labels, predictions, options, site);
}

}  // namespace towerflow::metrics
