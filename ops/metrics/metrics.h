#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/graph/operand.h"

namespace towerflow::metrics {
namespace types {}
using namespace types;
}  // namespace towerflow::metrics

namespace towerflow::metrics::types {

/// A metric of many batches. (the pair that tf.metrics return)
struct Metric {
  Tensor value;      ///< the metric of the batches so far; changes nothing
  Tensor update_op;  ///< takes one more batch into account and gives the metric after it
};

struct MetricOptions {
  /// A scalar, or of the rank of the values with each size 1 or theirs; 0 leaves a value out.
  std::optional<Operand> weights{};
  std::optional<std::vector<std::string>> metrics_collections{};  ///< to which `value` is added
  std::optional<std::vector<std::string>> updates_collections{};  ///< to which `update_op` is added
  std::string name{};  ///< of the scope; the metric's own if empty
};

/// How the area below a curve is summed up. (the summation_method of tf.metrics.auc)
struct AucOptions {
  std::optional<Operand> weights{};
  int num_thresholds = 200;
  std::optional<std::vector<std::string>> metrics_collections{};
  std::optional<std::vector<std::string>> updates_collections{};
  std::string curve = "ROC";  ///< or "PR": precision over recall
  std::string name{};
  /// "trapezoidal"; "careful_interpolation", which is right for "PR"; "minoring" or "majoring" for
  /// a lower or an upper bound.
  std::string summation_method = "trapezoidal";
  std::optional<std::vector<double>> thresholds{};  ///< in place of evenly spaced ones
};

}  // namespace towerflow::metrics::types

