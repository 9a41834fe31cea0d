#!/usr/bin/env python3
"""Writes golden/programs.txt: nodes, contexts and results of programs with control flow, as
TensorFlow 2.21 (compat.v1) makes and computes them.

A program is `== name`; the nodes by name, unless the gradient of an op in it has other nodes here;
the contexts in the collections; for each run and fetch its dtype, shape and values; `!! Class` if
building it raised, `!! run Class` if a run did.
programs.cc has the same programs in C++. Needs TensorFlow: see tests/golden/README.md.
Usage: make_golden.py [FILE]
"""
import os
import sys

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import numpy as np  # noqa: E402
import tensorflow.compat.v1 as tf  # noqa: E402

tf.disable_v2_behavior()
tf.disable_resource_variables()

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


@program
def cond():
    p, x = scalar("p", tf.bool), scalar("x")
    y = tf.cond(p, lambda: x * 2.0, lambda: tf.square(x))
    return [y] + grads(y, x), both(p, x)


@program
def cond_of_constants():
    p = scalar("p", tf.bool)
    y = tf.cond(p, lambda: 1, lambda: 2, name="choose")
    return [y], [{p: True}, {p: False}]


@program
def cond_of_outside_tensors():
    p, x = scalar("p", tf.bool), scalar("x")
    a, b = x + 1.0, x * 5.0
    y = tf.cond(p, lambda: a, lambda: b)
    return [y] + grads(y, x), both(p, x)


@program
def cond_of_tuples():
    p, x = scalar("p", tf.bool), scalar("x")
    y, z = tf.cond(p, lambda: (x + 1.0, x), lambda: (x, x * x))
    return [y, z] + grads(y + z, x), both(p, x)


@program
def cond_of_operations():
    p = scalar("p", tf.bool)
    v = tf.get_variable("v", [], initializer=tf.constant_initializer(1.0))
    done = tf.cond(p, lambda: tf.assign_add(v, 2.0).op, lambda: tf.no_op())
    with tf.control_dependencies([done]):
        now = tf.identity(v.read_value())
    init = tf.global_variables_initializer()
    return [now], [(init, {}), {p: True}, {p: False}, {p: True}]


@program
def cond_of_assignments():
    p, x = scalar("p", tf.bool), scalar("x")
    v = tf.get_variable("v", [], initializer=tf.constant_initializer(1.0))
    y = tf.cond(p, lambda: tf.assign(v, x), lambda: tf.assign_sub(v, x))
    init = tf.global_variables_initializer()
    return [y], [(init, {}), {p: True, x: 4.0}, {p: False, x: 1.5}]


@program
@other_nodes
def cond_in_cond():
    p, q, x = scalar("p", tf.bool), scalar("q", tf.bool), scalar("x")
    y = tf.cond(p, lambda: tf.cond(q, lambda: x * x, lambda: 3.0 * x), lambda: tf.exp(x))
    feeds = [{p: a, q: b, x: 0.5} for a in (True, False) for b in (True, False)]
    return [y] + grads(y, x), feeds


@program
@other_nodes
def cond_with_weights():
    p = scalar("p", tf.bool)
    x = tf.placeholder(tf.float32, [None, 2], name="x")
    w = tf.get_variable("w", [2, 2], initializer=tf.constant_initializer(0.5))
    y = tf.cond(p, lambda: tf.matmul(x, w), lambda: tf.tanh(x))
    loss = tf.reduce_sum(y)
    value = [[1.0, 2.0], [3.0, -1.0], [0.5, 0.25]]
    init = tf.global_variables_initializer()
    return [loss, y] + grads(loss, x, w), [(init, {}), {p: True, x: value}, {p: False, x: value}]


@program
def cond_waits():
    p, x = scalar("p", tf.bool), scalar("x")
    first = x * 2.0
    with tf.control_dependencies([first]):
        y = tf.cond(p, lambda: tf.constant(1.0), lambda: x + 1.0)
    return [y], both(p, x)


