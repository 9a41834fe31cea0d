#!/usr/bin/env python3
"""Rate of TensorFlow's training step of the MNIST net, the peer of `towerflow bench mnist`.

    tf_mnist_step.py [--num-towers N] [--batch-size B] [--threads T] [--devices D]
                     [--relu-logits] [--kernel K] [--steps K] [--windows W] [--warm-up S]
                     [--data-dir DIR]
    tf_mnist_step.py --serve ...      a window for each line read: two programs take turns

The step is that of the source: towers under their devices, Momentum 0.9 with Nesterov, gradients
averaged by expand_dims, concat and reduce_mean, variables on /cpu:0. Batches lie in variables that
are written once, so no step pays for a feed or an input queue; with --data-dir they come from the
queues of tf_mnist_accuracy.py, which reads DIR.

Without --serve it prints one JSON line: model, towers, batch, threads, steps and windows,
examples_per_second (median of the windows), spread (greatest less least window, over the median),
loss, and the versions.
With --serve it prints {"ready": true, ...} once, then for each line of standard input runs one
window and prints {"examples_per_second": R, "seconds": S, "steps": K}; a line that is a number is
the window's step count. It ends at end of input or on the line "quit".
"""

import argparse
import json
import os
import pathlib
import statistics
import sys
import time

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("TF_USE_LEGACY_KERAS", "1")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "tests" / "golden"))

import tensorflow.compat.v1 as tf  # noqa: E402

import tf_mnist_accuracy  # noqa: E402
from oracle import generator, mnist_net  # noqa: E402


def arguments():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--num-towers", type=int, default=1)
    parser.add_argument("--batch-size", type=int, default=64, help="examples a tower")
    parser.add_argument("--threads", type=int, default=2, help="intra-op threads")
    parser.add_argument("--inter-threads", type=int, default=0, help="0: as --threads")
    parser.add_argument("--devices", type=int, default=1,
                        help="logical CPUs; tower i runs on /cpu:(i mod D)")
    parser.add_argument("--relu-logits", action="store_true")
    parser.add_argument("--kernel", type=int, default=5, help="height and width of convolutions")
    parser.add_argument("--learning-rate", type=float, default=0.005)
    parser.add_argument("--steps", type=int, default=20, help="steps of a window")
    parser.add_argument("--windows", type=int, default=9)
    parser.add_argument("--warm-up", type=int, default=10, help="steps before the first window")
    parser.add_argument("--data-dir", type=pathlib.Path)
    parser.add_argument("--serve", action="store_true")
    options = parser.parse_args()
    options.num_epochs = 1 << 30  # endless input
    for name in ("num_towers", "batch_size", "threads", "devices", "steps", "windows"):
        if getattr(options, name) < 1:
            parser.error("--%s must be at least 1" % name.replace("_", "-"))
    return options


def held_batch(tower, batch_size):
    """Returns the images and labels of a tower, in variables on its device."""
    images = generator.uniform(100 + tower, [batch_size, 784], -1)
    labels = generator.integers(500 + tower, [batch_size], 10, "int64")
    return [tf.get_variable("%s_%d" % (name, tower), value.shape, value.dtype,
                            tf.constant_initializer(value), trainable=False,
                            collections=[tf.GraphKeys.LOCAL_VARIABLES])
            for name, value in (("images", images), ("labels", labels))]


def batch(tower, options):
    if options.data_dir is None:
        return held_batch(tower, options.batch_size)
    images, labels = tf_mnist_accuracy.inputs(options)
    return images, tf.cast(labels, tf.int64)


def build(options):
    """Returns the training op and the towers' losses."""
    with tf.device("/cpu:0"):
        tf.set_random_seed(1)
        variables = mnist_net.make_variables(mnist_net.source_initializer,
                                             kernel=options.kernel)
        step = tf.get_variable("global_step", [], initializer=tf.constant_initializer(0),
                               trainable=False)
        opt = tf.train.MomentumOptimizer(options.learning_rate, 0.9, use_nesterov=True)
        losses, pairs = [], []
        for i in range(options.num_towers):
            with tf.device("/cpu:%d" % (i % options.devices)), tf.name_scope("tower_%d" % i):
                images, labels = batch(i, options)
                loss, _ = mnist_net.loss(images, labels, variables, options.relu_logits)
                losses.append(loss)
                pairs.append(opt.compute_gradients(loss, gate_gradients=0))
        return opt.apply_gradients(mnist_net.average(pairs), global_step=step), losses


def window(session, train, losses, steps):
    """Runs `steps` steps that fetch the train op and the losses, as in the original program.
    Returns the seconds and the last losses."""
    start = time.perf_counter()
    for _ in range(steps):
        _, values = session.run([train, losses])
    return time.perf_counter() - start, values


def main():
    options = arguments()
    tf.disable_v2_behavior()
    tf.disable_resource_variables()
    tf.logging.set_verbosity(tf.logging.ERROR)
    train, losses = build(options)
    session = tf.Session(config=tf.ConfigProto(
        device_count={"CPU": options.devices},
        intra_op_parallelism_threads=options.threads,
        inter_op_parallelism_threads=options.inter_threads or options.threads))
    session.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
    tf.train.start_queue_runners(session, tf.train.Coordinator())  # daemon threads
    about = {"model": "mnist", "framework": "tensorflow", "version": tf.__version__,
             "relu_logits": options.relu_logits, "towers": options.num_towers,
             "batch_size": options.batch_size, "devices": options.devices,
             "threads": options.threads,
             "inter_threads": options.inter_threads or options.threads}
    if options.warm_up:
        window(session, train, losses, options.warm_up)
    examples = options.num_towers * options.batch_size
    if options.serve:
        print(json.dumps(dict(about, ready=True)), flush=True)
        for line in sys.stdin:
            if line.strip() == "quit":
                break
            steps = int(line) if line.strip().isdigit() and int(line) else options.steps
            seconds, _ = window(session, train, losses, steps)
            print(json.dumps({"examples_per_second": round(steps * examples / seconds, 2),
                              "seconds": round(seconds, 6), "steps": steps}), flush=True)
        return 0
    timed = [window(session, train, losses, options.steps) for _ in range(options.windows)]
    rates = [options.steps * examples / seconds for seconds, _ in timed]
    median = statistics.median(rates)
    print(json.dumps(dict(
        about, steps=options.steps, windows=options.windows,
        examples_per_second=round(median, 2), spread=round((max(rates) - min(rates)) / median, 4),
        loss=[round(float(x), 6) for x in timed[-1][1]])))
    return 0


if __name__ == "__main__":
    sys.exit(main())
