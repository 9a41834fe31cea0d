#!/usr/bin/env python3
"""Writes what TensorFlow's training utilities do to its own folder.

Run it with a Python that has TensorFlow 2.21 and TF_USE_LEGACY_KERAS=1.

init_from_checkpoint.txt, scaffold.txt: one node per line, `name|type|inputs|control inputs,
sorted|requested device`, for the programs of checkpoint_utils_test.cc and scaffold_test.cc; then
one line per collection that was added.
device_setter.txt: the requested devices of device_setter_test.cc's programs.
text_summary.txt: bytes of summaries in hexadecimal digits, for text_summary_test.cc.
"""

import os
import pathlib

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import tensorflow.compat.v1 as tf  # noqa: E402

tf.disable_v2_behavior()
tf.disable_resource_variables()
HERE = pathlib.Path(__file__).parent


def line(op):
    return "|".join([op.name, op.type, ",".join(t.name for t in op.inputs),
                     ",".join(sorted(c.name for c in op.control_inputs)), op.device])


def init_from_checkpoint():
    os.chdir(HERE)
    with tf.Graph().as_default() as graph:
        with tf.variable_scope("model"):
            tf.get_variable("w", [3, 2])
            tf.get_variable("b", [3])
        with tf.device("/gpu:0"):
            other = tf.get_variable("other", [3])
        before = len(graph.get_operations())
        tf.train.init_from_checkpoint("saver.ckpt-7", {"net/": "model/", "net/b": other})
        tf.train.init_from_checkpoint("saver.ckpt-7", {"net/w": "model/w"})
        lines = [line(op) for op in graph.get_operations()[before:]]
        for v in tf.global_variables():
            lines.append("%s|%s|%s" % (v.name, v.initializer.name, v.initial_value.name))
    (HERE / "init_from_checkpoint.txt").write_text("\n".join(lines) + "\n")


def scaffold():
    with tf.Graph().as_default() as graph:
        tf.get_variable("v", [2])
        tf.get_local_variable("l", [2])
        tf.summary.scalar("s", 1.0)
        before = len(graph.get_operations())
        scaffold = tf.train.Scaffold(saver=tf.train.Saver(name="kept")).finalize()
        lines = [line(op) for op in graph.get_operations()[before:]
                 if not op.name.startswith("kept/")]
        for key in ("init_op", "ready_op", "ready_for_local_init_op", "local_init_op",
                    "summary_op"):
            lines.append("%s: %s" % (key, [item.name for item in tf.get_collection(key)][0]))
            assert getattr(scaffold, key) is tf.get_collection(key)[0]
    (HERE / "scaffold.txt").write_text("\n".join(lines) + "\n")


def devices():
    cluster = {"ps": ["a:1", "b:1"], "worker": ["c:1"]}
    lines = []
    for options in ({"ps_tasks": 2}, {"cluster": cluster},
                    {"ps_tasks": 1, "ps_device": "/job:a/cpu:0",
                     "worker_device": "/job:w/task:3"},
                    {"ps_tasks": 2, "merge_devices": False}, {"ps_tasks": 3, "ps_ops": ["Const"]},
                    {"ps_tasks": 3, "ps_strategy": lambda op: 2}, {"cluster": {"worker": ["c:1"]}},
                    {}):
        with tf.Graph().as_default() as graph:
            setter = tf.train.replica_device_setter(**options)
            with tf.device(setter):
                for i in range(3):
                    tf.Variable(1.0, name="v%d" % i)
                with tf.device("/gpu:1"):
                    tf.constant(1.0, name="c")
                    tf.Variable(1.0, name="g")
                with tf.device("/job:ps/task:7"):
                    tf.Variable(1.0, name="h")
                with tf.device("/job:other"):
                    tf.Variable(1.0, name="o")
            with tf.device("/gpu:1"), tf.device(setter):
                tf.Variable(1.0, name="k")
            lines += ["%s %s" % (op.name, op.device) for op in graph.get_operations()]
            lines.append("")
    (HERE / "device_setter.txt").write_text("\n".join(lines))


def summaries():
    with tf.Graph().as_default() as graph:
        with tf.name_scope("s"):
            tf.summary.text("my text", tf.constant([["a", "bc"], ["", "d"]]))
        tf.summary.text("t2", tf.constant("x"), collections=["kept"])
        lines = [line(op) for op in graph.get_operations()]
        with tf.Session() as session:
            for summary in (tf.get_collection("summaries") + tf.get_collection("kept")):
                lines.append(session.run(summary).hex())
        value = tf.Summary.Value
        made = tf.Summary(value=[
            value(tag="a", simple_value=0.0),
            value(tag="i", image=tf.Summary.Image(height=1, width=2, colorspace=3,
                                                  encoded_image_string=b"png")),
            value(tag="h", histo=tf.HistogramProto(min=1, max=2, num=3, sum=4, sum_squares=5,
                                                   bucket_limit=[1.5, 2.5], bucket=[1, 2]))])
        lines.append(made.SerializeToString().hex())
    (HERE / "text_summary.txt").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    init_from_checkpoint()
    scaffold()
    devices()
    summaries()
