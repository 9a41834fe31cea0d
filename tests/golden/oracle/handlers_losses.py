"""`tf.losses.*`."""

import tensorflow.compat.v1 as tf

from .handlers import plain

COMMON = "scope loss_collection reduction"
for name in ("absolute_difference", "mean_squared_error"):
    plain(name, getattr(tf.losses, name), "labels predictions weights " + COMMON)
plain("cosine_distance", tf.losses.cosine_distance, "labels predictions axis weights " + COMMON)
plain("hinge_loss", tf.losses.hinge_loss, "labels logits weights " + COMMON)
plain("huber_loss", tf.losses.huber_loss, "labels predictions weights delta " + COMMON)
plain("log_loss", tf.losses.log_loss, "labels predictions weights epsilon " + COMMON)
plain("sigmoid_cross_entropy", tf.losses.sigmoid_cross_entropy,
      "multi_class_labels logits weights label_smoothing " + COMMON)
plain("softmax_cross_entropy", tf.losses.softmax_cross_entropy,
      "onehot_labels logits weights label_smoothing " + COMMON)
plain("sparse_softmax_cross_entropy", tf.losses.sparse_softmax_cross_entropy,
      "labels logits weights " + COMMON)
plain("compute_weighted_loss", tf.losses.compute_weighted_loss, "losses weights " + COMMON)
plain("add_loss", tf.losses.add_loss, "loss loss_collection")
plain("get_losses", tf.losses.get_losses, "scope loss_collection")
plain("get_regularization_losses", tf.losses.get_regularization_losses, "scope")
plain("get_regularization_loss", tf.losses.get_regularization_loss, "scope name")
plain("get_total_loss", tf.losses.get_total_loss, "add_regularization_losses name scope")
plain("div_no_nan", tf.div_no_nan, "x y name")
