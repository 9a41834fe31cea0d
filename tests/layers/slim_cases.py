"""Calls of tf_slim for make_fixtures.py."""
import tensorflow.compat.v1 as tf
import tf_slim as slim


def small_net(t, is_training=True):
    """A few layers as Inception's arg scope sets them up."""
    batch_norm = {"decay": 0.9, "epsilon": 0.001, "scale": True, "is_training": is_training}
    with slim.arg_scope([slim.conv2d, slim.fully_connected],
                        weights_regularizer=slim.l2_regularizer(0.04),
                        weights_initializer=slim.variance_scaling_initializer()):
        with slim.arg_scope([slim.conv2d], activation_fn=tf.nn.relu, padding="VALID",
                            normalizer_fn=slim.batch_norm, normalizer_params=batch_norm):
            net = slim.conv2d(t.im, 3, [3, 3], scope="conv1")
            net = slim.conv2d(net, 4, [2, 2], stride=2, scope="conv2")
            net = slim.max_pool2d(net, [2, 2], stride=1, scope="pool")
            net = slim.flatten(net)
            return slim.fully_connected(net, 2, activation_fn=None, scope="logits")


def scoped(name, body, **options):
    with tf.variable_scope(name, **options):
        return body()


def in_arg_scope(functions, body, **options):
    with slim.arg_scope(functions, **options):
        return body()


def nested(t):
    with slim.arg_scope([slim.conv2d], padding="VALID", activation_fn=None):
        with slim.arg_scope([slim.conv2d, slim.fully_connected], activation_fn=tf.nn.elu):
            first = slim.conv2d(t.im, 2, 3)
        second = slim.conv2d(t.im, 2, 3)
        third = slim.conv2d(t.im, 2, 3, padding="SAME")
    return [first, second, third, slim.fully_connected(t.x, 2)]


def captured(t):
    with slim.arg_scope([slim.conv2d], padding="VALID") as scope:
        pass
    with slim.arg_scope(scope):
        return slim.conv2d(t.im, 2, 3)


