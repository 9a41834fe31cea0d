"""Networks of tf_cnn_benchmarks on towers, in TensorFlow's words: convnet_builder.py, lenet_model.py,
resnet_model.py and the training of benchmark_cnn.py with variables of a parameter server, data in
the layout NHWC and layers of tf.layers. The rate of resnet50 is constant instead of beginning at 0,
so that the steps change something."""

import collections

import numpy as np
import tensorflow.compat.v1 as tf

CLASSES = 1001
WEIGHT_DECAY = 0.00004
GRAPHS = []
CURVES = [
    dict(network="lenet5", towers=1, batch=4, size=28, optimizer="sgd", rate=0.005),
    dict(network="lenet5", towers=2, batch=2, size=28, optimizer="momentum", rate=0.005),
    dict(network="lenet5", towers=2, batch=2, size=28, optimizer="rmsprop", rate=0.005),
    # In float64: where rounding decides whether relu passes a gradient, one feature more or less
    # among the few of so small a batch changes all gradients before it by hundredths.
    dict(network="resnet50", towers=2, batch=4, size=64, optimizer="sgd", rate=0.005, dtype="float64"),
]
STEPS = 4
COMPACT = True


class Exponents:
    """Of the generated initial values: those of gamma are up to 1, the others smaller."""

    def get(self, name, default):
        return 0 if name.endswith("gamma") else -6 if "affine" in name else default


EXPONENTS = Exponents()


def inputs(batch, size, dtype="float32"):
    return [(dtype, [batch, size, size, 3], 0), ("int32", [batch], CLASSES)]


class ConvNetBuilder:
    def __init__(self, images):
        self.top_layer, self.top_size = images, 3
        self.counts = collections.defaultdict(int)
        self.batch_norm_config = None

    def scope(self, kind):
        self.counts[kind] += 1
        return tf.variable_scope(self.next_name(kind))

    def next_name(self, kind):
        return kind + str(self.counts[kind] - 1)

    def conv(self, filters, size, stride=1, mode="SAME", activation="relu", bias=0.0,
             input_layer=None):
        x = self.top_layer if input_layer is None else input_layer
        with self.scope("conv"):
            if mode == "SAME_RESNET" and stride > 1:
                before = (size - 1) // 2
                pads = [before, size - 1 - before]
                x = tf.pad(x, [[0, 0], pads, pads, [0, 0]])
                mode = "VALID"
            elif mode == "SAME_RESNET":
                mode = "SAME"
            x = tf.layers.conv2d(x, filters, size, stride, mode, use_bias=False,
                                 kernel_initializer=tf.variance_scaling_initializer())
            if self.batch_norm_config is not None:
                with self.scope("batchnorm") as scope:
                    x = tf.layers.BatchNormalization(
                        fused=x.dtype == tf.float32, axis=3, _scope=scope, center=True, name=scope.name,
                        **self.batch_norm_config)(x, training=True)
            elif bias is not None:
                biases = tf.get_variable("biases", [filters], x.dtype,
                                         initializer=tf.constant_initializer(bias))
                x = tf.reshape(tf.nn.bias_add(x, biases), x.get_shape())
            self.top_layer = tf.nn.relu(x) if activation == "relu" else x
            self.top_size = filters
            return self.top_layer

    def mpool(self, size, stride=2, mode="VALID"):
        self.top_layer = tf.layers.max_pooling2d(self.top_layer, size, stride, mode)

    def reshape(self, shape):
        self.top_layer, self.top_size = tf.reshape(self.top_layer, shape), shape[-1]

    def affine(self, units, activation="relu"):
        with self.scope("affine"):
            stddev = np.sqrt((2. if activation == "relu" else 1.) / self.top_size)
            dtype = self.top_layer.dtype
            kernel = tf.get_variable("weights", [self.top_size, units], dtype,
                                     initializer=tf.truncated_normal_initializer(stddev=stddev))
            biases = tf.get_variable("biases", [units], dtype, initializer=tf.constant_initializer(0.0))
            logits = tf.nn.xw_plus_b(self.top_layer, kernel, biases)
            self.top_layer = tf.nn.relu(logits) if activation == "relu" else logits
            self.top_size = units
            return self.top_layer


