"""TensorFlow's CIFAR-10 tutorial on towers, in its own words: cifar10.py, cifar10_input.py and
cifar10_multi_gpu_train.py, and with `one_device` cifar10_train.py. `next_batch` replaces its input
where batches are fed."""

import re

import tensorflow.compat.v1 as tf

TOWER_NAME = "tower"
IMAGE_SIZE, NUM_CLASSES = 24, 10
EXAMPLES = 50000
GRAPHS = [dict(towers=towers, batch=128) for towers in (1, 2)]
GRAPHS += [dict(towers=1, batch=128, one_device=True)]
CURVES = [dict(towers=towers, batch=8) for towers in (1, 2)]
CURVES += [dict(towers=1, batch=8, one_device=True)]
# Exponents of the generated initial values.
EXPONENTS = {"conv1/weights": -3, "conv2/weights": -4, "local3/weights": -4, "local4/weights": -4,
             "softmax_linear/weights": -7}


def inputs(batch):
    return [("float32", [batch, IMAGE_SIZE, IMAGE_SIZE, 3], 1), ("int32", [batch], NUM_CLASSES)]


def distorted_inputs(filenames, batch_size, num_gpus, num_threads, one_device=False):
    from tf_slim.data import prefetch_queue
    with tf.name_scope("data_augmentation"):
        filename_queue = tf.train.string_input_producer(filenames)
        reader = tf.FixedLengthRecordReader(record_bytes=1 + 3072)
        _, value = reader.read(filename_queue)
        record_bytes = tf.decode_raw(value, tf.uint8)
        label = tf.cast(tf.strided_slice(record_bytes, [0], [1]), tf.int32)
        depth_major = tf.reshape(tf.strided_slice(record_bytes, [1], [1 + 3072]), [3, 32, 32])
        reshaped_image = tf.cast(tf.transpose(depth_major, [1, 2, 0]), tf.float32)
        distorted_image = tf.random_crop(reshaped_image, [IMAGE_SIZE, IMAGE_SIZE, 3])
        distorted_image = tf.image.random_flip_left_right(distorted_image)
        distorted_image = tf.image.random_brightness(distorted_image, max_delta=63)
        distorted_image = tf.image.random_contrast(distorted_image, lower=0.2, upper=1.8)
        float_image = tf.image.per_image_standardization(distorted_image)
        float_image.set_shape([IMAGE_SIZE, IMAGE_SIZE, 3])
        label.set_shape([1])
        min_queue_examples = int(EXAMPLES * 0.4)
        images, label_batch = tf.train.shuffle_batch(
            [float_image, label], batch_size=batch_size, num_threads=num_threads,
            capacity=min_queue_examples + 3 * batch_size, min_after_dequeue=min_queue_examples)
        tf.summary.image("images", images)
        labels = tf.reshape(label_batch, [batch_size])
        if one_device:
            return lambda: (images, labels)
        return prefetch_queue.prefetch_queue([images, labels], capacity=2 * num_gpus).dequeue


def _activation_summary(x):
    tensor_name = re.sub("%s_[0-9]*/" % TOWER_NAME, "", x.op.name)
    tf.summary.histogram(tensor_name + "/activations", x)
    tf.summary.scalar(tensor_name + "/sparsity", tf.nn.zero_fraction(x))


def _variable_on_cpu(name, shape, initializer):
    with tf.device("/cpu:0"):
        return tf.get_variable(name, shape, initializer=initializer, dtype=tf.float32)


def _variable_with_weight_decay(name, shape, stddev, wd):
    var = _variable_on_cpu(name, shape,
                           tf.truncated_normal_initializer(stddev=stddev, dtype=tf.float32))
    if wd is not None:
        weight_decay = tf.multiply(tf.nn.l2_loss(var), wd, name="weight_loss")
        tf.add_to_collection("losses", weight_decay)
    return var


