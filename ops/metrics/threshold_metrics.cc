// Metrics of predictions between 0 and 1, for many thresholds at once.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "core/graph/log.h"
#include "core/graph/scopes.h"
#include "ops/array/cast.h"
#include "ops/array/constant.h"
#include "ops/array/fill.h"
#include "ops/array/select.h"
#include "ops/array/shape_of.h"
#include "ops/array/stack.h"
#include "ops/array/strided_slice.h"
#include "ops/array/tile.h"
#include "ops/array/transpose.h"
#include "ops/array/view.h"
#include "ops/data_flow/assert_values.h"
#include "ops/math/binary.h"
#include "ops/math/reduce.h"
#include "ops/math/unary.h"
#include "ops/metrics/metric_parts.h"
#include "ops/nn/weights_broadcast.h"
#include "ops/variables/assign.h"

namespace towerflow::metrics {
namespace {

/// The four kinds of pairs of a label and a prediction, in the order of TensorFlow's nodes.
enum PairKind : std::size_t { kTruePositive, kFalseNegative, kTrueNegative, kFalsePositive };
constexpr std::array kVariableNames{"true_positives", "false_negatives", "true_negatives",
                                    "false_positives"};

/// The counts of the kinds that were asked for, with one element for each threshold.
struct CountsAtThresholds {
  std::array<Variable, 4> variables;
  std::array<Tensor, 4> updates;
};

/// Returns labels, predictions and weights of matching ranks; checks the range of predictions.
AlignedInputs align_scores(const Operand& labels, const Operand& predictions,
                           const std::optional<Operand>& weights, Site site) {
  const Tensor given = convert_operand(get_default_graph(), predictions, "", std::nullopt);
  const AssertValuesOptions with_message{.message = "predictions must be in [0, 1]"};
  const Tensor lowest = cast(0.0, given.dtype(), {}, site);
  const Operation not_below = assert_greater_equal(given, lowest, with_message, site);
  const Tensor highest = cast(1.0, given.dtype(), {}, site);
  const Operation not_above = assert_less_equal(given, highest, with_message, site);
  const ControlDependencies after = control_dependencies({not_below, not_above}, site);
  const Tensor scores = cast(given, DType::float32, {}, site);
  const Tensor truths = cast(labels, DType::bool_, {}, site);
  return align_inputs(truths, scores, weights, site);
}

/// Repeats a row for each threshold.
Tensor repeated_row(const Tensor& row, int thresholds, Site site) {
  return tile(row, {thresholds, 1}, {}, site);
}

/// Counts pairs of the kinds in `wanted`. (_confusion_matrix_at_thresholds)
CountsAtThresholds count_at_thresholds(const Operand& labels, const Operand& predictions,
                                       const Operand& thresholds,
                                       const std::optional<Operand>& weights,
                                       std::initializer_list<PairKind> wanted, Site site) {
  const auto wants = [&](PairKind kind) {
    return std::find(wanted.begin(), wanted.end(), kind) != wanted.end();
  };
  const AlignedInputs in = align_scores(labels, predictions, weights, site);
  const Tensor column = reshape(in.predictions, {-1, 1}, {}, site);
  const Tensor truths = cast(in.labels, DType::bool_, {}, site);
  const Tensor label_row = reshape(truths, {1, -1}, {}, site);
  Operand width = 0;
  const Dim& known = column.shape()[0];
  if (known.known()) {
    width = known.size();
  } else {
    const Tensor sizes = shape(column, {}, site);
    width = Operand(take_index(sizes, 0, site), site);
  }
  const Tensor limits = constant(thresholds, {.dtype = DType::float32}, site);
  if (limits.shape().rank() != 1) {
    throw ValueError(fmt::format("thresholds must be a list, not {}", limits.shape().text()),
                     {.site = site});
  }
  const int count = static_cast<int>(limits.shape().size(0));
  const Tensor limit_column = expand_dims(limits, {1}, {}, site);
  const Tensor limits_tiled = tile(limit_column, stack({Operand(1), width}, 0, {}, site), {}, site);
  const Tensor score_row = transpose(column, {}, site);
  const Tensor scores_tiled = repeated_row(score_row, count, site);
  const Tensor is_positive = greater(scores_tiled, limits_tiled, {}, site);
  Tensor is_negative, label_is_negative;
  if (wants(kFalseNegative) || wants(kTrueNegative)) {
    is_negative = logical_not(is_positive, {}, site);
  }
  const Tensor label_is_positive = repeated_row(label_row, count, site);
  if (wants(kFalsePositive) || wants(kTrueNegative)) {
    label_is_negative = logical_not(label_is_positive, {}, site);
  }
  std::optional<Tensor> factors;
  if (in.weights) {
    const Tensor full = losses::broadcast_weights(cast(*in.weights, DType::float32, {}, site),
                                                  in.predictions, site);
    factors = repeated_row(reshape(full, {1, -1}, {}, site), count, site);
    check_compatible(limits_tiled, *factors, site);
  }
  const std::array<std::pair<Tensor, Tensor>, 4> sides{{{label_is_positive, is_positive},
                                                        {label_is_positive, is_negative},
                                                        {label_is_negative, is_negative},
                                                        {label_is_negative, is_positive}}};
  CountsAtThresholds counts;
  for (const PairKind kind : {kTruePositive, kFalseNegative, kTrueNegative, kFalsePositive}) {
    if (!wants(kind)) continue;
    counts.variables[kind] = metric_variable(Shape{count}, kVariableNames[kind], site);
    const auto& [label_side, prediction_side] = sides[kind];
    const Tensor both = logical_and(label_side, prediction_side, {}, site);
    Tensor pairs = cast(both, DType::float32, {}, site);
    if (factors) pairs = Operand(pairs, site) * *factors;
    const Tensor sums = reduce_sum(pairs, 1, {}, site);
    counts.updates[kind] = assign_add(counts.variables[kind], sums, {}, site);
  }
  return counts;
}

Metric count_metric(const char* name, PairKind kind, const Operand& labels,
                    const Operand& predictions, const Operand& thresholds,
                    const MetricOptions& options, Site site) {
  const VariableScopeGuard scope = open_metric_scope(options.name, name, site);
  const CountsAtThresholds counts =
      count_at_thresholds(labels, predictions, thresholds, options.weights, {kind}, site);
  Metric metric;
  metric.value = identity(counts.variables[kind], {}, site);
  add_to_metric_collections(metric.value, options.metrics_collections);
  metric.update_op = counts.updates[kind];
  add_to_metric_collections(metric.update_op, options.updates_collections);
  return metric;
}

/// Returns hits / (hits + rest), a little less so that it is 0 without any.
Tensor share_at_thresholds(const Tensor& hits, const Tensor& rest, const std::string& name,
                           Site site) {
  const Tensor some = Operand(1e-7, site) + hits;
  const Tensor all = Operand(some, site) + rest;
  return divide(hits, all, {.name = name}, site);
}

Metric share_metric_at_thresholds(const std::string& name, PairKind rest, const Operand& labels,
                                  const Operand& predictions, const Operand& thresholds,
                                  const MetricOptions& options, Site site) {
  const VariableScopeGuard scope =
      open_metric_scope(options.name, (name + "_at_thresholds").c_str(), site);
  const CountsAtThresholds counts = count_at_thresholds(
      labels, predictions, thresholds, options.weights, {kTruePositive, rest}, site);
  Metric metric;
  metric.value = share_at_thresholds(counts.variables[kTruePositive], counts.variables[rest],
                                     name + "_value", site);
  add_to_metric_collections(metric.value, options.metrics_collections);
  metric.update_op = share_at_thresholds(counts.updates[kTruePositive], counts.updates[rest],
                                         name + "_update_op", site);
  add_to_metric_collections(metric.update_op, options.updates_collections);
  return metric;
}

/// Computes the area below a curve of n points, in the order of falling x.
class AreaBelowCurve {
 public:
  AreaBelowCurve(const AucOptions& options, int points, Site site)
      : options_(options), points_(points), site_(site) {}

