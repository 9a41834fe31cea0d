#!/usr/bin/env python3
"""What `towerflow bench update` does, done by TensorFlow: the mean of towers' gradients, which lie
in variables, and an optimizer's update.

    tf_update_step.py [--num-towers N] [--parameters P] [--variables V] [--optimizer NAME]
                      [--threads T] [--inter-threads I]

Prints "ready", then for each line of standard input, a number of steps, a line of JSON: ms, the
milliseconds of a step. It ends at end of input or on the line "quit".
"""

import argparse
import json
import os
import sys
import time

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")

import tensorflow.compat.v1 as tf  # noqa: E402

OPTIMIZERS = {
    "sgd": lambda: tf.train.GradientDescentOptimizer(1e-3),
    "nesterov": lambda: tf.train.MomentumOptimizer(1e-3, 0.9, use_nesterov=True),
    "adagrad": lambda: tf.train.AdagradOptimizer(1e-3),
    "adam": lambda: tf.train.AdamOptimizer(1e-3),
    "rmsprop": lambda: tf.train.RMSPropOptimizer(1e-3),
}


def average_gradients(tower_grads):
    averaged = []
    for pairs in zip(*tower_grads):
        rows = tf.concat([tf.expand_dims(grad, 0) for grad, _ in pairs], 0)
        averaged.append((tf.reduce_mean(rows, 0), pairs[0][1]))
    return averaged


def build(options):
    size = max(1, options.parameters // options.variables)

    def made(name, trainable):
        return tf.get_variable(name, [size], trainable=trainable,
                               initializer=tf.random_uniform_initializer(-0.01, 0.01))

    tower_grads = [[] for _ in range(options.num_towers)]
    for i in range(options.variables):
        variable = made("variable_%d" % i, True)
        for tower, pairs in enumerate(tower_grads):
            pairs.append((made("gradient_%d_%d" % (tower, i), False).read_value(), variable))
    return OPTIMIZERS[options.optimizer]().apply_gradients(average_gradients(tower_grads))


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--num-towers", type=int, default=2)
    parser.add_argument("--parameters", type=int, default=123600000)
    parser.add_argument("--variables", type=int, default=16)
    parser.add_argument("--optimizer", choices=sorted(OPTIMIZERS), default="adam")
    parser.add_argument("--threads", type=int, default=2, help="intra-op threads")
    parser.add_argument("--inter-threads", type=int, default=0, help="0: as --threads")
    options = parser.parse_args()
    tf.disable_v2_behavior()
    tf.disable_resource_variables()
    tf.logging.set_verbosity(tf.logging.ERROR)
    tf.set_random_seed(1)
    train = build(options)
    session = tf.Session(config=tf.ConfigProto(
        intra_op_parallelism_threads=options.threads,
        inter_op_parallelism_threads=options.inter_threads or options.threads))
    for variable in tf.global_variables():
        session.run(variable.initializer)
    step = session.make_callable(train)
    step()
    print("ready", flush=True)
    for line in sys.stdin:
        if line.strip() == "quit":
            break
        steps = int(line)
        start = time.perf_counter()
        for _ in range(steps):
            step()
        print(json.dumps({"ms": 1e3 * (time.perf_counter() - start) / steps}), flush=True)


if __name__ == "__main__":
    main()
