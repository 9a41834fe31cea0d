"""Calls of tf.layers for make_fixtures.py."""
import tensorflow.compat.v1 as tf

L = tf.layers


def twice(layer, *inputs):
    return [layer(i) for i in inputs]


def scoped(name, body, **options):
    with tf.variable_scope(name, **options):
        return body()


def named(name, body):
    with tf.name_scope(name):
        return body()


def reused(t, body):
    first = body(t.x)
    return [first, body(t.y)]


def half_l2(v):
    return 0.5 * tf.nn.l2_loss(v)


def doubled(v):
    return 2.0 * v


def losses_of(layer, *inputs):
    results = [layer(i) for i in inputs]
    return results + layer.losses


def unlisted(result):
    """Keeps the case from running a result that depends on a placeholder of its own."""


def scope_name(layer):
    return layer.scope_name


CASES = {
    "dense": lambda t: L.dense(t.x, 4),
    "dense unknown batch": lambda t: L.dense(t.u, 4),
    "dense relu named": lambda t: L.dense(t.x, 4, activation=tf.nn.relu, name="fc"),
    "dense no bias": lambda t: L.dense(t.x, 4, use_bias=False),
    "dense rank 3": lambda t: L.dense(t.s, 4, tf.tanh),
    "dense rank 3 unknown": lambda t: L.dense(t.v, 4, tf.nn.tanh),
    "dense float64": lambda t: L.dense(t.d, 2),
    "dense initializers": lambda t: L.dense(
        t.x, 4, kernel_initializer=tf.truncated_normal_initializer(stddev=0.1),
        bias_initializer=tf.constant_initializer(0.1)),
    "dense regularizers": lambda t: L.dense(t.x, 4, kernel_regularizer=half_l2,
                                            bias_regularizer=half_l2),
    "dense keras regularizers": lambda t: L.dense(
        t.x, 4, kernel_regularizer=tf.keras.regularizers.l2(0.1),
        bias_regularizer=tf.keras.regularizers.l1(0.3)),
    "dense keras regularizers float64": lambda t: L.dense(
        t.d, 4, kernel_regularizer=tf.keras.regularizers.l1_l2(0.1, 0.3),
        bias_regularizer=tf.keras.regularizers.l2(0.1)),
    "dense keras regularizer 0": lambda t: L.dense(
        t.x, 4, kernel_regularizer=tf.keras.regularizers.l1_l2(0.0, 0.3),
        bias_regularizer=tf.keras.regularizers.l2(0.0)),
    "dense keras regularizer nan": lambda t: L.dense(
        t.x, 4, kernel_regularizer=tf.keras.regularizers.l1(float("nan"))),
    "dense activity regularizer": lambda t: L.dense(t.x, 4, activity_regularizer=half_l2),
    "dense constraint": lambda t: L.dense(t.x, 4, kernel_constraint=doubled),
    "dense not trainable": lambda t: L.dense(t.x, 4, trainable=False),
    "dense twice": lambda t: [L.dense(t.x, 4), L.dense(t.y, 4)],
    "dense same name": lambda t: [L.dense(t.x, 4, name="fc"), L.dense(t.y, 4, name="fc")],
    "dense reuse": lambda t: [L.dense(t.x, 4, name="fc"), L.dense(t.y, 4, name="fc", reuse=True)],
    "dense reuse regularizer": lambda t: [
        L.dense(t.x, 4, name="fc", kernel_regularizer=half_l2),
        L.dense(t.y, 4, name="fc", kernel_regularizer=half_l2, reuse=True)],
    "dense reuse missing": lambda t: L.dense(t.x, 4, name="fc", reuse=True),
    "dense reuse automatic": lambda t: [L.dense(t.x, 4, name="fc", reuse=tf.AUTO_REUSE),
                                        L.dense(t.y, 4, name="fc", reuse=tf.AUTO_REUSE)],
    "dense reuse without name": lambda t: [L.dense(t.x, 4), L.dense(t.y, 4, reuse=True)],
    "dense in scope": lambda t: scoped("a", lambda: L.dense(t.x, 4)),
    "dense in scope twice": lambda t: [
        scoped("a", lambda: [L.dense(t.x, 4), L.dense(t.x, 4)]),
        scoped("a", lambda: [L.dense(t.y, 4), L.dense(t.y, 4)], reuse=True)],
    "dense in name scope": lambda t: named("a", lambda: L.dense(t.x, 4)),
    "dense orthogonal": lambda t: L.dense(
        t.s, 2, kernel_initializer=tf.orthogonal_initializer(seed=4)),
    "dense orthogonal wide": lambda t: L.dense(
        t.x, 5, kernel_initializer=tf.orthogonal_initializer(gain=2.0, seed=4)),
    "dense orthogonal float64": lambda t: L.dense(
        t.d, 3, kernel_initializer=tf.initializers.orthogonal(seed=4)),
    "dense orthogonal rank": lambda t: L.dense(
        t.x, 5, bias_initializer=tf.orthogonal_initializer()),
    "dense identity": lambda t: L.dense(
        t.x, 4, kernel_initializer=tf.initializers.identity(gain=0.5)),
    "dense identity rank": lambda t: L.dense(
        t.x, 5, bias_initializer=tf.initializers.identity()),
    "conv2d orthogonal": lambda t: L.conv2d(
        t.im, 5, 2, kernel_initializer=tf.orthogonal_initializer(seed=4)),
    "dense scope initializer": lambda t: scoped(
        "a", lambda: L.dense(t.x, 4), initializer=tf.ones_initializer()),
    "dense scope regularizer": lambda t: scoped("a", lambda: L.dense(t.x, 4), regularizer=half_l2),
    "dense rank 1": lambda t: L.dense(tf.zeros([3]), 4),
    "dense unknown": lambda t: L.dense(t.q, 4),
    "dense last unknown": lambda t: L.dense(tf.placeholder(tf.float32, [2, None]), 4),
    "dense int": lambda t: L.dense(t.i, 4),
    "dense negative": lambda t: L.dense(t.x, -4),
    "dense sizes differ": lambda t: twice(L.Dense(4), t.x, t.h),
    "Dense": lambda t: twice(L.Dense(4), t.x, t.y),
    "Dense named": lambda t: twice(L.Dense(4, name="fc"), t.x, t.y),
    "Dense in scopes": lambda t: (lambda layer: [
        scoped("a", lambda: layer(t.x)), scoped("b", lambda: layer(t.y)),
        named("n", lambda: layer(t.z))])(L.Dense(4)),
    "Dense scope": lambda t: twice(L.Dense(4, _scope="given"), t.x, t.y),
    "Dense reuse": lambda t: [L.Dense(4, name="fc")(t.x), L.Dense(4, name="fc", _reuse=True)(t.y)],
    "Dense losses": lambda t: losses_of(L.Dense(4, kernel_regularizer=half_l2), t.x, t.y),
    "Dense activity losses": lambda t: losses_of(L.Dense(4, activity_regularizer=half_l2), t.x),
    "Dense two": lambda t: (lambda a, b: [b(t.x), a(t.y)])(L.Dense(4), L.Dense(4)),
    "Dense scope_name": lambda t: scope_name(L.Dense(4)),
    "conv2d": lambda t: L.conv2d(t.im, 3, 3),
    "conv2d options": lambda t: L.conv2d(t.im, 3, [3, 2], (2, 2), "same", activation=tf.nn.relu,
                                         kernel_regularizer=half_l2, name="c"),
    "conv2d unknown batch": lambda t: L.conv2d(t.v, 3, 3, 2, use_bias=False),
    "conv2d dilated": lambda t: L.conv2d(t.im, 3, 3, dilation_rate=2, padding="SAME"),
    "conv2d dilated valid": lambda t: L.conv2d(t.im, 3, 2, dilation_rate=(1, 2)),
    "conv2d twice": lambda t: twice(L.Conv2D(3, 2), t.im, t.im),
    "conv2d too large": lambda t: L.conv2d(t.im, 3, 7),
    "conv2d stride and rate": lambda t: L.conv2d(t.im, 3, 3, 2, dilation_rate=2),
    "conv2d no filters": lambda t: L.conv2d(t.im, 0, 3),
    "conv2d kernel 0": lambda t: L.conv2d(t.im, 3, 0),
    "conv2d padding": lambda t: L.conv2d(t.im, 3, 3, padding="full"),
    "conv2d causal": lambda t: L.conv2d(t.im, 3, 3, padding="causal"),
    "conv2d sizes": lambda t: L.conv2d(t.im, 3, [1, 2, 3]),
    "conv2d rank 3": lambda t: L.conv2d(t.s, 3, 3),
    "conv2d channels unknown": lambda t: L.conv2d(tf.placeholder(tf.float32, [2, 6, 6, None]), 3, 3),
    "conv1d": lambda t: L.conv1d(t.s, 4, 3),
    "conv1d options": lambda t: L.conv1d(t.s, 4, 2, 2, "same", activation=tf.sigmoid,
                                         bias_initializer=tf.ones_initializer(), name="c"),
    "conv1d causal": lambda t: L.conv1d(t.s, 4, 2, padding="causal"),
    "conv1d dilated": lambda t: L.conv1d(t.s, 4, 2, dilation_rate=2),
    "conv1d causal dilated": lambda t: L.conv1d(t.s, 4, 2, padding="causal", dilation_rate=2),
    "conv2d_transpose": lambda t: L.conv2d_transpose(t.im, 3, 3),
    "conv2d_transpose options": lambda t: L.conv2d_transpose(
        t.im, 3, [3, 2], 2, "same", activation=tf.nn.relu, name="up"),
    "conv2d_transpose unknown batch": lambda t: L.conv2d_transpose(t.v, 3, 2, 2, use_bias=False),
    "conv2d_transpose rank": lambda t: L.conv2d_transpose(t.s, 3, 2),
    "separable_conv2d": lambda t: L.separable_conv2d(t.im, 3, 3),
    "separable_conv2d options": lambda t: L.separable_conv2d(
        t.im, 3, [3, 2], 2, "same", depth_multiplier=2, activation=tf.nn.relu,
        depthwise_regularizer=half_l2, pointwise_regularizer=half_l2, name="c"),
    "separable_conv2d dilated": lambda t: L.separable_conv2d(t.im, 3, 2, dilation_rate=2),
    "separable_conv2d unknown batch": lambda t: L.separable_conv2d(t.v, 3, 3, use_bias=False),
    "separable_conv2d rank": lambda t: L.separable_conv2d(t.s, 3, 3),
    "max_pooling2d": lambda t: L.max_pooling2d(t.im, 2, 2),
    "max_pooling2d options": lambda t: L.max_pooling2d(t.im, [3, 2], [2, 1], "same", name="p"),
    "max_pooling2d rank": lambda t: L.max_pooling2d(t.s, 2, 2),
    "max_pooling2d padding": lambda t: L.max_pooling2d(t.im, 2, 2, "full"),
    "average_pooling2d": lambda t: L.average_pooling2d(t.im, 3, 2, "same"),
    "max_pooling1d": lambda t: L.max_pooling1d(t.s, 2, 2),
    "average_pooling1d": lambda t: L.average_pooling1d(t.s, 3, 1, "same", name="p"),
    "MaxPooling2D": lambda t: twice(L.MaxPooling2D(2, 2), t.im, t.im),
    "dropout": lambda t: L.dropout(t.h, seed=3),
    "dropout training": lambda t: L.dropout(t.h, 0.4, seed=3, training=True),
    "dropout rate": lambda t: L.dropout(t.h, rate=0.4, seed=3, training=True),
    "dropout noise shape": lambda t: L.dropout(t.h, 0.4, [2, 1], seed=3, training=True),
    "dropout noise open": lambda t: L.dropout(t.h, 0.4, [None, 1], 3, True, "drop"),
    "dropout 0": lambda t: L.dropout(t.h, 0.0, training=True),
    "dropout 1.5": lambda t: L.dropout(t.h, 1.5, training=True),
    "dropout twice": lambda t: [L.dropout(t.h, training=True), L.dropout(t.h, training=True)],
    "flatten": lambda t: L.flatten(t.im),
    "flatten unknown batch": lambda t: L.flatten(t.v, name="f"),
    "flatten unknown size": lambda t: unlisted(
        L.flatten(tf.placeholder(tf.float32, [2, None, 3]))),
    "flatten unknown both": lambda t: unlisted(
        L.flatten(tf.placeholder(tf.float32, [None, None, 3]))),
    "flatten rank 1": lambda t: L.flatten(t.l),
    "flatten channels first": lambda t: L.flatten(t.im, data_format="channels_first"),
    "batch_normalization": lambda t: L.batch_normalization(t.h),
    "batch_normalization training": lambda t: L.batch_normalization(t.h, training=True),
    "batch_normalization not fused": lambda t: L.batch_normalization(
        t.im, training=True, fused=False, momentum=0.9, epsilon=0.01, name="bn"),
    "batch_normalization axis 1": lambda t: L.batch_normalization(t.s, 1, training=True),
    "batch_normalization axis 1 inference": lambda t: L.batch_normalization(t.s, 1),
    "batch_normalization axes": lambda t: L.batch_normalization(t.s, [1, 2], training=True),
    "batch_normalization no scale": lambda t: L.batch_normalization(
        t.h, scale=False, training=True),
    "batch_normalization no center": lambda t: L.batch_normalization(
        t.h, center=False, training=True, gamma_regularizer=half_l2),
    "batch_normalization not trainable": lambda t: L.batch_normalization(
        t.h, training=True, trainable=False),
    "batch_normalization unknown batch": lambda t: L.batch_normalization(t.u, training=True),
    "batch_normalization twice": lambda t: (lambda layer: [
        layer(t.x, training=True), layer(t.y, training=True), layer(t.z)])(
            L.BatchNormalization()),
    "batch_normalization axis 5": lambda t: L.batch_normalization(t.h, 5),
    "batch_normalization unknown axis": lambda t: L.batch_normalization(
        tf.placeholder(tf.float32, [2, None])),
    "batch_normalization fused": lambda t: L.batch_normalization(t.im),
    "batch_normalization fused training": lambda t: L.batch_normalization(
        t.im, training=True, name="bn"),
    "batch_normalization fused options": lambda t: L.batch_normalization(
        t.im, center=False, scale=False, training=True, momentum=0.9),
    "batch_normalization fused twice": lambda t: (lambda layer: [
        layer(t.im, training=True), layer(t.im)])(L.BatchNormalization(fused=True)),
    "batch_normalization fused float64": lambda t: L.batch_normalization(
        tf.cast(t.im, tf.float64), training=True),
    "batch_normalization float64": lambda t: L.batch_normalization(t.d, training=True),
    "dropout tensor": lambda t: L.dropout(t.h, 0.4, seed=3, training=t.b),
    "dropout tensor false": lambda t: L.dropout(
        t.h, 0.4, seed=3, training=tf.logical_not(t.b), name="drop"),
    "dropout tensor constant": lambda t: L.dropout(t.h, 0.4, seed=3, training=tf.constant(True)),
    "dropout tensor noise": lambda t: L.dropout(t.h, 0.4, [None, 1], 3, t.b),
    "dropout tensor 0": lambda t: L.dropout(t.h, 0.0, training=t.b),
    "dropout tensor dtype": lambda t: L.dropout(t.h, 0.4, training=t.x[0, 0]),
    "dropout tensor twice": lambda t: [L.dropout(t.h, seed=1, training=t.b),
                                       L.dropout(t.h, seed=2, training=t.b)],
    "batch_normalization tensor": lambda t: L.batch_normalization(t.h, training=t.b),
    "batch_normalization tensor false": lambda t: L.batch_normalization(
        t.h, training=tf.logical_not(t.b), momentum=0.9),
    "batch_normalization tensor constant": lambda t: [
        L.batch_normalization(t.h, training=tf.constant(True)),
        L.batch_normalization(t.h, training=tf.constant(False))],
    "batch_normalization tensor default": lambda t: L.batch_normalization(
        t.h, training=tf.placeholder_with_default(False, [])),
    "batch_normalization tensor axis 1": lambda t: L.batch_normalization(t.s, 1, training=t.b),
    "batch_normalization tensor axes": lambda t: L.batch_normalization(t.s, [1, 2], training=t.b),
    "batch_normalization tensor options": lambda t: L.batch_normalization(
        t.h, center=False, scale=False, training=t.b, name="bn"),
    "batch_normalization tensor unknown batch": lambda t: L.batch_normalization(
        t.u, training=t.b),
    "batch_normalization tensor float64": lambda t: L.batch_normalization(t.d, training=t.b),
    "batch_normalization tensor twice": lambda t: (lambda layer: [
        layer(t.x, training=t.b), layer(t.y, training=True), layer(t.z)])(
            L.BatchNormalization()),
    "batch_normalization tensor fused": lambda t: L.batch_normalization(t.im, training=t.b),
    "batch_normalization tensor fused false": lambda t: L.batch_normalization(
        t.im, training=tf.logical_not(t.b), momentum=0.9, name="bn"),
    "batch_normalization tensor fused constant": lambda t: L.batch_normalization(
        t.im, training=tf.constant(True)),
    "batch_normalization tensor fused options": lambda t: L.batch_normalization(
        t.im, center=False, scale=False, training=t.b, momentum=0.9),
    "batch_normalization tensor fused unknown batch": lambda t: L.batch_normalization(
        t.v, training=t.b),
    "batch_normalization tensor dtype": lambda t: L.batch_normalization(t.h, training=t.x[0, 0]),
}
