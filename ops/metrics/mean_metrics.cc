// Metrics that are means of one number per value.
#include "core/graph/scopes.h"
#include "ops/array/cast.h"
#include "ops/array/fill.h"
#include "ops/array/rank_size.h"
#include "ops/array/select.h"
#include "ops/math/binary.h"
#include "ops/math/reduce.h"
#include "ops/math/squeezable.h"
#include "ops/math/unary.h"
#include "ops/metrics/metric_parts.h"
#include "ops/nn/weights_broadcast.h"
#include "ops/variables/assign.h"

namespace towerflow::metrics {
namespace {

Tensor quotient_of(const Tensor& total, const Tensor& count, const char* name, Site site) {
  const Tensor present = maximum(count, 0, {}, site);
  return div_no_nan(total, present, {.name = name}, site);
}

/// Adds to the sums and returns the metric.
Metric mean_of(const Variable& total, const Variable& count, const Tensor& values,
               const Tensor& more, const Tensor& num_values, const MetricOptions& options,
               Site site) {
  const Tensor new_total = assign_add(total, more, {}, site);
  Tensor new_count;
  {
    const ControlDependencies after = control_dependencies({values}, site);
    new_count = assign_add(count, num_values, {}, site);
  }
  Metric metric;
  metric.value = quotient_of(total, count, "value", site);
  add_to_metric_collections(metric.value, options.metrics_collections);
  metric.update_op = quotient_of(new_total, new_count, "update_op", site);
  add_to_metric_collections(metric.update_op, options.updates_collections);
  return metric;
}

/// Returns float32 weights of the shape of the values.
Tensor full_weights(const Tensor& values, const Tensor& weights, Site site) {
  return losses::broadcast_weights(cast(weights, DType::float32, {}, site), values, site);
}

MetricOptions named(MetricOptions options, const std::optional<Tensor>& weights, const char* name,
                    Site site) {
  if (weights) options.weights = Operand(*weights, site);
  if (options.name.empty()) options.name = name;
  return options;
}

/// Removes the collections, for a metric whose result is changed once more.
MetricOptions without_collections(MetricOptions options) {
  options.metrics_collections.reset();
  options.updates_collections.reset();
  return options;
}

}  // namespace

Metric mean(const Operand& values, MetricOptions options, Site site) {
  const VariableScopeGuard scope = open_metric_scope(options.name, "mean", site);
  Tensor given = cast(values, DType::float32, {}, site);
  const Variable total = metric_variable(Shape{}, "total", site);
  const Variable count = metric_variable(Shape{}, "count", site);
  Tensor num_values;
  if (!options.weights) {
    num_values = cast(size(given, {}, site), DType::float32, {}, site);
  } else {
    const Tensor aligned = *align_weights(given, options.weights, site);
    const Tensor weights = full_weights(given, aligned, site);
    given = multiply(given, weights, {}, site);
    num_values = reduce_sum(weights, {}, site);
  }
  const Tensor sum = reduce_sum(given, {}, site);
  return mean_of(total, count, given, sum, num_values, options, site);
}

Metric mean_tensor(const Operand& values, MetricOptions options, Site site) {
  const VariableScopeGuard scope = open_metric_scope(options.name, "mean", site);
  Tensor given = cast(values, DType::float32, {}, site);
  const Variable total = metric_variable(given.shape(), "total_tensor", site);
  const Variable count = metric_variable(given.shape(), "count_tensor", site);
  Tensor num_values = ones_like(given, {}, site);
  if (options.weights) {
    const Tensor aligned = *align_weights(given, options.weights, site);
    const Tensor weights = full_weights(given, aligned, site);
    given = multiply(given, weights, {}, site);
    num_values = multiply(num_values, weights, {}, site);
  }
  return mean_of(total, count, given, given, num_values, options, site);
}

Metric accuracy(const Operand& labels, const Operand& predictions, MetricOptions options,
                Site site) {
  const AlignedInputs in = align_inputs(labels, predictions, options.weights, site);
  const Tensor given = cast(in.predictions, in.labels.dtype(), {}, site);
  const Tensor is_correct = cast(equal(given, in.labels, {}, site), DType::float32, {}, site);
  return mean(is_correct, named(std::move(options), in.weights, "accuracy", site), site);
}

Metric mean_absolute_error(const Operand& labels, const Operand& predictions, MetricOptions options,
                           Site site) {
  const AlignedInputs in = align_inputs(labels, predictions, options.weights, site);
  const Tensor errors = abs(Operand(in.predictions, site) - in.labels, {}, site);
  return mean(errors, named(std::move(options), in.weights, "mean_absolute_error", site), site);
}

Metric mean_squared_error(const Operand& labels, const Operand& predictions, MetricOptions options,
                          Site site) {
  const AlignedInputs in = align_inputs(labels, predictions, options.weights, site);
  const Tensor errors = squared_difference(in.labels, in.predictions, {}, site);
  return mean(errors, named(std::move(options), in.weights, "mean_squared_error", site), site);
}

Metric root_mean_squared_error(const Operand& labels, const Operand& predictions,
                               MetricOptions options, Site site) {
  const AlignedInputs in = align_inputs(labels, predictions, options.weights, site);
  const MetricOptions inner =
      named(without_collections(options), in.weights, "root_mean_squared_error", site);
  const Metric squared = mean_squared_error(in.labels, in.predictions, inner, site);
  Metric metric;
  metric.value = sqrt(squared.value, {}, site);
  add_to_metric_collections(metric.value, options.metrics_collections);
  metric.update_op = sqrt(squared.update_op, {}, site);
  add_to_metric_collections(metric.update_op, options.updates_collections);
  return metric;
}

Metric mean_relative_error(const Operand& labels, const Operand& predictions,
                           const Operand& normalizer, MetricOptions options, Site site) {
  const AlignedInputs in = align_inputs(labels, predictions, options.weights, site);
  const auto [given, divisor] = remove_squeezable_dimensions(in.predictions, normalizer, 0, site);
  check_compatible(given, divisor, site);
  const Tensor none = equal(divisor, 0.0, {}, site);
  const Tensor zeros = zeros_like(in.labels, {}, site);
  const Tensor distance = abs(Operand(in.labels, site) - given, {}, site);
  const Tensor relative = Operand(distance, site) / divisor;
  const Tensor errors = where(none, zeros, relative, {}, site);
  return mean(errors, named(std::move(options), in.weights, "mean_relative_error", site), site);
}

Metric mean_cosine_distance(const Operand& labels, const Operand& predictions, int dim,
                            MetricOptions options, Site site) {
  const AlignedInputs in = align_inputs(labels, predictions, options.weights, site);
  const Tensor products = multiply(in.predictions, in.labels, {}, site);
  const Tensor sums = reduce_sum(products, {dim}, {.keepdims = true}, site);
  const MetricOptions inner =
      named(without_collections(options), in.weights, "mean_cosine_distance", site);
  const Metric closeness = mean(sums, inner, site);
  Metric metric;
  metric.value = subtract(1.0, closeness.value, {}, site);
  metric.update_op = subtract(1.0, closeness.update_op, {}, site);
  add_to_metric_collections(metric.value, options.metrics_collections);
  add_to_metric_collections(metric.update_op, options.updates_collections);
  return metric;
}

Metric percentage_below(const Operand& values, const Operand& threshold, MetricOptions options,
                        Site site) {
  const Tensor is_below = cast(less(values, threshold, {}, site), DType::float32, {}, site);
  return mean(is_below, named(std::move(options), std::nullopt, "percentage_below_threshold", site),
              site);
}

}  // namespace towerflow::metrics
