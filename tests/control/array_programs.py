"""Programs of make_golden.py with TensorArray, map_fn, scan and the folds."""
import numpy as np
import tensorflow.compat.v1 as tf

from programs import both, grads, other_nodes, program, scalar


@program
@other_nodes
def array_write_read():
    x = scalar("x")
    ta = tf.TensorArray(tf.float32, size=3, clear_after_read=False)
    ta = ta.write(0, x).write(1, x * x).write(2, 3.0)
    a, b = ta.read(1), ta.read(tf.constant(0))
    y = a * b
    return [y, a, b, ta.size(), ta.read(2)] + grads(y, x), [{x: 1.5}, {x: -2.0}]


@program
@other_nodes
def array_stack():
    x = tf.placeholder(tf.float32, [2], name="x")
    ta = tf.TensorArray(tf.float32, size=3, name="kept")
    for i in range(3):
        ta = ta.write(i, x * float(i + 1))
    y = ta.stack()
    return [y] + grads(tf.square(y), x), [{x: [1.0, -2.0]}]


@program
@other_nodes
def array_unstack():
    x = tf.placeholder(tf.float32, [None, 2], name="x")
    n = tf.shape(x)[0]
    ta = tf.TensorArray(tf.float32, n).unstack(x)
    first = ta.read(0)
    rows = tf.TensorArray(tf.float32, n, clear_after_read=False).unstack(x)
    y = rows.gather([1, 0])
    z = rows.read(n - 1, name="last")
    return [first, y, z] + grads([y, z], x), [
        {x: [[1.0, 2.0], [3.0, 4.0]]}, {x: [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]}]


@program
def array_scatter():
    x = tf.placeholder(tf.float32, [2, 2], name="x")
    ta = tf.TensorArray(tf.float32, size=4, element_shape=[2])
    ta = ta.scatter([3, 1], x).write(0, [1.0, 2.0]).write(2, [0.5, 0.5], name="half")
    y = ta.stack(name="all")
    return [y] + grads(tf.square(y), x), [{x: [[1.0, 2.0], [3.0, 4.0]]}]


@program
def array_split_concat():
    x = tf.placeholder(tf.float32, [5, 2], name="x")
    ta = tf.TensorArray(tf.float32, size=2, infer_shape=False).split(x, [2, 3])
    y = ta.concat()
    return [y] + grads(tf.square(y), x), [{x: np.arange(10.0).reshape(5, 2)}]


@program
def array_equal_pieces():
    x = tf.placeholder(tf.float32, [4], name="x")
    ta = tf.TensorArray(tf.float32, size=2, clear_after_read=False).split(x, [2, 2])
    y = tf.square(ta.read(1))
    z = ta.concat()
    return [y, z] + grads(y, x), [{x: [1.0, 2.0, 3.0, 4.0]}]


@program
def array_of_integers():
    x = tf.placeholder(tf.int32, [None], name="x")
    ta = tf.TensorArray(tf.int32, size=tf.size(x)).unstack(x)
    return [ta.stack()], [{x: [1, 2, 3]}, {x: [4]}]


@program
def array_twice_differentiated():
    x = scalar("x")
    ta = tf.TensorArray(tf.float32, size=2)
    y = ta.write(0, x * x).write(1, x).stack()
    return grads(y, x) + grads(tf.square(y), x), [{x: 1.5}]


@program
def array_unread_element():
    x, y = scalar("x"), scalar("y")
    ta = tf.TensorArray(tf.float32, size=2)
    z = ta.write(0, x * 2.0).write(1, y).read(0)
    return [z] + grads(z, x, y), [{x: 1.5, y: 3.0}]


@program
def array_dynamic():
    x = scalar("x")
    ta = tf.TensorArray(tf.float32, size=0, dynamic_size=True)
    ta = ta.write(0, x).write(2, x * x).write(1, 1.0)
    y = ta.stack()
    return [y, ta.size()] + grads(y, x), [{x: 1.5}]


