"""Programs of make_golden.py with functions that TensorFlow composes with cond."""
import numpy as np
import tensorflow.compat.v1 as tf

from programs import grads, other_nodes, program, scalar


def init(*variables):
    return (tf.group(*[v.initializer for v in variables], name="start"),)


@program
def composed_initialized_value():
    a = tf.get_variable("a", [2], initializer=tf.constant_initializer(3.0))
    b = tf.Variable(a.initialized_value() * 2.0, name="b")
    c = tf.get_variable("c", initializer=a + b)
    with tf.name_scope("s"):
        d = tf.Variable(c, name="d")
    y = tf.stack([a, b, c, d])
    return [y], [init(a, b), init(c, d), {}]


@program
def composed_initial_value_of_branches():
    p = scalar("p", tf.bool)
    a = tf.get_variable("a", [], initializer=tf.constant_initializer(3.0))
    y = tf.cond(p, lambda: a * 2.0, lambda: tf.identity(a))
    b = tf.Variable(y, name="b")
    return [b.read_value()], [(tf.group(a.initializer),)]


@program
def composed_initial_value_of_loop():
    a = tf.get_variable("a", [], initializer=tf.constant_initializer(3.0))
    y = tf.while_loop(lambda x: x < 10.0, lambda x: x * a, [1.0])
    b = tf.Variable(y + 1.0, name="b")
    return [b.read_value()], [init(a), init(b), {}]


@program
def error_initial_value_in_loop():
    y = tf.while_loop(lambda x: x < 10.0, lambda x: x * 2.0, [1.0])
    tf.Variable(y, name="b", validate_shape=False)


@program
def composed_average():
    v = tf.get_variable("v", [2], initializer=tf.constant_initializer(2.0))
    with tf.device("/cpu:0"):
        w = tf.get_variable("w", [], initializer=tf.ones_initializer())
    ema = tf.train.ExponentialMovingAverage(0.5)
    update = ema.apply([v, w])
    y = ema.average(v).read_value()
    z = ema.average(w).read_value()
    move = tf.assign_add(v, [2.0, 4.0])
    return [y, z], [(tf.global_variables_initializer(),), {}, (move.op,), (update,), {}]


@program
def composed_piecewise_constant():
    x = scalar("x", tf.int64)
    y = tf.train.piecewise_constant(x, [10, 20, 30], [0.1, 0.01, 0.001, 0.5])
    return [y], [{x: n} for n in (-5, 10, 11, 20, 25, 30, 31)]


@program
@other_nodes
def composed_piecewise_constant_gradients():
    x, low = scalar("x"), tf.placeholder(tf.float32, [2], name="low")
    y = tf.train.piecewise_constant(x, [0.5], [low, low * 3.0], name="k")
    return [y] + grads(y, low), [{x: 0.25, low: [1.0, 2.0]}, {x: 0.75, low: [1.0, 2.0]}]


@program
def composed_cosine_decay_restarts():
    step, factor = scalar("step", tf.int32), scalar("factor")
    y = tf.train.cosine_decay_restarts(0.5, step, 3, factor, 0.5, 0.125)
    return [y], [{step: s, factor: f} for f in (1.0, 2.0) for s in (0, 2, 7)]


@program
def composed_is_monotonic():
    x = tf.placeholder(tf.float32, name="x")
    y = tf.is_non_decreasing(x)
    z = tf.is_strictly_increasing(x, name="k")
    return [y, z], [{x: np.float32(v)} for v in ([], [3], [1, 2, 2], [[1, 2], [3, 4]], [2, 1])]


@program
def composed_zero_fraction():
    x = tf.placeholder(tf.float32, [None, 2], name="x")
    y = tf.nn.zero_fraction(x)
    z = tf.nn.zero_fraction(tf.constant([[1, 0, 0], [0, 2, 0]]), name="k")
    return [y, z], [{x: [[0.0, 1.0], [2.0, -0.0]]}]


@program
def composed_weighted_loss():
    x = tf.placeholder(tf.float32, [None, 2], name="x")
    w = tf.placeholder(tf.float32, [None, None], name="w")
    y = tf.losses.compute_weighted_loss(x, w)
    a = [[1.0, 2.0], [3.0, 4.0]]
    return [y], [{x: a, w: [[1.0], [2.0]]}, {x: a, w: [[0.0, 1.0]]}, {x: a, w: [[1.0, 2.0, 3.0]]}]


@program
def composed_loss_of_unknown_rank():
    x = tf.placeholder(tf.float32, name="x")
    w = tf.placeholder(tf.float32, name="w")
    y = tf.losses.compute_weighted_loss(x, w, reduction=tf.losses.Reduction.SUM)
    a = [[1.0, 2.0], [3.0, 4.0]]
    return [y], [{x: a, w: 2.0}, {x: a, w: [[1.0], [2.0]]}, {x: a, w: [1.0, 2.0]}]


@program
def composed_sparse_loss_of_unknown_rank():
    x = tf.placeholder(tf.float32, name="x")
    labels = tf.placeholder(tf.int32, name="labels")
    w = tf.placeholder(tf.float32, [None], name="w")
    y = tf.losses.sparse_softmax_cross_entropy(labels, x, w)
    a = [[1.0, 2.0], [3.0, 5.0]]
    return [y], [{x: a, labels: [0, 1], w: [1.0, 2.0]}, {x: a, labels: [[0], [1]], w: [1.0, 0.0]}]