  Tensor area(const std::array<Tensor, 4>& counts, const char* name) const {
    const Tensor &tp = counts[kTruePositive], &fn = counts[kFalseNegative];
    const Tensor &tn = counts[kTrueNegative], &fp = counts[kFalsePositive];
    const bool precision_recall = options_.curve == "PR";
    if (precision_recall && options_.summation_method == "trapezoidal") {
      log_message(LogLevel::warning,
                  "Trapezoidal rule is known to produce incorrect PR-AUCs; please switch to "
                  "\"careful_interpolation\" instead.");
    } else if (precision_recall && options_.summation_method == "careful_interpolation") {
      return interpolated_area(tp, fp, fn);
    }
    const Tensor hits = plus(tp, 1e-6);
    const Tensor recall_of = Operand(hits, site_) / plus(Operand(tp, site_) + fn, 1e-6);
    if (!precision_recall) {
      const Tensor rate = Operand(fp, site_) / plus(Operand(fp, site_) + tn, 1e-6);
      return sum_up(rate, recall_of, name);
    }
    const Tensor more_hits = plus(tp, 1e-6);
    const Tensor precision_of = Operand(more_hits, site_) / plus(Operand(tp, site_) + fp, 1e-6);
    return sum_up(recall_of, precision_of, name);
  }

