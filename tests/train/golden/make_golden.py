#!/usr/bin/env python3
"""Writes the nodes and files of TensorFlow's Saver to its own folder.

Run it with a Python that has TensorFlow 2.21 and TF_USE_LEGACY_KERAS=1.

saver_nodes.txt: one node per line, `name|type|inputs|control inputs, sorted|requested device`, for
the program that saver_graph_test.cc builds.
saver.ckpt-7.*, checkpoint: the files of saver_test.cc's variables, saved at step 7.
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


def line(op):
    return "|".join([op.name, op.type, ",".join(t.name for t in op.inputs),
                     ",".join(sorted(c.name for c in op.control_inputs)), op.device])


def nodes():
    with tf.Graph().as_default() as graph:
        with tf.device("/cpu:0"):
            b = tf.Variable(np.zeros([2], np.float32), name="b")
            a = tf.Variable(np.zeros([3, 2], np.float32), name="a")
        with tf.device("/gpu:0"):
            c = tf.Variable(np.float32(0), name="c", trainable=False)
        tf.Variable(np.float32(0), name="local", collections=[tf.GraphKeys.LOCAL_VARIABLES])
        before = len(graph.get_operations())
        keys = graph.get_all_collection_keys()
        with tf.device("/gpu:1"), tf.control_dependencies([c.initializer]):
            tf.train.Saver()
        with tf.name_scope("x"):
            tf.train.Saver({"bb": b, "aa": a}, name="S", max_to_keep=2)
            tf.train.Saver([b], filename="elsewhere")
        tf.train.Saver([c])
        assert graph.get_all_collection_keys() == keys
        text = "".join(line(op) + "\n" for op in graph.get_operations()[before:])
    (HERE / "saver_nodes.txt").write_text(text)


def files():
    with tf.Graph().as_default(), tempfile.TemporaryDirectory() as folder:
        tf.Variable(np.arange(6, dtype=np.float32).reshape(3, 2) / 4, name="net/w")
        tf.Variable(np.array([1, -2, 3], np.float32), name="net/b")
        tf.Variable(np.int64(7), name="global_step", trainable=False)
        tf.Variable(np.array([True, False]), name="Flags", trainable=False)
        tf.Variable(np.array([b"one", b"", b"three"]), name="labels", trainable=False)
        tf.Variable(np.zeros([0, 4]), name="nothing", trainable=False)
        step = tf.get_default_graph().get_tensor_by_name("global_step:0")
        saver = tf.train.Saver()
        os.chdir(folder)
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            saver.save(session, "saver.ckpt", global_step=step, write_meta_graph=False)
        for name in os.listdir(folder):
            (HERE / name).write_bytes((pathlib.Path(folder) / name).read_bytes())
        os.chdir(HERE)


if __name__ == "__main__":
    nodes()
    files()
