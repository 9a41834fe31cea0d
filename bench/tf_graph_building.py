"""Records with TensorFlow the graph of `towerflow bench graph`: for each line of standard input with
a number of layers, prints a line of JSON. Ends on "quit"."""

import json
import os
import sys
import time

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import tensorflow.compat.v1 as tf  # noqa: E402

tf.disable_v2_behavior()
tf.disable_resource_variables()
tf.logging.set_verbosity(tf.logging.ERROR)


def average_gradients(tower_grads):
    averaged = []
    for pairs in zip(*tower_grads):
        stacked = tf.concat([tf.expand_dims(grad, 0) for grad, _ in pairs], 0)
        averaged.append((tf.reduce_mean(stacked, 0), pairs[0][1]))
    return averaged


def record(layers, towers):
    start = time.perf_counter()
    graph = tf.Graph()
    with graph.as_default():
        tf.set_random_seed(1)
        optimizer = tf.train.MomentumOptimizer(0.01, 0.9)
        tower_grads = []
        with tf.variable_scope(tf.get_variable_scope()):
            for tower in range(towers):
                with tf.device("/gpu:%d" % tower), tf.name_scope("tower_%d" % tower):
                    hidden = tf.placeholder(tf.float32, [None, 32], name="x")
                    for layer in range(layers):
                        with tf.variable_scope("layer_%d" % layer):
                            weights = tf.get_variable(
                                "weights", [32, 32],
                                initializer=tf.truncated_normal_initializer(stddev=0.1))
                            biases = tf.get_variable("biases", [32],
                                                     initializer=tf.zeros_initializer())
                            hidden = tf.nn.relu(tf.matmul(hidden, weights) + biases)
                    loss = tf.reduce_mean(hidden)
                    tf.add_to_collection(tf.GraphKeys.LOSSES, loss)
                    tf.get_variable_scope().reuse_variables()
                    tower_grads.append(optimizer.compute_gradients(loss))
        optimizer.apply_gradients(average_gradients(tower_grads))
    seconds = time.perf_counter() - start
    ops = len(graph.get_operations())
    return {"ops": ops, "seconds": seconds, "us_per_op": 1e6 * seconds / ops}


print("ready", flush=True)
for line in sys.stdin:
    if line.strip() == "quit":
        break
    print(json.dumps(record(int(line), 2)), flush=True)
