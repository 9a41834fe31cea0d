#!/usr/bin/env python3
"""Trains a model in TensorFlow from the files that `towerflow train` reads.

    tf_train.py --model MODEL --data-dir DIR --train-dir DIR [OPTION...]

The program and its input are those of tests/golden/systems/MODEL.py. Towers run on the CPU. Every
tenth step prints a line that loss_curve.py reads; its loss is a mean over the towers. The
checkpoint written at the end is one for `towerflow eval MODEL --data-dir DIR --train-dir DIR`.
"""

import argparse
import ast
import collections
import datetime
import importlib
import os
import pathlib
import sys
import time

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("TF_USE_LEGACY_KERAS", "1")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "tests" / "golden"))

import tensorflow.compat.v1 as tf  # noqa: E402

# Shows tf_slim where tf_keras has its layers now.
from oracle import interpreter  # noqa: E402, F401

CIFAR_RECORD = 1 + 3072  # bytes
READERS = 2


def cifar_files(system, folder):
    """Returns the binary files, and tells the system how many images they have."""
    files = sorted(str(path) for path in folder.glob("data_batch_*.bin"))
    system.EXAMPLES = sum(os.path.getsize(name) for name in files) // CIFAR_RECORD
    return files


def cifar10(system, folder, towers, batch):
    with tf.device("/cpu:0"):
        return {"next_batch": system.distorted_inputs(cifar_files(system, folder), batch, towers,
                                                      READERS)}


def vaegan(system, folder, towers, batch):
    with tf.device("/cpu:0"):
        return {"next_batch": system.shuffled_inputs(cifar_files(system, folder), batch, towers,
                                                     READERS)}


def resnet20(system, folder, towers, batch):
    file = str(folder / "train.tfrecords")
    system.EXAMPLES = sum(1 for _ in tf.io.tf_record_iterator(file))
    features, labels = system.input_fn([file], towers, towers * batch)
    return {"next_batch": iter(list(zip(features, labels))).__next__}


def char_lstm(system, folder, towers, batch, seq_length=50):
    file, = folder.glob("*.txt")
    text = file.read_bytes()
    training = text[:len(text) * 9 // 10]
    system.HELD_OUT = len(text) - len(training)
    examples = (len(training) - 1) // seq_length
    counts = collections.Counter(training)
    order = sorted(range(256), key=lambda byte: -counts[byte])
    codes = [0] * 256
    for i, byte in enumerate(order):
        codes[byte] = min(i, len(counts))
    with tf.device("/cpu:0"):
        windows = system.windows([str(file)], examples, batch, seq_length, codes, READERS)
    return {"next_batch": windows, "examples": examples, "classes": len(counts) + 1}


def digits(system, folder, towers, batch):
    def next_batch():
        with tf.device("/cpu:0"), tf.name_scope("input"):
            filename_queue = tf.train.string_input_producer([str(folder / "train.tfrecords")])
            _, serialized = tf.TFRecordReader().read(filename_queue)
            features = tf.parse_single_example(
                serialized, {"image_raw": tf.FixedLenFeature([], tf.string),
                             "label": tf.FixedLenFeature([], tf.int64)})
            image = tf.decode_raw(features["image_raw"], tf.uint8)
            image.set_shape([784])
            image = tf.cast(image, tf.float32) * (1. / 255) - 0.5
            return tf.train.shuffle_batch([image, tf.cast(features["label"], tf.int32)], batch,
                                          1000 + 3 * batch, 1000, num_threads=READERS)
    return {"next_batch": next_batch}


def inception3(system, folder, towers, batch):
    system.FILES = sorted(str(path) for path in folder.glob("train-*"))
    system.EXAMPLES = sum(1 for name in system.FILES for _ in tf.io.tf_record_iterator(name))
    return {"next_batch": None}


INPUTS = {"cifar10": cifar10, "resnet20": resnet20, "char_lstm": char_lstm, "vaegan": vaegan,
          "three_stage_gan": digits, "batch_norm": digits, "multi_gpu_model": digits,
          "inception3": inception3}


def setting(text):
    name, value = text.split("=")
    try:
        return name, ast.literal_eval(value)
    except (SyntaxError, ValueError):
        return name, value


def arguments():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", required=True, choices=sorted(INPUTS))
    parser.add_argument("--data-dir", required=True, type=pathlib.Path)
    parser.add_argument("--train-dir", required=True, type=pathlib.Path)
    parser.add_argument("--num-towers", type=int, default=1)
    parser.add_argument("--batch-size", type=int, default=128, help="examples a tower")
    parser.add_argument("--max-steps", type=int, required=True)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--set", type=setting, action="append", default=[], metavar="NAME=VALUE",
                        help="an argument of the program, such as rnn_size=256")
    return parser.parse_args()


def main():
    options = arguments()
    tf.disable_v2_behavior()
    tf.disable_resource_variables()
    tf.logging.set_verbosity(tf.logging.ERROR)
    tf.set_random_seed(options.seed)
    system = importlib.import_module("systems." + options.model)
    given = INPUTS[options.model](system, options.data_dir, options.num_towers, options.batch_size)
    losses, parts, *_ = system.train(towers=options.num_towers, batch=options.batch_size,
                                     **{**given, **dict(options.set)})
    # A system that trains in stages gives what each of them runs, and where it ends.
    stages = getattr(system, "stages", lambda losses, parts: [(1.0, losses, parts)])(losses, parts)
    stages = [(share * options.max_steps, tf.reduce_mean(tf.stack(losses)),
               tf.group(*tf.nest.flatten(parts))) for share, losses, parts in stages]
    saver = tf.train.Saver()
    with tf.Session(config=tf.ConfigProto(allow_soft_placement=True)) as session:
        session.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
        coordinator = tf.train.Coordinator()
        threads = tf.train.start_queue_runners(session, coordinator)
        for step in range(options.max_steps):
            fetches = next(fetches for end, *fetches in stages if step < end)
            start = time.perf_counter()
            value, _ = session.run(fetches)
            seconds = time.perf_counter() - start
            if step % 10 == 0 or step + 1 == options.max_steps:
                rate = options.num_towers * options.batch_size / seconds
                print("%s: step %d, loss = %.4f (%.1f examples/sec; %.3f sec/batch)"
                      % (datetime.datetime.now(), step, value, rate, seconds), flush=True)
        coordinator.request_stop()
        options.train_dir.mkdir(parents=True, exist_ok=True)
        print("Checkpoint:", saver.save(session, str(options.train_dir / "model.ckpt"),
                                        global_step=options.max_steps))
        coordinator.join(threads, stop_grace_period_secs=5, ignore_live_threads=True)


if __name__ == "__main__":
    main()
