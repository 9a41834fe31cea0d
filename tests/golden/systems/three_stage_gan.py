"""A completion network trained on towers in three stages, as the text on StackOverflow builds it
(question 46454508) with its mistakes corrected. `next_batch` gives digits; without it the input is
a pair of placeholders."""

import tensorflow.compat.v1 as tf

IMAGE_SIZE, HOLE_SIZE = 28, 12
ADVERSARIAL_SHARE = 0.01
GRAPHS = [dict(towers=2, batch=4)]
# In the first stage no tower has gradients of the discriminator; with `without` > 0, as many towers
# have none in the third stage.
CURVES = [dict(towers=2, batch=4, without=1),
          dict(towers=2, batch=4, without=2, random_hole=True)]
EXPONENTS = {"generator/conv1/kernel": -2, "generator/conv2/kernel": -3, "generator/conv3/kernel": -3,
             "generator/deconv1/kernel": -3, "generator/deconv2/kernel": -3,
             "generator/image/kernel": -3, "discriminator/conv1/kernel": -1,
             "discriminator/conv2/kernel": -3, "discriminator/conv3/kernel": -3}


def inputs(batch):
    return [("float32", [batch, IMAGE_SIZE * IMAGE_SIZE], -1), ("int32", [batch], 10)]


def inside(start):
    places = tf.range(IMAGE_SIZE)
    return tf.cast(tf.logical_and(tf.greater_equal(places, start),
                                  tf.less(places, start + HOLE_SIZE)), tf.float32)


def holed_digits(features, random_hole):
    images = tf.reshape(features + 0.5, [-1, IMAGE_SIZE, IMAGE_SIZE, 1])
    top = left = tf.constant([[(IMAGE_SIZE - HOLE_SIZE) // 2]])
    if random_hole:
        shape = tf.stack([tf.shape(images)[0], 1])
        top, left = [tf.random_uniform(shape, minval=0, maxval=IMAGE_SIZE - HOLE_SIZE + 1,
                                       dtype=tf.int32) for _ in range(2)]
    rows = tf.reshape(inside(top), [-1, IMAGE_SIZE, 1, 1])
    columns = tf.reshape(inside(left), [-1, 1, IMAGE_SIZE, 1])
    return images, 1.0 - rows * columns


def placeholders():
    shape = [None, IMAGE_SIZE, IMAGE_SIZE, 1]
    return (tf.placeholder(tf.float32, shape, name="images"),
            tf.placeholder(tf.float32, shape, name="mask"))


def conv(name, x, filters, size, stride):
    return tf.layers.conv2d(x, filters, size, strides=stride, padding="same",
                            activation=tf.nn.elu, name=name)


def deconv(name, x, filters):
    return tf.layers.conv2d_transpose(x, filters, 4, strides=2, padding="same",
                                      activation=tf.nn.elu, name=name)


def build_generator(masked, mask):
    x = tf.concat([masked, tf.ones_like(masked) * mask], 3)
    x = conv("conv1", x, 32, 5, 1)
    x = conv("conv2", x, 64, 3, 2)
    x = conv("conv3", x, 128, 3, 2)
    x = conv("conv4", x, 128, 3, 1)
    x = deconv("deconv1", x, 64)
    x = deconv("deconv2", x, 32)
    return tf.layers.conv2d(x, 1, 3, padding="same", activation=tf.sigmoid, name="image")


def build_discriminator(images):
    x = conv("conv1", images, 32, 5, 2)
    x = conv("conv2", x, 64, 5, 2)
    x = conv("conv3", x, 128, 3, 2)
    return tf.layers.dense(tf.layers.flatten(x), 1, name="fc")


def entropy(label, logits):
    return tf.reduce_mean(tf.nn.sigmoid_cross_entropy_with_logits(labels=label, logits=logits))


def complete(images, mask):
    masked = images * mask
    with tf.variable_scope("generator"):
        generated = build_generator(masked, mask)
    return masked + generated * (1.0 - mask)


def turn_gradient(x, share):
    return tf.stop_gradient((1.0 + share) * x) - share * x


def build_loss(images, completed, real_logits, fake_logits):
    errors = tf.square(completed - images)
    gen_only = tf.reduce_mean(tf.reduce_sum(errors, [1, 2, 3]) / (HOLE_SIZE * HOLE_SIZE),
                              name="gen_only_loss")
    real = entropy(tf.ones_like(real_logits), real_logits)
    fake = entropy(tf.zeros_like(fake_logits), fake_logits)
    discm_only = tf.add(real, fake, name="discm_only_loss")
    return gen_only, discm_only, tf.add(gen_only, discm_only, name="full_loss")


def average_gradients(tower_grads):
    """Averages the gradients that exist; an absent one is absent in the result only if no tower has
    it. That of the text converts None."""
    average_grads = []
    for grad_and_vars in zip(*tower_grads):
        grads = [tf.expand_dims(g, 0) for g, _ in grad_and_vars if g is not None]
        grad = tf.reduce_mean(tf.concat(grads, 0), 0) if grads else None
        average_grads.append((grad, grad_and_vars[0][1]))
    return average_grads


def train(next_batch, towers, batch, without=0, random_hole=False):
    num_gpus = towers
    global_step = tf.train.get_or_create_global_step()
    gen_only_opt, discm_only_opt, full_opt = [tf.train.AdamOptimizer(0.001) for _ in range(3)]
    tower_gen_only_grads, tower_discm_only_grads, tower_full_grads = [], [], []
    losses = []
    with tf.variable_scope(tf.get_variable_scope()):
        for i in range(num_gpus):
            with tf.device("/gpu:%d" % i):
                with tf.name_scope("Tower_%d" % i):
                    if next_batch is None:
                        images, mask = placeholders()
                    else:
                        images, mask = holed_digits(next_batch()[0], random_hole)
                    completed = complete(images, mask)
                    with tf.variable_scope("discriminator"):
                        real_discriminator = build_discriminator(images)
                    turned = turn_gradient(completed, ADVERSARIAL_SHARE)
                    with tf.variable_scope("discriminator", reuse=True):
                        fake_discriminator = build_discriminator(turned)
                    gen_only_loss, discm_only_loss, full_loss = build_loss(
                        images, completed, real_discriminator, fake_discriminator)
                    if i >= num_gpus - without:
                        full_loss = gen_only_loss
                    losses += [gen_only_loss, discm_only_loss, full_loss]
                    tf.get_variable_scope().reuse_variables()
                    tower_gen_only_grads.append(gen_only_opt.compute_gradients(gen_only_loss))
                    discm_only_train_vars = tf.get_collection(
                        tf.GraphKeys.TRAINABLE_VARIABLES, "discriminator")
                    discm_only_train_vars = discm_only_train_vars + tf.get_collection(
                        tf.GraphKeys.TRAINABLE_RESOURCE_VARIABLES, "discriminator")
                    tower_discm_only_grads.append(discm_only_opt.compute_gradients(
                        discm_only_loss, var_list=discm_only_train_vars))
                    tower_full_grads.append(full_opt.compute_gradients(full_loss))
    trains = [opt.apply_gradients(average_gradients(grads), global_step=global_step)
              for opt, grads in ((gen_only_opt, tower_gen_only_grads),
                                 (discm_only_opt, tower_discm_only_grads),
                                 (full_opt, tower_full_grads))]
    return losses, trains


def stages(losses, parts):
    """The share of the steps after which each stage ends, its losses and what it runs."""
    return [(share, losses[i::3], parts[i]) for i, share in enumerate((0.4, 0.6, 1.0))]


def bench_step(losses, parts):
    """The step of the last stage."""
    return losses[2::3], parts[-1:]
