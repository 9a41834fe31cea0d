"""The calls of make_golden.py that index tensors, convert them or check them."""
import tensorflow.compat.v1 as tf


def scalar(dtype=tf.int32):
    return tf.placeholder(dtype, [], name="s")


def two_packs(t):
    with tf.name_scope("s"):
        tf.stack([t.b[0], 1.0])
        tf.stack([t.b[0], 1.0])


CASES = {
    "x[0]": lambda t: t.x[0],
    "x[-1]": lambda t: t.x[-1],
    "x[0][1]": lambda t: t.x[0][1],
    "x[5]": lambda t: t.x[5],
    "x[0, 0, 0]": lambda t: t.x[0, 0, 0],
    "x[..., ...]": lambda t: t.x[..., ...],
    "x[()]": lambda t: t.x[()],
    "x[:, 1:]": lambda t: t.x[:, 1:],
    "x[::0]": lambda t: t.x[::0],
    "x[..., tf.newaxis]": lambda t: t.x[..., tf.newaxis],
    "x[None]": lambda t: t.x[None],
    "u[0]": lambda t: t.u[0],
    "u[1:, 0]": lambda t: t.u[1:, 0],
    "u[:, 1]": lambda t: t.u[:, 1],
    "q[0]": lambda t: t.q[0],
    "x[2**40:]": lambda t: t.x[2**40:],
    "x[s]": lambda t: t.x[scalar()],
    "x[s64]": lambda t: t.x[scalar(tf.int64)],
    "x[0, s64]": lambda t: t.x[0, scalar(tf.int64)],
    "x[s:]": lambda t: t.x[scalar():],
    "x[:s64]": lambda t: t.x[:scalar(tf.int64)],
    "x[0, :s]": lambda t: t.x[0, :scalar()],
    "x[s, s64]": lambda t: t.x[scalar(), scalar(tf.int64)],
    "x[float]": lambda t: t.x[scalar(tf.float32)],
    "x[vector]": lambda t: t.x[t.j],
    "x[mask]": lambda t: t.x[t.p],
    "x[mask,]": lambda t: t.x[t.p,],
    "shape[0]": lambda t: tf.shape(t.u)[0],
    "shape[:1]": lambda t: tf.shape(t.u)[:1],
    "v[0]": lambda t: tf.get_variable("v", [5, 3])[0],
    "reshape shape[0]": lambda t: tf.reshape(t.u, [tf.shape(t.u)[0], 3, 1]),
    "two packs": two_packs,
    "packed inner": lambda t: tf.convert_to_tensor([[t.b, t.b], [t.b, [1.0, 2.0, 3.0]]]),
    "packed inner values": lambda t: tf.convert_to_tensor([[1.0, 2.0, 3.0], t.b]),
    "packed dtypes": lambda t: tf.convert_to_tensor([t.j, t.b]),
    "strided_slice masks": lambda t: tf.strided_slice(t.x, [0, 0, 1], [0, 0, 2], [1, 1, 1],
                                                      ellipsis_mask=1, new_axis_mask=2, name="k"),
    "strided_slice shrink new": lambda t: tf.strided_slice(t.x, [0, 0], [1, 1], [1, 1],
                                                           new_axis_mask=1, shrink_axis_mask=3),
}
