"""Functions that programs pass as arguments by name; functions.cc has the same ones."""

import tensorflow.compat.v1 as tf


def suffixed(getter, name, *args, **kwargs):
    return getter(name + "_x", *args, **kwargs)


def frozen(getter, name, *args, **kwargs):
    return getter(name, *args, **dict(kwargs, trainable=False))


def found_or_made(getter, name, *args, **kwargs):
    return getter(name, *args, **dict(kwargs, reuse=tf.AUTO_REUSE))


def partitioner_of(kind):
    """`kind` is [kind, number, axis] or None."""
    if kind is None:
        return None
    name, number, axis = kind
    if name == "fixed":
        return tf.fixed_size_partitioner(number, axis)
    if name == "axis_size":
        return tf.variable_axis_size_partitioner(number, axis)
    if name == "min_max":
        return tf.min_max_variable_partitioner(number, axis, min_slice_size=8)
    return {"both_axes": lambda shape, dtype: [2] * len(shape),
            "no_part": lambda shape, dtype: [0] * len(shape),
            "other_rank": lambda shape, dtype: [1] * (len(shape) + 1)}[name]


def matmul_on_second(operation):
    return "/gpu:1" if operation.type == "MatMul" else operation.device


def variables_on_ps(operation):
    return "/job:ps/task:0" if operation.type == "VariableV2" else "/job:worker"


def scaled(x):
    return x * tf.get_variable("scale", [], initializer=tf.constant_initializer(2.0))


def plain(x):
    return x + tf.Variable(1.0, name="bias")


REGULARIZERS = {None: None, "l2": lambda v: 0.25 * tf.nn.l2_loss(v), "none": tf.no_regularizer}
GETTERS = {None: None, "suffixed": suffixed, "frozen": frozen, "found_or_made": found_or_made}
CONSTRAINTS = {None: None, "halved": lambda w: w * 0.5}
DEVICE_FUNCTIONS = {"matmul_on_second": matmul_on_second, "variables_on_ps": variables_on_ps,
                    "nothing": lambda operation: "", "cpu": lambda operation: "/cpu:0"}
TEMPLATES = {"scaled": scaled, "plain": plain}