@program
def cond_gradient_of_one_branch():
    p, x = scalar("p", tf.bool), scalar("x")
    y = tf.cond(p, lambda: tf.constant(4.0), lambda: x * x)
    return [y] + grads(y, x), both(p, x)


@program
def cond_second_gradient():
    p, x = scalar("p", tf.bool), scalar("x")
    y = tf.cond(p, lambda: x * x * x, lambda: x * x)
    first = tf.gradients(y, x)[0]
    return [first] + grads(first, x), both(p, x)


@program
@other_nodes
def cond_of_gathered_rows():
    p = scalar("p", tf.bool)
    w = tf.get_variable("w", [4, 2], initializer=tf.constant_initializer(0.5))
    y = tf.cond(p, lambda: tf.reduce_sum(w, 1), lambda: tf.reduce_prod(w, 1))
    init = tf.global_variables_initializer()
    return [y] + grads(y, w), [(init, {}), {p: True}, {p: False}]


@program
def cond_of_unlike_shapes():
    p = scalar("p", tf.bool)
    y = tf.cond(p, lambda: tf.ones([2, 3]), lambda: tf.zeros([4, 3]))
    return [y, tf.shape(y)], [{p: True}, {p: False}]


@program
def case_of_three():
    i, x = scalar("i", tf.int32), scalar("x")
    y = tf.case([(tf.equal(i, 0), lambda: x + 1.0), (tf.equal(i, 1), lambda: x * x)],
                default=lambda: -x)
    return [y] + grads(y, x), [{i: k, x: 3.0} for k in (0, 1, 2)]


@program
def case_exclusive():
    i, x = scalar("i", tf.int32), scalar("x")
    y = tf.case([(i < 5, lambda: x), (i < 3, lambda: 2.0 * x)], default=lambda: -x, exclusive=True)
    return [y], [{i: 4, x: 1.0}, {i: 9, x: 1.0}, {i: 1, x: 1.0}]


@program
def case_without_default():
    i, x = scalar("i", tf.int32), scalar("x")
    y = tf.case([(tf.equal(i, 0), lambda: x), (tf.equal(i, 1), lambda: 2.0 * x)])
    return [y], [{i: 0, x: 1.0}, {i: 1, x: 1.0}, {i: 2, x: 1.0}]


@program
def loop():
    x = scalar("x")
    i, z = tf.while_loop(lambda i, z: i < 10, lambda i, z: (i + 1, z * x), (0, x))
    return [i, z] + grads(z, x), [{x: 1.5}]


@program
def loop_of_one():
    n = tf.while_loop(lambda n: n < 100, lambda n: n * 3, [tf.constant(1)])
    return [n], [{}]


@program
def loop_with_limit():
    x = scalar("x")
    z = tf.while_loop(lambda z: z < 1000.0, lambda z: z * 2.0, [x], maximum_iterations=5)
    return [z] + grads(z, x), [{x: 1.0}, {x: 300.0}, {x: 2000.0}]


@program
@other_nodes
def loop_of_matrices():
    x = tf.placeholder(tf.float32, [None, 2], name="x")
    w = tf.get_variable("w", [2, 2], initializer=tf.constant_initializer(0.3))
    _, h = tf.while_loop(lambda i, h: i < 4, lambda i, h: (i + 1, tf.tanh(tf.matmul(h, w) + x)),
                         (0, tf.zeros_like(x)))
    loss = tf.reduce_sum(h * h)
    init = tf.global_variables_initializer()
    value = [[1.0, 2.0], [3.0, -1.0], [0.5, 0.25]]
    return [loss, h] + grads(loss, x, w), [(init, {}), {x: value}, {x: value[:2]}]


@program
def loop_that_does_not_run():
    x = scalar("x")
    _, z = tf.while_loop(lambda i, z: i < 0, lambda i, z: (i + 1, z * x), (0, x * 3.0))
    return [z] + grads(z, x), [{x: 1.5}]


@program
def loop_in_loop():
    x = scalar("x")

    def outer(i, z):
        _, inner = tf.while_loop(lambda j, u: j < i, lambda j, u: (j + 1, u * x), (0, z))
        return i + 1, inner + x

    _, z = tf.while_loop(lambda i, z: i < 4, outer, (0, x))
    return [z] + grads(z, x), [{x: 1.25}]


