"""Inception v3 on towers, in the words of inception_train.py, inception_model.py,
image_processing.py and their slim. `next_batch` replaces its input where batches are fed."""

import re

import tensorflow.compat.v1 as tf
from tensorflow.python.training import moving_averages

TOWER_NAME = "tower"
IMAGE_SIZE, NUM_CLASSES, EXAMPLES = 299, 1001, 1281167
FILES = ["train-00000-of-00001"]
LOSSES, UPDATE_OPS = "_losses", "_update_ops_"
MODEL_VARIABLES, VARIABLES_TO_RESTORE = "_model_variables_", "_variables_to_restore_"
GRAPHS = [dict(towers=1, batch=4)]
OUTLINES = [dict(towers=2, batch=4)]
# In float64: where rounding decides whether relu passes a gradient, one feature more or less among
# thousands changes the gradients of all layers before it.
CURVES = [dict(towers=1, batch=2, dtype="float64")]
STEPS, COMPACT = 1, True
EXPONENTS = {}


def inputs(batch, dtype="float32"):
    return [(dtype, [batch, IMAGE_SIZE, IMAGE_SIZE, 3], 0), ("int32", [batch], NUM_CLASSES)]


# The input: image_processing.py.

def decode_jpeg(image_buffer):
    with tf.name_scope(None, "decode_jpeg", [image_buffer]):
        image = tf.image.decode_jpeg(image_buffer, channels=3)
        return tf.image.convert_image_dtype(image, dtype=tf.float32)


def distort_color(image, thread_id):
    with tf.name_scope(None, "distort_color", [image]):
        image = tf.image.random_brightness(image, max_delta=32. / 255.)
        if thread_id % 2 == 0:
            image = tf.image.random_saturation(image, lower=0.5, upper=1.5)
            image = tf.image.random_hue(image, max_delta=0.2)
            image = tf.image.random_contrast(image, lower=0.5, upper=1.5)
        else:
            image = tf.image.random_contrast(image, lower=0.5, upper=1.5)
            image = tf.image.random_saturation(image, lower=0.5, upper=1.5)
            image = tf.image.random_hue(image, max_delta=0.2)
        return tf.clip_by_value(image, 0.0, 1.0)


def distort_image(image, bbox, thread_id):
    height = width = IMAGE_SIZE
    with tf.name_scope(None, "distort_image", [image, height, width, bbox]):
        if not thread_id:
            tf.summary.image("image_with_bounding_boxes", tf.image.draw_bounding_boxes(
                tf.expand_dims(image, 0), bbox))
        begin, size, distorted_box = tf.image.sample_distorted_bounding_box(
            tf.shape(image), bounding_boxes=bbox, min_object_covered=0.1,
            aspect_ratio_range=[0.75, 1.33], area_range=[0.05, 1.0], max_attempts=100,
            use_image_if_no_bounding_boxes=True)
        if not thread_id:
            tf.summary.image("images_with_distorted_bounding_box", tf.image.draw_bounding_boxes(
                tf.expand_dims(image, 0), distorted_box))
        distorted = tf.slice(image, begin, size)
        distorted = tf.image.resize_images(distorted, [height, width], method=thread_id % 4)
        distorted.set_shape([height, width, 3])
        if not thread_id:
            tf.summary.image("cropped_resized_image", tf.expand_dims(distorted, 0))
        distorted = tf.image.random_flip_left_right(distorted)
        distorted = distort_color(distorted, thread_id)
        if not thread_id:
            tf.summary.image("final_distorted_image", tf.expand_dims(distorted, 0))
        return distorted


def parse_example_proto(example_serialized):
    feature_map = {
        "image/encoded": tf.FixedLenFeature([], dtype=tf.string, default_value=""),
        "image/class/label": tf.FixedLenFeature([1], dtype=tf.int64, default_value=-1),
        "image/class/text": tf.FixedLenFeature([], dtype=tf.string, default_value="")}
    sides = ["image/object/bbox/" + side for side in ("ymin", "xmin", "ymax", "xmax")]
    feature_map.update({side: tf.VarLenFeature(dtype=tf.float32) for side in sides})
    features = tf.parse_single_example(example_serialized, feature_map)
    label = tf.cast(features["image/class/label"], dtype=tf.int32)
    xmin, ymin, xmax, ymax = (tf.expand_dims(features["image/object/bbox/" + side].values, 0)
                              for side in ("xmin", "ymin", "xmax", "ymax"))
    bbox = tf.concat(axis=0, values=[ymin, xmin, ymax, xmax])
    bbox = tf.transpose(tf.expand_dims(bbox, 0), [0, 2, 1])
    return features["image/encoded"], label, bbox


