"""tf.layers. Activations, regularizers and constraints are names that both sides know."""

import inspect
import os

import tensorflow.compat.v1 as tf

from .functions import CONSTRAINTS, REGULARIZERS
from .handlers import OPS

os.environ.setdefault("TF_USE_LEGACY_KERAS", "1")  # read when tf.layers is used first

ACTIVATIONS = {None: None, "relu": tf.nn.relu, "tanh": tf.nn.tanh, "sigmoid": tf.nn.sigmoid,
               "softplus": tf.nn.softplus, "elu": tf.nn.elu}
NAMED = {"activation": ACTIVATIONS, "regularizer": REGULARIZERS, "constraint": CONSTRAINTS}


def layer(name):
    function = getattr(tf.layers, name)
    known = list(inspect.signature(function).parameters)

    def run(interpreter, **args):
        for key, value in args.items():
            table = NAMED.get(key.split("_")[-1])
            if table is not None:
                args[key] = table[value]
            if key == "reuse" and value == "AUTO_REUSE":
                args[key] = tf.AUTO_REUSE
        return function(**args)

    OPS["layer_" + name] = (known, run)


for name in ("dense", "conv1d", "conv2d", "conv2d_transpose", "separable_conv2d",
             "batch_normalization", "dropout", "flatten", "max_pooling1d", "max_pooling2d",
             "average_pooling1d", "average_pooling2d"):
    layer(name)