def inference(images):
    with tf.variable_scope("conv1") as scope:
        kernel = _variable_with_weight_decay("weights", [5, 5, 3, 64], 5e-2, None)
        conv = tf.nn.conv2d(images, kernel, [1, 1, 1, 1], padding="SAME")
        biases = _variable_on_cpu("biases", [64], tf.constant_initializer(0.0))
        pre_activation = tf.nn.bias_add(conv, biases)
        conv1 = tf.nn.relu(pre_activation, name=scope.name)
        _activation_summary(conv1)
    pool1 = tf.nn.max_pool(conv1, ksize=[1, 3, 3, 1], strides=[1, 2, 2, 1], padding="SAME",
                           name="pool1")
    norm1 = tf.nn.lrn(pool1, 4, bias=1.0, alpha=0.001 / 9.0, beta=0.75, name="norm1")
    with tf.variable_scope("conv2") as scope:
        kernel = _variable_with_weight_decay("weights", [5, 5, 64, 64], 5e-2, None)
        conv = tf.nn.conv2d(norm1, kernel, [1, 1, 1, 1], padding="SAME")
        biases = _variable_on_cpu("biases", [64], tf.constant_initializer(0.1))
        pre_activation = tf.nn.bias_add(conv, biases)
        conv2 = tf.nn.relu(pre_activation, name=scope.name)
        _activation_summary(conv2)
    norm2 = tf.nn.lrn(conv2, 4, bias=1.0, alpha=0.001 / 9.0, beta=0.75, name="norm2")
    pool2 = tf.nn.max_pool(norm2, ksize=[1, 3, 3, 1], strides=[1, 2, 2, 1], padding="SAME",
                           name="pool2")
    with tf.variable_scope("local3") as scope:
        reshape = tf.reshape(pool2, [-1, 6 * 6 * 64])
        dim = reshape.get_shape()[1].value
        weights = _variable_with_weight_decay("weights", [dim, 384], 0.04, 0.004)
        biases = _variable_on_cpu("biases", [384], tf.constant_initializer(0.1))
        local3 = tf.nn.relu(tf.matmul(reshape, weights) + biases, name=scope.name)
        _activation_summary(local3)
    with tf.variable_scope("local4") as scope:
        weights = _variable_with_weight_decay("weights", [384, 192], 0.04, 0.004)
        biases = _variable_on_cpu("biases", [192], tf.constant_initializer(0.1))
        local4 = tf.nn.relu(tf.matmul(local3, weights) + biases, name=scope.name)
        _activation_summary(local4)
    with tf.variable_scope("softmax_linear") as scope:
        weights = _variable_with_weight_decay("weights", [192, NUM_CLASSES], 1 / 192.0, None)
        biases = _variable_on_cpu("biases", [NUM_CLASSES], tf.constant_initializer(0.0))
        softmax_linear = tf.add(tf.matmul(local4, weights), biases, name=scope.name)
        _activation_summary(softmax_linear)
    return softmax_linear


def add_loss(logits, labels):
    labels = tf.cast(labels, tf.int64)
    cross_entropy = tf.nn.sparse_softmax_cross_entropy_with_logits(
        labels=labels, logits=logits, name="cross_entropy_per_example")
    cross_entropy_mean = tf.reduce_mean(cross_entropy, name="cross_entropy")
    tf.add_to_collection("losses", cross_entropy_mean)
    return tf.add_n(tf.get_collection("losses"), name="total_loss")


def tower_loss(scope, images, labels):
    logits = inference(images)
    add_loss(logits, labels)
    losses = tf.get_collection("losses", scope)
    total_loss = tf.add_n(losses, name="total_loss")
    for l in losses + [total_loss]:
        loss_name = re.sub("%s_[0-9]*/" % TOWER_NAME, "", l.op.name)
        tf.summary.scalar(loss_name, l)
    return total_loss


def average_gradients(tower_grads):
    average_grads = []
    for grad_and_vars in zip(*tower_grads):
        grads = [tf.expand_dims(g, 0) for g, _ in grad_and_vars]
        grad = tf.concat(axis=0, values=grads)
        average_grads.append((tf.reduce_mean(grad, 0), grad_and_vars[0][1]))
    return average_grads