@program
def array_closed():
    ta = tf.TensorArray(tf.float32, size=1).write(0, 1.0)
    with tf.control_dependencies([ta.flow]):
        done = ta.close()
    with tf.control_dependencies([done]):
        y = ta.identity().read(0)
    return [y], [{}]


@program
def array_in_loop():
    x = scalar("x")
    ta = tf.TensorArray(tf.float32, size=4)
    _, z, ta = tf.while_loop(lambda i, z, ta: i < 4,
                             lambda i, z, ta: (i + 1, z * x, ta.write(i, z)), (0, x, ta))
    y = ta.stack()
    return [y, z] + grads(y, x), [{x: 1.5}]


@program
@other_nodes
def array_read_in_loop():
    x = tf.placeholder(tf.float32, [None, 2], name="x")
    n = tf.shape(x)[0]
    source = tf.TensorArray(tf.float32, n).unstack(x)
    kept = tf.TensorArray(tf.float32, n)

    def body(i, state, kept):
        state = state * 0.5 + source.read(i)
        return i + 1, state, kept.write(i, state)

    _, last, kept = tf.while_loop(lambda i, *_: i < n, body, (0, tf.constant([1.0, 2.0]), kept))
    y = kept.stack()
    return [y, last] + grads(tf.square(y), x), [
        {x: [[1.0, 2.0], [3.0, -1.0]]}, {x: [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]}]


@program
def array_grows_in_loop():
    n, x = scalar("n", tf.int32), scalar("x")
    ta = tf.TensorArray(tf.float32, size=0, dynamic_size=True)
    _, ta = tf.while_loop(lambda i, ta: i < n,
                          lambda i, ta: (i + 1, ta.write(i, x * tf.cast(i, tf.float32))), (0, ta))
    y = ta.stack()
    return [y, ta.size()] + grads(y, x), [{n: 3, x: 1.5}, {n: 1, x: 2.0}]


@program
def array_made_in_loop():
    x = scalar("x")

    def body(i, z, kept):
        ta = tf.TensorArray(tf.float32, size=2).write(0, z).write(1, x)
        z = tf.reduce_sum(ta.stack())
        return i + 1, z, kept.write(i, z)

    kept = tf.TensorArray(tf.float32, size=3)
    _, z, kept = tf.while_loop(lambda i, *_: i < 3, body, (0, x, kept))
    after = tf.TensorArray(tf.float32, size=1).write(0, z)
    return [kept.stack(), after.read(0)], [{x: 1.5}]


@program
def array_in_cond():
    p, x = scalar("p", tf.bool), scalar("x")
    ta = tf.TensorArray(tf.float32, size=2).write(0, x)
    ta = tf.cond(p, lambda: ta.write(1, x * x), lambda: ta.write(1, 5.0))
    y = ta.stack()
    return [y] + grads(y, x), both(p, x)


@program
def array_in_nested_structure():
    x = scalar("x")
    a, b = tf.TensorArray(tf.float32, size=3), tf.TensorArray(tf.float32, size=3)

    def body(i, arrays):
        a, (z, b) = arrays
        return i + 1, (a.write(i, z), (z * x, b.write(i, z + 1.0)))

    _, (a, (z, b)) = tf.while_loop(lambda i, _: i < 3, body, (0, (a, (x, b))))
    y = a.stack() * b.stack()
    return [y, z] + grads(y, x), [{x: 1.5}]


@program
def map_of_rows():
    x = tf.placeholder(tf.float32, [3, 2], name="x")
    y = tf.map_fn(tf.square, x)
    return [y] + grads(y, x), [{x: [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]}]


@program
def map_of_unknown_size():
    x = tf.placeholder(tf.float32, [None, 2], name="x")
    y = tf.map_fn(lambda row: tf.square(row) + row, x, name="sums", parallel_iterations=3)
    return [y] + grads(tf.square(y), x), [
        {x: [[1.0, 2.0], [3.0, 4.0]]}, {x: [[1.0, 2.0]]}]


