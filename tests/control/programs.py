"""The lists of programs of make_golden.py, and what programs share."""
import tensorflow.compat.v1 as tf

PROGRAMS = {}
# The gradients of Exp, Prod, Sum of a vector and others have other nodes: docs/differences.md.
OTHER_NODES = set()


def program(function):
    PROGRAMS[function.__name__] = function
    return function


def other_nodes(function):
    OTHER_NODES.add(function.__name__)
    return function


def scalar(name, dtype=tf.float32):
    return tf.placeholder(dtype, [], name=name)


def grads(y, *xs):
    return [g for g in tf.gradients(y, list(xs)) if g is not None]


def both(p, x, value=3.0):
    return [{p: True, x: value}, {p: False, x: value}]