def _add_loss_summaries(total_loss):
    loss_averages = tf.train.ExponentialMovingAverage(0.9, name="avg")
    losses = tf.get_collection("losses")
    loss_averages_op = loss_averages.apply(losses + [total_loss])
    for l in losses + [total_loss]:
        tf.summary.scalar(l.op.name + " (raw)", l)
        tf.summary.scalar(l.op.name, loss_averages.average(l))
    return loss_averages_op


def train_one_device(next_batch, batch_size, num_threads):
    global_step = tf.train.get_or_create_global_step()
    with tf.device("/cpu:0"):
        if next_batch is None:
            next_batch = distorted_inputs(["data_batch_1.bin"], batch_size, 1, num_threads, True)
        images, labels = next_batch()
    total_loss = add_loss(inference(images), labels)
    decay_steps = int(EXAMPLES / batch_size * 350.0)
    lr = tf.train.exponential_decay(0.1, global_step, decay_steps, 0.1, staircase=True)
    tf.summary.scalar("learning_rate", lr)
    loss_averages_op = _add_loss_summaries(total_loss)
    with tf.control_dependencies([loss_averages_op]):
        opt = tf.train.GradientDescentOptimizer(lr)
        grads = opt.compute_gradients(total_loss)
    apply_gradient_op = opt.apply_gradients(grads, global_step=global_step)
    for var in tf.trainable_variables():
        tf.summary.histogram(var.op.name, var)
    for grad, var in grads:
        if grad is not None:
            tf.summary.histogram(var.op.name + "/gradients", grad)
    variable_averages = tf.train.ExponentialMovingAverage(0.9999, global_step)
    with tf.control_dependencies([apply_gradient_op]):
        variables_averages_op = variable_averages.apply(tf.trainable_variables())
    tf.summary.merge_all()
    return [total_loss], [variables_averages_op]


def train(next_batch, towers, batch, num_threads=16, one_device=False):
    num_gpus, batch_size = towers, batch
    if one_device:
        return train_one_device(next_batch, batch_size, num_threads)
    with tf.device("/cpu:0"):
        global_step = tf.get_variable("global_step", [], initializer=tf.constant_initializer(0),
                                      trainable=False)
        num_batches_per_epoch = EXAMPLES / batch_size / num_gpus
        decay_steps = int(num_batches_per_epoch * 350.0)
        lr = tf.train.exponential_decay(0.1, global_step, decay_steps, 0.1, staircase=True)
        opt = tf.train.GradientDescentOptimizer(lr)
        if next_batch is None:
            next_batch = distorted_inputs(["data_batch_1.bin"], batch_size, num_gpus, num_threads)
        tower_grads, losses = [], []
        with tf.variable_scope(tf.get_variable_scope()):
            for i in range(num_gpus):
                with tf.device("/gpu:%d" % i):
                    with tf.name_scope("%s_%d" % (TOWER_NAME, i)) as scope:
                        image_batch, label_batch = next_batch()
                        loss = tower_loss(scope, image_batch, label_batch)
                        tf.get_variable_scope().reuse_variables()
                        summaries = tf.get_collection(tf.GraphKeys.SUMMARIES, scope)
                        grads = opt.compute_gradients(loss)
                        tower_grads.append(grads)
                        losses.append(loss)
        grads = average_gradients(tower_grads)
        apply_gradient_op = opt.apply_gradients(grads, global_step=global_step)
        variable_averages = tf.train.ExponentialMovingAverage(0.9999, global_step)
        variables_averages_op = variable_averages.apply(tf.trainable_variables())
        tf.group(apply_gradient_op, variables_averages_op)
        summaries.append(tf.summary.scalar("learning_rate", lr))
        for grad, var in grads:
            summaries.append(tf.summary.histogram(var.op.name + "/gradients", grad))
        for var in tf.trainable_variables():
            summaries.append(tf.summary.histogram(var.op.name, var))
        tf.summary.merge(summaries)
        # The group leaves open whether the averages see the variables before or after their update.
        return losses, [apply_gradient_op, variables_averages_op]
