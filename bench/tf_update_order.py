#!/usr/bin/env python3
"""Shows in which order TensorFlow runs the updates of one moving average by several towers.

    bench/tf_update_order.py [--runs N]

One run has the update ops of two towers, as a step that collects all of UPDATE_OPS. Each subtracts
(average - value) * (1 - decay); the graph does not say whether the second reads the average before
or after the first has written it. The script counts what the runs gave: each distance from the value
before the step, or one update after the other, in either order. It needs TensorFlow (.venv)."""

import argparse
import collections
import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("TF_USE_LEGACY_KERAS", "1")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")

import numpy as np  # noqa: E402
import tensorflow.compat.v1 as tf  # noqa: E402
from tensorflow.python.training import moving_averages  # noqa: E402

tf.disable_v2_behavior()
tf.disable_resource_variables()
tf.logging.set_verbosity(tf.logging.ERROR)


def bare():
    """Two updates of an average, both by values that one op has computed."""
    average = tf.get_variable("average", [3], trainable=False)
    fed = tf.placeholder(tf.float32, [2, 3])
    updates = [moving_averages.assign_moving_average(average, value, 0.9, zero_debias=False).op
               for value in tf.unstack(tf.exp(fed))]
    return [average], [updates[:1], updates[1:]], {fed: np.log([[10.] * 3, [20.] * 3])}


def network(layers=4):
    """Two towers of convolutions with batch normalization."""
    images = [tf.placeholder(tf.float32, [16, 32, 32, 3]) for _ in range(2)]
    for i, x in enumerate(images):
        with tf.variable_scope(tf.get_variable_scope(), reuse=i > 0), tf.name_scope("tower_%d" % i):
            for k in range(layers):
                x = tf.layers.batch_normalization(x, training=True, momentum=0.9, name="bn%d" % k)
                x = tf.layers.conv2d(x, 16, 3, padding="same", name="conv%d" % k)
    random = np.random.RandomState(0)
    feeds = {image: random.rand(16, 32, 32, 3) * (1 + 2 * i) + 1 + 4 * i
             for i, image in enumerate(images)}
    averages = [v for v in tf.global_variables() if "moving_mean" in v.name]
    updates = [tf.get_collection(tf.GraphKeys.UPDATE_OPS, "tower_%d/" % i) for i in range(2)]
    return averages, updates, feeds


def count(build, runs, threads):
    with tf.Graph().as_default():
        averages, (first, second), feeds = build()
        session = tf.Session(config=tf.ConfigProto(inter_op_parallelism_threads=threads))
        session.run(tf.global_variables_initializer())

        def after(*steps):
            for average in averages:
                average.load(np.ones(average.shape), session)
            for step in steps:
                session.run(step, feeds)
            return session.run(averages)

        forms = {"first, then second": after(first, second),
                 "second, then first": after(second, first),
                 "both from the value before": [a + b - 1 for a, b in zip(after(first),
                                                                          after(second))]}
        seen = collections.Counter()
        for _ in range(runs):
            for k, got in enumerate(after(first + second)):
                seen.update([next((name for name, values in forms.items()
                                   if np.allclose(got, values[k], rtol=1e-5)), "another")])
        return dict(seen)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=300)
    options = parser.parse_args()
    for build in (bare, network):
        for threads in (1, 2):
            print("%s, %d threads: %s" % (build.__name__, threads,
                                          count(build, options.runs, threads)))


if __name__ == "__main__":
    main()
