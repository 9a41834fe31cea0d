"""A VAE-GAN on towers, in the words of timsainb/Tensorflow-MultiGPU-VAE-GAN: its networks, its
losses, three Adam optimizers and their balanced rates. The layers are those of prettytensor, written
out. `next_batch` replaces its input where batches are fed."""

import collections
import math

import tensorflow.compat.v1 as tf

Sizes = collections.namedtuple(
    "Sizes", "image_size hidden_size encoder generator discriminator features")
SIZES = {"small": Sizes(32, 64, (16, 32, 64), (64, 32, 8), (8, 32, 64, 64), 128),
         "tiny": Sizes(32, 4, (3,), (4,), (2, 3), 5),
         "least": Sizes(32, 3, (2,), (2,), (2,), 4)}
EXAMPLES = 50000
GRAPHS = [dict(towers=2, batch=32, sizes="small", unordered=False),
          dict(towers=1, batch=32, sizes="least", unordered=True)]
CURVES = [dict(towers=towers, batch=4, sizes="tiny", learning_rate=0.5) for towers in (1, 2)]
# Exponents of the generated initial values.
EXPONENTS = {"enc/fully_connected/weights": 0, "enc/fully_connected_1/weights": 0,
             "gen/fully_connected/weights": 0, "dis/fully_connected/weights": -1,
             "dis/fully_connected_1/weights": 0}
for _layer in ("enc/conv2d", "gen/deconv2d", "dis/conv2d"):
    for _i in range(4):
        _name = "%s_%d" % (_layer, _i) if _i else _layer
        EXPONENTS[_name + "/weights"] = -1
        EXPONENTS[_name + "/batch_normalize/gamma"] = 0

# Batch normalization takes the bias away again, so that it gets no gradient.
ROUNDING = r"conv2d(_\d+)?/bias/Adam"

# How a pass through a network normalizes: the scope of its moving moments, the rate at which they
# move (None: they do not), and whether the pass waits for them.
Pass = collections.namedtuple("Pass", "name rate waits")


def inputs(batch):
    return [("float32", [batch, 32 * 32 * 3], 0)]


def xavier_init(n_inputs, n_outputs):
    init_range = math.sqrt(6.0 / (n_inputs + n_outputs))
    return tf.random_uniform_initializer(-init_range, init_range)


def moving_average(average, value, rate):
    update = tf.assign_sub(average, rate * (average - value))
    tf.add_to_collection(tf.GraphKeys.UPDATE_OPS, update)
    return update


def batch_normalize(x, moments):
    with tf.variable_scope(None, "batch_normalize"):
        params_shape = [x.shape[-1].value]
        beta = tf.get_variable("beta", params_shape, initializer=tf.constant_initializer(0.0))
        gamma = tf.get_variable("gamma", params_shape, initializer=tf.constant_initializer(1.0))
        mean, variance = tf.nn.moments(x, list(range(len(x.shape) - 1)))
        updates = []
        if moments.rate is not None:
            with tf.variable_scope(moments.name, reuse=tf.AUTO_REUSE):
                moving_mean = tf.get_variable("moving_mean", params_shape, trainable=False,
                                              initializer=tf.constant_initializer(0.0))
                moving_variance = tf.get_variable("moving_variance", params_shape, trainable=False,
                                                  initializer=tf.constant_initializer(1.0))
                updates = [moving_average(moving_mean, mean, moments.rate),
                           moving_average(moving_variance, variance, moments.rate)]
        with tf.control_dependencies(updates if moments.waits else []):
            return tf.nn.batch_normalization(x, mean, variance, beta, gamma, 0.001)


def conv2d(x, kernel, depth, stride, moments):
    with tf.variable_scope(None, "conv2d"):
        size = [kernel, kernel, x.shape[3].value, depth]
        patch_size = kernel * kernel
        params = tf.get_variable("weights", size,
                                 initializer=xavier_init(size[2] * patch_size, size[3] * patch_size))
        y = tf.nn.conv2d(x, params, [1, stride, stride, 1], padding="SAME")
        y += tf.get_variable("bias", [depth], initializer=tf.zeros_initializer())
        return tf.nn.elu(batch_normalize(y, moments))