def distorted_inputs(data_files, batch_size, num_preprocess_threads, num_readers=4,
                     input_queue_memory_factor=16):
    with tf.device("/cpu:0"), tf.name_scope("batch_processing"):
        filename_queue = tf.train.string_input_producer(data_files, shuffle=True, capacity=16)
        min_queue_examples = 1024 * input_queue_memory_factor
        examples_queue = tf.RandomShuffleQueue(
            capacity=min_queue_examples + 3 * batch_size, min_after_dequeue=min_queue_examples,
            dtypes=[tf.string])
        enqueue_ops = []
        for _ in range(num_readers):
            _, value = tf.TFRecordReader().read(filename_queue)
            enqueue_ops.append(examples_queue.enqueue([value]))
        tf.train.add_queue_runner(tf.train.QueueRunner(examples_queue, enqueue_ops))
        example_serialized = examples_queue.dequeue()
        images_and_labels = []
        for thread_id in range(num_preprocess_threads):
            image_buffer, label_index, bbox = parse_example_proto(example_serialized)
            image = distort_image(decode_jpeg(image_buffer), bbox, thread_id)
            image = tf.multiply(tf.subtract(image, 0.5), 2.0)
            images_and_labels.append([image, label_index])
        images, label_index_batch = tf.train.batch_join(
            images_and_labels, batch_size=batch_size,
            capacity=2 * num_preprocess_threads * batch_size)
        images = tf.cast(images, tf.float32)
        images = tf.reshape(images, shape=[batch_size, IMAGE_SIZE, IMAGE_SIZE, 3])
        tf.summary.image("images", images)
        return images, tf.reshape(label_index_batch, [batch_size])


# The layers: slim/ops.py, slim/variables.py and slim/losses.py.

def variable(name, shape, initializer, regularizer=None, trainable=True, collections=(),
             dtype=tf.float32):
    with tf.device("/cpu:0"):
        return tf.get_variable(
            name, shape=shape, dtype=dtype, initializer=initializer, regularizer=regularizer,
            trainable=trainable, collections=[*collections, tf.GraphKeys.GLOBAL_VARIABLES,
                                              MODEL_VARIABLES, VARIABLES_TO_RESTORE])


def l2_regularizer(tensor):
    with tf.name_scope(None, "L2Regularizer", [tensor]):
        weight = tf.convert_to_tensor(0.00004, dtype=tensor.dtype.base_dtype, name="weight")
        return tf.multiply(weight, tf.nn.l2_loss(tensor), name="value")


def batch_norm(inputs, is_training):
    with tf.variable_scope(None, "BatchNorm", [inputs]):
        axis = list(range(len(inputs.get_shape()) - 1))
        shape = inputs.get_shape()[-1:]
        dtype = inputs.dtype
        beta = variable("beta", shape, tf.zeros_initializer(), dtype=dtype)
        moving = ["moving_vars", tf.GraphKeys.MOVING_AVERAGE_VARIABLES]
        moving_mean = variable("moving_mean", shape, tf.zeros_initializer(), trainable=False,
                               collections=moving, dtype=dtype)
        moving_variance = variable("moving_variance", shape, tf.ones_initializer(),
                                   trainable=False, collections=moving, dtype=dtype)
        mean, variance = moving_mean, moving_variance
        if is_training:
            mean, variance = tf.nn.moments(inputs, axis)
            for average, value in ((moving_mean, mean), (moving_variance, variance)):
                tf.add_to_collection(UPDATE_OPS, moving_averages.assign_moving_average(
                    average, value, 0.9997))
        outputs = tf.nn.batch_normalization(inputs, mean, variance, beta, None, 0.001)
        outputs.set_shape(inputs.get_shape())
        return outputs