def add_lenet5(cnn):
    cnn.conv(32, 5)
    cnn.mpool(2)
    cnn.conv(64, 5)
    cnn.mpool(2)
    cnn.reshape([-1, 64 * 7 * 7])
    cnn.affine(512)


def bottleneck_block_v1(cnn, depth, depth_bottleneck, stride):
    input_layer, in_size = cnn.top_layer, cnn.top_size
    with cnn.scope("resnet_v1"):
        shortcut = input_layer
        if depth != in_size:
            shortcut = cnn.conv(depth, 1, stride, activation=None, bias=None)
        cnn.conv(depth_bottleneck, 1, stride, bias=None, input_layer=input_layer)
        cnn.conv(depth_bottleneck, 3, 1, mode="SAME_RESNET", bias=None)
        res = cnn.conv(depth, 1, 1, activation=None, bias=None)
        cnn.top_layer, cnn.top_size = tf.nn.relu(shortcut + res), depth


def add_resnet50(cnn):
    cnn.batch_norm_config = {"momentum": 0.9, "epsilon": 1e-5, "scale": True}
    cnn.conv(64, 7, 2, mode="SAME_RESNET")
    cnn.mpool(3, 2, mode="SAME")
    for group, (count, depth) in enumerate(zip((3, 4, 6, 3), (256, 512, 1024, 2048))):
        for i in range(count):
            bottleneck_block_v1(cnn, depth, depth // 4, 2 if i == 0 and group > 0 else 1)
    cnn.top_layer = tf.reduce_mean(cnn.top_layer, [1, 2])


def optimizer_of(name, rate):
    if name == "momentum":
        return tf.train.MomentumOptimizer(rate, 0.9, use_nesterov=False)
    if name == "rmsprop":
        return tf.train.RMSPropOptimizer(rate, 0.9, momentum=0.9, epsilon=1.0)
    return tf.train.GradientDescentOptimizer(rate)


def forward_pass(network, images, labels, is_last, towers):
    with tf.variable_scope("cg"):
        cnn = ConvNetBuilder(images)
        {"lenet5": add_lenet5, "resnet50": add_resnet50}[network](cnn)
        logits = cnn.affine(CLASSES, activation="linear")
    with tf.name_scope("xentropy"):
        cross_entropy = tf.losses.sparse_softmax_cross_entropy(logits=logits, labels=labels)
        total_loss = tf.reduce_mean(cross_entropy, name="xentropy_mean")
    params = tf.trainable_variables()
    with tf.name_scope("l2_loss"):
        if is_last:
            l2_loss = tf.add_n([tf.nn.l2_loss(v) for v in params if "batchnorm" not in v.name])
            total_loss += towers * WEIGHT_DECAY * l2_loss
    return total_loss, tf.gradients(total_loss, params)


def train(next_batch, towers, batch, network, size, optimizer, rate, dtype="float32"):
    global_step = tf.train.get_or_create_global_step()
    losses, tower_grads, update_ops = [], [], []
    for i in range(towers):
        with tf.variable_scope("v", reuse=bool(i)), tf.name_scope("tower_%i" % i) as name_scope:
            images, labels = next_batch()
            loss, grads = forward_pass(network, images, labels, i == towers - 1, towers)
            losses.append(loss)
            tower_grads.append(grads)
            if i == 0:
                update_ops = tf.get_collection(tf.GraphKeys.UPDATE_OPS, name_scope)
    params = tf.trainable_variables()
    averaged = [(tf.multiply(tf.add_n(grads), 1. / towers), v)
                for grads, v in zip(zip(*tower_grads), params)]
    train_op = optimizer_of(optimizer, rate).apply_gradients(averaged, global_step=global_step)
    # The group leaves open whether a moment is read before or after the variables have changed.
    moments = [update.inputs[1] for update in update_ops]
    return losses, [update_ops, train_op], {"gradients": averaged, "handed":
                                            [grad for grad, _ in averaged] + moments}
