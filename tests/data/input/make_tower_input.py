#!/usr/bin/env python3
"""Writes tower_input.txt: TensorFlow's nodes for the input of two towers.

    make_tower_input.py > tower_input.txt

Needs TensorFlow 2.21, set up as in tests/golden/README.md. A line is a node: name, op, requested
device, inputs, control inputs, outputs. The collections follow.
"""

import os

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["TF_USE_LEGACY_KERAS"] = "1"

import tensorflow.compat.v1 as tf  # noqa: E402

tf.disable_v2_behavior()
tf.disable_resource_variables()


def read_and_decode(filename_queue):
    reader = tf.TFRecordReader()
    _, serialized_example = reader.read(filename_queue)
    features = tf.parse_single_example(
        serialized_example,
        features={
            "image_raw": tf.FixedLenFeature([], tf.string),
            "label": tf.FixedLenFeature([], tf.int64),
        },
    )
    image = tf.decode_raw(features["image_raw"], tf.uint8)
    image.set_shape([784])
    image = tf.cast(image, tf.float32) * (1.0 / 255) - 0.5
    return image, tf.cast(features["label"], tf.int32)


def inputs():
    with tf.name_scope("input"):
        filename_queue = tf.train.string_input_producer(["train.tfrecords"], num_epochs=5)
        image, label = read_and_decode(filename_queue)
        return tf.train.shuffle_batch(
            [image, label],
            batch_size=64,
            num_threads=2,
            capacity=1000 + 3 * 64,
            min_after_dequeue=1000,
        )


def listed(items):
    return ",".join(items) or "-"


def main():
    graph = tf.Graph()
    with graph.as_default(), tf.device("/cpu:0"):
        for i in range(2):
            with tf.device("/gpu:%d" % i), tf.name_scope("tower_%d" % i):
                inputs()
    for op in graph.get_operations():
        print(
            op.name,
            op.type,
            op.device or "-",
            listed(x.name for x in op.inputs),
            listed(c.name for c in op.control_inputs),
            listed(f"{x.dtype.name}{x.shape}".replace(", ", "x") for x in op.outputs),
        )
    for key in ["local_variables", "variables", "queue_runners", "summaries"]:
        print("collection", key, listed(x.name for x in graph.get_collection(key)))


main()
