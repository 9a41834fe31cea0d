#!/usr/bin/env python3
"""Writes golden/names.txt: the nodes that TensorFlow 2.21 (compat.v1) creates for single calls.

A case is `== key`, then one line per node (name, op, inputs, control inputs, outputs, device), then
`!! Class` if the call raised. naming_test.cc makes the same calls under the same keys.
Needs TensorFlow: see tests/golden/README.md. Usage: make_golden.py [FILE]
"""
import os
import sys

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["TF_USE_LEGACY_KERAS"] = "1"
import tensorflow.compat.v1 as tf  # noqa: E402

import arrays_cases  # noqa: E402
import convolution_cases  # noqa: E402
import image_cases  # noqa: E402
import indexing_cases  # noqa: E402
import mathematics_cases  # noqa: E402
import slices_cases  # noqa: E402

tf.disable_v2_behavior()
tf.disable_resource_variables()


class Inputs:
    """The inputs of every case."""

    def __init__(self):
        self.x = tf.placeholder(tf.float32, [2, 3], name="x")
        self.y = tf.placeholder(tf.float32, [2, 3], name="y")
        self.b = tf.placeholder(tf.float32, [3], name="b")
        self.u = tf.placeholder(tf.float32, [None, 3], name="u")
        self.i = tf.placeholder(tf.int32, [2, 3], name="i")
        self.j = tf.placeholder(tf.int32, [2], name="j")
        self.q = tf.placeholder(tf.float32, name="q")
        self.p = tf.placeholder(tf.bool, [2, 3], name="p")


def no_ops(*devices):
    made = []
    for device in devices:
        with tf.device(device):
            made.append(tf.no_op(name="z"))
    return made


def scoped(name, body):
    with tf.name_scope(name):
        return body()


