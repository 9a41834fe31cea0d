"""Losses, normalization, clipping, learning rate schedules and summaries."""

import tensorflow.compat.v1 as tf

from .handlers import handler, plain

plain("moments", tf.nn.moments, "x axes name keepdims")
plain("batch_normalization", tf.nn.batch_normalization,
      "x mean variance offset scale variance_epsilon name")
plain("summary_scalar", tf.summary.scalar, "name tensor collections family")
plain("summary_histogram", tf.summary.histogram, "name values collections family")
plain("summary_merge", tf.summary.merge, "inputs collections name")
plain("summary_merge_all", tf.summary.merge_all, "key scope name")


@handler
def sigmoid_cross_entropy_with_logits(interpreter, labels=None, logits=None, name=None):
    return tf.nn.sigmoid_cross_entropy_with_logits(labels=labels, logits=logits, name=name)


class Plain:
    """An object for collections that is no tensor and has no name."""


@handler
def plain_object(interpreter):
    return Plain()


plain("clip_by_value", tf.clip_by_value, "t clip_value_min clip_value_max name")
plain("clip_by_norm", tf.clip_by_norm, "t clip_norm axes name")
plain("global_norm", tf.global_norm, "t_list name")
plain("clip_by_global_norm", tf.clip_by_global_norm, "t_list clip_norm use_norm name")
for name in ("exponential_decay", "natural_exp_decay", "inverse_time_decay"):
    plain(name, getattr(tf.train, name),
          "learning_rate global_step decay_steps decay_rate staircase name")
plain("polynomial_decay", tf.train.polynomial_decay,
      "learning_rate global_step decay_steps end_learning_rate power cycle name")
plain("cosine_decay", tf.train.cosine_decay, "learning_rate global_step decay_steps alpha name")
plain("cosine_decay_restarts", tf.train.cosine_decay_restarts,
      "learning_rate global_step first_decay_steps t_mul m_mul alpha name")
plain("linear_cosine_decay", tf.train.linear_cosine_decay,
      "learning_rate global_step decay_steps num_periods alpha beta name")
plain("noisy_linear_cosine_decay", tf.train.noisy_linear_cosine_decay,
      "learning_rate global_step decay_steps initial_variance variance_decay num_periods alpha "
      "beta name")