@program
def cond_in_loop():
    x = scalar("x")

    def body(i, z):
        return i + 1, tf.cond(tf.equal(i % 2, 0), lambda: z * x, lambda: z + x)

    _, z = tf.while_loop(lambda i, z: i < 5, body, (0, x))
    return [z] + grads(z, x), [{x: 1.25}]


@program
@other_nodes
def cond_of_vectors_in_loop():
    x = tf.placeholder(tf.float32, [None], name="x")

    def body(i, z):
        return i + 1, tf.cond(tf.equal(i % 2, 0), lambda: z * x, lambda: tf.sin(z))

    _, z = tf.while_loop(lambda i, z: i < 4, body, (0, x))
    return [z] + grads(z, x), [{x: [0.5, 1.0, -2.0]}]


@program
def loop_in_cond():
    p, x = scalar("p", tf.bool), scalar("x")

    def grow():
        return tf.while_loop(lambda i, z: i < 3, lambda i, z: (i + 1, z * x), (0, x))[1]

    y = tf.cond(p, grow, lambda: x - 1.0)
    return [y] + grads(y, x), both(p, x, 2.0)


@program
@other_nodes
def loop_that_grows():
    x = tf.placeholder(tf.float32, [1, 2], name="x")
    _, z = tf.while_loop(lambda i, z: i < 3, lambda i, z: (i + 1, tf.concat([z, z + 1.0], 0)),
                         (0, x), shape_invariants=(tf.TensorShape([]), tf.TensorShape([None, 2])))
    return [z, tf.shape(z)] + grads(z, x), [{x: [[1.0, 2.0]]}]


@program
def loop_that_assigns():
    v = tf.get_variable("v", [], initializer=tf.constant_initializer(1.0))

    def body(i):
        with tf.control_dependencies([tf.assign_add(v, 2.0)]):
            return i + 1

    i = tf.while_loop(lambda i: i < 5, body, [tf.constant(0)])
    with tf.control_dependencies([i]):
        now = tf.identity(v.read_value())
    init = tf.global_variables_initializer()
    return [i, now], [(init, {}), {}, {}]


@program
def loop_waits():
    x = scalar("x")
    first = x * 2.0
    with tf.control_dependencies([first]):
        _, z = tf.while_loop(lambda i, z: i < 3, lambda i, z: (i + 1, z + tf.constant(1.0)), (0, x))
    return [z], [{x: 1.5}]


@program
def loop_of_unused_variables():
    x = scalar("x")
    _, z, u = tf.while_loop(lambda i, z, u: i < 3, lambda i, z, u: (i + 1, z * u, u + x), (0, x, x))
    return [z] + grads(z, x), [{x: 1.5}]


@program
def loop_that_forgets():
    x = scalar("x")
    _, z = tf.while_loop(lambda i, z: i < 3, lambda i, z: (i + 1, x * tf.cast(i, tf.float32)),
                         (0, x * 7.0))
    return [z] + grads(z, x), [{x: 1.5}]


@program
def loop_without_gradient():
    x = scalar("x")
    _, z = tf.while_loop(lambda i, z: i < 3, lambda i, z: (i + 1, z * x), (0, x), back_prop=False)
    return [z + x] + grads(z + x, x), [{x: 1.5}]


@program
def loop_gradient_of_initial_value():
    x, y = scalar("x"), scalar("y")
    _, z = tf.while_loop(lambda i, z: i < 3, lambda i, z: (i + 1, z * y), (0, x))
    return [z] + grads(z, x, y), [{x: 1.5, y: 2.0}]


@program
def loop_with_variable_inside():
    x = scalar("x")

    def body(i, z):
        with tf.variable_scope("cell", reuse=tf.AUTO_REUSE):
            w = tf.get_variable("w", [], initializer=tf.constant_initializer(0.5))
        return i + 1, z * w

    _, z = tf.while_loop(lambda i, z: i < 3, body, (0, x))
    init = tf.global_variables_initializer()
    return [z] + grads(z, x, tf.trainable_variables()[0]), [(init, {}), {x: 2.0}]