namespace towerflow::metrics {

/// Metrics of a stream of batches, such as those of a test set. Each metric keeps its sums in local
/// variables (collections LOCAL_VARIABLES and METRIC_VARIABLES), which
/// `local_variables_initializer` sets to zero before the first batch:
///
///     const auto [accuracy, update] = tf::metrics::accuracy(labels, predictions);
///     session.run(tf::local_variables_initializer());
///     for (...) session.run(update, {{images, batch}, ...});
///     session.run(accuracy);
///
/// shapes   labels and predictions equal, or one has a last dimension of size 1 more; weights as in
///          MetricOptions -> []
/// dtypes   numbers and bools -> float32
/// grads    none through the variables
/// errors   ValueError: shapes that do not fit; in a run
///          InvalidArgumentError: sizes that were not known and do not fit
/// source   tf.metrics

/// The mean of `values`. (tf.metrics.mean)
Metric mean(const Operand& values, MetricOptions options = {}, Site site = Site::current());
/// The mean of each element of `values`, of their shape, which is known.
/// (tf.metrics.mean_tensor)
Metric mean_tensor(const Operand& values, MetricOptions options = {}, Site site = Site::current());
/// How often predictions equal labels. (tf.metrics.accuracy)
Metric accuracy(const Operand& labels, const Operand& predictions, MetricOptions options = {},
                Site site = Site::current());
/// The mean of |predictions - labels|. (tf.metrics.mean_absolute_error)
Metric mean_absolute_error(const Operand& labels, const Operand& predictions,
                           MetricOptions options = {}, Site site = Site::current());
/// The mean of (predictions - labels)^2. (tf.metrics.mean_squared_error)
Metric mean_squared_error(const Operand& labels, const Operand& predictions,
                          MetricOptions options = {}, Site site = Site::current());
/// The root of mean_squared_error. (tf.metrics.root_mean_squared_error)
Metric root_mean_squared_error(const Operand& labels, const Operand& predictions,
                               MetricOptions options = {}, Site site = Site::current());
/// The mean of |labels - predictions| / normalizer, where a normalizer of 0 counts as no error.
/// (tf.metrics.mean_relative_error)
Metric mean_relative_error(const Operand& labels, const Operand& predictions,
                           const Operand& normalizer, MetricOptions options = {},
                           Site site = Site::current());
/// 1 minus the mean of the sums of labels * predictions along `dim`, vectors of length 1.
/// (tf.metrics.mean_cosine_distance)
Metric mean_cosine_distance(const Operand& labels, const Operand& predictions, int dim,
                            MetricOptions options = {}, Site site = Site::current());
/// The part of `values` that is below `threshold`. (tf.metrics.percentage_below)
Metric percentage_below(const Operand& values, const Operand& threshold, MetricOptions options = {},
                        Site site = Site::current());

/// The number, or the sum of the weights, of pairs in which both are true; other numbers than 0 are
/// true. (tf.metrics.true_positives)
Metric true_positives(const Operand& labels, const Operand& predictions, MetricOptions options = {},
                      Site site = Site::current());
Metric true_negatives(const Operand& labels, const Operand& predictions, MetricOptions options = {},
                      Site site = Site::current());
Metric false_positives(const Operand& labels, const Operand& predictions,
                       MetricOptions options = {}, Site site = Site::current());
Metric false_negatives(const Operand& labels, const Operand& predictions,
                       MetricOptions options = {}, Site site = Site::current());
/// true_positives / (true_positives + false_positives), 0 without any. (tf.metrics.precision)
Metric precision(const Operand& labels, const Operand& predictions, MetricOptions options = {},
                 Site site = Site::current());
/// true_positives / (true_positives + false_negatives), 0 without any. (tf.metrics.recall)
Metric recall(const Operand& labels, const Operand& predictions, MetricOptions options = {},
              Site site = Site::current());

/// The numbers above for each threshold that predictions, from 0 to 1, must exceed to be positive.
/// The result has one element for each threshold; predictions out of range fail in a run with
/// InvalidArgumentError. (tf.metrics.true_positives_at_thresholds, ..)
Metric true_positives_at_thresholds(const Operand& labels, const Operand& predictions,
                                    const Operand& thresholds, MetricOptions options = {},
                                    Site site = Site::current());
Metric true_negatives_at_thresholds(const Operand& labels, const Operand& predictions,
                                    const Operand& thresholds, MetricOptions options = {},
                                    Site site = Site::current());
Metric false_positives_at_thresholds(const Operand& labels, const Operand& predictions,
                                     const Operand& thresholds, MetricOptions options = {},
                                     Site site = Site::current());
Metric false_negatives_at_thresholds(const Operand& labels, const Operand& predictions,
                                     const Operand& thresholds, MetricOptions options = {},
                                     Site site = Site::current());
Metric precision_at_thresholds(const Operand& labels, const Operand& predictions,
                               const Operand& thresholds, MetricOptions options = {},
                               Site site = Site::current());
Metric recall_at_thresholds(const Operand& labels, const Operand& predictions,
                            const Operand& thresholds, MetricOptions options = {},
                            Site site = Site::current());

/// The mean over the classes of true positives / (labels + predictions - true positives), each
/// counted for the class. Classes that do not occur are left out; the update_op gives the confusion
/// matrix of all batches. (tf.metrics.mean_iou)
///
/// errors   ValueError: shapes that are not compatible; TypeError: an unknown rank; in a run
///          InvalidArgumentError: a class that is negative, or num_classes or more
Metric mean_iou(const Operand& labels, const Operand& predictions, int num_classes,
                MetricOptions options = {}, Site site = Site::current());
/// The mean over the classes of the share of the labels of a class that were predicted; 0 for a
/// class that does not occur. The update_op gives the shares. (tf.metrics.mean_per_class_accuracy)
///
/// errors   as mean_iou
Metric mean_per_class_accuracy(const Operand& labels, const Operand& predictions, int num_classes,
                               MetricOptions options = {}, Site site = Site::current());

/// The area below the curve of true positives over false positives, or of precision over recall, as
/// the threshold varies. Throws ValueError for another curve or summation_method. (tf.metrics.auc)
Metric auc(const Operand& labels, const Operand& predictions, AucOptions options = {},
           Site site = Site::current());

}  // namespace towerflow::metrics