def conv2d(inputs, filters, kernel, is_training, stride=1, padding="SAME", stddev=0.1, scope=None):
    with tf.variable_scope(scope, "Conv", [inputs]):
        weights = variable("weights", [*kernel, inputs.get_shape()[-1], filters],
                           tf.truncated_normal_initializer(stddev=stddev), l2_regularizer,
                           dtype=inputs.dtype)
        conv = tf.nn.conv2d(inputs, weights, [1, stride, stride, 1], padding=padding)
        return tf.nn.relu(batch_norm(conv, is_training))


def fc(inputs, units, stddev=0.01, scope=None):
    with tf.variable_scope(scope, "FC", [inputs]):
        weights = variable("weights", [inputs.get_shape()[1], units],
                           tf.truncated_normal_initializer(stddev=stddev), l2_regularizer,
                           dtype=inputs.dtype)
        biases = variable("biases", [units], tf.constant_initializer(0.0), dtype=inputs.dtype)
        return tf.nn.xw_plus_b(inputs, weights, biases)


def pool(kind, default_name, inputs, kernel, stride=1, padding="SAME", scope=None):
    with tf.name_scope(scope, default_name, [inputs]):
        return kind(inputs, ksize=[1, *kernel, 1], strides=[1, stride, stride, 1], padding=padding)


def max_pool(*args, **kwargs):
    return pool(tf.nn.max_pool, "MaxPool", *args, **kwargs)


def avg_pool(*args, **kwargs):
    return pool(tf.nn.avg_pool, "AvgPool", *args, **kwargs)


def flatten(inputs, scope=None):
    k = inputs.get_shape()[1:].num_elements()
    with tf.name_scope(scope, "Flatten", [inputs]):
        return tf.reshape(inputs, [-1, k])


def cross_entropy_loss(logits, one_hot_labels, weight, scope=None):
    with tf.name_scope(scope, "CrossEntropyLoss", [logits, one_hot_labels]):
        num_classes = one_hot_labels.get_shape()[-1].value
        one_hot_labels = tf.cast(one_hot_labels, logits.dtype)
        one_hot_labels = one_hot_labels * (1.0 - 0.1) + 0.1 / num_classes
        cross_entropy = tf.nn.softmax_cross_entropy_with_logits(
            labels=one_hot_labels, logits=logits, name="xentropy")
        weight = tf.convert_to_tensor(weight, dtype=logits.dtype.base_dtype, name="loss_weight")
        tf.add_to_collection(LOSSES, tf.multiply(weight, tf.reduce_mean(cross_entropy),
                                                 name="value"))


# The network: slim/inception_model.py.

