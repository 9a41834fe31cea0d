#!/usr/bin/env python3
"""Writes the files in golden/ by running TensorFlow 2.21's random ops on the CPU.

Run it with a Python that has TensorFlow 2.21: `python3 make_golden.py`. The files are text:

    stream <op> <dtype> <seed> <seed2> [<low> <high>]   a new op in a new session; then, in order:
    values <count> <hex>...          a run; the elements' bits
    every <step> <count> <hex>...    a run; the bits of elements 0, step, 2 step, ...
    hash <count> <hex>               a run; FNV-1a 64 over the output's bytes

    stream shuffle <seed> <seed2>
    rows <rows> <columns> <element>...   a run on 0, 1, 2, ... in that shape; the first column
    rowhash <rows> <columns> <hex>       a run; FNV-1a 64 over the output, of int32

    graph <seed or ->                a new graph
    set <seed or ->                  its seed changes
    op <seed or -> <seed> <seed2> <hex>...   one random_uniform op: attributes, first three values
"""
import os
import pathlib

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import numpy as np
import tensorflow.compat.v1 as tf

tf.disable_v2_behavior()
GOLDEN = pathlib.Path(__file__).parent / "golden"
SEEDS = [(87654321, 7), (5, 0), (0, 2**31 - 1), (-3, 2**40 + 1), (2**63 - 1, -(2**63))]
SAMPLED = 97  # every SAMPLED-th element of large outputs of normals is kept


def bits(array):
    digits = 2 * array.itemsize
    words = array.view(np.uint32 if array.itemsize == 4 else np.uint64).ravel()
    return " ".join(f"{int(w):0{digits}x}" for w in words)


def fnv(array):
    value = 0xCBF29CE484222325
    for byte in array.tobytes():
        value = (value ^ byte) * 0x100000001B3 % 2**64
    return f"{value:016x}"


def session_runs(make, feeds):
    """Returns results of one op, `make(placeholder)`, run once per feed in one session."""
    with tf.Graph().as_default(), tf.Session() as session:
        place = tf.placeholder(tf.int32)
        op = make(place)
        return [session.run(op, {place: feed}) for feed in feeds]


def run_line(array, exact):
    if len(array) <= 300:
        return f"values {len(array)} {bits(array)}".rstrip()
    if exact:
        return f"hash {len(array)} {fnv(array)}"
    return f"every {SAMPLED} {len(array)} {bits(array[::SAMPLED])}"


def write_streams(name, header_and_make, exact):
    lines = []
    for index, (header, make) in enumerate(header_and_make):
        lines.append("stream " + header)
        counts = [1, 3, 0, 19, 2] if index % len(SEEDS) else [257, 255, 1000, 256, 1, 3, 20011]
        lines += [run_line(a, exact) for a in session_runs(make, [[c] for c in counts])]
    (GOLDEN / name).write_text("\n".join(lines) + "\n")


def of_dtype(op, raw):
    for dtype in (tf.float32, tf.float64):
        for a, b in SEEDS:
            make = lambda s, a=a, b=b, d=dtype: raw(shape=s, dtype=d, seed=a, seed2=b)
            yield f"{op} {dtype.name} {a} {b}", make


def integers():
    full = {tf.int32: (-(2**31), 2**31 - 1), tf.int64: (-(2**63), 2**63 - 1)}
    for dtype in (tf.int32, tf.int64):
        ranges = [(0, 10), (-5, 1000), (7, 8), full[dtype], (-(2**30), 3)]
        for (a, b), (low, high) in zip(SEEDS, ranges):
            make = lambda s, a=a, b=b, d=dtype, l=low, h=high: tf.raw_ops.RandomUniformInt(
                shape=s, minval=tf.constant(l, d), maxval=tf.constant(h, d), seed=a, seed2=b)
            yield f"uniform_int {dtype.name} {a} {b} {low} {high}", make


def write_shuffles():
    lines = []
    shapes = [(257, 0), (5, 0), (1, 0), (2, 0), (3, 0), (1000, 0), (0, 0)]
    shapes += [(16, 3), (1, 3), (4, -1), (17, 1), (300, 7), (6, 2)]
    for a, b in SEEDS:
        # 0 columns stands for a vector, -1 for rows without elements.
        def feed(rows, columns):
            shape = (rows,) if columns == 0 else (rows, max(columns, 0))
            return np.arange(np.prod(shape), dtype=np.int32).reshape(shape)
        outputs = session_runs(lambda p, a=a, b=b: tf.raw_ops.RandomShuffle(value=p, seed=a, seed2=b),
                               [feed(*s) for s in shapes])
        lines.append(f"stream shuffle {a} {b}")
        for (rows, columns), out in zip(shapes, outputs):
            if out.size <= 257:
                first = out.reshape(rows, -1)[:, 0] if out.size else []
                lines.append(" ".join(["rows", str(rows), str(columns)] + [str(v) for v in first]))
            else:
                lines.append(f"rowhash {rows} {columns} {fnv(out)}")
    (GOLDEN / "shuffle.txt").write_text("\n".join(lines) + "\n")


def write_seeds():
    text = lambda seed: "-" if seed is None else str(seed)
    lines = []
    for graph_seed in (None, 0, 5, -3, 1234, 2**31 - 1, 2**31, 2**40 + 7):
        with tf.Graph().as_default() as graph, tf.Session() as session:
            lines.append(f"graph {text(graph_seed)}")
            tf.set_random_seed(graph_seed)

            def op(seed):
                values = tf.random_uniform([3], seed=seed)
                source = next(o for o in reversed(graph.get_operations())
                              if o.type == "RandomUniform")
                pair = source.get_attr("seed"), source.get_attr("seed2")
                shown = "" if pair == (0, 0) else " " + bits(session.run(values))
                lines.append(f"op {text(seed)} {pair[0]} {pair[1]}{shown}")

            for seed in (None, None, 0, 7, None, -1, 2**31 - 1, 2**33 + 1):
                op(seed)
            for changed in (9, None, 11):
                lines.append(f"set {text(changed)}")
                tf.set_random_seed(changed)
                op(None)
    (GOLDEN / "seeds.txt").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    GOLDEN.mkdir(exist_ok=True)
    raw = tf.raw_ops
    write_streams("uniform.txt", of_dtype("uniform", raw.RandomUniform), exact=True)
    write_streams("uniform_int.txt", integers(), exact=True)
    write_streams("normal.txt", of_dtype("normal", raw.RandomStandardNormal), exact=False)
    write_streams("truncated_normal.txt", of_dtype("truncated_normal", raw.TruncatedNormal),
                  exact=False)
    write_shuffles()
    write_seeds()