CASES = {
    "constant": lambda t: tf.constant(1.0),
    "constant shape": lambda t: tf.constant(2, shape=[2, 2], dtype=tf.float32, name="k"),
    "constant fewer": lambda t: tf.constant([1, 2], shape=[2, 2]),
    "constant more": lambda t: tf.constant([1, 2, 3], shape=[2]),
    "constant wrong dtype": lambda t: tf.constant(1.5, dtype=tf.int32),
    "constant tensor": lambda t: tf.constant(t.x),
    "constant empty": lambda t: tf.constant([]),
    "constant int64": lambda t: tf.constant(3000000000),
    "constant bool as float": lambda t: tf.constant(True, dtype=tf.float32),
    "constant int as bool": lambda t: tf.constant(1, dtype=tf.bool),
    "zeros": lambda t: tf.zeros([2, 3]),
    "zeros 1000": lambda t: tf.zeros([1000]),
    "zeros of shape": lambda t: tf.zeros(tf.shape(t.x)),
    "zeros bool": lambda t: tf.zeros([2], tf.bool),
    "zeros string": lambda t: tf.zeros([2], tf.string),
    "ones": lambda t: tf.ones([2], tf.int32, name="k"),
    "ones 1000": lambda t: tf.ones([10, 100]),
    "fill": lambda t: tf.fill([2, 3], 7.0),
    "fill scalar": lambda t: tf.fill([], 2.0),
    "fill negative": lambda t: tf.fill([-2], 7),
    "fill vector": lambda t: tf.fill([2], [1, 2]),
    "zeros_like": lambda t: tf.zeros_like(t.x),
    "zeros_like unknown": lambda t: tf.zeros_like(t.u),
    "zeros_like dtype": lambda t: tf.zeros_like(t.i, tf.float32),
    "zeros_like unknown dtype": lambda t: tf.zeros_like(t.u, tf.int32),
    "zeros_like value": lambda t: tf.zeros_like([1.0, 2.0]),
    "ones_like": lambda t: tf.ones_like(t.x),
    "ones_like unknown": lambda t: tf.ones_like(t.u, tf.int32),
    "ones_like value": lambda t: tf.ones_like([1.0, 2.0]),
    "placeholder": lambda t: tf.placeholder(tf.float32),
    "placeholder named": lambda t: tf.placeholder(tf.int64, [None, 3], name="k"),
    "concat": lambda t: tf.concat([t.x, t.y], 0),
    "concat one": lambda t: tf.concat([t.x], 0),
    "concat one twice": lambda t: [tf.concat([t.x], 0), tf.concat(t.x, 0)],
    "concat one named": lambda t: tf.concat([t.x], 0, name="k"),
    "concat one in scope": lambda t: scoped("t", lambda: tf.concat([t.x], 0, name="a/b")),
    "concat unknown": lambda t: tf.concat([t.x, t.u], 0),
    "concat unknown 1": lambda t: tf.concat([t.x, t.u], 1),
    "concat no rank": lambda t: tf.concat([t.x, t.q], -1),
    "concat ranks": lambda t: tf.concat([t.x, t.b], 0),
    "concat axis": lambda t: tf.concat([t.x, t.y], 2),
    "concat value": lambda t: tf.concat([t.x, [[1, 2, 3]]], 0),
    "concat value first": lambda t: tf.concat([[1, 2], t.b], 0),
    "concat dtypes": lambda t: tf.concat([t.x, t.i], 0),
    "concat none": lambda t: tf.concat([], 0),
    "concat scalars": lambda t: tf.concat([1.0, 2.0], 0),
    "stack": lambda t: tf.stack([t.x, t.y]),
    "stack last": lambda t: tf.stack([t.x, t.u], -1),
    "stack ranks": lambda t: tf.stack([t.x, t.b]),
    "stack axis": lambda t: tf.stack([t.x, t.y], 5),
    "stack values": lambda t: tf.stack([1, 2]),
    "stack dtypes": lambda t: tf.stack([t.x, t.i]),
    "stack one": lambda t: tf.stack([t.x], name="k"),
    "parallel_stack": lambda t: tf.parallel_stack([t.x, t.x]),
    "parallel_stack values": lambda t: tf.parallel_stack([1, 2], name="k"),
    "parallel_stack unknown": lambda t: tf.parallel_stack([t.u, t.u]),
    "parallel_stack shapes": lambda t: tf.parallel_stack([t.x, t.b]),
    "parallel_stack dtypes": lambda t: tf.parallel_stack([t.x, tf.zeros(t.x.shape, tf.int32)]),
    "unstack": lambda t: tf.unstack(t.x),
    "unstack 1": lambda t: tf.unstack(t.x, axis=1),
    "unstack value": lambda t: tf.unstack([1.0, 2.0]),
    "unstack unknown": lambda t: tf.unstack(t.u),
    "unstack given": lambda t: tf.unstack(t.u, num=2),
    "tile": lambda t: tf.tile(t.x, [2, 1]),
    "tile unknown": lambda t: tf.tile(t.u, [2, 2]),
    "tile rank": lambda t: tf.tile(t.x, [2]),
    "gather": lambda t: tf.gather(t.x, [0, 1]),
    "gather axis": lambda t: tf.gather(t.x, [[0, 1]], axis=1),
    "gather scalar": lambda t: tf.gather(t.x, 1, name="k"),
    "gather matrix": lambda t: tf.gather(t.u, t.i),
    "gather wrong axis": lambda t: tf.gather(t.x, [0], axis=3),
    "gather wrong dtype": lambda t: tf.gather(t.x, [0.5]),
    "cast": lambda t: tf.cast(t.x, tf.int32),
    "cast same": lambda t: tf.cast(t.x, tf.float32, name="k"),
    "cast value": lambda t: tf.cast(1, tf.float32),
    "cast value same": lambda t: tf.cast(1.0, tf.float32),
    "shape": lambda t: tf.shape(t.x),
    "shape unknown": lambda t: tf.shape(t.u, out_type=tf.int64),
    "shape value": lambda t: tf.shape([1.0, 2.0]),
    "shape packed": lambda t: tf.shape([t.x, t.y]),
    "shape packed unknown": lambda t: tf.shape([t.u, t.u], name="k"),
    "rank": lambda t: tf.rank(t.x),
    "rank unknown": lambda t: tf.rank(t.q),
    "size": lambda t: tf.size(t.x),
    "size unknown": lambda t: tf.size(t.u, out_type=tf.int64),
    "slice": lambda t: tf.slice(t.x, [0, 1], [1, -1]),
    "slice unknown": lambda t: tf.slice(t.u, [1, 1], [-1, 2]),
    "slice rank": lambda t: tf.slice(t.x, [0], [1]),
    "slice computed": lambda t: tf.slice(t.x, t.j, [1, 1]),
    "strided_slice": lambda t: tf.strided_slice(t.x, [0, 0], [2, 3], [1, 2]),
    "strided_slice of step 1": lambda t: tf.strided_slice(t.x, [0, 0], [2, 3]),
    "strided_slice named": lambda t: tf.strided_slice(t.x, [0, 0], [2, 3], end_mask=2, name="k"),
    "take_index": lambda t: t.x[1],
    "take_index wrong": lambda t: t.x[2],
    "transpose": lambda t: tf.transpose(t.x),
    "transpose perm": lambda t: tf.transpose(t.u, [1, 0], name="k"),
    "transpose no rank": lambda t: tf.transpose(t.q),
    "transpose length": lambda t: tf.transpose(t.x, [0]),
    "where": lambda t: tf.where(t.p, t.x, t.y),
    "where_v2": lambda t: tf.where_v2(t.p, t.x, 0.0),
    "where shapes": lambda t: tf.where(t.p, t.x, t.b),
    "broadcast_to": lambda t: tf.broadcast_to(t.b, [2, 3]),
    "broadcast_to wrong": lambda t: tf.broadcast_to(t.b, [2, 4]),
    "reshape": lambda t: tf.reshape(t.x, [3, -1]),
    "reshape two open": lambda t: tf.reshape(t.x, [-1, -1]),
    "reshape none": lambda t: tf.reshape(t.x, [0, -1]),
    "reshape negative": lambda t: tf.reshape(t.x, [-2, 3]),
    "reshape scalar": lambda t: tf.reshape(t.u, []),
    "convert_to_tensor": lambda t: tf.convert_to_tensor([1.0, 2.0]),
    "convert_to_tensor named": lambda t: tf.convert_to_tensor(1, dtype=tf.float32, name="k"),
    "convert_to_tensor tensor": lambda t: tf.convert_to_tensor(t.x, name="k"),
    "convert_to_tensor list": lambda t: tf.convert_to_tensor([t.x, t.y]),
    "convert_to_tensor wrong": lambda t: tf.convert_to_tensor(t.x, dtype=tf.int32),
    "range": lambda t: tf.range(3),
    "range by": lambda t: tf.range(1, 10, 2, name="k"),
    "range float": lambda t: tf.range(0.0, 1.0, 0.25),
    "operator +": lambda t: t.x + t.y,
    "operator + 1": lambda t: t.x + 1,
    "operator 1 +": lambda t: 1 + t.x,
    "operator -": lambda t: t.x - 2,
    "operator *": lambda t: [t.x * 2, 2 * t.x],
    "operator /": lambda t: [t.x / 2, 1.0 / t.x],
    "operator / int": lambda t: t.i / 2,
    "operator %": lambda t: t.i % 2,
    "operator unary -": lambda t: -t.x,
    "operator >": lambda t: [t.x > 0, 0 < t.x],
    "operator >=": lambda t: t.x >= t.y,
    "operator <": lambda t: t.x < 0,
    "operator <=": lambda t: t.x <= t.y,
    "operator + list": lambda t: t.x + [1.0, 2.0, 3.0],
    "operator - list": lambda t: [1, 2, 3] - t.x,
    "operator + dtypes": lambda t: t.x + t.i,
    "operator + shapes": lambda t: t.b + tf.zeros([4]),
    "operator int + 1.5": lambda t: t.i + 1.5,
    "operator 1.5 + int": lambda t: 1.5 + t.i,
    "operator + True": lambda t: t.x + True,
    "operator + unknown": lambda t: [t.u + t.x, t.u + t.u, t.u + t.b, t.q + t.x],
    "operator bool +": lambda t: t.p + t.p,
    "add": lambda t: [tf.add(t.x, 1.0), t.x + t.y, tf.add(t.x, t.y, name="k")],
    "add values": lambda t: tf.add(1, 2),
    "add value left": lambda t: tf.add(1, t.x),
    "subtract": lambda t: tf.subtract(t.x, t.b),
    "multiply": lambda t: tf.multiply(t.x, 1.0),
    "divide": lambda t: tf.divide(t.x, 2.0),
    "divide named": lambda t: tf.divide(t.x, 2.0, name="k"),
    "divide values": lambda t: tf.divide(1.0, 2.0),
    "truediv": lambda t: tf.truediv(t.x, t.y),
    "floordiv": lambda t: tf.floordiv(t.i, 2),
    "floormod": lambda t: tf.floormod(t.i, 2),
    "maximum": lambda t: tf.maximum(t.x, 1.0),
    "minimum": lambda t: tf.minimum(t.x, t.b),
    "pow": lambda t: tf.pow(t.x, 2.0),
    "squared_difference": lambda t: tf.squared_difference(t.x, 1.0),
    "equal": lambda t: [tf.equal(t.i, 2), tf.not_equal(t.x, 1.0)],
    "equal strings": lambda t: tf.equal(tf.constant(["a"]), "b"),
    "greater": lambda t: [tf.greater(t.x, t.y), tf.greater_equal(t.x, 1.0)],
    "less": lambda t: [tf.less(t.x, t.y), tf.less_equal(t.x, 1.0)],
    "logical": lambda t: [tf.logical_and(t.p, t.p), tf.logical_or(t.p, t.p), tf.logical_not(t.p)],
    "unary": lambda t: [getattr(tf, n)(t.x) for n in
                        "negative abs square sqrt rsqrt reciprocal exp expm1 log log1p sigmoid tanh "
                        "sin cos sign floor ceil round is_nan is_inf is_finite".split()],
    "unary value": lambda t: tf.square([1.0, 2.0]),
    "unary dtype": lambda t: tf.sqrt(t.i),
    "round int": lambda t: tf.round(t.i),
    "reduce_sum": lambda t: tf.reduce_sum(t.x),
    "reduce_sum axis": lambda t: tf.reduce_sum(t.x, 0),
    "reduce_sum axes": lambda t: tf.reduce_sum(t.x, [0, 1], keepdims=True),
    "reduce_sum no axes": lambda t: tf.reduce_sum(t.x, []),
    "reduce_sum no rank": lambda t: tf.reduce_sum(t.q),
    "reduce_sum no rank axis": lambda t: tf.reduce_sum(t.q, 0),
    "reduce_sum twice": lambda t: tf.reduce_sum(t.x, [0, -2]),
    "reduce_sum tensor axes": lambda t: tf.reduce_sum(t.x, t.j),
    "reduce_sum wrong axis": lambda t: tf.reduce_sum(t.x, 5),
    "reduce_sum values": lambda t: tf.reduce_sum([1, 2, 3]),
    "reduce_sum bool": lambda t: tf.reduce_sum(t.p),
    "reduce_mean": lambda t: tf.reduce_mean(t.u, name="m"),
    "reduce_mean list": lambda t: tf.reduce_mean([t.x, t.y], 0),
    "reduce_mean whole list": lambda t: scoped("t", lambda: tf.reduce_mean([t.x, t.y], name="s")),
    "reduce_sum keep_dims": lambda t: tf.reduce_sum(t.x, 1, keep_dims=True),
    "reduce_sum keep_dims false": lambda t: tf.reduce_sum(t.x, axis=1, keep_dims=False),
    "reduce_sum keepdims twice": lambda t: tf.reduce_sum(t.x, 1, keepdims=False, keep_dims=False),
    "reduce_all keep_dims": lambda t: tf.reduce_all(t.p, keep_dims=True),
    "reduce_mean reduction_indices": lambda t: tf.reduce_mean(t.x, reduction_indices=[1]),
    "reduce_mean axis twice": lambda t: tf.reduce_mean(t.x, axis=1, reduction_indices=1),
    "reduce_mean axis twice by place": lambda t: tf.reduce_mean(t.x, 1, reduction_indices=1),
    "reduce_mean axis none": lambda t: tf.reduce_mean(t.x, None, reduction_indices=0),
    "moments keep_dims": lambda t: tf.nn.moments(t.x, [0], keep_dims=True),
    "moments keepdims twice": lambda t: tf.nn.moments(t.x, [0], keep_dims=True, keepdims=True),
    "reduce_max": lambda t: tf.reduce_max(t.u, 1, keepdims=True),
    "reduce_min": lambda t: tf.reduce_min(t.i, -1),
    "reduce_prod": lambda t: tf.reduce_prod(t.x),
    "reduce_all": lambda t: [tf.reduce_all(t.p), tf.reduce_any(t.p, 1)],
    "reduce_all float": lambda t: tf.reduce_all(t.x),
    "argmax": lambda t: tf.argmax(t.x, 1),
    "argmax int32": lambda t: tf.argmax(t.x, axis=0, output_type=tf.int32),
    "argmax default": lambda t: tf.argmax(t.u),
    "argmax wrong": lambda t: tf.argmax(t.x, 5),
    "argmin": lambda t: tf.argmin(t.x, 1),
    "add_n": lambda t: tf.add_n([t.x, t.y]),
    "add_n one": lambda t: tf.add_n([t.x]),
    "add_n one named": lambda t: tf.add_n([t.x], name="k"),
    "add_n unknown": lambda t: tf.add_n([t.u, t.x]),
    "add_n values": lambda t: tf.add_n([1.0, 2.0]),
    "sign value": lambda t: tf.sign(2.0),
    "softmax packed": lambda t: tf.nn.softmax([t.b, t.b]),
    "add_n packed": lambda t: tf.add_n([[t.b, t.b], t.x]),
    "convert packed": lambda t: tf.convert_to_tensor([t.b, t.b]),
    "add_n none": lambda t: tf.add_n([]),
    "add_n shapes": lambda t: tf.add_n([t.x, t.b]),
    "add_n dtypes": lambda t: tf.add_n([t.x, t.i]),
    "cumsum": lambda t: tf.cumsum(t.x),
    "cumsum named": lambda t: tf.cumsum(t.u, -1, exclusive=True, reverse=True, name="k"),
    "cumsum values": lambda t: tf.cumsum([1, 2, 3]),
    "cumsum axis tensor": lambda t: tf.cumsum(t.q, t.i),
    "cumsum axis beyond": lambda t: tf.cumsum(t.x, 7),
    "cumsum axis float": lambda t: tf.cumsum(t.x, 0.5),
    "cumsum bool": lambda t: tf.cumsum(t.p),
    "l2_loss": lambda t: tf.nn.l2_loss(t.x),
    "matmul": lambda t: tf.matmul(t.x, t.y, transpose_b=True),
    "matmul transpose_a": lambda t: tf.matmul(t.x, t.y, transpose_a=True, name="k"),
    "matmul unknown": lambda t: tf.matmul(t.u, t.y, transpose_b=True),
    "matmul value": lambda t: tf.matmul(t.x, [[1.0], [2.0], [3.0]]),
    "matmul sizes": lambda t: tf.matmul(t.x, t.y),
    "matmul rank": lambda t: tf.matmul(t.x, t.b),
    "matmul dtypes": lambda t: tf.matmul(t.x, t.i),
    "matmul int value": lambda t: tf.matmul(t.i, [[1.5], [1.0], [2.0]]),
    "unsorted_segment_sum": lambda t: tf.unsorted_segment_sum(t.x, [0, 1], 4),
    "no_op": lambda t: tf.no_op(),
    "group": lambda t: tf.group(t.x, t.y.op, name="k"),
    "group none": lambda t: tf.group(),
    "group devices": lambda t: tf.group(*no_ops("/gpu:1", "/gpu:0", None, "/cpu:0")),
    "group one device": lambda t: tf.group(*no_ops("/gpu:1", "/gpu:1")),
    "tuple": lambda t: tf.tuple([t.x, None, t.y], control_inputs=[t.b.op], name="k"),
    "tuple none": lambda t: tf.tuple([None]),
}