 private:
  Tensor plus(const Tensor& x, double y) const { return Operand(x, site_) + y; }
  Tensor left(const Tensor& x) const { return take_range(x, std::nullopt, points_ - 1, site_); }
  Tensor right(const Tensor& x) const { return take_range(x, 1, std::nullopt, site_); }
  Tensor steps(const Tensor& x) const {
    const Tensor before = left(x), after = right(x);
    return Operand(before, site_) - after;
  }

  Tensor sum_up(const Tensor& x, const Tensor& y, const char* name) const {
    const std::string& method = options_.summation_method;
    if (method != "trapezoidal" && method != "careful_interpolation" && method != "minoring" &&
        method != "majoring") {
      throw ValueError(fmt::format("Invalid summation_method: {} summation_method should be "
                                   "'trapezoidal', 'careful_interpolation', 'minoring', or "
                                   "'majoring'.",
                                   method),
                       {.site = site_});
    }
    const Tensor widths = steps(x);
    const Tensor before = left(y), after = right(y);
    Tensor heights;
    if (method == "minoring") {
      heights = minimum(before, after, {}, site_);
    } else if (method == "majoring") {
      heights = maximum(before, after, {}, site_);
    } else {
      const Tensor sum = Operand(before, site_) + after;
      heights = Operand(sum, site_) / 2.0;
    }
    return reduce_sum(multiply(widths, heights, {}, site_), {.name = name}, site_);
  }

  /// Interpolates the number of true positives, not the precision, between two thresholds: Davis
  /// and Goadrich 2006. (interpolate_pr_auc)
  Tensor interpolated_area(const Tensor& tp, const Tensor& fp, const Tensor& fn) const {
    const Tensor more = steps(tp);
    const Tensor positives = Operand(tp, site_) + fp;
    const Tensor more_positives = maximum(steps(positives), 0, {}, site_);
    const Tensor slope = div_no_nan(more, more_positives, {.name = "prec_slope"}, site_);
    const Tensor after = right(tp);
    const Tensor risen = multiply(slope, right(positives), {}, site_);
    const Tensor intercept = Operand(after, site_) - risen;
    const Tensor some_before = greater(left(positives), 0, {}, site_);
    const Tensor some_after = greater(right(positives), 0, {}, site_);
    const Tensor both = logical_and(some_before, some_after, {}, site_);
    const Tensor numerator = left(positives);
    const Tensor denominator = maximum(right(positives), 0, {}, site_);
    const Tensor ratio =
        div_no_nan(numerator, denominator, {.name = "recall_relative_ratio"}, site_);
    const Tensor ones = ones_like(right(positives), {}, site_);
    const Tensor safe_ratio = where(both, ratio, ones, {}, site_);
    const Tensor shift = Operand(intercept, site_) * log(safe_ratio, {}, site_);
    const Tensor moved = Operand(more, site_) + shift;
    const Tensor increment = Operand(slope, site_) * moved;
    const Tensor hits = right(tp);
    const Tensor all = Operand(hits, site_) + right(fn);
    const Tensor least = maximum(all, 0, {}, site_);
    const Tensor areas = div_no_nan(increment, least, {.name = "pr_auc_increment"}, site_);
    return reduce_sum(areas, {.name = "interpolate_pr_auc"}, site_);
  }

