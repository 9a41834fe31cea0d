#!/usr/bin/env python3
"""Writes fixtures/*.txt: what TensorFlow 2.21 (compat.v1) makes of calls of layers, cells and slim.

    make_fixtures.py [layers|rnn|slim] ...

A case is `== key`; one line per node that the call made (name, op, inputs, control inputs, outputs,
device); `!! Class` if it raised. Unless it raised, there follow `* variable`, its shape and whether
it is trainable; `# collection: names`; and values, `~ label: numbers`: initial values, results,
losses and gradients of a weighted sum of the results, and the variables after the update ops.
Variables and placeholders hold the numbers of `numbers`. layers_test.cc makes the same calls.
Needs TensorFlow (tests/golden/README.md) and, for slim, `pip install tf-slim`.
"""
import importlib
import os
import sys
import warnings

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["TF_USE_LEGACY_KERAS"] = "1"
warnings.filterwarnings("ignore")
import numpy as np  # noqa: E402
import tensorflow.compat.v1 as tf  # noqa: E402
from tensorflow.python.framework import ops  # noqa: E402
from tensorflow.python.ops import control_flow_ops  # noqa: E402

# tf-slim looks for these layers where older versions of tf_keras had them.
import tf_keras.src.legacy_tf_layers as legacy_layers  # noqa: E402

for part in ["base", "convolutional", "core", "normalization", "pooling"]:
    sys.modules["tf_keras.legacy_tf_layers." + part] = importlib.import_module(
        "tf_keras.src.legacy_tf_layers." + part)
sys.modules["tf_keras.legacy_tf_layers"] = legacy_layers
ops.Tensor = tf.Tensor  # removed since the last tf-slim
control_flow_ops.cond = tf.cond  # likewise
tf.disable_v2_behavior()
tf.disable_resource_variables()
tf.logging.set_verbosity(tf.logging.FATAL)
COLLECTIONS = ["update_ops", "losses", "regularization_losses", "model_variables",
               "moving_average_variables", "ends", "cond_context", "while_context"]


class Inputs:
    """The inputs of every case."""

    def __init__(self):
        self.x = tf.placeholder(tf.float32, [2, 3], name="x")
        self.y = tf.placeholder(tf.float32, [2, 3], name="y")
        self.z = tf.placeholder(tf.float32, [2, 3], name="z")
        self.u = tf.placeholder(tf.float32, [None, 3], name="u")
        self.h = tf.placeholder(tf.float32, [2, 4], name="h")
        self.c = tf.placeholder(tf.float32, [2, 4], name="c")
        self.s = tf.placeholder(tf.float32, [2, 5, 3], name="s")
        self.im = tf.placeholder(tf.float32, [2, 6, 6, 2], name="im")
        self.v = tf.placeholder(tf.float32, [None, 6, 6, 2], name="v")
        self.d = tf.placeholder(tf.float64, [2, 3], name="d")
        self.i = tf.placeholder(tf.int32, [2, 3], name="i")
        self.l = tf.placeholder(tf.int64, [2], name="l")
        self.b = tf.placeholder(tf.bool, [], name="b")
        self.q = tf.placeholder(tf.float32, name="q")

    def floats(self):
        return [self.x, self.y, self.z, self.u, self.h, self.c, self.s, self.im, self.v, self.d]


