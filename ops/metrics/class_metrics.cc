// Metrics that are means over classes.
#include <fmt/format.h>

#include "core/graph/scopes.h"
#include "ops/array/cast.h"
#include "ops/array/diagonal.h"
#include "ops/array/fill.h"
#include "ops/array/rank_size.h"
#include "ops/array/select.h"
#include "ops/array/stack.h"
#include "ops/array/view.h"
#include "ops/math/binary.h"
#include "ops/math/confusion_matrix.h"
#include "ops/math/reduce.h"
#include "ops/metrics/metric_parts.h"
#include "ops/variables/assign.h"
#include "ops/variables/scatter.h"

namespace towerflow::metrics {
namespace {

Tensor as_class_tensor(const Operand& operand) {
  return convert_operand(get_default_graph(), operand, "", std::nullopt);
}

/// Returns a tensor as a vector, itself if its rank is 0 or 1.
Tensor flat_list(const Tensor& tensor, Site site) {
  const Shape& known = tensor.shape();
  if (!known.has_rank()) {
    throw TypeError(fmt::format("{} needs a known rank in a metric of classes", tensor.name()),
                    {.site = site, .hint = "set_shape sets what the graph cannot infer"});
  }
  return known.rank() > 1 ? reshape(tensor, {-1}, {}, site) : tensor;
}

/// Returns the mean over the classes that occur of hits over occurrences. (compute_mean_iou)
Tensor mean_intersection_over_union(const Variable& counts, Site site) {
  const Tensor rows = cast(reduce_sum(counts, 0, {}, site), DType::float32, {}, site);
  const Tensor columns = cast(reduce_sum(counts, 1, {}, site), DType::float32, {}, site);
  const Tensor hits = cast(diag_part(counts, {}, site), DType::float32, {}, site);
  const Tensor both = Operand(rows, site) + columns;
  const Tensor occurrences = Operand(both, site) - hits;
  const Tensor occurs = cast(not_equal(occurrences, 0, {}, site), DType::float32, {}, site);
  const Tensor classes = reduce_sum(occurs, {}, site);
  const Tensor any = greater(occurrences, 0, {}, site);
  const Tensor divisor = where(any, occurrences, ones_like(occurrences, {}, site), {}, site);
  const Tensor each = divide(hits, divisor, {}, site);
  const Tensor any_class = greater(classes, 0, {}, site);
  const Tensor sum = reduce_sum(each, {.name = "mean_iou"}, site);
  return where(any_class, Operand(sum, site) / classes, 0, {}, site);
}

}  // namespace

Metric mean_iou(const Operand& labels, const Operand& predictions, int num_classes,
                MetricOptions options, Site site) {
  const VariableScopeGuard scope = open_metric_scope(options.name, "mean_iou", site);
  const Tensor given = as_class_tensor(predictions), wanted = as_class_tensor(labels);
  check_compatible(given, wanted, site);
  const Variable counts = metric_variable(Shape{num_classes, num_classes}, "total_confusion_matrix",
                                          site, DType::float64);
  Tensor found = cast(given, DType::int64, {}, site);
  Tensor right = cast(wanted, DType::int64, {}, site);
  const Tensor classes = cast(num_classes, DType::int64, {}, site);
  found = flat_list(found, site);
  right = flat_list(right, site);
  ConfusionMatrixOptions counted{.num_classes = Operand(classes, site), .dtype = DType::float64};
  if (options.weights) {
    counted.weights = Operand(flat_list(as_class_tensor(*options.weights), site), site);
  }
  const Tensor more = confusion_matrix(right, found, counted, site);
  Metric metric;
  metric.update_op = assign_add(counts, more, {}, site);
  metric.value = mean_intersection_over_union(counts, site);
  add_to_metric_collections(metric.value, options.metrics_collections);
  add_to_metric_collections(metric.update_op, options.updates_collections);
  return metric;
}

Metric mean_per_class_accuracy(const Operand& labels, const Operand& predictions, int num_classes,
                               MetricOptions options, Site site) {
  const VariableScopeGuard scope = open_metric_scope(options.name, "mean_accuracy", site);
  Tensor found = as_class_tensor(predictions);
  const Tensor right = flat_list(cast(labels, DType::int64, {}, site), site);
  found = flat_list(found, site);
  check_compatible(found, right, site);
  const Variable total = metric_variable(Shape{num_classes}, "total", site);
  const Variable count = metric_variable(Shape{num_classes}, "count", site);
  const Tensor length = size(right, {}, site);
  const Tensor sizes = stack({length}, {.name = "ones/packed"}, site);
  Tensor seen = ones(sizes, {.dtype = DType::float32}, site);
  if (found.dtype() != right.dtype()) found = cast(found, right.dtype(), {}, site);
  Tensor correct = cast(equal(found, right, {}, site), DType::float32, {}, site);
  if (options.weights) {
    const Tensor flat = flat_list(as_class_tensor(*options.weights), site);
    const Tensor factors = cast(flat, DType::float32, {}, site);
    correct = Operand(correct, site) * factors;
    seen = Operand(seen, site) * factors;
  }
  const Tensor new_total = scatter_add(total, right, seen, {}, site);
  const Tensor new_count = scatter_add(count, right, correct, {}, site);
  Metric metric;
  const Tensor each = div_no_nan(count, maximum(total, 0, {}, site), {}, site);
  metric.value = reduce_mean(each, {.name = "mean_accuracy"}, site);
  add_to_metric_collections(metric.value, options.metrics_collections);
  metric.update_op =
      div_no_nan(new_count, maximum(new_total, 0, {}, site), {.name = "update_op"}, site);
  add_to_metric_collections(metric.update_op, options.updates_collections);
  return metric;
}

}  // namespace towerflow::metrics