def deconv2d(x, kernel, depth, stride, moments, activation_fn=tf.nn.elu):
    with tf.variable_scope(None, "deconv2d"):
        size = [kernel, kernel, depth, x.shape[3].value]
        patch_size = kernel * kernel
        params = tf.get_variable("weights", size,
                                 initializer=xavier_init(size[2] * patch_size, size[3] * patch_size))
        output_shape = [x.shape[0].value, x.shape[1].value * stride, x.shape[2].value * stride, depth]
        y = tf.nn.conv2d_transpose(x, params, output_shape, [1, stride, stride, 1], padding="SAME")
        y += tf.get_variable("bias", [depth], initializer=tf.zeros_initializer())
        return activation_fn(batch_normalize(y, moments))


def fully_connected(x, size, activation_fn=None):
    with tf.variable_scope(None, "fully_connected"):
        in_size = x.shape[1].value
        params = tf.get_variable("weights", [in_size, size], initializer=xavier_init(in_size, size))
        y = tf.matmul(x, params)
        y += tf.get_variable("bias", [size], initializer=tf.zeros_initializer())
        return y if activation_fn is None else activation_fn(y)


def flatten(x):
    return tf.reshape(x, [-1, x.shape[1].value * x.shape[2].value * x.shape[3].value])


def encoder(x, sizes, moments):
    net = tf.reshape(x, [-1, sizes.image_size, sizes.image_size, 3])
    for depth in sizes.encoder:
        net = conv2d(net, 5, depth, 2, moments)
    lay_end = flatten(net)
    return fully_connected(lay_end, sizes.hidden_size), fully_connected(lay_end, sizes.hidden_size)


def generator(z, sizes, moments):
    side, depth = sizes.image_size >> len(sizes.generator), sizes.encoder[-1]
    net = fully_connected(z, side * side * depth, tf.nn.elu)
    net = tf.reshape(net, [-1, side, side, depth])
    for depth in sizes.generator:
        net = deconv2d(net, 5, depth, 2, moments)
    return flatten(deconv2d(net, 1, 3, 1, moments, tf.sigmoid))


def discriminator(x, sizes, moments):
    net = tf.reshape(x, [-1, sizes.image_size, sizes.image_size, 3])
    for i, depth in enumerate(sizes.discriminator):
        net = conv2d(net, 5, depth, 2 if i else 1, moments)
    lth_layer = fully_connected(flatten(net), sizes.features, tf.nn.elu)
    return fully_connected(lth_layer, 1, tf.sigmoid), lth_layer


def inference(x, sizes, moments_of):
    shape = (x.shape[0].value, sizes.hidden_size)
    z_p = tf.random_normal(shape, 0, 1)
    eps = tf.random_normal(shape, 0, 1)
    with tf.variable_scope("enc"):
        z_x_mean, z_x_log_sigma_sq = encoder(x, sizes, moments_of("x"))
    with tf.variable_scope("gen"):
        z_x = tf.add(z_x_mean, tf.multiply(tf.sqrt(tf.exp(z_x_log_sigma_sq)), eps))
        x_tilde = generator(z_x, sizes, moments_of("z_x"))
    with tf.variable_scope("dis"):
        _, l_x_tilde = discriminator(x_tilde, sizes, moments_of("x_tilde"))
    with tf.variable_scope("gen", reuse=True):
        x_p = generator(z_p, sizes, moments_of("z_p"))
    with tf.variable_scope("dis", reuse=True):
        d_x, l_x = discriminator(x, sizes, moments_of("x"))
    with tf.variable_scope("dis", reuse=True):
        d_x_p, _ = discriminator(x_p, sizes, moments_of("x_p"))
    return z_x_mean, z_x_log_sigma_sq, x_tilde, l_x_tilde, d_x, l_x, d_x_p