@program
def composed_metric_of_unknown_rank():
    x = tf.placeholder(tf.float32, name="x")
    labels = tf.placeholder(tf.float32, name="labels")
    w = tf.placeholder(tf.float32, name="w")
    y, update = tf.metrics.mean_squared_error(labels, x, w)
    a = [[1.0], [3.0]]
    return [update], [(tf.local_variables_initializer(),),
                      {x: a, labels: [[2.0], [2.0]], w: 2.0},
                      {x: a, labels: [3.0, 5.0], w: [1.0, 0.0]},
                      {x: a, labels: [[3.0], [5.0]], w: [1.0, 1.0]},
                      {x: [1.0], labels: [3.0], w: [[1.0]]}]


@program
def composed_mean_iou():
    x = tf.placeholder(tf.int32, [None, 2], name="x")
    labels = tf.placeholder(tf.int64, [None, 2], name="labels")
    w = tf.placeholder(tf.float32, [None, 2], name="w")
    y, update = tf.metrics.mean_iou(labels, x, 4, w)
    z, more = tf.metrics.mean_iou(labels, x, 4, name="k")
    return [update, more], [(tf.local_variables_initializer(),),
                            {x: [[0, 1], [1, 2]], labels: [[0, 1], [2, 2]], w: np.ones([2, 2])},
                            {x: [[2, 1]], labels: [[0, 1]], w: [[0.5, 0.0]]},
                            {x: [[2, 4]], labels: [[0, 1]], w: [[0.5, 0.0]]}]


@program
def composed_mean_iou_of_little():
    x, w = tf.constant([0, 1, 1]), tf.constant([0.5, 0.25, 0.25])
    y, update = tf.metrics.mean_iou(tf.constant([0, 1, 0]), x, 3, w)
    return [y], [(tf.local_variables_initializer(),), (update.op,), {}]


@program
def composed_mean_iou_of_two():
    x = tf.constant([0, 1, 1, 2])
    y, update = tf.metrics.mean_iou(tf.constant([0, 1, 2, 2]), x, 4)
    return [y], [(tf.local_variables_initializer(),), {}, (update.op,), {}]


@program
def composed_confusion_of_unknown_rank():
    x = tf.placeholder(tf.int32, name="x")
    labels = tf.placeholder(tf.int32, [None, 1], name="labels")
    y = tf.confusion_matrix(labels, x, 3)
    return [y], [{x: [1, 2], labels: [[1], [1]]}, {x: [[1], [2]], labels: [[1], [1]]}]


@program
def composed_mean_per_class_accuracy():
    x = tf.placeholder(tf.int32, [None], name="x")
    w = tf.placeholder(tf.float32, [None], name="w")
    y, update = tf.metrics.mean_per_class_accuracy(tf.constant([0, 1, 2, 2]), x, 4, w)
    z, more = tf.metrics.mean_per_class_accuracy(tf.constant([[0, 1], [2, 2]]), x, 3, name="k")
    return [update, more], [(tf.local_variables_initializer(),),
                            {x: [0, 1, 1, 2], w: [1.0, 2.0, 3.0, 4.0]}]


def pixels(*shape):
    return np.arange(np.prod(shape), dtype=np.float32).reshape(shape)


@program
def composed_rot90():
    image = tf.placeholder(tf.float32, [2, 3, 1], name="image")
    k = scalar("k", tf.int32)
    y = tf.image.rot90(image, k)
    return [y], [{image: pixels(2, 3, 1), k: n} for n in range(-1, 5)]


@program
def composed_rot90_batch():
    image = tf.placeholder(tf.float32, [None, None, 3, 2], name="image")
    y = tf.image.rot90(image, name="turned")
    return [y], [{image: pixels(2, 2, 3, 2)}]


@program
def composed_rot90_of_unknown_rank():
    image = tf.placeholder(tf.float32, name="image")
    y = tf.image.rot90(image, 3)
    return [y], [{image: pixels(2, 3, 1)}, {image: pixels(1, 2, 3, 1)}]


@program
def composed_flips_of_unknown_rank():
    image = tf.placeholder(tf.float32, name="image")
    y, z = tf.image.flip_left_right(image), tf.image.flip_up_down(image)
    turned = tf.image.transpose_image(image, name="k")
    return [y, z, turned], [{image: pixels(2, 3, 1)}, {image: pixels(2, 2, 3, 1)}]


@program
def composed_random_flips():
    tf.set_random_seed(3)
    image = tf.placeholder(tf.float32, [2, 3, 1], name="image")
    y = tf.image.random_flip_left_right(image, seed=5)
    z = tf.image.random_flip_up_down(image)
    return [y, z], [{image: pixels(2, 3, 1)} for _ in range(5)]


@program
def composed_random_flips_of_batch():
    image = tf.placeholder(tf.float32, [None, 2, 3, 1], name="image")
    y = tf.image.random_flip_left_right(image, seed=5)
    z = tf.image.random_flip_up_down(image, seed=2)
    return [y, z], [{image: pixels(4, 2, 3, 1)} for _ in range(3)]


@program
def composed_random_flip_of_unknown_rank():
    image = tf.placeholder(tf.float32, name="image")
    y = tf.image.random_flip_up_down(image, seed=5)
    return [y], [{image: pixels(2, 3, 1)}, {image: pixels(2, 2, 3, 1)}]
