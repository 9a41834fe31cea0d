#!/usr/bin/env python3
"""Rate of TensorFlow's training step of a model, the peer of `towerflow bench MODEL`.

    tf_model_step.py --model MODEL [--num-towers N] [--batch-size B] [--threads T] [--devices D]

The step is that of tests/golden/systems/MODEL.py, the published program in TensorFlow's words.
Batches lie in variables that are written once, so no step pays for a feed or an input queue. Towers
ask for /gpu:i; --devices logical CPUs take them in turn.

Prints {"ready": true} once, then for each line of standard input, the number of steps, runs a window
and prints {"examples_per_second": R, "seconds": S, "steps": K, "loss": L}. Ends at end of input or
on the line "quit".
"""

import argparse
import importlib
import json
import os
import pathlib
import sys
import time

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("TF_USE_LEGACY_KERAS", "1")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "tests" / "golden"))

import tensorflow.compat.v1 as tf  # noqa: E402

from oracle import generator, interpreter  # noqa: E402, F401


def arguments():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", required=True)
    parser.add_argument("--num-towers", type=int, default=1)
    parser.add_argument("--batch-size", type=int, default=64, help="examples a tower")
    parser.add_argument("--threads", type=int, default=2, help="intra-op and inter-op threads")
    parser.add_argument("--devices", type=int, default=1, help="logical CPUs")
    return parser.parse_args()


def held_batches(system, size):
    """Returns a function that gives each tower its batch, in variables. A system whose curves have
    smaller inputs than its program has `bench_inputs`."""
    inputs = getattr(system, "bench_inputs", system.inputs)
    towers = []

    def next_batch():
        place = 1000 + 10 * len(towers)
        values = [generator.uniform(place + i, shape, bound) if dtype == "float32"
                  else generator.integers(place + i, shape, bound, dtype)
                  for i, (dtype, shape, bound) in enumerate(inputs(size))]
        with tf.variable_scope("held_%d" % len(towers), reuse=False):
            towers.append([tf.Variable(value, trainable=False,
                                       collections=[tf.GraphKeys.LOCAL_VARIABLES])
                           for value in values])
        return [tensor.read_value() for tensor in towers[-1]]
    return next_batch


def main():
    options = arguments()
    tf.disable_v2_behavior()
    tf.disable_resource_variables()
    tf.logging.set_verbosity(tf.logging.ERROR)
    system = importlib.import_module("systems." + options.model)
    tf.set_random_seed(1)

    def place(operation):
        """Puts what asks for /gpu:i on a logical CPU."""
        device = tf.DeviceSpec.from_string(operation.device or "")
        if device.device_type != "GPU":
            return operation.device
        return "/cpu:%d" % ((device.device_index or 0) % options.devices)

    with tf.device(place):
        losses, parts, *_ = system.train(held_batches(system, options.batch_size),
                                     towers=options.num_towers, batch=options.batch_size)
    if hasattr(system, "bench_step"):  # of a program whose steps differ
        losses, parts = system.bench_step(losses, parts)
    session = tf.Session(config=tf.ConfigProto(
        device_count={"CPU": options.devices}, allow_soft_placement=True,
        intra_op_parallelism_threads=options.threads,
        inter_op_parallelism_threads=options.threads))
    session.run([tf.local_variables_initializer()])
    session.run([tf.global_variables_initializer()])
    session.run([losses, parts])
    print(json.dumps({"ready": True, "model": options.model, "version": tf.__version__}), flush=True)
    for line in sys.stdin:
        if line.strip() == "quit":
            break
        steps = int(line)
        start = time.perf_counter()
        for _ in range(steps):
            values, _ = session.run([losses, parts])
        seconds = time.perf_counter() - start
        rate = steps * options.num_towers * options.batch_size / seconds
        print(json.dumps({"examples_per_second": round(rate, 2), "seconds": round(seconds, 6),
                          "steps": steps, "loss": float(values[-1])}), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
