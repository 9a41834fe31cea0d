"""Layers of TF-Slim. A normalizer is "batch_norm" or null."""

import importlib
import sys

import tensorflow.compat.v1 as tf
import tf_keras.src.legacy_tf_layers as legacy_layers
import tf_slim as slim
from tensorflow.python.framework import ops

from .functions import REGULARIZERS
from .handlers import OPS
from .handlers_keras import ACTIVATIONS

# tf_slim looks for the layers of tf_keras where they no longer are.
sys.modules["tf_keras.legacy_tf_layers"] = legacy_layers
for part in ("base", "convolutional", "core", "normalization", "pooling"):
    sys.modules["tf_keras.legacy_tf_layers." + part] = importlib.import_module(
        "tf_keras.src.legacy_tf_layers." + part)
ops.Tensor = tf.Tensor  # removed since the last tf_slim

PARAMETERS = {
    "conv2d": "inputs num_outputs kernel_size stride padding rate activation_fn normalizer_fn "
              "weights_initializer weights_regularizer biases_initializer reuse trainable scope",
    "fully_connected": "inputs num_outputs activation_fn normalizer_fn weights_initializer "
                       "weights_regularizer biases_initializer reuse trainable scope",
    "max_pool2d": "inputs kernel_size stride padding scope",
    "avg_pool2d": "inputs kernel_size stride padding scope",
    "batch_norm": "inputs decay center scale epsilon is_training reuse trainable scope",
    "dropout": "inputs keep_prob is_training seed scope",
    "flatten": "inputs scope",
    "one_hot_encoding": "labels num_classes on_value off_value scope",
    "softmax": "logits scope",
}
NAMED = {"activation_fn": ACTIVATIONS, "weights_regularizer": REGULARIZERS,
         "normalizer_fn": {None: None, "batch_norm": slim.batch_norm}}


def layer(name, parameters):
    def run(interpreter, **args):
        for key in NAMED.keys() & args.keys():
            args[key] = NAMED[key][args[key]]
        return getattr(slim, name)(**args)

    OPS["slim_" + name] = (parameters.split(), run)


for name, parameters in PARAMETERS.items():
    layer(name, parameters)
