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

import array_programs  # noqa: E402, F401: adds its programs
import composed_programs  # noqa: E402, F401
from programs import OTHER_NODES, PROGRAMS, both, grads, other_nodes, program, scalar  # noqa: E402

tf.disable_v2_behavior()
tf.disable_resource_variables()


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
def case_exclusive_gradient():
    i, x = scalar("i", tf.int32), scalar("x")
    y = tf.case([(i < 5, lambda: x * x), (i < 3, lambda: 2.0 * x)], default=lambda: tf.tanh(x),
                exclusive=True)
    return grads(y, x), [{i: 4, x: 1.5}, {i: 9, x: 1.5}, {i: 1, x: 1.5}]


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
def loop_of_activations():
    x = scalar("x")
    _, z = tf.while_loop(lambda i, u: i < 3,
                         lambda i, u: (i + 1, tf.tanh(u) * tf.sigmoid(u) + tf.nn.relu(u)), (0, x))
    return [z] + grads(z, x), [{x: 1.5}, {x: -0.5}]


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
