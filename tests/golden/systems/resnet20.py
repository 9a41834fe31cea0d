"""TensorFlow's CIFAR-10 ResNet estimator on towers, in its own words: cifar10_main.py,
cifar10_model.py, model_base.py, cifar10_utils.py and cifar10.py of cifar10_estimator. `next_batch`
replaces its input where batches are fed. One part is not the published program's: `update_ops`
names more ways than its "first"."""

import itertools

import numpy as np
import tensorflow.compat.v1 as tf
from tensorflow.python.training import moving_averages

HEIGHT, WIDTH, DEPTH = 32, 32, 3
EXAMPLES = 45000
DECAY = 0.997
GRAPHS = [
    dict(towers=1, batch=8, depth=8, update_ops="first", variables="CPU", layout="last"),
    dict(towers=2, batch=4, depth=8, update_ops="first", variables="CPU", layout="last"),
    dict(towers=2, batch=2, depth=8, update_ops="merged", variables="GPU", layout="first"),
]
CURVES = [dict(towers=2, batch=4, depth=8, update_ops=policy, variables="CPU", layout="last")
          for policy in ("first", "last", "all", "in_order", "merged")]
# Exponents of the generated initial values: those of gamma are up to 1, the others smaller.
EXPONENTS = {"resnet/BatchNorm%s/gamma" % ("" if i == 0 else "_%d" % i): 0 for i in range(7)}
EXPONENTS.update({"resnet/conv2d/kernel": -1, "resnet/dense/kernel": -2})
EXPONENTS.update({"resnet/conv2d_%d/kernel" % i: -3 for i in range(1, 7)})


def inputs(batch):
    # Of thousands of activations instead of millions, none is so close to zero that rounding decides
    # whether it is cut off, which the gradients of the layers below would show.
    return [("float32", [batch, 8, 8, DEPTH], 7), ("int32", [batch], 10)]


def bench_inputs(batch):
    return [("float32", [batch, HEIGHT, WIDTH, DEPTH], 7), ("int32", [batch], 10)]


def input_fn(filenames, num_shards, batch_size):
    def parser(serialized_example):
        features = tf.parse_single_example(serialized_example, features={
            "image": tf.FixedLenFeature([], tf.string),
            "label": tf.FixedLenFeature([], tf.int64)})
        image = tf.decode_raw(features["image"], tf.uint8)
        image.set_shape([DEPTH * HEIGHT * WIDTH])
        image = tf.cast(tf.transpose(tf.reshape(image, [DEPTH, HEIGHT, WIDTH]), [1, 2, 0]),
                        tf.float32)
        label = tf.cast(features["label"], tf.int32)
        image = tf.image.resize_image_with_crop_or_pad(image, 40, 40)
        image = tf.random_crop(image, [HEIGHT, WIDTH, DEPTH])
        return tf.image.random_flip_left_right(image), label

    with tf.device("/cpu:0"):
        dataset = tf.data.TFRecordDataset(filenames).repeat()
        dataset = dataset.map(parser, num_parallel_calls=batch_size).prefetch(2 * batch_size)
        min_queue_examples = int(EXAMPLES * 0.4)
        dataset = dataset.shuffle(buffer_size=min_queue_examples + 3 * batch_size)
        dataset = dataset.batch(batch_size)
        image_batch, label_batch = tf.data.make_one_shot_iterator(dataset).get_next()
        if num_shards <= 1:
            return [image_batch], [label_batch]
        image_batch = tf.unstack(image_batch, num=batch_size, axis=0)
        label_batch = tf.unstack(label_batch, num=batch_size, axis=0)
        feature_shards = [[] for _ in range(num_shards)]
        label_shards = [[] for _ in range(num_shards)]
        for i in range(batch_size):
            feature_shards[i % num_shards].append(image_batch[i])
            label_shards[i % num_shards].append(label_batch[i])
        feature_shards = [tf.parallel_stack(x) for x in feature_shards]
        label_shards = [tf.parallel_stack(x) for x in label_shards]
        return feature_shards, label_shards