def numbers(shape, salt, positive=False):
    """Returns exact numbers between -0.625 and 0.625, or between 0.125 and 1.375."""
    count = int(np.prod(shape, dtype=np.int64))
    values = (np.arange(count) * 7 + np.arange(count) // 11 * 3 + salt * 13) % 11
    return ((values + 1 if positive else values - 5) / 8).reshape(shape)


def shape_text(shape):
    if shape.rank is None:
        return "<unknown>"
    sizes = ["?" if size is None else str(size) for size in shape.as_list()]
    return "(" + ", ".join(sizes) + ("," if len(sizes) == 1 else "") + ")"


def node_line(op):
    inputs = [t.name for t in op.inputs] + ["^" + c.name for c in op.control_inputs]
    outputs = [f"{t.dtype.name} {shape_text(t.shape)}" for t in op.outputs]
    device = f" @{op.device}" if op.device else ""
    return f"{op.name} = {op.type}({', '.join(inputs)}) {'; '.join(outputs)}{device}".rstrip()


def value_line(label, value):
    return f"~ {label}: " + " ".join(f"{float(v):.9g}" for v in np.ravel(value))


def name_of(item):
    return item.name if hasattr(item, "name") else "?"


def values_of(inputs, outputs):
    lines = []
    variables = tf.global_variables()
    graph = tf.get_default_graph()
    losses = [tf.convert_to_tensor(loss) for loss in tf.get_collection("regularization_losses")]
    trainable = tf.trainable_variables()
    ends = [o for o in outputs if o.dtype.is_floating]
    targets = [tf.reduce_sum(o * tf.cast(tf.constant(numbers(o.shape.as_list(), 3 + k)), o.dtype))
               for k, o in enumerate(ends) if o.shape.is_fully_defined()]
    asked = [("gradient " + v.name, v) for v in trainable]
    asked += [("gradient " + p.name, p) for p in inputs.floats()]
    slopes = tf.gradients(targets, [v for _, v in asked]) if targets else [None] * len(asked)
    found = [(label, s) for (label, _), s in zip(asked, slopes) if s is not None]
    with tf.Session(graph=graph) as sess:
        for v in variables:
            lines.append(value_line("initial " + v.name, sess.run(v.initial_value)))
        for k, v in enumerate(variables):
            value = numbers(v.shape.as_list(), k, "variance" in v.name)
            sess.run(v.initializer, {v.initializer.inputs[1]: value})
        feeds = {}
        for k, p in enumerate(inputs.floats()):
            feeds[p] = numbers([size or 2 for size in p.shape.as_list()], 50 + k)
        feeds[inputs.i] = [[0, 1, 2], [2, 0, 1]]
        feeds[inputs.l] = [1, 0]
        feeds[inputs.b] = True
        results = sess.run([outputs, losses, [s for _, s in found]], feeds)
        for k, value in enumerate(results[0]):
            lines.append(value_line(f"result {k}", value))
        for k, value in enumerate(results[1]):
            lines.append(value_line(f"loss {k}", value))
        for (label, _), value in zip(found, results[2]):
            lines.append(value_line(label, value))
        updates = tf.get_collection("update_ops")
        for update in updates:  # one after the other: TensorFlow's order in one run is not defined
            sess.run(update, feeds)
        if updates:
            for v in variables:
                if "moving" in v.name:
                    lines.append(value_line("updated " + v.name, sess.run(v)))
    return lines


def flat(result):
    """Returns the tensors of a result in order."""
    if result is None:
        return []
    return [r for r in tf.nest.flatten(result) if isinstance(r, tf.Tensor)]


def case(key, body):
    lines = [f"== {key}"]
    with tf.Graph().as_default() as graph:
        tf.set_random_seed(42)
        inputs = Inputs()
        before = len(graph.get_operations())
        error = None
        try:
            outputs = flat(body(inputs))
        except Exception as raised:  # noqa: BLE001 its class is the outcome
            error = type(raised).__name__
            if "-v" in sys.argv:
                print(key, raised)
        lines += [node_line(op) for op in graph.get_operations()[before:]]
        if error:
            return lines + [f"!! {error}"]
        trainable = tf.trainable_variables()
        for v in tf.global_variables():
            kind = " trainable" if any(v is t for t in trainable) else ""
            lines.append(f"* {v.name} {shape_text(v.shape)}{kind}")
        for name in COLLECTIONS:
            items = tf.get_collection(name)
            if items:
                lines.append(f"# {name}: " + ", ".join(name_of(item) for item in items))
        return lines + values_of(inputs, outputs)


def main():
    here = os.path.dirname(os.path.abspath(__file__))
    names = [a for a in sys.argv[1:] if not a.startswith("-")] or ["layers", "rnn", "slim"]
    for name in names:
        cases = importlib.import_module(name + "_cases").CASES
        with open(os.path.join(here, "fixtures", name + ".txt"), "w") as out:
            for key, body in cases.items():
                out.write("\n".join(case(key, body)) + "\n")


if __name__ == "__main__":
    main()