@program
def map_of_two():
    x, y = tf.placeholder(tf.float32, [3], name="x"), tf.placeholder(tf.float32, [None], name="y")
    z = tf.map_fn(lambda both: both[0] * both[1], (x, y), dtype=tf.float32)
    return [z] + grads(z, x, y), [{x: [1.0, 2.0, 3.0], y: [4.0, 5.0, 6.0]}]


@program
def map_to_other_dtypes():
    x = tf.placeholder(tf.float32, [None], name="x")
    a, b = tf.map_fn(lambda e: (tf.cast(e, tf.int32), e + 1.0), x, dtype=(tf.int32, tf.float32))
    return [a, b] + grads(b, x), [{x: [1.5, 2.5]}]


@program
@other_nodes
def map_with_variable():
    x = tf.placeholder(tf.float32, [None, 2], name="x")
    w = tf.get_variable("w", [2], initializer=tf.constant_initializer(0.5))
    y = tf.map_fn(lambda row: row * w, x)
    init = tf.global_variables_initializer()
    return [y] + grads(tf.square(y), x, w), [(init, {}), {x: [[1.0, 2.0], [3.0, 4.0]]}]


@program
def map_in_map():
    x = tf.placeholder(tf.float32, [2, 3], name="x")
    y = tf.map_fn(lambda row: tf.map_fn(tf.square, row), x)
    return [y] + grads(y, x), [{x: [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]}]


@program
def map_without_gradient():
    x = tf.placeholder(tf.float32, [2], name="x")
    y = tf.map_fn(lambda e: e * e, x, back_prop=False, infer_shape=False)
    return [y], [{x: [1.0, 2.0]}]


@program
def scan_sums():
    x = tf.placeholder(tf.float32, [None, 2], name="x")
    y = tf.scan(lambda a, e: tf.square(a) + e, x)
    return [y] + grads(tf.square(y), x), [
        {x: [[1.0, 2.0], [3.0, 4.0]]}, {x: [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]}]


@program
def scan_with_initializer():
    x, s = tf.placeholder(tf.float32, [3], name="x"), scalar("s")
    y = tf.scan(lambda a, e: a * e, x, s, name="products")
    return [y] + grads(y, x, s), [{x: [1.0, 2.0, 3.0], s: 1.5}]


@program
def scan_reverse():
    x = tf.placeholder(tf.float32, [3], name="x")
    y = tf.scan(lambda a, e: a + e * e, x, reverse=True)
    return [y] + grads(y, x), [{x: [1.0, 2.0, 3.0]}]


@program
def scan_reverse_of_unknown_size():
    x = tf.placeholder(tf.float32, [None], name="x")
    y = tf.scan(lambda a, e: a + e, x, initializer=0.5, reverse=True, infer_shape=False)
    return [y] + grads(y, x), [{x: [1.0, 2.0, 3.0]}, {x: [4.0]}]


@program
def scan_fibonacci():
    x = tf.placeholder(tf.int32, [6], name="x")
    a, b = tf.scan(lambda a, _: (a[1], a[0] + a[1]), x, (0, 1))
    return [a, b], [{x: [0] * 6}]


@program
def fold_left():
    x = tf.placeholder(tf.float32, [3], name="x")
    y = tf.foldl(lambda a, e: a * 0.5 + e, x)
    return [y] + grads(y, x), [{x: [1.0, 2.0, 3.0]}]


@program
@other_nodes
def fold_left_from_initializer():
    x, s = tf.placeholder(tf.float32, [None, 2], name="x"), scalar("s")
    y = tf.foldl(lambda a, e: a * tf.reduce_sum(e), x, s, name="left")
    return [y] + grads(y, x, s), [{x: [[1.0, 2.0], [3.0, 4.0]], s: 1.5}]


@program
@other_nodes
def fold_left_then_gathered():
    x = tf.placeholder(tf.float32, [None, 3], name="x")
    y = tf.gather(tf.foldl(lambda a, e: a - e, x, tf.constant([0.5, 1.0, -2.0])), [0, 0, 2])
    return [y] + grads(y, x), [{x: [[1.0, 2.0, 4.0], [3.0, 4.0, 0.5]]}]


