#!/usr/bin/env python3
"""What `bench_ops` does, done by TensorFlow: the cases of a file of JSON lines, on variables.

    tf_ops.py CASES [--threads T]

Prints "ready", then for each line "CASE PART STEPS" of standard input a line of JSON: us, the
microseconds of a run, or null where there is no gradient. Ends on "quit".
"""

import argparse
import json
import os
import sys
import time

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")

import numpy as np  # noqa: E402
import tensorflow.compat.v1 as tf  # noqa: E402

tf.disable_v2_behavior()


class Case:
    """A case in a separate graph, ready to run."""

    def __init__(self, case, gradients, threads):
        draw = np.random.RandomState(1)
        with tf.Graph().as_default():
            operands = []
            for one in case["inputs"]:
                if one["values"]:
                    values = np.reshape(one["values"], one["shape"]).astype(one["dtype"])
                else:
                    values = draw.uniform(one["low"], one["high"], one["shape"]).astype(one["dtype"])
                operands.append(tf.Variable(values).read_value())
            names = dict(zip("xyzw", operands), tf=tf, np=np, dtype=tf.as_dtype(case["dtype"]))
            results = eval(case["python"], names)  # noqa: S307 our own table
            results = list(results) if isinstance(results, (list, tuple)) else [results]
            if gradients:
                # From a variable, since Grappler would precompute everything that depends only on
                # constants. A run tells the shapes that depend on values.
                with tf.Session() as session:
                    session.run(tf.global_variables_initializer())
                    shapes = [value.shape for value in session.run(results)]
                cotangents = [tf.Variable(draw.uniform(0.5, 1.5, shape).astype(
                    r.dtype.as_numpy_dtype)).read_value() for r, shape in zip(results, shapes)]
                found = tf.gradients(results, operands, grad_ys=cotangents)
                results = [g if isinstance(g, tf.Tensor) else g.values for g in found if g is not None]
            self.session = tf.Session(config=tf.ConfigProto(
                intra_op_parallelism_threads=threads, inter_op_parallelism_threads=1))
            self.session.run(tf.global_variables_initializer())
            self.run = self.session.make_callable([r.op for r in results]) if results else None
            try:
                # Once, since TensorFlow's gradient of a single partition fails.
                if self.run:
                    self.run()
            except tf.errors.InvalidArgumentError as error:
                print("%s: %s" % (case["name"], error.message), file=sys.stderr)
                self.run = None

    def time(self, steps):
        if self.run is None:
            return {"us": None}
        start = time.perf_counter()
        for _ in range(steps):
            self.run()
        return {"us": (time.perf_counter() - start) / steps * 1e6}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("cases")
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    options = parser.parse_args()
    cases = [json.loads(line) for line in open(options.cases)]
    print("ready", flush=True)
    current, what = None, None
    for line in sys.stdin:
        if line.strip() == "quit":
            break
        number, part, steps = map(int, line.split())
        if what != (number, part):
            if current:
                current.session.close()
            current, what = Case(cases[number], part == 1, options.threads), (number, part)
        print(json.dumps(current.time(steps)), flush=True)


if __name__ == "__main__":
    main()