def shape_text(shape):
    if shape.rank is None:
        return "<unknown>"
    sizes = ["?" if size is None else str(size) for size in shape.as_list()]
    return "(" + ", ".join(sizes) + ("," if len(sizes) == 1 else "") + ")"


def line(op):
    inputs = [t.name for t in op.inputs] + ["^" + c.name for c in op.control_inputs]
    outputs = [f"{t.dtype.name} {shape_text(t.shape)}" for t in op.outputs]
    device = f" @{op.device}" if op.device else ""
    return f"{op.name} = {op.type}({', '.join(inputs)}) {'; '.join(outputs)}{device}".rstrip()


def case(key, body):
    lines = [f"== {key}"]
    with tf.Graph().as_default() as graph:
        inputs = Inputs()
        before = len(graph.get_operations())
        error = None
        try:
            body(inputs)
        except Exception as raised:  # noqa: BLE001 its class is the outcome
            error = type(raised).__name__
        lines += [line(op) for op in graph.get_operations()[before:]]
        if error:
            lines.append(f"!! {error}")
    return lines


def main():
    here = os.path.dirname(os.path.abspath(__file__))
    path = sys.argv[1] if len(sys.argv) > 1 else os.path.join(here, "golden", "names.txt")
    with open(path, "w") as out:
        for key, body in (CASES | arrays_cases.CASES | convolution_cases.CASES | image_cases.CASES
                          | indexing_cases.CASES | mathematics_cases.CASES
                          | slices_cases.CASES).items():
            out.write("\n".join(case(key, body)) + "\n")


if __name__ == "__main__":
    main()
