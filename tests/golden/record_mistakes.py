#!/usr/bin/env python3
"""Records what TensorFlow says to the programs of models/mistakes/, written in its own words.

    record_mistakes.py --regenerate   writes mistakes.json
    record_mistakes.py --check        fails if it is not what TensorFlow says
"""

import argparse
import json
import os
import pathlib
import re
import sys

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("TF_USE_LEGACY_KERAS", "1")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")

import tensorflow.compat.v1 as tf  # noqa: E402

RECORD = pathlib.Path(__file__).resolve().parent / "mistakes.json"


def reuse_under_another_name():
    with tf.variable_scope("discriminator"):
        with tf.variable_scope("real_discriminator"):
            tf.get_variable("w", [3])
        with tf.variable_scope("fake_discriminator", reuse=True):
            tf.get_variable("w", [3])


def scope_of_a_tower():
    with tf.name_scope("Tower_0"):
        w = tf.get_variable("discriminator/w", [3])
        variables = tf.get_collection(tf.GraphKeys.TRAINABLE_VARIABLES, "Tower_0/discriminator")
        tf.train.AdamOptimizer(0.1).compute_gradients(tf.reduce_sum(w), var_list=variables)


def loop_not_wrapped():
    opt = tf.train.AdamOptimizer(0.1)
    for i in range(2):
        with tf.name_scope("tower_%d" % i):
            grads = opt.compute_gradients(tf.reduce_sum(tf.get_variable("w", [3])))
            tf.get_variable_scope().reuse_variables()
    opt.apply_gradients(grads)


def variables_not_shared():
    tower_grads = []
    for i in range(2):
        with tf.name_scope("tower_%d" % i):
            w = tf.Variable([1.0, 2.0], name="w")
            tower_grads.append(tf.gradients(tf.reduce_sum(w * w), [w]))
    averaged = [tf.reduce_mean(grads, 0) for grads in zip(*tower_grads)]
    train_op = tf.train.GradientDescentOptimizer(0.1).apply_gradients(
        zip(averaged, tf.trainable_variables()))
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(train_op)
        return "after a step:" + "".join(
            " %s %g %g" % (v.op.name, *session.run(v))
            for v in tf.trainable_variables())


def absent_gradient_averaged():
    generator = tf.get_variable("generator/w", [3])
    tf.get_variable("discriminator/w", [3])
    for grad, _ in tf.train.AdamOptimizer(0.1).compute_gradients(tf.reduce_sum(generator)):
        tf.expand_dims(grad, 0)


def slices_averaged():
    table = tf.get_variable("embedding", [5, 2])
    towers = [tf.gradients(tf.reduce_sum(tf.nn.embedding_lookup(table, [i, 3])), [table])[0]
              for i in range(2)]
    tf.reduce_mean(towers, 0)


def function_zipped():
    def average_gradients(grads):
        return grads
    tf.train.GradientDescentOptimizer(0.1).apply_gradients(
        zip(average_gradients, tf.trainable_variables()))


def optimizer_forgotten():
    conv, fc = tf.get_variable("conv/w", [3]), tf.get_variable("fc/w", [3])
    loss = tf.reduce_sum(conv * fc)
    train_op_conv = tf.train.GradientDescentOptimizer(0.1).minimize(loss, var_list=[conv])
    tf.train.GradientDescentOptimizer(0.01).minimize(loss, var_list=[fc])
    train_op = tf.group(train_op_conv)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        before = session.run(fc)
        session.run(train_op)
        return "no error; fc/w changed by %g %g %g" % tuple(session.run(fc) - before)


def losses_of_all_towers():
    totals = []
    for i in range(2):
        with tf.name_scope("tower_%d" % i):
            tf.add_to_collection("losses", tf.constant(1.0))
            totals.append(tf.add_n(tf.get_collection("losses")))
    with tf.Session() as session:
        return "the loss of tower 0: %d, of tower 1: %d" % tuple(session.run(totals))


def batch_norm(x):
    return tf.layers.batch_normalization(x, training=True, name="bn")


def updates_collected_twice():
    updates = []
    with tf.variable_scope(tf.get_variable_scope()):
        for i in range(2):
            with tf.name_scope("tower_%d" % i):
                batch_norm(tf.ones([4, 2]))
                tf.get_variable_scope().reuse_variables()
                updates.extend(tf.get_collection(tf.GraphKeys.UPDATE_OPS))
    return "%d updates collected, %d of them different" % (
        len(updates), len({update.name for update in updates}))