@program
def loop_named():
    with tf.name_scope("outer"):
        z = tf.while_loop(lambda z: z < 3, lambda z: z + 1, [0], name="count", parallel_iterations=1)
    return [z], [{}]


@program
def gradient_inside_loop():
    x = scalar("x")

    def body(i, z):
        return i + 1, z - 0.1 * tf.gradients(tf.square(z - x), z)[0]

    _, z = tf.while_loop(lambda i, z: i < 5, body, (0, 0.0))
    return [z], [{x: 1.5}]


@program
def error_dtypes():
    p, x = scalar("p", tf.bool), scalar("x")
    tf.cond(p, lambda: x, lambda: 1)
    return [], []


@program
def error_pred():
    x = scalar("x")
    tf.cond(x, lambda: x, lambda: x)
    return [], []


@program
def error_counts():
    p, x = scalar("p", tf.bool), scalar("x")
    tf.cond(p, lambda: [x, x], lambda: [x, x, x])
    return [], []


@program
def error_shape_varies():
    x = tf.placeholder(tf.float32, [1, 2], name="x")
    tf.while_loop(lambda z: tf.reduce_sum(z) < 9.0, lambda z: tf.concat([z, z], 0), [x])
    return [], []


@program
def error_no_variables():
    tf.while_loop(lambda: True, lambda: [], [])
    return [], []


@program
def error_condition():
    tf.while_loop(lambda i: i + 1, lambda i: i + 1, [0])
    return [], []


@program
def error_leak():
    kept = []

    def body(i):
        kept.append(i * 2)
        return i + 1

    tf.while_loop(lambda i: i < 3, body, [0])
    return [kept[0] + 1], [{}]


@program
def error_fetch_in_branch():
    p, x = scalar("p", tf.bool), scalar("x")
    kept = []

    def branch():
        kept.append(x * 2.0)
        return kept[0]

    tf.cond(p, branch, lambda: x)
    return [kept[0]], both(p, x)


@program
def error_dead_fetch():
    p, x = scalar("p", tf.bool), scalar("x")
    y = tf.cond(p, lambda: tf.tanh(x), lambda: x)
    g = tf.gradients(y, x)[0]
    dead = [op for op in g.graph.get_operations() if op.type == "TanhGrad"][0].outputs[0]
    return [dead], both(p, x)


@program
@other_nodes
def array_write_read():
    x = scalar("x")
    ta = tf.TensorArray(tf.float32, size=3, clear_after_read=False)
    ta = ta.write(0, x).write(1, x * x).write(2, 3.0)
    a, b = ta.read(1), ta.read(tf.constant(0))
    y = a * b
    return [y, a, b, ta.size(), ta.read(2)] + grads(y, x), [{x: 1.5}, {x: -2.0}]


@program
@other_nodes
def array_stack():
    x = tf.placeholder(tf.float32, [2], name="x")
    ta = tf.TensorArray(tf.float32, size=3, name="kept")
    for i in range(3):
        ta = ta.write(i, x * float(i + 1))
    y = ta.stack()
    return [y] + grads(tf.square(y), x), [{x: [1.0, -2.0]}]


@program
@other_nodes
def array_unstack():
    x = tf.placeholder(tf.float32, [None, 2], name="x")
    n = tf.shape(x)[0]
    ta = tf.TensorArray(tf.float32, n).unstack(x)
    first = ta.read(0)
    rows = tf.TensorArray(tf.float32, n, clear_after_read=False).unstack(x)
    y = rows.gather([1, 0])
    z = rows.read(n - 1, name="last")
    return [first, y, z] + grads([y, z], x), [
        {x: [[1.0, 2.0], [3.0, 4.0]]}, {x: [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]}]


@program
def array_scatter():
    x = tf.placeholder(tf.float32, [2, 2], name="x")
    ta = tf.TensorArray(tf.float32, size=4, element_shape=[2])
    ta = ta.scatter([3, 1], x).write(0, [1.0, 2.0]).write(2, [0.5, 0.5], name="half")
    y = ta.stack(name="all")
    return [y] + grads(tf.square(y), x), [{x: [[1.0, 2.0], [3.0, 4.0]]}]


