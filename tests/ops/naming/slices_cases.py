"""The calls of make_golden.py that get IndexedSlices where a tensor is expected."""
import tensorflow.compat.v1 as tf


def slices(t, shape=True):
    return tf.IndexedSlices(t.x, t.j, tf.constant([5, 3]) if shape else None)


def slices_of_unknown_shape(t):
    return tf.IndexedSlices(t.x, t.j, t.j)


def variable():
    return tf.get_variable("v", [5, 3])


def after(t):
    with tf.control_dependencies([slices(t)]):
        return tf.no_op()


def at(device, g):
    with tf.device(device):
        return tf.identity(g)


CASES = {
    "convert slices": lambda t: tf.convert_to_tensor(slices(t)),
    "convert slices named": lambda t: tf.convert_to_tensor(slices(t), name="k"),
    "convert slices dtype": lambda t: tf.convert_to_tensor(slices(t), dtype=tf.float64),
    "convert slices no shape": lambda t: tf.convert_to_tensor(slices(t, False)),
    # Python's operators: only negation and those with a tensor are supported.
    "slices * number": lambda t: slices(t) * 0.1,
    "number * slices": lambda t: -0.1 * slices(t),
    "slices / number": lambda t: slices(t) / 2,
    "number - slices": lambda t: 1.0 - slices(t),
    "slices % number": lambda t: slices(t) % 2.0,
    "slices + slices": lambda t: slices(t) + slices(t),
    "slices > number": lambda t: slices(t) > 0,
    "number < slices": lambda t: 0 < slices(t),
    "- slices": lambda t: -slices(t),
    "slices * tensor": lambda t: slices(t) * t.b,
    "tensor * slices": lambda t: t.b * slices(t),
    "slices - tensor": lambda t: slices(t) - t.b,
    "tensor / slices": lambda t: t.b / slices(t),
    "slices / tensor": lambda t: slices(t) / t.b,
    "slices > tensor": lambda t: slices(t) > t.b,
    "tensor > slices": lambda t: t.b > slices(t),
    "variable - slices": lambda t: variable() - slices(t),
    # Results that stay slices.
    "slices scalar_mul": lambda t: tf.scalar_mul(0.1, slices(t)),
    "slices clip_by_value": lambda t: tf.clip_by_value(slices(t), -1.0, 1.0),
    "slices clip_by_norm": lambda t: tf.clip_by_norm(slices(t), 1.0),
    "slices clip_by_global_norm": lambda t: tf.clip_by_global_norm([slices(t), None], 1.0),
    "slices global_norm": lambda t: tf.global_norm([slices(t), None, t.b]),
    "slices stop_gradient": lambda t: tf.stop_gradient(slices(t)),
    "slices identity": lambda t: tf.identity(slices(t), name="k"),
    "slices cast": lambda t: tf.cast(slices(t), tf.float64, name="k"),
    "slices cast same": lambda t: tf.cast(slices(t), tf.float32),
    "slices tuple": lambda t: tf.tuple([slices(t), None, t.b]),
    "slices group": lambda t: tf.group(slices(t)),
    "slices group devices": lambda t: tf.group(at("/cpu:0", slices(t)), t.b),
    "slices control_dependencies": after,
    # Results that become dense.
    "slices scaled": lambda t: tf.multiply(slices(t), 0.1),
    "slices squared": lambda t: tf.multiply(slices(t), slices(t)),
    "slices multiply number": lambda t: tf.multiply(0.1, slices(t)),
    "slices negative": lambda t: tf.negative(slices(t)),
    "slices abs": lambda t: tf.abs(slices(t)),
    "slices sign": lambda t: tf.sign(slices(t)),
    "slices square": lambda t: tf.square(slices(t), name="k"),
    "slices is_finite": lambda t: tf.is_finite(slices(t)),
    "slices maximum": lambda t: tf.maximum(slices(t), 0.0),
    "slices equal": lambda t: tf.equal(slices(t), 0.0),
    "slices expand_dims": lambda t: tf.expand_dims(slices(t), 0),
    "slices squeeze": lambda t: tf.squeeze(slices(t)),
    "slices reshape": lambda t: tf.reshape(slices(t), [-1]),
    "slices transpose": lambda t: tf.transpose(slices(t)),
    "slices matmul": lambda t: tf.matmul(slices(t), slices(t), transpose_b=True),
    "slices reduce_sum": lambda t: tf.reduce_sum(slices(t)),
    "slices reduce_sum unknown": lambda t: tf.reduce_sum(slices_of_unknown_shape(t)),
    "slices reduce_max": lambda t: tf.reduce_max(slices(t), 0),
    "slices reduce_mean abs": lambda t: tf.reduce_mean(tf.abs(slices(t))),
    "slices argmax": lambda t: tf.argmax(slices(t), 0),
    "slices cumsum": lambda t: tf.cumsum(slices(t)),
    "slices l2_loss": lambda t: tf.nn.l2_loss(slices(t)),
    "slices relu": lambda t: tf.nn.relu(slices(t)),
    "slices softmax": lambda t: tf.nn.softmax(slices(t)),
    "slices moments": lambda t: tf.nn.moments(slices(t), [0]),
    "slices zeros_like": lambda t: tf.zeros_like(slices(t)),
    "slices ones_like": lambda t: tf.ones_like(slices(t)),
    "slices shape": lambda t: tf.shape(slices(t)),
    "slices shape unknown": lambda t: tf.shape(slices_of_unknown_shape(t)),
    "slices size": lambda t: tf.size(slices(t)),
    "slices rank": lambda t: tf.rank(slices(t)),
    "slices add_n": lambda t: tf.add_n([slices(t), slices(t)]),
    "slices add_n one": lambda t: tf.add_n([slices(t)]),
    "slices add_n one named": lambda t: tf.add_n([slices(t)], name="k"),
    "slices concat": lambda t: tf.concat([slices(t), slices(t)], 0),
    "slices stack": lambda t: tf.stack([slices(t), slices(t)]),
    "slices stack one": lambda t: tf.stack([slices(t)], name="k"),
    "slices stack axis": lambda t: tf.stack([slices(t), slices(t)], axis=1),
    "slices stack second": lambda t: tf.stack([tf.zeros([5, 3]), slices(t)]),
    "slices packed": lambda t: tf.reduce_mean([slices(t), slices(t)], 0),
    "slices unstack": lambda t: tf.unstack(slices(t)),
    "slices split": lambda t: tf.split(slices(t), 5),
    "slices slice": lambda t: tf.slice(slices(t), [0, 0], [1, 1]),
    "slices gather": lambda t: tf.gather(slices(t), [0]),
    "slices pad": lambda t: tf.pad(slices(t), [[0, 1], [0, 0]]),
    "slices tile": lambda t: tf.tile(slices(t), [1, 2]),
    "slices where": lambda t: tf.where(tf.is_finite(slices(t)), slices(t), tf.zeros_like(slices(t))),
    "slices placeholder_with_default": lambda t: tf.placeholder_with_default(slices(t), [5, 3]),
    "slices assign": lambda t: tf.assign(variable(), slices(t)),
    "slices assign_add": lambda t: variable().assign_add(slices(t)),
    "slices assign_sub": lambda t: tf.assign_sub(variable(), slices(t)),
    "slices as initial value": lambda t: tf.Variable(slices(t), name="k"),
    "slices histogram": lambda t: tf.summary.histogram("k", slices(t)),
    "slices scalar": lambda t: tf.summary.scalar("k", slices(t)),
}