class ResNetCifar10:
    def __init__(self, num_layers, is_training, data_format):
        self.n = (num_layers - 2) // 6
        self.is_training = is_training
        self.data_format = data_format
        self.moments, self.normalized = [], []  # by each batch normalization

    def forward_pass(self, x):
        if self.data_format == "channels_first":
            x = tf.transpose(x, [0, 3, 1, 2])
        x = x / 128 - 1
        x = tf.nn.relu(self.batch_norm(self.conv(x, 3, 16, 1)))
        filters, strides = [16, 16, 32, 64], [1, 2, 2]
        for i in range(3):
            with tf.name_scope("stage"):
                for j in range(self.n):
                    if j == 0:
                        x = self.residual_v1(x, 3, filters[i], filters[i + 1], strides[i])
                    else:
                        x = self.residual_v1(x, 3, filters[i + 1], filters[i + 1], 1)
        with tf.name_scope("global_avg_pool"):
            x = tf.reduce_mean(x, [2, 3] if self.data_format == "channels_first" else [1, 2])
        with tf.name_scope("fully_connected"):
            return tf.layers.dense(x, 11)

    def channels(self, spatial, channels):
        """The paddings of an image in the order of its dimensions."""
        if self.data_format == "channels_first":
            return [[0, 0], channels, spatial, spatial]
        return [[0, 0], spatial, spatial, channels]

    def residual_v1(self, x, kernel_size, in_filter, out_filter, stride):
        with tf.name_scope("residual_v1"):
            orig_x = x
            x = self.conv(x, kernel_size, out_filter, stride)
            x = tf.nn.relu(self.batch_norm(x))
            x = self.conv(x, kernel_size, out_filter, 1)
            x = self.batch_norm(x)
            if in_filter != out_filter:
                with tf.name_scope("avg_pool"):
                    orig_x = tf.layers.average_pooling2d(orig_x, stride, stride, "SAME",
                                                         data_format=self.data_format)
                pad = (out_filter - in_filter) // 2
                orig_x = tf.pad(orig_x, self.channels([0, 0], [pad, pad]))
            return tf.nn.relu(tf.add(x, orig_x))

    def conv(self, x, kernel_size, filters, strides):
        padding = "SAME"
        if strides > 1:
            pad = kernel_size - 1
            pad_beg = pad // 2
            x = tf.pad(x, self.channels([pad_beg, pad - pad_beg], [0, 0]))
            padding = "VALID"
        return tf.layers.conv2d(inputs=x, kernel_size=kernel_size, filters=filters,
                                strides=strides, padding=padding, use_bias=False,
                                data_format=self.data_format)

    def batch_norm(self, x):
        from tf_slim.layers import layers
        self.normalized.append(x)
        x = layers.batch_norm(
            x, decay=DECAY, center=True, scale=True, epsilon=1e-5, is_training=self.is_training,
            fused=True, data_format="NCHW" if self.data_format == "channels_first" else "NHWC")
        self.moments += x.op.outputs[1:3]
        return x


def local_device_setter(ps_device_type, worker_device, ps_strategy):
    def chooser(op):
        current = tf.DeviceSpec.from_string(op.device or "")
        chosen = worker_device
        if op.type in ("Variable", "VariableV2", "VarHandleOp"):
            chosen = "/%s:%d" % (ps_device_type, ps_strategy(op))
        return tf.DeviceSpec.from_string(chosen).make_merged_spec(current).to_string()

    return chooser


def round_robin(num_tasks):
    turns = itertools.count()
    return lambda op: next(turns) % num_tasks


def greedy_load_balancing(num_tasks):
    loads = [0] * num_tasks

    def strategy(op):
        task = loads.index(min(loads))
        loads[task] += op.outputs[0].shape.num_elements() * op.outputs[0].dtype.base_dtype.size
        return task

    return strategy


def _tower_fn(weight_decay, feature, label, data_format, num_layers):
    model = ResNetCifar10(num_layers, True, data_format)
    logits = model.forward_pass(feature)
    tower_pred = {"classes": tf.argmax(input=logits, axis=1),
                  "probabilities": tf.nn.softmax(logits)}
    tower_loss = tf.losses.sparse_softmax_cross_entropy(logits=logits, labels=label)
    tower_loss = tf.reduce_mean(tower_loss)
    model_params = tf.trainable_variables()
    tower_loss += weight_decay * tf.add_n([tf.nn.l2_loss(v) for v in model_params])
    tower_grad = tf.gradients(tower_loss, model_params)
    return tower_loss, list(zip(tower_grad, model_params)), tower_pred, model