@program
def array_split_concat():
    x = tf.placeholder(tf.float32, [5, 2], name="x")
    ta = tf.TensorArray(tf.float32, size=2, infer_shape=False).split(x, [2, 3])
    y = ta.concat()
    return [y] + grads(tf.square(y), x), [{x: np.arange(10.0).reshape(5, 2)}]


@program
def array_equal_pieces():
    x = tf.placeholder(tf.float32, [4], name="x")
    ta = tf.TensorArray(tf.float32, size=2, clear_after_read=False).split(x, [2, 2])
    y = tf.square(ta.read(1))
    z = ta.concat()
    return [y, z] + grads(y, x), [{x: [1.0, 2.0, 3.0, 4.0]}]


@program
def array_of_integers():
    x = tf.placeholder(tf.int32, [None], name="x")
    ta = tf.TensorArray(tf.int32, size=tf.size(x)).unstack(x)
    return [ta.stack()], [{x: [1, 2, 3]}, {x: [4]}]


@program
def array_twice_differentiated():
    x = scalar("x")
    ta = tf.TensorArray(tf.float32, size=2)
    y = ta.write(0, x * x).write(1, x).stack()
    return grads(y, x) + grads(tf.square(y), x), [{x: 1.5}]


@program
def array_unread_element():
    x, y = scalar("x"), scalar("y")
    ta = tf.TensorArray(tf.float32, size=2)
    z = ta.write(0, x * 2.0).write(1, y).read(0)
    return [z] + grads(z, x, y), [{x: 1.5, y: 3.0}]


@program
def array_dynamic():
    x = scalar("x")
    ta = tf.TensorArray(tf.float32, size=0, dynamic_size=True)
    ta = ta.write(0, x).write(2, x * x).write(1, 1.0)
    y = ta.stack()
    return [y, ta.size()] + grads(y, x), [{x: 1.5}]


@program
def array_closed():
    ta = tf.TensorArray(tf.float32, size=1).write(0, 1.0)
    with tf.control_dependencies([ta.flow]):
        done = ta.close()
    with tf.control_dependencies([done]):
        y = ta.identity().read(0)
    return [y], [{}]


@program
def array_in_loop():
    x = scalar("x")
    ta = tf.TensorArray(tf.float32, size=4)
    _, z, ta = tf.while_loop(lambda i, z, ta: i < 4,
                             lambda i, z, ta: (i + 1, z * x, ta.write(i, z)), (0, x, ta))
    y = ta.stack()
    return [y, z] + grads(y, x), [{x: 1.5}]


@program
@other_nodes
def array_read_in_loop():
    x = tf.placeholder(tf.float32, [None, 2], name="x")
    n = tf.shape(x)[0]
    source = tf.TensorArray(tf.float32, n).unstack(x)
    kept = tf.TensorArray(tf.float32, n)

    def body(i, state, kept):
        state = state * 0.5 + source.read(i)
        return i + 1, state, kept.write(i, state)

    _, last, kept = tf.while_loop(lambda i, *_: i < n, body, (0, tf.constant([1.0, 2.0]), kept))
    y = kept.stack()
    return [y, last] + grads(tf.square(y), x), [
        {x: [[1.0, 2.0], [3.0, -1.0]]}, {x: [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]}]


@program
def array_grows_in_loop():
    n, x = scalar("n", tf.int32), scalar("x")
    ta = tf.TensorArray(tf.float32, size=0, dynamic_size=True)
    _, ta = tf.while_loop(lambda i, ta: i < n,
                          lambda i, ta: (i + 1, ta.write(i, x * tf.cast(i, tf.float32))), (0, ta))
    y = ta.stack()
    return [y, ta.size()] + grads(y, x), [{n: 3, x: 1.5}, {n: 1, x: 2.0}]


