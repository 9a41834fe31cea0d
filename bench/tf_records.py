#!/usr/bin/env python3
"""What `towerflow bench records` does, done by TensorFlow: reading and parsing of MNIST's Examples.

    tf_records.py FILE [--way queues|data] [--compression none|gzip] [--batch-size B] [--threads T]

--way queues is the same program: string_input_producer, TFRecordReader.read,
parse_single_example, decode_raw and tf.train.batch, filled by queue runners. --way data is
TensorFlow's successor of it: TFRecordDataset, batched before it is parsed by parse_example.

Prints "ready", then for each line of standard input, a number of batches, a line of JSON:
examples_per_second. It ends at end of input or on the line "quit".
"""

import argparse
import json
import os
import sys
import time

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")

import tensorflow.compat.v1 as tf  # noqa: E402

FEATURES = {"image_raw": tf.FixedLenFeature([], tf.string), "label": tf.FixedLenFeature([], tf.int64)}


def by_queues(options):
    names = tf.train.string_input_producer([options.file], shuffle=False)
    kind = getattr(tf.io.TFRecordCompressionType, options.compression.upper())
    reader = tf.TFRecordReader(options=tf.io.TFRecordOptions(kind))
    _, serialized = reader.read(names)
    features = tf.parse_single_example(serialized, FEATURES)
    image = tf.decode_raw(features["image_raw"], tf.uint8)
    image.set_shape([784])
    label = tf.cast(features["label"], tf.int32)
    return tf.train.batch([image, label], options.batch_size, options.threads,
                          4 * options.batch_size)


def by_dataset(options):
    def parse(serialized):
        features = tf.parse_example(serialized, FEATURES)
        image = tf.decode_raw(features["image_raw"], tf.uint8)
        image.set_shape([options.batch_size, 784])
        return image, tf.cast(features["label"], tf.int32)

    packed = {"none": "", "gzip": "GZIP"}[options.compression]
    records = tf.data.TFRecordDataset(options.file, packed).repeat()
    batches = records.batch(options.batch_size, drop_remainder=True).map(parse)
    return tf.data.make_one_shot_iterator(batches.prefetch(2)).get_next()


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file")
    parser.add_argument("--way", choices=["queues", "data"], default="queues")
    parser.add_argument("--compression", choices=["none", "gzip"], default="none")
    parser.add_argument("--batch-size", type=int, default=128)
    parser.add_argument("--threads", type=int, default=1, help="that read and parse")
    options = parser.parse_args()
    tf.disable_v2_behavior()
    tf.logging.set_verbosity(tf.logging.ERROR)
    batch = (by_queues if options.way == "queues" else by_dataset)(options)
    session = tf.Session()
    coordinator = tf.train.Coordinator()
    tf.train.start_queue_runners(session, coordinator)
    take = session.make_callable(batch)
    take()
    print("ready", flush=True)
    for line in sys.stdin:
        if line.strip() == "quit":
            break
        batches = int(line)
        start = time.perf_counter()
        for _ in range(batches):
            take()
        rate = batches * options.batch_size / (time.perf_counter() - start)
        print(json.dumps({"examples_per_second": rate}), flush=True)
    os._exit(0)  # skips joining the queue runners, which are blocked on the full queue


if __name__ == "__main__":
    main()