@program
def fold_right():
    x = tf.placeholder(tf.float32, [None], name="x")
    y = tf.foldr(lambda a, e: a * 0.5 + e, x)
    return [y] + grads(y, x), [{x: [1.0, 2.0, 3.0]}, {x: [5.0]}]


@program
def fold_right_of_two():
    x, y = tf.placeholder(tf.float32, [3], name="x"), tf.placeholder(tf.float32, [3], name="y")
    z = tf.foldr(lambda a, e: a * e[0] + e[1], (x, y), 1.0)
    return [z] + grads(z, x, y), [{x: [1.0, 2.0, 3.0], y: [4.0, 5.0, 6.0]}]


@program
def error_array_without_size():
    tf.TensorArray(tf.float32)
    return [], []


@program
def error_array_of_handle_and_size():
    ta = tf.TensorArray(tf.float32, size=1)
    tf.TensorArray(tf.float32, handle=ta.handle, flow=ta.flow, size=1)
    return [], []


@program
def error_array_shapes():
    ta = tf.TensorArray(tf.float32, size=2).write(0, [1.0, 2.0])
    ta.write(1, [1.0, 2.0, 3.0])
    return [], []


@program
def error_array_index_type():
    tf.TensorArray(tf.float32, size=2).write(tf.constant(0, tf.int64), 1.0)
    return [], []


@program
def error_array_written_outside():
    i = scalar("i", tf.int32)
    y = tf.TensorArray(tf.float32, size=2).write(i, 1.0)
    return [y.flow], [{i: 1}, {i: 2}, {i: -1}]


@program
def error_array_written_twice():
    y = tf.TensorArray(tf.float32, size=2).write(0, 1.0).write(0, 2.0)
    return [y.flow], [{}]


@program
def error_array_read_twice():
    ta = tf.TensorArray(tf.float32, size=1).write(0, 1.0)
    a = ta.read(0)
    with tf.control_dependencies([a]):
        b = ta.read(0)
    return [b], [{}]


@program
def error_array_read_outside():
    i = scalar("i", tf.int32)
    y = tf.TensorArray(tf.float32, size=2).write(0, 1.0).read(i)
    return [y], [{i: 0}, {i: 1}, {i: 2}]


@program
def error_array_shapes_in_run():
    x = tf.placeholder(tf.float32, [None], name="x")
    ta = tf.TensorArray(tf.float32, size=2).write(0, [1.0, 2.0]).write(1, x)
    return [ta.stack()], [{x: [3.0, 4.0]}, {x: [3.0]}]


@program
def error_array_shapes_stacked():
    x = tf.placeholder(tf.float32, None, name="x")
    ta = tf.TensorArray(tf.float32, size=2, infer_shape=False).write(0, [1.0, 2.0]).write(1, x)
    return [ta.stack()], [{x: [3.0, 4.0]}, {x: [3.0]}]


@program
def error_array_lengths():
    n = tf.placeholder(tf.int32, [None], name="n")
    ta = tf.TensorArray(tf.float32, size=2, infer_shape=False).split([1.0, 2.0, 3.0], n)
    return [ta.concat()], [{n: [1, 2]}, {n: [1, 1]}, {n: [1, 1, 1]}, {n: [3]}]


@program
def error_array_empty():
    n = scalar("n", tf.int32)
    return [tf.TensorArray(tf.float32, size=n).stack()], [{n: 0}]


@program
def error_array_size():
    n = scalar("n", tf.int32)
    return [tf.TensorArray(tf.float32, size=n).flow], [{n: 0}, {n: -1}]


@program
def error_map_of_scalar():
    tf.map_fn(lambda e: e, scalar("x"))
    return [], []


@program
def error_map_of_unlike_sizes():
    tf.map_fn(lambda e: e[0], (tf.zeros([2]), tf.zeros([3])), dtype=tf.float32)
    return [], []
