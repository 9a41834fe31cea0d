"""What the models are made of besides plain ops: losses, normalisation, summaries, objects."""

import tensorflow.compat.v1 as tf

from .handlers import handler, plain

plain("moments", tf.nn.moments, "x axes name keepdims")
plain("batch_normalization", tf.nn.batch_normalization,
      "x mean variance offset scale variance_epsilon name")
plain("summary_scalar", tf.summary.scalar, "name tensor collections")
plain("summary_merge", tf.summary.merge, "inputs collections name")


@handler
def sigmoid_cross_entropy_with_logits(interpreter, labels=None, logits=None, name=None):
    return tf.nn.sigmoid_cross_entropy_with_logits(labels=labels, logits=logits, name=name)


class Plain:
    """An object that a program keeps in a collection: no tensor, no name."""


@handler
def plain_object(interpreter):
    return Plain()
