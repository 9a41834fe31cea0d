#!/usr/bin/env python3
"""Writes what TensorFlow's loss scales do to loss_scale_nodes.txt and loss_scale_steps.txt.

Run it with a Python that has TensorFlow 2.21 and TF_USE_LEGACY_KERAS=1.

loss_scale_nodes.txt: the nodes that loss_scale_test.cc's programs add, one per line, `name|type|inputs|
control inputs, sorted|requested device`; the variables of scales are reference variables here, as all
variables are in Towerflow.
loss_scale_steps.txt: for each step of its trainings, what is fed and then the variables.
"""

import os
import pathlib

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import tensorflow.compat.v1 as tf  # noqa: E402
from tensorflow.python.training.experimental import loss_scale as loss_scale_module  # noqa: E402

tf.disable_v2_behavior()
tf.disable_resource_variables()
HERE = pathlib.Path(__file__).parent
experimental = tf.train.experimental


def add_weight(self, name, initial_value, dtype=None):
    variable = tf.Variable(initial_value, name=name, dtype=dtype, trainable=False)
    self._weights[name, tf.get_default_graph()._graph_key] = variable
    return variable


loss_scale_module.LossScale._add_weight = add_weight


def line(op):
    return "|".join([op.name, op.type, ",".join(t.name for t in op.inputs),
                     ",".join(sorted(c.name for c in op.control_inputs)), op.device])


def program(scale, rows_too=True):
    """Returns the placeholder, the variables to look at, the training op and the names of the
    optimizer's variables."""
    x = tf.placeholder(tf.float32, [], name="x")
    w = tf.Variable(1.0, name="w")
    rows = tf.Variable([[1.0, 2.0], [3.0, 4.0]], name="rows")
    loss = w * x
    if rows_too:
        loss += tf.reduce_sum(tf.gather(rows, [1, 1]))
    step = tf.train.create_global_step()
    opt = experimental.MixedPrecisionLossScaleOptimizer(tf.train.MomentumOptimizer(0.5, 0.5), scale())
    train_op = opt.minimize(loss, global_step=step)
    names = [v.name for v in opt.variables()]
    return x, [w, rows, step] + opt.variables(), train_op, names


def fixed():
    return 128


def dynamic():
    return experimental.DynamicLossScale(4, increment_period=2, multiplier=3)


def large():
    return experimental.DynamicLossScale(2.0 ** 127, increment_period=1)


def nodes():
    parts = []
    for scale in (fixed, dynamic):
        with tf.Graph().as_default() as graph:
            names = program(scale, rows_too=False)[3]
            parts.append("".join(line(op) + "\n" for op in graph.get_operations()) +
                         "variables: " + ", ".join(names) + "\n")
    (HERE / "loss_scale_nodes.txt").write_text("\n".join(parts))


def steps():
    infinity = float("inf")
    fed = [1, 2, 3, infinity, 1, float("nan"), -infinity, -infinity, -infinity, 0.5, 0.5, 0.5]
    lines = []
    for scale in (fixed, dynamic, large):
        with tf.Graph().as_default(), tf.Session() as session:
            x, variables, train_op, _ = program(scale)
            session.run(tf.global_variables_initializer())
            for number in fed if scale is not large else [1e-3, infinity, 0]:
                session.run(train_op, {x: number})
                values = [v for value in session.run(variables) for v in value.reshape(-1).tolist()]
                lines.append(f"{scale.__name__} {number} " + " ".join(f"{v:.9g}" for v in values))
    (HERE / "loss_scale_steps.txt").write_text("\n".join(lines) + "\n")


nodes()
steps()