def updates_run_by_nobody():
    w = tf.get_variable("w", [2])
    loss = tf.reduce_sum(batch_norm(tf.random_uniform([4, 2], seed=1) * w))
    train_op = tf.train.GradientDescentOptimizer(0.1).minimize(loss)
    mean = [v for v in tf.global_variables() if v.op.name == "bn/moving_mean"][0]
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(train_op)
        return "no error; bn/moving_mean is %g %g" % tuple(session.run(mean))


def tags_stripped():
    with tf.name_scope("tower_0"):
        loss = tf.constant(1.0, name="loss")
        tag = re.sub("tower_[0-9]*/", "", loss.op.name)
        summary = tf.summary.scalar(tag, loss)
    with tf.Session() as session:
        written = tf.Summary.FromString(session.run(summary))
    return "asked for '%s', written as '%s'" % (tag, written.value[0].tag)


def relu_on_logits():
    losses = []
    for name in ("relu", "linear"):
        with tf.variable_scope(name):
            w = tf.get_variable("weights", [3, 3], initializer=tf.constant_initializer(0.1))
            b = tf.get_variable("biases", [3], initializer=tf.constant_initializer(-0.2))
        logits = tf.matmul(tf.eye(3), w) + b
        if name == "relu":
            logits = tf.nn.relu(logits)
        loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(
            labels=[0, 1, 2], logits=logits))
        train_op = tf.train.GradientDescentOptimizer(1.0).minimize(loss)
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            for _ in range(100):
                session.run(train_op)
            losses.append(session.run(loss))
    return "loss after 100 steps: with ReLU %.4f, without %.4f" % tuple(losses)


def steps_counted_three_times():
    global_step = tf.train.get_or_create_global_step()
    rate = tf.train.exponential_decay(1.0, global_step, 300, 0.1, staircase=True)
    updates = []
    for part in ("enc", "gen", "dis"):
        w = tf.get_variable(part, [2])
        opt = tf.train.GradientDescentOptimizer(rate)
        updates.append(opt.minimize(tf.reduce_sum(w * w), global_step=global_step))
    train_op = tf.group(*updates)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for _ in range(100):
            session.run(train_op)
        return "after 100 steps: global_step %d, rate %.1f" % tuple(session.run([global_step, rate]))


def average_after_a_step(waits):
    with tf.Graph().as_default():
        w = tf.get_variable("w", [], initializer=tf.ones_initializer())
        averages = tf.train.ExponentialMovingAverage(0.5)
        opt = tf.train.GradientDescentOptimizer(1.0)
        if waits == "update":
            average = averages.apply([w])
            with tf.control_dependencies([average]):
                update = opt.minimize(w * 1.0)
        else:
            update = opt.minimize(w * 1.0)
            with tf.control_dependencies([update] if waits == "average" else []):
                average = averages.apply([w])
        train_op = tf.group(update, average)
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            session.run(train_op)
            return float(session.run(averages.average(w)))


def averages_not_ordered():
    # Which of them appears if neither waits depends on the threads of the run.
    seen = {average_after_a_step("neither") for _ in range(30)}
    assert seen <= {0.5, 1.0}, seen
    return ("the average of a variable that a step takes from 1 to 0: %g if the average waits, "
            "%g if the update waits, 0.5 or 1 if neither does" % (
                average_after_a_step("average"), average_after_a_step("update")))


PROGRAMS = [reuse_under_another_name, scope_of_a_tower, loop_not_wrapped, variables_not_shared,
            absent_gradient_averaged, slices_averaged, function_zipped, optimizer_forgotten,
            losses_of_all_towers, updates_collected_twice, updates_run_by_nobody, tags_stripped,
            relu_on_logits, steps_counted_three_times, averages_not_ordered]


def outcome(program):
    with tf.Graph().as_default():
        try:
            return program()
        except Exception as error:  # whatever a user would see
            text = str(error).split("Originally defined at")[0].strip()
            text = re.sub(r"<tensorflow\S+ object at \w+>", "<IndexedSlices>", text)
            return "%s: %s" % (type(error).__name__, text)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    group = parser.add_mutually_exclusive_group(required=True)
    group.add_argument("--regenerate", action="store_true")
    group.add_argument("--check", action="store_true")
    options = parser.parse_args()
    tf.disable_v2_behavior()
    tf.logging.set_verbosity(tf.logging.ERROR)
    said = {"tensorflow": tf.__version__,
            "programs": {program.__name__: outcome(program) for program in PROGRAMS}}
    text = json.dumps(said, indent=1) + "\n"
    if options.regenerate:
        RECORD.write_text(text)
        return 0
    return 0 if RECORD.read_text() == text else 1


if __name__ == "__main__":
    sys.exit(main())