def inception_v3(images, is_training, scope):
    end_points = {}

    def conv(x, filters, kernel, **kwargs):
        return conv2d(x, filters, kernel, is_training, **kwargs)

    def block(name, branches):
        """Concatenates branches: functions by the name of their variable scopes."""
        with tf.variable_scope(name):
            results = []
            for branch, layers in branches.items():
                with tf.variable_scope(branch):
                    results.append(layers())
            end_points[name] = tf.concat(axis=3, values=results)
        return end_points[name]

    def chain(x, *layers):
        for filters, kernel, *options in layers:
            x = conv(x, filters, kernel, **(options[0] if options else {}))
        return x

    def split(x, *layers):
        """Ends in two convolutions side by side."""
        x = chain(x, *layers)
        return tf.concat(axis=3, values=[conv(x, 384, [1, 3]), conv(x, 384, [3, 1])])

    valid = {"padding": "VALID"}
    halved = {"stride": 2, "padding": "VALID"}
    with tf.name_scope(scope, "inception_v3", [images]):
        net = images
        for name, filters, kernel, options in (
                ("conv0", 32, [3, 3], halved), ("conv1", 32, [3, 3], valid),
                ("conv2", 64, [3, 3], {}), ("pool1", None, None, None),
                ("conv3", 80, [1, 1], valid), ("conv4", 192, [3, 3], valid),
                ("pool2", None, None, None)):
            net = (conv(net, filters, kernel, scope=name, **options) if filters
                   else max_pool(net, [3, 3], scope=name, **halved))
            end_points[name] = net
        for name, pooled in (("a", 32), ("a", 64), ("b", 64)):
            net = block("mixed_35x35x%d%s" % (224 + pooled, name), {
                "branch1x1": lambda: chain(net, (64, [1, 1])),
                "branch5x5": lambda: chain(net, (48, [1, 1]), (64, [5, 5])),
                "branch3x3dbl": lambda: chain(net, (64, [1, 1]), (96, [3, 3]), (96, [3, 3])),
                "branch_pool": lambda: chain(avg_pool(net, [3, 3]), (pooled, [1, 1]))})
        net = block("mixed_17x17x768a", {
            "branch3x3": lambda: chain(net, (384, [3, 3], halved)),
            "branch3x3dbl": lambda: chain(net, (64, [1, 1]), (96, [3, 3]), (96, [3, 3], halved)),
            "branch_pool": lambda: max_pool(net, [3, 3], **halved)})
        for name, k in (("b", 128), ("c", 160), ("d", 160), ("e", 192)):
            net = block("mixed_17x17x768" + name, {
                "branch1x1": lambda: chain(net, (192, [1, 1])),
                "branch7x7": lambda: chain(net, (k, [1, 1]), (k, [1, 7]), (192, [7, 1])),
                "branch7x7dbl": lambda: chain(net, (k, [1, 1]), (k, [7, 1]), (k, [1, 7]),
                                              (k, [7, 1]), (192, [1, 7])),
                "branch_pool": lambda: chain(avg_pool(net, [3, 3]), (192, [1, 1]))})
        aux_logits = tf.identity(end_points["mixed_17x17x768e"])
        with tf.variable_scope("aux_logits"):
            aux_logits = avg_pool(aux_logits, [5, 5], stride=3, padding="VALID")
            aux_logits = conv(aux_logits, 128, [1, 1], scope="proj")
            aux_logits = conv(aux_logits, 768, aux_logits.get_shape()[1:3].as_list(), stddev=0.01,
                              padding="VALID")
            aux_logits = flatten(aux_logits)
            aux_logits = fc(aux_logits, NUM_CLASSES, stddev=0.001)
            end_points["aux_logits"] = aux_logits
        net = block("mixed_17x17x1280a", {
            "branch3x3": lambda: chain(net, (192, [1, 1]), (320, [3, 3], halved)),
            "branch7x7x3": lambda: chain(net, (192, [1, 1]), (192, [1, 7]), (192, [7, 1]),
                                         (192, [3, 3], halved)),
            "branch_pool": lambda: max_pool(net, [3, 3], **halved)})
        for name in "ab":
            net = block("mixed_8x8x2048" + name, {
                "branch1x1": lambda: chain(net, (320, [1, 1])),
                "branch3x3": lambda: split(net, (384, [1, 1])),
                "branch3x3dbl": lambda: split(net, (448, [1, 1]), (384, [3, 3])),
                "branch_pool": lambda: chain(avg_pool(net, [3, 3]), (192, [1, 1]))})
        with tf.variable_scope("logits"):
            net = avg_pool(net, net.get_shape()[1:3].as_list(), stride=2, padding="VALID",
                           scope="pool")
            if is_training:
                with tf.name_scope("dropout", None, [net]):
                    net = tf.nn.dropout(net, 0.8)
            net = flatten(net, scope="flatten")
            logits = fc(net, NUM_CLASSES, scope="logits")
            end_points["logits"] = logits
            end_points["predictions"] = tf.nn.softmax(logits, name="predictions")
    return logits, end_points


# The model and its towers: inception_model.py and inception_train.py.

def without_tower(name):
    return re.sub("%s_[0-9]*/" % TOWER_NAME, "", name)


def inference(images, for_training, scope):
    logits, endpoints = inception_v3(images, for_training, scope)
    with tf.name_scope("summaries"):
        for act in endpoints.values():
            tensor_name = without_tower(act.op.name)
            tf.summary.histogram(tensor_name + "/activations", act)
            tf.summary.scalar(tensor_name + "/sparsity", tf.nn.zero_fraction(act))
    return logits, endpoints["aux_logits"]


def add_losses(logits, labels, batch_size):
    sparse_labels = tf.reshape(labels, [batch_size, 1])
    indices = tf.reshape(tf.range(batch_size), [batch_size, 1])
    concated = tf.concat([indices, sparse_labels], 1)
    num_classes = logits[0].get_shape()[-1].value
    dense_labels = tf.sparse_to_dense(concated, [batch_size, num_classes], 1.0, 0.0)
    cross_entropy_loss(logits[0], dense_labels, 1.0)
    cross_entropy_loss(logits[1], dense_labels, 0.4, scope="aux_loss")