  const AucOptions& options_;
  int points_;
  Site site_;
};

/// Returns the thresholds between 0 and 1, with one a little below and one a little above.
std::vector<double> auc_thresholds(const AucOptions& options) {
  constexpr double kEpsilon = 1e-7;
  std::vector<double> all{0.0 - kEpsilon};
  if (options.thresholds) {
    std::vector<double> sorted = *options.thresholds;
    std::sort(sorted.begin(), sorted.end());
    all.insert(all.end(), sorted.begin(), sorted.end());
  } else {
    for (int i = 0; i < options.num_thresholds - 2; ++i) {
      all.push_back((i + 1) * 1.0 / (options.num_thresholds - 1));
    }
  }
  all.push_back(1.0 + kEpsilon);
  return all;
}

}  // namespace

Metric true_positives_at_thresholds(const Operand& labels, const Operand& predictions,
                                    const Operand& thresholds, MetricOptions options, Site site) {
  return count_metric("true_positives", kTruePositive, labels, predictions, thresholds, options,
                      site);
}

Metric true_negatives_at_thresholds(const Operand& labels, const Operand& predictions,
                                    const Operand& thresholds, MetricOptions options, Site site) {
  return count_metric("true_negatives", kTrueNegative, labels, predictions, thresholds, options,
                      site);
}

Metric false_positives_at_thresholds(const Operand& labels, const Operand& predictions,
                                     const Operand& thresholds, MetricOptions options, Site site) {
  return count_metric("false_positives", kFalsePositive, labels, predictions, thresholds, options,
                      site);
}

Metric false_negatives_at_thresholds(const Operand& labels, const Operand& predictions,
                                     const Operand& thresholds, MetricOptions options, Site site) {
  return count_metric("false_negatives", kFalseNegative, labels, predictions, thresholds, options,
                      site);
}

Metric precision_at_thresholds(const Operand& labels, const Operand& predictions,
                               const Operand& thresholds, MetricOptions options, Site site) {
  return share_metric_at_thresholds("precision", kFalsePositive, labels, predictions, thresholds,
                                    options, site);
}

Metric recall_at_thresholds(const Operand& labels, const Operand& predictions,
                            const Operand& thresholds, MetricOptions options, Site site) {
  return share_metric_at_thresholds("recall", kFalseNegative, labels, predictions, thresholds,
                                    options, site);
}

Metric auc(const Operand& labels, const Operand& predictions, AucOptions options, Site site) {
  const VariableScopeGuard scope = open_metric_scope(options.name, "auc", site);
  if (options.curve != "ROC" && options.curve != "PR") {
    throw ValueError(
        fmt::format("Curve must be either ROC or PR. Curve {} is unknown.", options.curve),
        {.site = site});
  }
  const std::vector<double> thresholds = auc_thresholds(options);
  const CountsAtThresholds counts =
      count_at_thresholds(labels, predictions, Operand(thresholds, site), options.weights,
                          {kTruePositive, kFalseNegative, kTrueNegative, kFalsePositive}, site);
  const AreaBelowCurve curve(options, static_cast<int>(thresholds.size()), site);
  std::array<Tensor, 4> values;
  std::copy(counts.variables.begin(), counts.variables.end(), values.begin());
  Metric metric;
  metric.value = curve.area(values, "value");
  add_to_metric_collections(metric.value, options.metrics_collections);
  metric.update_op = curve.area(counts.updates, "update_op");
  add_to_metric_collections(metric.update_op, options.updates_collections);
  return metric;
}

}  // namespace towerflow::metrics
