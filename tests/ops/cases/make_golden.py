#!/usr/bin/env python3
"""Writes golden.json: TensorFlow 2.21 (compat.v1) on the cases of this folder.

For each case: the nodes of the call, its results, and the gradients of the operands for cotangents
from C++. The script gets the cases from the test program, which it runs with
TOWERFLOW_CASES_LIST=FILE:

    make_golden.py build/tests/test_ops_cases

Needs TensorFlow: see tests/golden/README.md.
"""
import json
import math
import os
import pathlib
import subprocess
import sys
import tempfile

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["TF_USE_LEGACY_KERAS"] = "1"
import numpy as np  # noqa: E402
import tensorflow.compat.v1 as tf  # noqa: E402

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "naming"))
from make_golden import line  # noqa: E402

tf.disable_v2_behavior()
tf.disable_resource_variables()


def array(described):
    return np.array(described["values"], described["dtype"]).reshape(described["shape"])


def number(value):
    if isinstance(value, bytes):
        return value.hex()
    value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return int(value) if isinstance(value, bool) else value


def described(value):
    value = np.asarray(value, object if isinstance(value, bytes) else None)
    dtype = "string" if value.dtype.kind in "SO" else value.dtype.name
    return {"dtype": dtype, "shape": list(value.shape), "values": [number(v) for v in value.ravel()]}


def call(case, operands):
    """The tensors that the case's Python gives: an expression, or lines that set `result`."""
    names = dict(zip("xyzw", operands), tf=tf, np=np, dtype=tf.as_dtype(case["dtype"]))
    if "result = " in case["python"]:
        exec(case["python"], names)  # noqa: S102 our own table
        result = names["result"]
    else:
        result = eval(case["python"], names)  # noqa: S307
    return list(result) if isinstance(result, (list, tuple)) else [result]


def answer(case):
    with tf.Graph().as_default() as graph:
        arrays = [array(one) for one in case["inputs"]]
        operands = [tf.placeholder(one.dtype, one.shape, name=name) for name, one in zip("xyzw", arrays)]
        before = len(graph.get_operations())
        results = call(case, operands)
        nodes = [line(op) + "\n" for op in graph.get_operations()[before:]]
        gradients = []
        if case["gradients"]:
            floating = [(y, c) for y, c in zip(results, case["cotangents"]) if y.dtype.is_floating]
            weighted = [(y, tf.constant(array(c)) if c else tf.fill(tf.shape(y), tf.constant(0.75, y.dtype)))
                        for y, c in floating]
            gradients = tf.gradients([y for y, _ in weighted], operands, [c for _, c in weighted])
            gradients = [None if g is None else tf.convert_to_tensor(g) for g in gradients]
        present = [g for g in gradients if g is not None]
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            values = session.run(results + present, dict(zip(operands, arrays)))
        found = iter(values[len(results):])
        return {"python": case["python"], "nodes": "".join(nodes),
                "results": [described(v) for v in values[:len(results)]],
                "gradients": [None if g is None else described(next(found)) for g in gradients]}


def main():
    with tempfile.NamedTemporaryFile() as listed:
        subprocess.run([sys.argv[1], "-tc=every case: nodes*"], check=False, stdout=subprocess.DEVNULL,
                       env=os.environ | {"TOWERFLOW_CASES_LIST": listed.name}, cwd=HERE.parents[2])
        cases = json.load(open(listed.name))
    answers = {}
    for case in cases:
        try:
            answers[case["name"]] = answer(case)
        except Exception as error:  # noqa: BLE001 which case it was
            sys.exit(f"{case['name']}: {case['python']}: {type(error).__name__}: {error}")
    lines = [f"{json.dumps(name)}: {json.dumps(one)}" for name, one in answers.items()]
    (HERE / "golden.json").write_text("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    main()
