"""The calls of make_golden.py for convolutions, pooling, normalization and blocks."""
import tensorflow.compat.v1 as tf


def image(*sizes):
    return tf.placeholder(tf.float32, sizes)


def conv(padding="SAME", x=(2, 9, 9, 4), w=(3, 3, 4, 6), **options):
    return tf.nn.conv2d(image(*x), image(*w), 1, padding, **options)


def depthwise(padding="SAME", strides=(1, 1, 1, 1), x=(2, 9, 9, 4), w=(3, 3, 4, 2), **options):
    return tf.nn.depthwise_conv2d(image(*x), image(*w), list(strides), padding, **options)


def separable(point=(1, 1, 8, 3), **options):
    return tf.nn.separable_conv2d(image(2, 9, 9, 4), image(3, 3, 4, 2), image(*point), [1, 1, 1, 1], "SAME",
                                  **options)


def norm(x=(2, 3, 3, 4), scale=(4,), offset=(4,), **options):
    return tf.nn.fused_batch_norm(image(*x), image(*scale), image(*offset), **options)


CASES = {
    "conv2d dilated": lambda t: conv(dilations=2),
    "conv2d dilated by rows": lambda t: conv("VALID", dilations=[1, 2, 1, 1], name="k"),
    "conv2d dilation zero": lambda t: conv(dilations=0),
    "conv2d dilations of three": lambda t: conv(dilations=[1, 1, 1]),
    "conv2d dilated too far": lambda t: conv("VALID", dilations=5),
    "conv2d padding": lambda t: conv([[0, 0], [1, 2], [0, 3], [0, 0]]),
    "conv2d padding of batch": lambda t: conv([[1, 0], [1, 2], [0, 3], [0, 0]]),
    "conv2d padding of channels": lambda t: conv([[0, 0], [1, 2], [0, 3], [0, 1]]),
    "conv2d padding negative": lambda t: conv([[0, 0], [-1, 2], [0, 3], [0, 0]]),
    "conv2d padding of two": lambda t: conv([[1, 2], [0, 3]]),
    "conv2d padding of triples": lambda t: conv([[0, 0, 0], [1, 2, 0], [0, 3, 0], [0, 0, 0]]),
    "conv2d padding explicit": lambda t: conv("EXPLICIT"),
    "conv2d channels first": lambda t: conv(x=(2, 4, 9, None), data_format="NCHW"),
    "conv2d channels first padding": lambda t: conv([[0, 0], [0, 0], [1, 2], [0, 3]], x=(2, 4, 9, 9),
                                                    data_format="NCHW"),
    "conv2d groups": lambda t: conv(w=(3, 3, 2, 6)),
    "conv2d groups of input": lambda t: conv(w=(3, 3, 3, 6)),
    "conv2d groups of output": lambda t: conv(w=(3, 3, 2, 5)),
    "conv2d_transpose dilated": lambda t: tf.nn.conv2d_transpose(image(2, 9, 9, 6), image(3, 3, 4, 6),
                                                                 [2, 9, 9, 4], 1, dilations=2),
    "conv2d_transpose padding": lambda t: tf.nn.conv2d_transpose(
        image(2, 9, 9, 6), image(3, 3, 4, 6), [2, 9, 9, 4], 1, [[0, 0], [1, 1], [2, 0], [0, 0]]),
    "depthwise_conv2d": lambda t: depthwise(),
    "depthwise_conv2d named": lambda t: depthwise("VALID", (1, 2, 2, 1), name="k"),
    "depthwise_conv2d rate": lambda t: depthwise(rate=[2, 3]),
    "depthwise_conv2d rate VALID": lambda t: depthwise("VALID", rate=[2, 3]),
    "depthwise_conv2d rate padding": lambda t: depthwise([[0, 0], [1, 2], [0, 3], [0, 0]], rate=[2, 2]),
    "depthwise_conv2d rate unknown batch": lambda t: depthwise(rate=[2, 2], x=(None, 9, 9, 4)),
    "depthwise_conv2d rate unknown size": lambda t: depthwise(rate=[2, 2], x=(2, None, 9, 4)),
    "depthwise_conv2d rate channels first": lambda t: depthwise(rate=[2, 2], x=(2, 4, 9, 9), data_format="NCHW"),
    "depthwise_conv2d rate twice": lambda t: depthwise(rate=[2, 2], dilations=[2, 2]),
    "depthwise_conv2d rate zero": lambda t: depthwise(rate=[0, 2]),
    "depthwise_conv2d channels": lambda t: depthwise(w=(3, 3, 5, 2)),
    "depthwise_conv2d large": lambda t: depthwise("VALID", w=(10, 3, 4, 2)),
    "depthwise_conv2d int": lambda t: tf.nn.depthwise_conv2d(tf.placeholder(tf.int32, [1, 3, 3, 1]),
                                                             tf.placeholder(tf.int32, [1, 1, 1, 1]),
                                                             [1, 1, 1, 1], "SAME"),
    "depthwise_conv2d_native": lambda t: tf.nn.depthwise_conv2d_native(
        image(2, 9, 9, 4), image(3, 3, 4, 2), [1, 1, 1, 1], "SAME", dilations=[1, 2, 2, 1]),
    "depthwise_conv2d_backprop_input": lambda t: tf.nn.depthwise_conv2d_backprop_input(
        [2, 9, 9, 4], image(3, 3, 4, 2), image(2, 9, 9, 8), [1, 1, 1, 1], "SAME"),
    "depthwise_conv2d_backprop_filter": lambda t: tf.nn.depthwise_conv2d_backprop_filter(
        image(2, 9, 9, 4), [3, 3, 4, 2], image(2, 9, 9, 8), [1, 1, 1, 1], "SAME"),
    "separable_conv2d": lambda t: separable(),
    "separable_conv2d rate": lambda t: separable(rate=[2, 2], name="k"),
    "separable_conv2d pointwise": lambda t: separable((2, 1, 8, 3)),
    "separable_conv2d channels": lambda t: separable((1, 1, 7, 3)),
    "atrous_conv2d": lambda t: tf.nn.atrous_conv2d(image(2, 9, 9, 4), image(3, 3, 4, 2), 2, "SAME"),
    "atrous_conv2d rate one": lambda t: tf.nn.atrous_conv2d(image(2, 9, 9, 4), image(3, 3, 4, 2), 1, "SAME"),
    "atrous_conv2d_transpose": lambda t: tf.nn.atrous_conv2d_transpose(
        image(2, 9, 9, 2), image(3, 3, 4, 2), [2, 9, 9, 4], 2, "SAME"),
    "atrous_conv2d_transpose rate one": lambda t: tf.nn.atrous_conv2d_transpose(
        image(2, 9, 9, 2), image(3, 3, 4, 2), [2, 9, 9, 4], 1, "SAME"),
    "atrous_conv2d_transpose padding": lambda t: tf.nn.atrous_conv2d_transpose(
        image(2, 9, 9, 2), image(3, 3, 4, 2), [2, 9, 9, 4], 2, "OTHER"),
    "convolution": lambda t: tf.nn.convolution(image(2, 9, 9, 4), image(3, 3, 4, 2), "SAME"),
    "convolution named": lambda t: tf.nn.convolution(image(2, 9, 9, 4), image(3, 3, 4, 2), "SAME", strides=[2, 2],
                                                     name="k"),
    "convolution dilated": lambda t: tf.nn.convolution(image(2, 9, 9, 4), image(3, 3, 4, 2), "VALID",
                                                       dilation_rate=[2, 1]),
    "convolution dilated steps": lambda t: tf.nn.convolution(image(2, 9, 9, 4), image(3, 3, 4, 2), "VALID",
                                                             strides=[2, 2], dilation_rate=[2, 1]),
    "convolution of signals": lambda t: tf.nn.convolution(image(2, 9, 4), image(3, 4, 2), "SAME"),
    "convolution of signals dilated": lambda t: tf.nn.convolution(image(2, 9, 4), image(3, 4, 2), "VALID",
                                                                  dilation_rate=[2]),
    "convolution of a vector": lambda t: tf.nn.convolution(image(9), image(3), "SAME"),
    "conv1d": lambda t: tf.nn.conv1d(image(2, 9, 4), image(3, 4, 2), 2, "SAME"),
    "conv1d channels first": lambda t: tf.nn.conv1d(image(2, 4, 9), image(3, 4, 2), 1, "VALID", data_format="NCW",
                                                    name="k"),
    "conv1d format": lambda t: tf.nn.conv1d(image(2, 4, 9), image(3, 4, 2), 1, "VALID", data_format="NXW"),
    "pool": lambda t: tf.nn.pool(image(2, 9, 9, 4), [2, 2], "MAX", "SAME"),
    "pool dilated": lambda t: tf.nn.pool(image(2, 9, 9, 4), [2, 2], "AVG", "VALID", dilation_rate=[2, 2]),
    "pool dilated SAME": lambda t: tf.nn.pool(image(2, 9, 9, 4), [2, 2], "AVG", "SAME", dilation_rate=[2, 2]),
    "pool signals": lambda t: tf.nn.pool(image(2, 9, 4), [2], "MAX", "VALID", strides=[2], name="k"),
    "pool steps": lambda t: tf.nn.pool(image(2, 9, 9, 4), [2, 2], "MAX", "VALID", strides=[3, 3]),
    "pool type": lambda t: tf.nn.pool(image(2, 9, 9, 4), [2, 2], "SUM", "VALID"),
    "max_pool padding": lambda t: tf.nn.max_pool(image(2, 9, 9, 4), 2, 2, [[0, 0], [1, 0], [0, 1], [0, 0]]),
    "max_pool padding of batch": lambda t: tf.nn.max_pool(image(2, 9, 9, 4), 2, 2, [[1, 0], [1, 0], [0, 1], [0, 0]]),
    "max_pool channels first": lambda t: tf.nn.max_pool(image(2, 4, 9, 9), 2, 2, "SAME", data_format="NCHW"),
    "space_to_batch_nd": lambda t: tf.space_to_batch_nd(image(2, 4, 5, 3), [2, 3], [[0, 2], [1, 3]]),
    "space_to_batch_nd unknown": lambda t: tf.space_to_batch_nd(image(2, 4, 5, 3), [2, 3],
                                                                     tf.placeholder(tf.int32, [2, 2])),
    "space_to_batch_nd indivisible": lambda t: tf.space_to_batch_nd(image(2, 4, 5, 3), [2, 3], [[0, 0], [0, 0]]),
    "space_to_batch_nd rank": lambda t: tf.space_to_batch_nd(image(2, 4), [2, 3], [[0, 0], [0, 0]]),
    "space_to_batch_nd negative": lambda t: tf.space_to_batch_nd(image(2, 4), [2], [[-2, 0]]),
    "space_to_batch_nd zero": lambda t: tf.space_to_batch_nd(image(2, 4), [0], [[0, 0]]),
    "space_to_batch_nd float": lambda t: tf.space_to_batch_nd(image(2, 4), [0.5], [[0, 0]]),
    "space_to_batch": lambda t: tf.space_to_batch(image(2, 4, 4, 3), [[0, 0], [0, 0]], 2),
    "batch_to_space_nd": lambda t: tf.batch_to_space_nd(image(12, 2, 3, 2), [2, 3], [[1, 0], [2, 4]], name="k"),
    "batch_to_space_nd batch": lambda t: tf.batch_to_space_nd(image(11, 2, 3, 2), [2, 3], [[1, 0], [2, 4]]),
    "batch_to_space_nd crops": lambda t: tf.batch_to_space_nd(image(12, 2, 3, 2), [2, 3], [[3, 2], [2, 4]]),
    "batch_to_space": lambda t: tf.batch_to_space(image(4, 4, 4, 3), [[0, 0], [0, 1]], 2),
    "space_to_depth": lambda t: tf.space_to_depth(image(None, 4, 4, 3), 2),
    "space_to_depth indivisible": lambda t: tf.space_to_depth(image(1, 4, 5, 3), 2),
    "space_to_depth block": lambda t: tf.space_to_depth(image(1, 4, 4, 3), 1),
    "space_to_depth rank": lambda t: tf.space_to_depth(image(4, 4, 3), 2),
    "depth_to_space": lambda t: tf.depth_to_space(image(1, 4, 4, 8), 2, name="k"),
    "depth_to_space channels": lambda t: tf.depth_to_space(image(1, 4, 4, 6), 2),
    "fused_batch_norm no mean": lambda t: norm(is_training=False),
    "fused_batch_norm part": lambda t: norm(exponential_avg_factor=0.5),
    "fused_batch_norm scale": lambda t: norm(scale=(3,)),
    "fused_batch_norm mean": lambda t: norm(mean=t.b, variance=t.b, is_training=False),
    "fused_batch_norm rank": lambda t: norm(x=(2, 4)),
    "fused_batch_norm format": lambda t: norm(data_format="NHC"),
    "fused_batch_norm dtype": lambda t: tf.nn.fused_batch_norm(tf.placeholder(tf.int32, [1, 1, 1, 3]), t.b, t.b),
    "weighted_moments": lambda t: tf.nn.weighted_moments(t.x, [0], t.y),
    "weighted_moments value": lambda t: tf.nn.weighted_moments(t.x, [1], [[1], [2]], name="k", keepdims=True),
    "sufficient_statistics": lambda t: tf.nn.sufficient_statistics(t.x, [0, 1]),
    "sufficient_statistics shift": lambda t: tf.nn.sufficient_statistics(t.x, [1], shift=0.5, keepdims=True),
    "sufficient_statistics unknown": lambda t: tf.nn.sufficient_statistics(t.u, [0]),
    "sufficient_statistics unknown negative": lambda t: tf.nn.sufficient_statistics(t.u, [-2, 1]),
    "normalize_moments": lambda t: tf.nn.normalize_moments(t.b, t.b, t.b, None),
    "normalize_moments shift": lambda t: tf.nn.normalize_moments(t.b, t.b, t.b, 0.5, name="k"),
}