def loss(x, x_tilde, z_x_log_sigma_sq, z_x_mean, d_x, d_x_p, l_x, l_x_tilde, dim):
    sse_loss = tf.reduce_mean(tf.square(x - x_tilde))
    kl_loss = tf.reduce_sum(-0.5 * tf.reduce_sum(
        1 + tf.clip_by_value(z_x_log_sigma_sq, -10.0, 10.0)
        - tf.square(tf.clip_by_value(z_x_mean, -10.0, 10.0))
        - tf.exp(tf.clip_by_value(z_x_log_sigma_sq, -10.0, 10.0)), 1)) / dim / dim / 3
    d_loss = tf.reduce_mean(-1. * (tf.log(tf.clip_by_value(d_x, 1e-5, 1.0))
                                   + tf.log(tf.clip_by_value(1.0 - d_x_p, 1e-5, 1.0))))
    g_loss = tf.reduce_mean(-1. * tf.log(tf.clip_by_value(d_x_p, 1e-5, 1.0)))
    ll_loss = tf.reduce_sum(tf.square(l_x - l_x_tilde)) / dim / dim / 3
    return sse_loss, kl_loss, d_loss, g_loss, ll_loss


def average_gradients(tower_grads):
    average_grads = []
    for grad_and_vars in zip(*tower_grads):
        grads = [tf.expand_dims(g, 0) for g, _ in grad_and_vars]
        grad = tf.concat(axis=0, values=grads)
        average_grads.append((tf.reduce_mean(grad, 0), grad_and_vars[0][1]))
    return average_grads


def sigmoid(x, shift, mult):
    return 1 / (1 + tf.exp(-(x + shift) * mult))


def shuffled_inputs(filenames, batch_size, num_gpus, num_threads):
    """The batches of all towers in one, of which each tower takes its slice."""
    with tf.name_scope("input"):
        filename_queue = tf.train.string_input_producer(filenames)
        reader = tf.FixedLengthRecordReader(record_bytes=1 + 3072)
        _, value = reader.read(filename_queue)
        record_bytes = tf.decode_raw(value, tf.uint8)
        label = tf.cast(tf.strided_slice(record_bytes, [0], [1]), tf.int32)
        label.set_shape([1])
        depth_major = tf.reshape(tf.strided_slice(record_bytes, [1], [1 + 3072]), [3, 32, 32])
        image = tf.cast(tf.transpose(depth_major, [1, 2, 0]), tf.float32) / 255.
        min_queue_examples = int(EXAMPLES * 0.4)
        all_input, labels = tf.train.shuffle_batch(
            [tf.reshape(image, [3072]), label], batch_size=batch_size * num_gpus,
            num_threads=num_threads, capacity=min_queue_examples + 3 * batch_size * num_gpus,
            min_after_dequeue=min_queue_examples)
    towers = iter(range(num_gpus))

    def next_batch():
        i = next(towers)
        return (all_input[i * batch_size:(i + 1) * batch_size, :],
                tf.reshape(labels[i * batch_size:(i + 1) * batch_size, :], [-1]))
    return next_batch