@program
def array_made_in_loop():
    x = scalar("x")

    def body(i, z, kept):
        ta = tf.TensorArray(tf.float32, size=2).write(0, z).write(1, x)
        z = tf.reduce_sum(ta.stack())
        return i + 1, z, kept.write(i, z)

    kept = tf.TensorArray(tf.float32, size=3)
    _, z, kept = tf.while_loop(lambda i, *_: i < 3, body, (0, x, kept))
    after = tf.TensorArray(tf.float32, size=1).write(0, z)
    return [kept.stack(), after.read(0)], [{x: 1.5}]


@program
def array_in_cond():
    p, x = scalar("p", tf.bool), scalar("x")
    ta = tf.TensorArray(tf.float32, size=2).write(0, x)
    ta = tf.cond(p, lambda: ta.write(1, x * x), lambda: ta.write(1, 5.0))
    y = ta.stack()
    return [y] + grads(y, x), both(p, x)


@program
def array_in_nested_structure():
    x = scalar("x")
    a, b = tf.TensorArray(tf.float32, size=3), tf.TensorArray(tf.float32, size=3)

    def body(i, arrays):
        a, (z, b) = arrays
        return i + 1, (a.write(i, z), (z * x, b.write(i, z + 1.0)))

    _, (a, (z, b)) = tf.while_loop(lambda i, _: i < 3, body, (0, (a, (x, b))))
    y = a.stack() * b.stack()
    return [y, z] + grads(y, x), [{x: 1.5}]


@program
def map_of_rows():
    x = tf.placeholder(tf.float32, [3, 2], name="x")
    y = tf.map_fn(tf.square, x)
    return [y] + grads(y, x), [{x: [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]}]


@program
def map_of_unknown_size():
    x = tf.placeholder(tf.float32, [None, 2], name="x")
    y = tf.map_fn(lambda row: tf.square(row) + row, x, name="sums", parallel_iterations=3)
    return [y] + grads(tf.square(y), x), [
        {x: [[1.0, 2.0], [3.0, 4.0]]}, {x: [[1.0, 2.0]]}]


@program
def map_of_two():
    x, y = tf.placeholder(tf.float32, [3], name="x"), tf.placeholder(tf.float32, [None], name="y")
    z = tf.map_fn(lambda both: both[0] * both[1], (x, y), dtype=tf.float32)
    return [z] + grads(z, x, y), [{x: [1.0, 2.0, 3.0], y: [4.0, 5.0, 6.0]}]


@program
def map_to_other_dtypes():
    x = tf.placeholder(tf.float32, [None], name="x")
    a, b = tf.map_fn(lambda e: (tf.cast(e, tf.int32), e + 1.0), x, dtype=(tf.int32, tf.float32))
    return [a, b] + grads(b, x), [{x: [1.5, 2.5]}]


@program
@other_nodes
def map_with_variable():
    x = tf.placeholder(tf.float32, [None, 2], name="x")
    w = tf.get_variable("w", [2], initializer=tf.constant_initializer(0.5))
    y = tf.map_fn(lambda row: row * w, x)
    init = tf.global_variables_initializer()
    return [y] + grads(tf.square(y), x, w), [(init, {}), {x: [[1.0, 2.0], [3.0, 4.0]]}]


@program
def map_in_map():
    x = tf.placeholder(tf.float32, [2, 3], name="x")
    y = tf.map_fn(lambda row: tf.map_fn(tf.square, row), x)
    return [y] + grads(y, x), [{x: [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]}]


@program
def map_without_gradient():
    x = tf.placeholder(tf.float32, [2], name="x")
    y = tf.map_fn(lambda e: e * e, x, back_prop=False, infer_shape=False)
    return [y], [{x: [1.0, 2.0]}]


@program
def scan_sums():
    x = tf.placeholder(tf.float32, [None, 2], name="x")
    y = tf.scan(lambda a, e: tf.square(a) + e, x)
    return [y] + grads(tf.square(y), x), [
        {x: [[1.0, 2.0], [3.0, 4.0]]}, {x: [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]}]


