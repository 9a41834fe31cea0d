"""Gradients, custom gradients, and ops with special gradients."""

import tensorflow.compat.v1 as tf

from .handlers import handler, plain
from .handlers_graph import entered

plain("gradients", tf.gradients,
      "ys xs grad_ys name colocate_gradients_with_ops gate_gradients aggregation_method "
      "stop_gradients unconnected_gradients")
plain("IndexedSlices", tf.IndexedSlices, "values indices dense_shape")

for name in ("floor", "is_nan", "rsqrt", "log1p", "expm1", "reciprocal", "sin", "sign"):
    plain(name, getattr(tf, name), "x name")
for name in ("squared_difference", "floordiv", "floormod"):
    plain(name, getattr(tf, name), "x y name")
for name in ("reduce_prod", "reduce_min"):
    plain(name, getattr(tf, name), "input_tensor axis keepdims name")
plain("identity_n", tf.identity_n, "input name")
plain("unstack", tf.unstack, "value num axis name")


@tf.RegisterGradient("GoldenSeven")
def seven(op, dy):
    return 7.0 * dy


@handler
def enter_gradient_override_map(interpreter, op_type_map):
    """`op_type_map` is a list of [op type, name of its gradient]. "GoldenSeven" returns seven times
    the gradient of the output, for ops with one input and one output."""
    return entered(interpreter, tf.get_default_graph().gradient_override_map(dict(op_type_map)))


@handler
def register_gradient(interpreter, name):
    tf.RegisterGradient(name)(seven)


def log1pexp(x):
    e = tf.exp(x)
    return tf.log(1.0 + e), lambda dy: dy * (1.0 - 1.0 / (1.0 + e))


def product_and_sum(x, y):
    return (x * y, x + y), lambda a, b: (2.0 * a + b, None)


@handler
def custom_gradient(interpreter, function, inputs, variable=None):
    """`function` is the name of a function that both sides have. "scaled" uses `variable`, "blind"
    uses it without returning its gradient, "maker" makes a variable."""

    def scaled(x):
        return x * variable, lambda dy, variables=None: (3.0 * dy, [5.0 * dy for _ in variables])

    def blind(x):
        return x * variable, lambda dy: dy

    def maker(x):
        return x * tf.get_variable("made", [2]), lambda dy: dy

    known = {"log1pexp": log1pexp, "product_and_sum": product_and_sum, "scaled": scaled,
             "blind": blind, "maker": maker}
    result = tf.custom_gradient(known[function])(*inputs)
    return list(result) if isinstance(result, tuple) else result