def train(next_batch, towers, batch, sizes="small", unordered=False, learning_rate=1e-3):
    num_gpus, batch_size, sizes = towers, batch, SIZES[sizes]
    global_step = tf.get_variable("global_step", [], initializer=tf.constant_initializer(0),
                                  trainable=False)
    # The program feeds the rates, from the means of its last step.
    d_real = tf.get_variable("d_real", [], initializer=tf.constant_initializer(0), trainable=False)
    d_fake = tf.get_variable("d_fake", [], initializer=tf.constant_initializer(0), trainable=False)
    lr_e = learning_rate * sigmoid(d_real, -.5, 15)
    lr_g = learning_rate * sigmoid(d_real, -.5, 15)
    lr_d = learning_rate * sigmoid(d_fake, -.5, 15)
    opt_d = tf.train.AdamOptimizer(lr_d, epsilon=1.0)
    opt_g = tf.train.AdamOptimizer(lr_g, epsilon=1.0)
    opt_e = tf.train.AdamOptimizer(lr_e, epsilon=1.0)
    rate = 0.1
    if not unordered:
        rate = 1 - tf.minimum(0.9997, tf.maximum(0.9, (1.0 + global_step) / (10.0 + global_step)))
    if next_batch is None:
        next_batch = shuffled_inputs(["data_batch_1.bin"], batch_size, num_gpus, 2)
    tower_grads_e, tower_grads_g, tower_grads_d, losses = [], [], [], []
    with tf.variable_scope(tf.get_variable_scope()):
        for i in range(num_gpus):
            with tf.device("/gpu:%d" % i):
                with tf.name_scope("Tower_%d" % i):
                    def moments_of(name, tower=i):
                        if unordered:
                            return Pass("moments", rate, True)
                        return Pass(name, None if tower else rate, False)

                    x = next_batch()[0]
                    (z_x_mean, z_x_log_sigma_sq, x_tilde, l_x_tilde, d_x, l_x,
                     d_x_p) = inference(x, sizes, moments_of)
                    sse_loss, kl_loss, d_loss, g_loss, ll_loss = loss(
                        x, x_tilde, z_x_log_sigma_sq, z_x_mean, d_x, d_x_p, l_x, l_x_tilde,
                        sizes.image_size)
                    params = tf.trainable_variables()
                    e_params = [v for v in params if "enc" in v.name]
                    g_params = [v for v in params if "gen" in v.name]
                    d_params = [v for v in params if "dis" in v.name]
                    l_e = tf.clip_by_value(kl_loss * 1.0 + ll_loss, -100, 100)
                    l_g = tf.clip_by_value(ll_loss * 1.0 + g_loss * 1.0, -100, 100)
                    l_d = tf.clip_by_value(d_loss, -100, 100)
                    tf.get_variable_scope().reuse_variables()
                    tower_grads_e.append(opt_e.compute_gradients(l_e, var_list=e_params))
                    tower_grads_g.append(opt_g.compute_gradients(l_g, var_list=g_params))
                    tower_grads_d.append(opt_d.compute_gradients(l_d, var_list=d_params))
                    losses += [sse_loss, l_e, l_g, l_d]
    mean_d_x, mean_d_x_p = tf.reduce_mean(d_x), tf.reduce_mean(d_x_p)
    grads_e = average_gradients(tower_grads_e)
    grads_g = average_gradients(tower_grads_g)
    grads_d = average_gradients(tower_grads_d)
    if unordered:
        train_e = opt_e.apply_gradients(grads_e, global_step=global_step)
        train_g = opt_g.apply_gradients(grads_g, global_step=global_step)
        train_d = opt_d.apply_gradients(grads_d, global_step=global_step)
    else:
        backward = tf.group(*[g for tower_grads in tower_grads_e + tower_grads_g + tower_grads_d
                              for g, _ in tower_grads],
                            *tf.get_collection(tf.GraphKeys.UPDATE_OPS))
        with tf.control_dependencies([backward]):
            train_e = opt_e.apply_gradients(grads_e)
            train_g = opt_g.apply_gradients(grads_g)
            train_d = opt_d.apply_gradients(grads_d, global_step=global_step)
    with tf.control_dependencies([train_e, train_g, train_d]):
        train_op = tf.group(tf.assign(d_real, mean_d_x), tf.assign(d_fake, mean_d_x_p))
    return losses, [train_op]


def stages(losses, parts):
    """Returns the only stage, whose loss of a tower is the sum of those of the three networks."""
    return [(1.0, [tf.add_n(losses[i + 1:i + 4]) for i in range(0, len(losses), 4)], parts)]
