"""The MNIST net of models/mnist.cc for given images and labels."""

import tensorflow.compat.v1 as tf

# Name, shape, exponent of the generated initial values, stddev of the source's initializer. The
# biases of local4 are generated with kind "positive", which keeps its ReLU from being always zero.
VARIABLES = (
    ("conv1/weights", [5, 5, 1, 32], -2, 5e-2),
    ("conv1/biases", [32], -4, None),
    ("conv2/weights", [5, 5, 32, 64], -4, 5e-2),
    ("conv2/biases", [64], -4, None),
    ("local3/weights", [3136, 1024], -5, 0.04),
    ("local3/biases", [1024], -4, None),
    ("local4/weight", [1024, 10], -3, 0.04),
    ("local4/biases", [10], 1, None),
    ("softmax_linear/weight", [10, 10], -1, 1 / 192.0),
    ("softmax_linear/biases", [10], -4, None),
)
SOURCE_BIASES = {"conv1/biases": 0.0, "conv2/biases": 0.1, "local3/biases": 0.1,
                 "local4/biases": 0.1, "softmax_linear/biases": 0.0}


def make_variables(initial, dtype=tf.float32, kernel=5):
    """Makes VARIABLES in order on the CPU with the initializers `initial(name, shape)`."""
    made = {}
    with tf.device("/cpu:0"):
        for name, shape, _, _ in VARIABLES:
            if len(shape) == 4:
                shape = [kernel, kernel] + shape[2:]
            made[name] = tf.get_variable(name, shape, dtype, initial(name, shape))
    return made


def source_initializer(name, shape):
    """Returns the source's initializer."""
    stddev = {row[0]: row[3] for row in VARIABLES}[name]
    if stddev is None:
        return tf.constant_initializer(SOURCE_BIASES[name])
    return tf.truncated_normal_initializer(stddev=stddev)


def logits(images, v, relu_logits):
    """Returns the logits and the inputs of ReLU and pooling decisions, by layer."""
    pool = [1, 2, 2, 1]
    decisions = []

    def convolution(x, layer):
        y = tf.nn.conv2d(x, v[layer + "/weights"], [1, 1, 1, 1], "SAME")
        y = tf.nn.bias_add(y, v[layer + "/biases"])
        decisions.append(y)
        return tf.nn.max_pool(tf.nn.relu(y), pool, pool, "SAME")

    x = convolution(tf.reshape(images, [-1, 28, 28, 1]), "conv1")
    x = tf.reshape(convolution(x, "conv2"), [-1, 7 * 7 * 64])
    x = tf.matmul(x, v["local3/weights"]) + v["local3/biases"]
    decisions.append(x)
    x = tf.matmul(tf.nn.relu(x), v["local4/weight"]) + v["local4/biases"]
    if relu_logits:
        decisions.append(x)
        x = tf.nn.relu(x)
    return tf.add(tf.matmul(x, v["softmax_linear/weight"]), v["softmax_linear/biases"]), decisions


def loss(images, labels, v, relu_logits):
    """Returns the mean cross entropy and the decisions of `logits`."""
    x, decisions = logits(images, v, relu_logits)
    entropy = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=x)
    return tf.reduce_mean(entropy), decisions


def average(pairs_of_towers):
    """Averages gradients as the source does."""
    averaged = []
    for pairs in zip(*pairs_of_towers):
        grads = tf.concat([tf.expand_dims(g, 0) for g, _ in pairs], 0)
        averaged.append((tf.reduce_mean(grads, 0), pairs[0][1]))
    return averaged
