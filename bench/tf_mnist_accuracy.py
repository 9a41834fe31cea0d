#!/usr/bin/env python3
"""Accuracy of TensorFlow's training of the MNIST net, the peer of `towerflow train mnist`.

    tf_mnist_accuracy.py --data-dir D --seed K [--num-towers N] [--batch-size B] [--num-epochs E]
                         [--learning-rate R] [--threads T]

The program is that of the source in its own order of calls: the input of a tower, then, in the
first one, the variables, then loss and gradients (`gate_gradients=0`). With the graph's seed K its
initial values are those of `towerflow train mnist --seed K`. Queues have several threads, so the
order of the digits, and with it the result, differs a little from run to run.

D holds what `towerflow convert mnist` wrote. Prints a line every 500 steps, then one JSON line:
steps, loss and precision_at_1 of the test digits.
"""

import argparse
import json
import os
import pathlib
import sys

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("TF_USE_LEGACY_KERAS", "1")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "tests" / "golden"))

import numpy as np  # noqa: E402
import tensorflow.compat.v1 as tf  # noqa: E402

from oracle import mnist_net  # noqa: E402

FEATURES = {"image_raw": tf.FixedLenFeature([], tf.string),
            "label": tf.FixedLenFeature([], tf.int64)}


def arguments():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data-dir", type=pathlib.Path, required=True)
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--num-towers", type=int, default=2)
    parser.add_argument("--batch-size", type=int, default=64, help="examples a tower")
    parser.add_argument("--num-epochs", type=int, default=5)
    parser.add_argument("--learning-rate", type=float, default=0.005)
    parser.add_argument("--threads", type=int, default=2, help="intra-op threads")
    return parser.parse_args()


def parsed(record):
    """Returns the image, in -0.5 .. 0.5, and the label of a record."""
    example = tf.parse_single_example(record, FEATURES)
    image = tf.decode_raw(example["image_raw"], tf.uint8)
    image.set_shape([784])
    return tf.cast(image, tf.float32) * (1.0 / 255) - 0.5, tf.cast(example["label"], tf.int32)


def inputs(options):
    with tf.name_scope("input"):
        files = tf.train.string_input_producer([str(options.data_dir / "train.tfrecords")],
                                               num_epochs=options.num_epochs)
        image, label = parsed(tf.TFRecordReader().read(files)[1])
        return tf.train.shuffle_batch([image, label], batch_size=options.batch_size, num_threads=2,
                                      capacity=1000 + 3 * options.batch_size,
                                      min_after_dequeue=1000)


def training(options, rate):
    """Returns the training op, the towers' losses and the variables."""
    optimizer = tf.train.MomentumOptimizer(rate, 0.9, use_nesterov=True, use_locking=True)
    variables, losses, pairs = None, [], []
    for i in range(options.num_towers):
        with tf.name_scope("tower_%d" % i):
            images, labels = inputs(options)
            if variables is None:
                variables = mnist_net.make_variables(mnist_net.source_initializer)
            loss, _ = mnist_net.loss(images, tf.cast(labels, tf.int64), variables, False)
            losses.append(loss)
            pairs.append(optimizer.compute_gradients(loss, gate_gradients=0))
    return optimizer.apply_gradients(mnist_net.average(pairs)), losses, variables


def test_digits(path):
    images, labels = [], []
    for record in tf.io.tf_record_iterator(str(path)):
        feature = tf.train.Example.FromString(record).features.feature
        images.append(np.frombuffer(feature["image_raw"].bytes_list.value[0], np.uint8))
        labels.append(feature["label"].int64_list.value[0])
    scale = np.float32(1 / 255)
    return np.array(images).astype(np.float32) * scale - np.float32(0.5), np.array(labels)


def train(session, options, step, losses, rate):
    """Runs all epochs, with a tenth of the rate after 60 %; returns the number of steps."""
    drop = options.num_epochs * 55000 // options.batch_size * 6 // 10
    coordinator = tf.train.Coordinator()
    threads = tf.train.start_queue_runners(sess=session, coord=coordinator)
    steps = 0
    try:
        while not coordinator.should_stop():
            now = options.learning_rate * (0.1 if steps >= drop else 1.0)
            _, values = session.run([step, losses], {rate: now})
            steps += 1
            if steps % 500 == 0:
                print("step %d, loss = %.3f" % (steps, np.mean(values)), flush=True)
    except tf.errors.OutOfRangeError:
        pass
    coordinator.request_stop()
    coordinator.join(threads)
    return steps


def main():
    options = arguments()
    tf.disable_v2_behavior()
    tf.disable_resource_variables()
    with tf.Graph().as_default(), tf.device("/cpu:0"):
        tf.set_random_seed(options.seed)
        rate = tf.placeholder(tf.float32, [], name="learning_rate")
        step, losses, variables = training(options, rate)
        images = tf.placeholder(tf.float32, [None, 784])
        labels = tf.placeholder(tf.int64, [None])
        logits, _ = mnist_net.logits(images, variables, False)
        right = tf.reduce_mean(tf.cast(tf.equal(tf.argmax(logits, 1), labels), tf.float32))
        loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels,
                                                                            logits=logits))
        config = tf.ConfigProto(intra_op_parallelism_threads=options.threads,
                                inter_op_parallelism_threads=options.threads + 1)
        with tf.Session(config=config) as session:
            session.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
            steps = train(session, options, step, losses, rate)
            digits, answers = test_digits(options.data_dir / "test.tfrecords")
            parts = [session.run([right, loss], {images: digits[i:i + 1000],
                                                 labels: answers[i:i + 1000]})
                     for i in range(0, len(answers), 1000)]
    precision, test_loss = np.mean(parts, axis=0)
    print(json.dumps({"model": "mnist", "towers": options.num_towers, "steps": steps,
                      "loss": round(float(test_loss), 5),
                      "precision_at_1": round(float(precision), 4)}))


if __name__ == "__main__":
    main()