@program
def scan_with_initializer():
    x, s = tf.placeholder(tf.float32, [3], name="x"), scalar("s")
    y = tf.scan(lambda a, e: a * e, x, s, name="products")
    return [y] + grads(y, x, s), [{x: [1.0, 2.0, 3.0], s: 1.5}]


@program
def scan_reverse():
    x = tf.placeholder(tf.float32, [3], name="x")
    y = tf.scan(lambda a, e: a + e * e, x, reverse=True)
    return [y] + grads(y, x), [{x: [1.0, 2.0, 3.0]}]


@program
def scan_reverse_of_unknown_size():
    x = tf.placeholder(tf.float32, [None], name="x")
    y = tf.scan(lambda a, e: a + e, x, initializer=0.5, reverse=True, infer_shape=False)
    return [y] + grads(y, x), [{x: [1.0, 2.0, 3.0]}, {x: [4.0]}]


@program
def scan_fibonacci():
    x = tf.placeholder(tf.int32, [6], name="x")
    a, b = tf.scan(lambda a, _: (a[1], a[0] + a[1]), x, (0, 1))
    return [a, b], [{x: [0] * 6}]


@program
def fold_left():
    x = tf.placeholder(tf.float32, [3], name="x")
    y = tf.foldl(lambda a, e: a * 0.5 + e, x)
    return [y] + grads(y, x), [{x: [1.0, 2.0, 3.0]}]


@program
@other_nodes
def fold_left_from_initializer():
    x, s = tf.placeholder(tf.float32, [None, 2], name="x"), scalar("s")
    y = tf.foldl(lambda a, e: a * tf.reduce_sum(e), x, s, name="left")
    return [y] + grads(y, x, s), [{x: [[1.0, 2.0], [3.0, 4.0]], s: 1.5}]


@program
def fold_right():
    x = tf.placeholder(tf.float32, [None], name="x")
    y = tf.foldr(lambda a, e: a * 0.5 + e, x)
    return [y] + grads(y, x), [{x: [1.0, 2.0, 3.0]}, {x: [5.0]}]


@program
def fold_right_of_two():
    x, y = tf.placeholder(tf.float32, [3], name="x"), tf.placeholder(tf.float32, [3], name="y")
    z = tf.foldr(lambda a, e: a * e[0] + e[1], (x, y), 1.0)
    return [z] + grads(z, x, y), [{x: [1.0, 2.0, 3.0], y: [4.0, 5.0, 6.0]}]


@program
def error_array_without_size():
    tf.TensorArray(tf.float32)
    return [], []


@program
def error_array_of_handle_and_size():
    ta = tf.TensorArray(tf.float32, size=1)
    tf.TensorArray(tf.float32, handle=ta.handle, flow=ta.flow, size=1)
    return [], []


@program
def error_array_shapes():
    ta = tf.TensorArray(tf.float32, size=2).write(0, [1.0, 2.0])
    ta.write(1, [1.0, 2.0, 3.0])
    return [], []


@program
def error_array_index_type():
    tf.TensorArray(tf.float32, size=2).write(tf.constant(0, tf.int64), 1.0)
    return [], []


@program
def error_array_written_outside():
    i = scalar("i", tf.int32)
    y = tf.TensorArray(tf.float32, size=2).write(i, 1.0)
    return [y.flow], [{i: 1}, {i: 2}, {i: -1}]


@program
def error_array_written_twice():
    y = tf.TensorArray(tf.float32, size=2).write(0, 1.0).write(0, 2.0)
    return [y.flow], [{}]


@program
def error_array_read_twice():
    ta = tf.TensorArray(tf.float32, size=1).write(0, 1.0)
    a = ta.read(0)
    with tf.control_dependencies([a]):
        b = ta.read(0)
    return [b], [{}]


@program
def error_array_read_outside():
    i = scalar("i", tf.int32)
    y = tf.TensorArray(tf.float32, size=2).write(0, 1.0).read(i)
    return [y], [{i: 0}, {i: 1}, {i: 2}]


