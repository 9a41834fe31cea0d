"""Batch normalization on towers, with UPDATE_OPS collected in the ways of the text (a question of
2018-01-09 about programs named cifar10_main, cifar10_multi_gpu and inception) and two optimizers.
The text does not have the way "synchronised"."""

import tensorflow.compat.v1 as tf
from tensorflow.python.training import moving_averages

GRAPHS = [dict(towers=2, batch=8, collecting=way)
          for way in ("extended", "after", "replaced", "first")]
CURVES = GRAPHS + [dict(towers=towers, batch=batch, collecting="synchronised")
                   for towers, batch in ((2, 8), (3, 4))]
EXPONENTS = {"conv1/conv/kernel": -1, "conv2/conv/kernel": -3}


def inputs(batch):
    return [("float32", [batch, 784], -1), ("int32", [batch], 10)]


def conv(name, x, filters):
    with tf.variable_scope(name):
        filtered = tf.layers.conv2d(x, filters, 3, padding="same", use_bias=False, name="conv")
        normalized = tf.layers.batch_normalization(filtered, momentum=0.9, training=True,
                                                   name="bn")
        return tf.layers.max_pooling2d(tf.nn.relu(normalized), 2, 2)


def classified(x):
    x = tf.layers.dense(tf.layers.flatten(x), 64, activation=tf.nn.relu, name="fc1")
    return tf.layers.dense(x, 10, name="fc2")


def inference(images):
    x = tf.reshape(images, [-1, 28, 28, 1])
    x = conv("conv1", x, 16)
    x = conv("conv2", x, 32)
    return classified(x)


def loss_of(logits, labels):
    cross_entropy = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits)
    return tf.reduce_mean(cross_entropy, name="loss")


def tower_loss(images, labels):
    return loss_of(inference(images), labels)


def synchronised_conv(name, towers, filters):
    """A convolution in every tower, normalized by the moments of all of them. The moving variance
    takes the unbiased one, as FusedBatchNorm returns it for the whole batch."""
    with tf.variable_scope(name):
        filtered = [tf.layers.conv2d(x, filters, 3, padding="same", use_bias=False, name="conv",
                                     reuse=i > 0) for i, x in enumerate(towers)]
        with tf.variable_scope("bn"):
            gamma = tf.get_variable("gamma", [filters], initializer=tf.ones_initializer())
            beta = tf.get_variable("beta", [filters], initializer=tf.zeros_initializer())
            mean_average = tf.get_variable("moving_mean", [filters], trainable=False,
                                           initializer=tf.zeros_initializer())
            variance_average = tf.get_variable("moving_variance", [filters], trainable=False,
                                               initializer=tf.ones_initializer())
        mean, variance = tf.nn.moments(tf.concat(filtered, 0), [0, 1, 2])
        count = sum(x.shape.num_elements() for x in filtered) // filters
        for average, value in ((mean_average, mean),
                               (variance_average, variance * (count / (count - 1)))):
            tf.add_to_collection(tf.GraphKeys.UPDATE_OPS, moving_averages.assign_moving_average(
                average, value, 0.9, zero_debias=False).op)
        normalized = [tf.nn.batch_normalization(x, mean, variance, beta, gamma, 1e-3)
                      for x in filtered]
        return [tf.layers.max_pooling2d(tf.nn.relu(x), 2, 2) for x in normalized]


def synchronised_losses(batches):
    towers = [tf.reshape(images, [-1, 28, 28, 1]) for images, _ in batches]
    towers = synchronised_conv("conv1", towers, 16)
    towers = synchronised_conv("conv2", towers, 32)
    losses = []
    for i, (x, (_, labels)) in enumerate(zip(towers, batches)):
        with tf.variable_scope(tf.get_variable_scope(), reuse=i > 0):
            losses.append(loss_of(classified(x), labels))
    return losses


def average_gradients(tower_grads):
    average_grads = []
    for grad_and_vars in zip(*tower_grads):
        grads = [tf.expand_dims(g, 0) for g, _ in grad_and_vars]
        average_grads.append((tf.reduce_mean(tf.concat(grads, 0), 0), grad_and_vars[0][1]))
    return average_grads


def placeholders(batch):
    return tf.placeholder(tf.float32, [batch, 784]), tf.placeholder(tf.int32, [batch])


def train(next_batch, towers, batch, collecting="after"):
    num_gpus = towers
    if next_batch is None:
        def next_batch():
            return placeholders(batch)
    with tf.device("/cpu:0"):
        global_step = tf.train.get_or_create_global_step()
        opt_conv = tf.train.MomentumOptimizer(0.05, 0.9)
        opt_fc = tf.train.GradientDescentOptimizer(0.05)
        losses, tower_grads, update_ops = [], [], []
        if collecting == "synchronised":
            losses = synchronised_losses([next_batch() for _ in range(num_gpus)])
            grads = opt_conv.compute_gradients(tf.add_n(losses) / num_gpus)
        with tf.variable_scope(tf.get_variable_scope()):
            for i in range(num_gpus if collecting != "synchronised" else 0):
                with tf.device("/gpu:%d" % i):
                    with tf.name_scope("device_%d" % i) as name_scope:
                        losses.append(tower_loss(*next_batch()))
                        tf.get_variable_scope().reuse_variables()
                        tower_grads.append(opt_conv.compute_gradients(losses[-1]))
                        if collecting == "extended":
                            update_ops.extend(tf.get_collection(tf.GraphKeys.UPDATE_OPS))
                        if collecting == "replaced":
                            update_ops = tf.get_collection(tf.GraphKeys.UPDATE_OPS)
                        if collecting == "first" and i == 0:
                            update_ops = tf.get_collection(tf.GraphKeys.UPDATE_OPS, name_scope)
        if collecting != "synchronised":
            grads = average_gradients(tower_grads)
        train_op_conv = opt_conv.apply_gradients(
            [(g, v) for g, v in grads if v.name.startswith("conv")], global_step=global_step)
        train_op_fc = opt_fc.apply_gradients(
            [(g, v) for g, v in grads if not v.name.startswith("conv")])
        apply_gradient_op = tf.group(train_op_conv, train_op_fc)
        variable_averages = tf.train.ExponentialMovingAverage(0.9999, global_step)
        variables_averages_op = variable_averages.apply(tf.trainable_variables())
        if collecting in ("after", "synchronised"):
            update_ops = tf.get_collection(tf.GraphKeys.UPDATE_OPS)
        if collecting == "replaced":
            batchnorm_updates_op = tf.group(*update_ops)
            tf.group(apply_gradient_op, variables_averages_op, batchnorm_updates_op)
        else:
            with tf.control_dependencies(update_ops):
                tf.group(apply_gradient_op, variables_averages_op)
    # In one run the order of the updates is open; those of two towers write the same variables.
    distinct = list({op.name: op for op in update_ops}.values())
    return losses, distinct + [apply_gradient_op, variables_averages_op]