def tower_loss(images, labels, scope, reuse_variables):
    with tf.variable_scope(tf.get_variable_scope(), reuse=reuse_variables):
        logits = inference(images, True, scope)
    add_losses(logits, labels, images.get_shape().as_list()[0])
    losses = tf.get_collection(LOSSES, scope)
    regularization_losses = tf.get_collection(tf.GraphKeys.REGULARIZATION_LOSSES)
    total_loss = tf.add_n(losses + regularization_losses, name="total_loss")
    loss_averages = tf.train.ExponentialMovingAverage(0.9, name="avg")
    loss_averages_op = loss_averages.apply(losses + [total_loss])
    for l in losses + [total_loss]:
        loss_name = without_tower(l.op.name)
        tf.summary.scalar(loss_name + " (raw)", l)
        tf.summary.scalar(loss_name, loss_averages.average(l))
    with tf.control_dependencies([loss_averages_op]):
        return tf.identity(total_loss)


def average_gradients(tower_grads):
    average_grads = []
    for grad_and_vars in zip(*tower_grads):
        grads = [tf.expand_dims(g, 0) for g, _ in grad_and_vars]
        grad = tf.concat(axis=0, values=grads)
        average_grads.append((tf.reduce_mean(grad, 0), grad_and_vars[0][1]))
    return average_grads


def train(next_batch, towers, batch, dtype="float32", num_preprocess_threads=4,
          learning_rate=0.1):
    num_gpus, batch_size = towers, batch * towers
    with tf.device("/cpu:0"):
        global_step = tf.get_variable("global_step", [], initializer=tf.constant_initializer(0),
                                      trainable=False)
        decay_steps = int(EXAMPLES / batch_size * 30.0)
        lr = tf.train.exponential_decay(learning_rate, global_step, decay_steps, 0.16, staircase=True)
        opt = tf.train.RMSPropOptimizer(lr, 0.9, momentum=0.9, epsilon=1.0)
        input_summaries = []
        if next_batch is None:
            images, labels = distorted_inputs(FILES, batch_size,
                                              num_preprocess_threads * num_gpus)
            input_summaries = list(tf.get_collection(tf.GraphKeys.SUMMARIES))
            splits = iter(zip(tf.split(axis=0, num_or_size_splits=num_gpus, value=images),
                              tf.split(axis=0, num_or_size_splits=num_gpus, value=labels)))
            next_batch = lambda: next(splits)
        tower_grads, losses = [], []
        reuse_variables = None
        for i in range(num_gpus):
            with tf.device("/gpu:%d" % i):
                with tf.name_scope("%s_%d" % (TOWER_NAME, i)) as scope:
                    images, labels = next_batch()
                    loss = tower_loss(images, labels, scope, reuse_variables)
                    reuse_variables = True
                    summaries = tf.get_collection(tf.GraphKeys.SUMMARIES, scope)
                    batchnorm_updates = tf.get_collection(UPDATE_OPS, scope)
                    tower_grads.append(opt.compute_gradients(loss))
                    losses.append(loss)
        grads = average_gradients(tower_grads)
        apply_gradient_op = opt.apply_gradients(grads, global_step=global_step)
        variable_averages = tf.train.ExponentialMovingAverage(0.9999, global_step)
        variables_averages_op = variable_averages.apply(tf.trainable_variables() +
                                                        tf.moving_average_variables())
        batchnorm_updates_op = tf.group(*batchnorm_updates)
        tf.group(apply_gradient_op, variables_averages_op, batchnorm_updates_op)
        summaries += input_summaries
        summaries.append(tf.summary.scalar("learning_rate", lr))
        for grad, var in grads:
            summaries.append(tf.summary.histogram(var.op.name + "/gradients", grad))
        for var in tf.trainable_variables():
            summaries.append(tf.summary.histogram(var.op.name, var))
        tf.summary.merge(summaries)
        # The group leaves open whether the averages see the variables before or after their update.
        return (losses, [[apply_gradient_op, batchnorm_updates_op], variables_averages_op],
                {"gradients": grads})