@program
def error_array_shapes_in_run():
    x = tf.placeholder(tf.float32, [None], name="x")
    ta = tf.TensorArray(tf.float32, size=2).write(0, [1.0, 2.0]).write(1, x)
    return [ta.stack()], [{x: [3.0, 4.0]}, {x: [3.0]}]


@program
def error_array_shapes_stacked():
    x = tf.placeholder(tf.float32, None, name="x")
    ta = tf.TensorArray(tf.float32, size=2, infer_shape=False).write(0, [1.0, 2.0]).write(1, x)
    return [ta.stack()], [{x: [3.0, 4.0]}, {x: [3.0]}]


@program
def error_array_lengths():
    n = tf.placeholder(tf.int32, [None], name="n")
    ta = tf.TensorArray(tf.float32, size=2, infer_shape=False).split([1.0, 2.0, 3.0], n)
    return [ta.concat()], [{n: [1, 2]}, {n: [1, 1]}, {n: [1, 1, 1]}, {n: [3]}]


@program
def error_array_empty():
    n = scalar("n", tf.int32)
    return [tf.TensorArray(tf.float32, size=n).stack()], [{n: 0}]


@program
def error_array_size():
    n = scalar("n", tf.int32)
    return [tf.TensorArray(tf.float32, size=n).flow], [{n: 0}, {n: -1}]


@program
def error_map_of_scalar():
    tf.map_fn(lambda e: e, scalar("x"))
    return [], []


@program
def error_map_of_unlike_sizes():
    tf.map_fn(lambda e: e[0], (tf.zeros([2]), tf.zeros([3])), dtype=tf.float32)
    return [], []


def shape_text(shape):
    if shape.rank is None:
        return "<unknown>"
    sizes = ["?" if size is None else str(size) for size in shape.as_list()]
    return "(" + ", ".join(sizes) + ("," if len(sizes) == 1 else "") + ")"


def line(op):
    inputs = [t.name for t in op.inputs] + sorted("^" + c.name for c in op.control_inputs)
    outputs = [f"{t.dtype.name} {shape_text(t.shape)}" for t in op.outputs]
    return f"{op.name} = {op.type}({', '.join(inputs)}) {'; '.join(outputs)}".rstrip()


def value_text(value):
    value = np.asarray(value)
    numbers = " ".join(repr(float(v)) for v in value.ravel())
    return f"{value.dtype.name} [{','.join(str(d) for d in value.shape)}] {numbers}".rstrip()


def run(session, fetches, step):
    if isinstance(step, tuple):
        session.run(step[0])
        return []
    try:
        return ["run"] + [value_text(v) for v in session.run(fetches, step)]
    except Exception as raised:  # noqa: BLE001 its class is the outcome
        return [f"!! run {class_name(raised)}"]


def class_name(raised):
    name = type(raised).__name__
    return "ValueError" if name == "InaccessibleTensorError" else name  # a subclass of it


def unoptimized():
    """Grappler rewrites some of these graphs wrongly: a fetch then has no value."""
    config = tf.ConfigProto()
    config.graph_options.rewrite_options.disable_meta_optimizer = True
    return config


def outcome(name):
    lines = [f"== {name}"]
    with tf.Graph().as_default() as graph:
        error = None
        fetches, runs = [], []
        try:
            fetches, runs = PROGRAMS[name]()
        except Exception as raised:  # noqa: BLE001 its class is the outcome
            error = class_name(raised)
        if error:
            return lines + [f"!! {error}"]
        if name not in OTHER_NODES:
            lines += sorted(line(op) for op in graph.get_operations())
        for key in ("cond_context", "while_context"):
            found = [context.name for context in tf.get_collection(key)]
            if found:
                lines.append(f"{key}: {' '.join(found)}")
        with tf.Session(config=unoptimized()) as session:
            for step in runs:
                lines += run(session, fetches, step)
    return lines


def main():
    here = os.path.dirname(os.path.abspath(__file__))
    path = sys.argv[1] if len(sys.argv) > 1 else os.path.join(here, "golden", "programs.txt")
    with open(path, "w") as out:
        for name in PROGRAMS:
            out.write("\n".join(outcome(name)) + "\n")


if __name__ == "__main__":
    main()
