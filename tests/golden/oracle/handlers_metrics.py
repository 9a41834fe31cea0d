"""`tf.metrics.*`."""

import tensorflow.compat.v1 as tf

from .handlers import plain

COMMON = "weights metrics_collections updates_collections name"
# The names of ops of programs are unique: some losses have the same names as metrics.
for name in ("mean", "mean_tensor"):
    plain("metric_" + name, getattr(tf.metrics, name), "values " + COMMON)
for name in ("accuracy", "mean_absolute_error", "mean_squared_error", "root_mean_squared_error",
             "true_positives", "true_negatives", "false_positives", "false_negatives",
             "precision", "recall"):
    plain("metric_" + name, getattr(tf.metrics, name), "labels predictions " + COMMON)
for name in ("true_positives", "true_negatives", "false_positives", "false_negatives",
             "precision", "recall"):
    name += "_at_thresholds"
    plain("metric_" + name, getattr(tf.metrics, name), "labels predictions thresholds " + COMMON)
plain("metric_mean_relative_error", tf.metrics.mean_relative_error,
      "labels predictions normalizer " + COMMON)
for name in ("mean_iou", "mean_per_class_accuracy"):
    plain("metric_" + name, getattr(tf.metrics, name), "labels predictions num_classes " + COMMON)
plain("metric_mean_cosine_distance", tf.metrics.mean_cosine_distance,
      "labels predictions dim " + COMMON)
plain("metric_percentage_below", tf.metrics.percentage_below, "values threshold " + COMMON)
plain("metric_auc", tf.metrics.auc,
      "labels predictions weights num_thresholds metrics_collections updates_collections curve "
      "name summation_method thresholds")