def merged_update_ops(tower_moments, normalized):
    """Updates the moving averages by the moments of all towers' examples taken as one batch. The
    variances are those that the op returns, divided by one less than the number n of values."""
    averages = [v for v in tf.global_variables()
                if v.op.name.endswith(("/moving_mean", "/moving_variance"))]
    towers = len(tower_moments)
    update_ops = []
    with tf.name_scope("update_averaging"):
        for layer, x in enumerate(normalized):
            moving = averages[2 * layer:2 * layer + 2]
            n = x.shape.num_elements() // moving[0].shape.num_elements()
            means, variances = ([moments[2 * layer + k] for moments in tower_moments]
                                for k in (0, 1))
            with tf.device(moving[0].device):
                mean = tf.multiply(tf.add_n(means), 1. / towers)
                squares = [tf.square(own - mean) for own in means]
                within = tf.multiply(tf.add_n(variances), (n - 1) / (towers * n - 1))
                between = tf.multiply(tf.add_n(squares), n / (towers * n - 1))
                for variable, moment in zip(moving, (mean, within + between)):
                    update_ops.append(moving_averages.assign_moving_average(
                        variable, moment, DECAY, zero_debias=False))
    return update_ops


def train(next_batch, towers, batch, depth=20, update_ops="first", variables="CPU", layout="last",
          schedule_epochs=164):
    data_format = "channels_" + layout
    tf.train.create_global_step()
    if next_batch is None:
        features, labels = input_fn(["data_batch_1.bin"], towers, towers * batch)
        next_batch = iter(list(zip(features, labels))).__next__
    tower_losses, tower_gradvars, tower_preds, tower_labels = [], [], [], []
    tower_moments, tower_updates = [], []
    for i in range(towers):
        if variables == "CPU":
            device_setter = local_device_setter("cpu", "/gpu:%d" % i, round_robin(1))
        else:
            device_setter = local_device_setter("gpu", "/gpu:%d" % i,
                                                greedy_load_balancing(towers))
        with tf.variable_scope("resnet", reuse=bool(i != 0)):
            with tf.name_scope("tower_%d" % i) as name_scope:
                with tf.device(device_setter):
                    feature, label = next_batch()
                    loss, gradvars, preds, model = _tower_fn(2e-4, feature, label, data_format,
                                                             depth)
                    tower_losses.append(loss)
                    tower_gradvars.append(gradvars)
                    tower_preds.append(preds)
                    tower_labels.append(label)
                    tower_moments.append(model.moments)
                    tower_updates.append(
                        tf.get_collection(tf.GraphKeys.UPDATE_OPS, name_scope))
    gradvars = []
    with tf.name_scope("gradient_averaging"):
        all_grads = {}
        for grad, var in itertools.chain(*tower_gradvars):
            if grad is not None:
                all_grads.setdefault(var, []).append(grad)
        for var, grads in all_grads.items():
            with tf.device(var.device):
                if len(grads) == 1:
                    avg_grad = grads[0]
                else:
                    avg_grad = tf.multiply(tf.add_n(grads), 1. / len(grads))
            gradvars.append((avg_grad, var))
    if update_ops == "merged":
        updates = merged_update_ops(tower_moments, model.normalized)
    else:
        every = list(itertools.chain(*tower_updates))
        updates = {"first": tower_updates[0], "last": tower_updates[-1],
                   "all": every, "in_order": every}[update_ops]
    with tf.device("/gpu:0" if variables == "GPU" else "/cpu:0"):
        num_batches_per_epoch = EXAMPLES // (towers * batch)
        boundaries = [num_batches_per_epoch * x * schedule_epochs // 164
                      for x in np.array([82, 123, 300], dtype=np.int64)]
        staged_lr = [0.1 * x for x in [1, 0.1, 0.01, 0.002]]
        learning_rate = tf.train.piecewise_constant(tf.train.get_global_step(), boundaries,
                                                    staged_lr)
        learning_rate = tf.identity(learning_rate, name="learning_rate")
        optimizer = tf.train.MomentumOptimizer(learning_rate=learning_rate, momentum=0.9)
        train_op = [optimizer.apply_gradients(gradvars, global_step=tf.train.get_global_step())]
        train_op.extend(updates)
        tf.group(*train_op)
        predictions = {name: tf.concat([p[name] for p in tower_preds], axis=0)
                       for name in ("classes", "probabilities")}
        stacked_labels = tf.concat(tower_labels, axis=0)
        tf.metrics.accuracy(stacked_labels, predictions["classes"])
        loss = tf.reduce_mean(tower_losses, name="loss")
    # The group leaves open whether a gradient sees the variables before or after their update, which
    # tower's moments come first, and whether an average is read before another tower's update of it.
    handed = [grad for grad, _ in gradvars] + list(itertools.chain(*tower_moments))
    groups = tower_updates if update_ops == "in_order" else [updates]
    if update_ops == "all":
        groups = [[], updates]
        handed += [update.inputs[1] for update in updates]
    return tower_losses + [loss], groups + train_op[:1], {"handed": handed}