CASES = {
    "conv2d": lambda t: slim.conv2d(t.im, 3, [3, 3]),
    "conv2d options": lambda t: slim.conv2d(
        t.im, 3, [3, 2], stride=2, padding="VALID", activation_fn=tf.nn.elu,
        weights_initializer=tf.truncated_normal_initializer(stddev=0.1),
        weights_regularizer=slim.l2_regularizer(0.5),
        biases_initializer=tf.constant_initializer(0.1),
        biases_regularizer=slim.l1_regularizer(0.5), scope="c1"),
    "conv2d collections": lambda t: slim.conv2d(
        t.im, 3, 3, variables_collections=["ends"], outputs_collections="ends", scope="c1"),
    "conv2d collections by name": lambda t: slim.conv2d(
        t.im, 3, 3, variables_collections={"weights": ["ends"]}, scope="c1"),
    "conv2d no bias": lambda t: slim.conv2d(t.im, 3, 3, biases_initializer=None),
    "conv2d twice": lambda t: [slim.conv2d(t.im, 3, 3), slim.conv2d(t.im, 3, 3)],
    "conv2d reuse": lambda t: [slim.conv2d(t.im, 3, 3, scope="c1"),
                               slim.conv2d(t.im, 3, 3, scope="c1", reuse=True)],
    "conv2d same scope": lambda t: [slim.conv2d(t.im, 3, 3, scope="c1"),
                                    slim.conv2d(t.im, 3, 3, scope="c1")],
    "conv2d not trainable": lambda t: slim.conv2d(t.im, 3, 3, trainable=False),
    "conv2d in scope": lambda t: scoped("net", lambda: slim.conv2d(t.im, 3, 3, scope="c1")),
    "conv2d rate": lambda t: slim.conv2d(t.im, 3, 3, rate=2),
    "conv2d rank": lambda t: slim.conv2d(t.s, 3, 3),
    "conv2d data format": lambda t: slim.conv2d(t.im, 3, 3, data_format="XYZ"),
    "fully_connected": lambda t: slim.fully_connected(t.x, 4),
    "fully_connected options": lambda t: slim.fully_connected(
        t.x, 4, activation_fn=None, weights_regularizer=slim.l2_regularizer(0.5),
        weights_initializer=slim.xavier_initializer(uniform=False), scope="fc"),
    "fully_connected rank 3": lambda t: slim.fully_connected(t.s, 4),
    "fully_connected reuse": lambda t: [
        slim.fully_connected(t.x, 4, scope="fc", weights_regularizer=slim.l2_regularizer(0.5)),
        slim.fully_connected(t.y, 4, scope="fc", reuse=True,
                             weights_regularizer=slim.l2_regularizer(0.5))],
    "fully_connected scope regularizer": lambda t: scoped(
        "net", lambda: slim.fully_connected(t.x, 4), regularizer=slim.l2_regularizer(0.5)),
    "max_pool2d": lambda t: slim.max_pool2d(t.im, [2, 2]),
    "max_pool2d options": lambda t: slim.max_pool2d(
        t.im, 3, stride=1, padding="SAME", outputs_collections="ends", scope="p"),
    "avg_pool2d": lambda t: slim.avg_pool2d(t.im, [3, 3], stride=3, scope="p"),
    "dropout": lambda t: slim.dropout(t.h, 0.6, seed=3),
    "dropout inference": lambda t: slim.dropout(t.h, is_training=False, scope="drop"),
    "flatten": lambda t: slim.flatten(t.im),
    "flatten scope": lambda t: slim.flatten(t.im, scope="f", outputs_collections="ends"),
    "softmax": lambda t: slim.softmax(t.h),
    "softmax rank 4": lambda t: slim.softmax(t.im, scope="predictions"),
    "one_hot_encoding": lambda t: slim.one_hot_encoding(t.l, 3),
    "one_hot_encoding int32": lambda t: slim.one_hot_encoding(
        t.i, 3, on_value=2.0, off_value=-1.0, scope="hot"),
    "repeat": lambda t: slim.repeat(t.im, 2, slim.conv2d, 2, [3, 3]),
    "repeat scope": lambda t: slim.repeat(t.im, 2, slim.conv2d, 2, [3, 3], scope="conv"),
    "stack": lambda t: slim.stack(t.x, slim.fully_connected, [4, 2]),
    "stack scope": lambda t: slim.stack(t.im, slim.conv2d, [(2, [3, 3]), (3, [1, 1])],
                                        scope="conv"),
    "batch_norm training": lambda t: slim.batch_norm(
        t.s, decay=0.9, scale=True, is_training=True),
    "batch_norm inference": lambda t: slim.batch_norm(t.s, is_training=False, scope="bn"),
    "batch_norm 4 not fused": lambda t: slim.batch_norm(
        t.im, fused=False, activation_fn=tf.nn.relu, scope="bn"),
    "batch_norm 2 not fused": lambda t: slim.batch_norm(t.h, fused=False),
    "batch_norm forced": lambda t: slim.batch_norm(
        t.h, fused=False, decay=0.9, updates_collections=None),
    "batch_norm own collection": lambda t: slim.batch_norm(
        t.h, fused=False, updates_collections="ends"),
    "batch_norm own collection inference": lambda t: slim.batch_norm(
        t.h, fused=False, updates_collections="ends", is_training=False, scale=True),
    "batch_norm parameters": lambda t: slim.batch_norm(
        t.h, fused=False, scale=True,
        param_initializers={"beta": tf.constant_initializer(0.5),
                            "gamma": tf.constant_initializer(2.0)},
        param_regularizers={"gamma": slim.l2_regularizer(0.5)}),
    "batch_norm collections": lambda t: slim.batch_norm(
        t.h, fused=False, variables_collections={"moving_mean": ["ends"], "beta": ["ends"]}),
    "batch_norm 4": lambda t: slim.batch_norm(t.im, decay=0.9, scale=True),
    "batch_norm 4 inference": lambda t: slim.batch_norm(t.im, is_training=False),
    "batch_norm 4 forced": lambda t: slim.batch_norm(t.im, updates_collections=None),
    "batch_norm 2": lambda t: slim.batch_norm(
        t.h, scale=True, param_regularizers={"beta": slim.l2_regularizer(0.5)}, scope="bn"),
    "batch_norm 2 inference": lambda t: slim.batch_norm(t.u, is_training=False, center=False),
    "batch_norm argument": lambda t: slim.batch_norm(t.h, is_training=True, stride=3),
    "arg_scope wrong": lambda t: in_arg_scope(
        [slim.fully_connected], lambda: slim.fully_connected(t.x, 2), stride=2),
    "arg_scope no function": lambda t: in_arg_scope([tf.nn.relu], lambda: None, stride=2),
    "arg_scope": lambda t: in_arg_scope(
        [slim.conv2d], lambda: slim.conv2d(t.im, 3, 3), padding="VALID", activation_fn=None),
    "arg_scope nested": nested,
    "arg_scope captured": captured,
    "arg_scope batch_norm": lambda t: in_arg_scope(
        [slim.batch_norm], lambda: slim.conv2d(
            t.im, 3, 3, normalizer_fn=slim.batch_norm, normalizer_params={"scale": True}),
        is_training=False, fused=False),
    "l1_l2_regularizer": lambda t: slim.fully_connected(
        t.x, 2, weights_regularizer=slim.l1_l2_regularizer(0.5, 0.25)),
    "l1_l2_regularizer one": lambda t: slim.fully_connected(
        t.x, 2, weights_regularizer=slim.l1_l2_regularizer(0.0, 0.25)),
    "sum_regularizer": lambda t: slim.fully_connected(
        t.x, 2, weights_regularizer=slim.sum_regularizer(
            [slim.l1_regularizer(0.5), slim.l2_regularizer(0.0)], scope="sum")),
    "l2_regularizer negative": lambda t: slim.l2_regularizer(-1.0),
    "l2_regularizer tensor": lambda t: slim.l2_regularizer(0.5, scope="loss")(t.x),
    "l2_regularizer 0": lambda t: slim.fully_connected(
        t.x, 2, weights_regularizer=slim.l2_regularizer(0.0)),
    "variance_scaling_initializer uniform": lambda t: slim.fully_connected(
        t.x, 2, weights_initializer=slim.variance_scaling_initializer(
            factor=3.0, mode="FAN_OUT", uniform=True, seed=7)),
    "variance_scaling_initializer mode": lambda t: slim.variance_scaling_initializer(mode="FAN"),
    "small net": small_net,
    "small net inference": lambda t: small_net(t, False),
    "dropout tensor": lambda t: slim.dropout(t.h, 0.6, seed=3, is_training=t.b),
    "batch_norm tensor": lambda t: slim.batch_norm(t.s, decay=0.9, is_training=t.b),
    "batch_norm tensor not fused": lambda t: slim.batch_norm(
        t.im, fused=False, is_training=tf.logical_not(t.b), scope="bn"),
    "batch_norm tensor forced": lambda t: slim.batch_norm(
        t.h, fused=False, decay=0.9, updates_collections=None, is_training=t.b),
    "batch_norm tensor own collection": lambda t: slim.batch_norm(
        t.h, fused=False, updates_collections="ends", is_training=t.b, scale=True),
    "batch_norm tensor constant": lambda t: slim.batch_norm(
        t.h, fused=False, updates_collections="ends", is_training=tf.constant(True)),
    "batch_norm tensor 4": lambda t: slim.batch_norm(
        t.im, decay=0.9, scale=True, is_training=t.b),
    "batch_norm tensor 4 forced": lambda t: slim.batch_norm(
        t.im, updates_collections=None, is_training=t.b),
    "batch_norm tensor 4 own collection": lambda t: slim.batch_norm(
        t.im, updates_collections="ends", is_training=t.b),
    "batch_norm tensor 2": lambda t: slim.batch_norm(t.h, scale=True, is_training=t.b),
    "batch_norm tensor 2 false": lambda t: slim.batch_norm(
        t.h, decay=0.9, is_training=tf.logical_not(t.b)),
    "arg_scope tensor": lambda t: in_arg_scope(
        [slim.batch_norm, slim.dropout], lambda: slim.dropout(slim.batch_norm(t.h), seed=1),
        is_training=t.b),
}
