#!/usr/bin/env python3
"""Writes TensorFlow's event file and serialized summaries to its own folder.

Run it with a Python that has TensorFlow 2.21. events.out.tfevents.golden: a FileWriter's file with
the graph of `small_graph`, two summaries and a session log. summaries.tfrecord: the serialized
summaries of histogram_test.cc, in the same order.
"""

import os
import pathlib
import tempfile

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import numpy as np  # noqa: E402
import tensorflow.compat.v1 as tf  # noqa: E402

tf.disable_v2_behavior()
tf.disable_resource_variables()
HERE = pathlib.Path(__file__).parent


def varied_values(count, dtype):
    """Returns exact float32 values, so different in magnitude that a sum depends on its order."""
    i = np.arange(count)
    return (((37 * i + 11) % 251 - 125) * 2.0 ** ((7 * i) % 60 - 40)).astype(dtype)


def bucket_limits():
    limits = []
    limit = 1.0e-12
    while limit < 1.0e20:
        limits += [limit, -limit]
        limit *= 1.1
    return np.array(limits + [0.0, -0.0, 5e-324, 1.7e308, -1.7e308, -1.7976931348623157e308])


HISTOGRAMS = [
    ("spread", varied_values(1000, np.float32)),
    ("spread_double", varied_values(777, np.float64).reshape(7, 111)),
    ("limits", bucket_limits()),
    ("zero", np.float32(0)),
    ("minus_zero", np.float32(-0.0)),
    ("zeros", np.zeros([5, 4], np.float32)),
    ("nothing", np.zeros([0, 3], np.float32)),
    ("bytes", np.arange(256, dtype=np.uint8)),
    ("small", np.array([-128, -1, 0, 1, 127], np.int8)),
    ("wide", np.array([-2**63, 2**63 - 1, 2**53 + 1], np.int64)),
    ("int32", np.array([[3, 1], [4, 1]], np.int32)),
]
SCALARS = [
    ("zero", np.float32(0)), ("minus_zero", np.float32(-0.0)), ("third", np.float64(1) / 3),
    ("nan", np.float32("nan")), ("huge", np.float64(1e300)), ("count", np.int64(2**53 + 1)),
]


def summaries():
    with tf.Graph().as_default(), tf.Session() as session:
        made = [tf.summary.scalar("scalar/" + name, tf.constant(value)) for name, value in SCALARS]
        made += [tf.summary.histogram("histogram/" + name, tf.constant(value))
                 for name, value in HISTOGRAMS]
        made.append(tf.summary.merge(made[:2] + made[-1:]))
        with tf.io.TFRecordWriter(str(HERE / "summaries.tfrecord")) as writer:
            for record in session.run(made):
                writer.write(record)


def small_graph():
    with tf.device("/cpu:0"):
        w = tf.get_variable("w", [2, 3], initializer=tf.zeros_initializer())
    with tf.device("/gpu:1"), tf.name_scope("tower_1"):
        x = tf.placeholder(tf.float32, [None, 2], name="x")
        y = tf.matmul(x, w)
        with tf.control_dependencies([w.initializer]):
            mean = tf.reduce_mean(y, name="mean")
        first, second = tf.nn.moments(y, [0])
        with tf.colocate_with(w):
            tf.identity(second - first, name="beside")
    tf.summary.scalar("mean", mean)


def events():
    with tempfile.TemporaryDirectory() as folder:
        with tf.Graph().as_default() as graph:
            small_graph()
            writer = tf.summary.FileWriter(folder)
            writer.add_graph(graph)
        writer.add_session_log(tf.SessionLog(status=tf.SessionLog.START, msg="again"), 4)
        for step in (5, 6):
            writer.add_summary(tf.Summary(value=[
                tf.Summary.Value(tag="loss", simple_value=step / 4),
                tf.Summary.Value(tag="image", image=tf.Summary.Image(height=1, width=1))]), step)
        writer.close()
        name, = os.listdir(folder)
        (HERE / "events.out.tfevents.golden").write_bytes((pathlib.Path(folder) / name).read_bytes())


if __name__ == "__main__":
    summaries()
    events()
