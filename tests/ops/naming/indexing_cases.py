"""The calls of make_golden.py that index tensors, convert them or check them."""
import tensorflow.compat.v1 as tf


def scalar(dtype=tf.int32):
    return tf.placeholder(dtype, [], name="s")


def two_packs(t):
    with tf.name_scope("s"):
        tf.stack([t.b[0], 1.0])
        tf.stack([t.b[0], 1.0])


def check_all(t):
    v = tf.get_variable("v", [3])
    tf.matmul(t.x, tf.expand_dims(v, 1))
    tf.add_check_numerics_ops()


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
    "to_float": lambda t: tf.to_float(t.i),
    "to_float same": lambda t: tf.to_float(t.x),
    "to_double named": lambda t: tf.to_double(t.i, name="k"),
    "to_int32 value": lambda t: tf.to_int32(1.5),
    "to_int64": lambda t: tf.to_int64(t.x),
    "ensure_shape": lambda t: tf.ensure_shape(t.u, [2, None]),
    "ensure_shape unknown": lambda t: tf.ensure_shape(t.q, [2, None], name="k"),
    "ensure_shape wrong": lambda t: tf.ensure_shape(t.x, [3, 3]),
    "check_numerics": lambda t: tf.check_numerics(t.x, "m"),
    "check_numerics value": lambda t: tf.check_numerics([1.0, 2.0], "m", name="k"),
    "check_numerics int": lambda t: tf.check_numerics(t.i, "m"),
    "verify_tensor_all_finite": lambda t: tf.verify_tensor_all_finite(t.x, "m"),
    "verify_tensor_all_finite value": lambda t: tf.verify_tensor_all_finite(1.0, "m"),
    "add_check_numerics_ops": check_all,
    "Print": lambda t: tf.Print(t.x, [t.i, t.p], message="m", name="k"),
    "Print values": lambda t: tf.Print(1.0, [t.i, "text", 2], first_n=2, summarize=5),
    "Print nothing": lambda t: tf.Print(t.x, []),
    "is_numeric_tensor": lambda t: None,
    "assert_type": lambda t: tf.assert_type(t.x, tf.float32),
    "assert_type value": lambda t: tf.assert_type(1, tf.int32, name="k"),
    "assert_type wrong": lambda t: tf.assert_type(t.x, tf.int32, message="m"),
    "assert_integer": lambda t: tf.assert_integer(t.i),
    "assert_integer wrong": lambda t: tf.assert_integer(t.x),
    "assert_scalar": lambda t: tf.assert_scalar(1.0),
    "assert_scalar wrong": lambda t: tf.assert_scalar(t.x),
    "assert_scalar unknown": lambda t: tf.assert_scalar(t.q),
    "assert_rank": lambda t: tf.assert_rank(t.x, 2),
    "assert_rank wrong": lambda t: tf.assert_rank(t.x, 3, message="m"),
    "assert_rank dtype": lambda t: tf.assert_rank(t.x, 2.0),
    "assert_rank vector": lambda t: tf.assert_rank(t.x, tf.constant([2])),
    "assert_rank_at_least": lambda t: tf.assert_rank_at_least(t.x, 1, name="k"),
    "assert_rank_at_least wrong": lambda t: tf.assert_rank_at_least(t.x, 3),
    "assert_rank_in": lambda t: tf.assert_rank_in(t.x, [1, 2]),
    "assert_rank_in wrong": lambda t: tf.assert_rank_in(t.x, [0, 3]),
    "assert_rank unknown": lambda t: tf.assert_rank(t.q, 2, message="m"),
    "assert_rank_at_least unknown": lambda t: tf.assert_rank_at_least(t.q, 2),
    "assert_rank_in unknown": lambda t: tf.assert_rank_in(t.q, [1, 2, 3]),
    "assert_rank tensor": lambda t: tf.assert_rank(t.x, scalar()),
    # In TensorFlow, assertions of tensors that are not int32 are conditionals.
    "assert_less int": lambda t: tf.assert_less(t.i, t.i),
    "assert_positive int": lambda t: tf.assert_positive(t.i, summarize=5, message="m"),
    "assert_non_negative int": lambda t: tf.assert_non_negative(t.i, name="k"),
    "assert_negative int": lambda t: tf.assert_negative(t.i),
    "assert_non_positive int": lambda t: tf.assert_non_positive(t.i),
    "assert_greater data": lambda t: tf.assert_greater(t.i, 3, data=["wrong", t.i], message="m"),
    "assert_equal int": lambda t: tf.assert_equal(t.i, t.j[0]),
    "assert_equal same": lambda t: tf.assert_equal(t.x, t.x),
    "assert_none_equal int": lambda t: tf.assert_none_equal(t.i, 1),
    "assert_less_equal int": lambda t: tf.assert_less_equal(t.i, 1),
    "assert_greater_equal int": lambda t: tf.assert_greater_equal(t.i, 1),
    "assert_less values": lambda t: tf.assert_less([1, 2], 3),
    "assert_less values wrong": lambda t: tf.assert_less([1, 2], 2),
    "assert_positive value wrong": lambda t: tf.assert_positive(-1.0),
    "assert_equal strings wrong": lambda t: tf.assert_equal(["a", "b"], "a"),
    "assert_less dtypes": lambda t: tf.assert_less(t.x, 1),
    "assert_less shapes": lambda t: tf.assert_less(t.i, t.j),
}
