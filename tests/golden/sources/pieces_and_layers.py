"""Activations, dropout, embeddings, splitting, padding and one-hot tensors."""

from oracle.builder import Program
from sources.numerics import check, constant, counter


def activations():
    p = Program("activations", "elu, selu, softplus, softsign, relu6, leaky_relu: values and slopes")
    names = ("elu", "selu", "softplus", "softsign", "relu6", "leaky_relu")
    for op in names:
        x = constant(p, [3, 5], exponent=2)
        check(p, p.call(op, x), [3, 5], [x])
        x = p.constant([-200.0, -20.0, -1e-6, 0.0, 1e-6, 5.5, 6.5, 20.0, 200.0])
        check(p, p.call(op, x, name="k"), [9], [x])
    x = p.placeholder("float32", [None, 2])
    for op in names:
        p.call(op, x)
        p.call(op, [1.0, -2.0])
        p.call(op, p.constant([True]))
        y = p.call(op, p.constant([-3, 0, 9]))
        p.run([y])
        p.call(op, p.constant(["a"]))
    x = constant(p, [4], dtype="float64")
    for op in names:
        check_double(p, p.call(op, x), x)
    x = constant(p, [4])
    check(p, p.leaky_relu(x, 0.01, name="slow"), [4], [x])
    check(p, p.leaky_relu(x, alpha=1.5), [4], [x])
    return p


def check_double(p, y, x):
    p.run([y, p.gradients([y], [x])[0]])


def one_hots():
    p = Program("one_hot", "on and off values, axes, dtypes, indices outside")
    i = p.constant([0, 2, -1, 3, 1])
    m = p.constant([[1, 0], [2, 2]], "int64")
    p.run([p.one_hot(i, 3), p.one_hot(m, 3), p.one_hot(m, 3, axis=0), p.one_hot(m, 2, axis=1)])
    p.run([p.one_hot(i, 3, 5, -1, name="k"), p.one_hot(i, 3, 5.0), p.one_hot(i, 3, off_value=2.0),
           p.one_hot(i, 3, 5, -1, dtype="float32"), p.one_hot(i, 3, dtype="int64"),
           p.one_hot(i, 3, True, False), p.one_hot(p.constant([1, 0], "uint8"), 2),
           p.one_hot([1, 2], 3), p.one_hot(1, 3), p.one_hot(i, 0)])
    p.one_hot(i, 3, 5, 0.5)
    p.one_hot(i, 3, 5.0, dtype="int32")
    p.one_hot(p.constant([1.0]), 3)
    p.one_hot(p.constant([1], "int16"), 3)
    p.one_hot(i, -3)
    p.one_hot(i, [3])
    p.one_hot(i, 3.5)
    wide = p.one_hot(i, 3, [1.0])
    p.run([wide])
    p.one_hot(i, 3, axis=-2)
    beyond = p.one_hot(i, 3, axis=7)
    p.run([beyond])
    depth, index = p.placeholder("int32", []), p.placeholder("int32", None)
    late = p.one_hot(index, depth)
    p.one_hot(p.placeholder("int32", [None, 4]), depth, axis=1)
    p.run([late], [[depth, 4], [index, [[1], [3]]]])
    p.run([late], [[depth, -4], [index, [1]]])
    x = constant(p, [3])
    p.gradients([p.one_hot(p.constant([1, 0]), 3) * x], [x])
    return p


def splits():
    p = Program("split", "equal pieces, sizes, an open size, gradients of some pieces")
    x = constant(p, [4, 6])
    for num, axis in ((2, 0), (3, 1), (6, -1), (1, 1)):
        parts = p.split(x, num, axis)
        shape = [4 // num, 6] if axis == 0 else [4, 6 // num]
        check(p, parts[num - 1], shape, [x])
        check(p, parts[0] * 2.0, shape, [x])
    parts = p.split(x, [1, 2, 3], 1, name="k")
    check(p, parts[0], [4, 1], [x])
    check(p, p.concat([parts[2], parts[1]], 1), [4, 5], [x])
    parts = p.split(x, [1, -1])
    check(p, parts[1], [3, 6], [x])
    p.run([p.split([1, 2, 3, 4], 2)[1], p.split(p.constant(["a", "b"]), 2)[0]])
    p.split(x, 4, 1)
    p.split(x, 2, 5)
    p.split(x, 2, -3)
    p.split(x, 0, 1)
    p.split(x, [1, 1], 1)
    p.split(x, [4, 4], 1)
    p.split(x, [-1, -1, 1], 1)
    p.split(x, [7, -1], 1)
    p.split(x, [-2, 8], 1)
    p.split(x, p.constant(2), 1)
    p.split(x, 2, [1])
    p.split(x, [0.5, 5.5], 1)
    sizes, axis = p.placeholder("int32", [2]), p.placeholder("int32", [])
    u = p.placeholder("float32", None)
    known = p.split(x, sizes, 1)
    late = p.split(u, 2, axis)
    p.split(u, [1, 2], 1)
    p.split(x, p.placeholder("int32", None), 1)
    given = p.split(x, p.placeholder("int64", [None]), 1, 3)
    p.split(p.placeholder("float32", [None, 6]), 2)
    p.split(p.placeholder("float32", [None, 6]), [1, -1])
    p.run([known[0], known[1]], [[sizes, [2, 4]]])
    p.run([known[0]], [[sizes, [2, 3]]])
    p.run([known[0]], [[sizes, [-1, 3]]])
    p.run([late[1]], [[u, [[1.0, 2.0], [3.0, 4.0]]], [axis, 1]])
    p.run([late[1]], [[u, [[1.0, 2.0, 3.0]]], [axis, 1]])
    p.identity(given[2])
    return p


def pads():
    p = Program("pad", "constants, reflections, their gradients")
    x = constant(p, [3, 4])
    check(p, p.pad(x, [[1, 2], [0, 3]]), [6, 7], [x])
    check(p, p.pad(x, [[1, 0], [0, 1]], constant_values=2.5), [4, 5], [x])
    check(p, p.pad(x, [[0, 0], [0, 0]], name="k"), [3, 4], [x])
    for mode in ("REFLECT", "symmetric"):
        check(p, p.pad(x, [[2, 1], [0, 3]], mode), [6, 7], [x])
        check(p, p.pad(x, [[2, 2], [3, 1]], mode, "m"), [7, 8], [x])
    check(p, p.pad(x, [[3, 3], [4, 4]], "SYMMETRIC"), [9, 12], [x])
    y = constant(p, [2, 3, 2])
    check(p, p.pad(y, [[1, 1], [2, 0], [0, 1]], "REFLECT"), [4, 5, 3], [y])
    i = p.constant([[1, 2], [3, 4]])
    p.run([p.pad(i, [[1, 1], [0, 2]]), p.pad(i, [[1, 1], [0, 2]], constant_values=9),
           p.pad(i, p.constant([[1, 0], [0, 0]], "int64"), "REFLECT"), p.pad([1, 2], [[1, 1]])])
    far = p.pad(x, [[3, 0], [0, 0]], "REFLECT")
    farther = p.pad(x, [[4, 0], [0, 0]], "SYMMETRIC")
    p.run([far])
    p.run([farther])
    p.pad(x, [[1, 1]])
    p.pad(x, [1, 1])
    p.pad(x, [[1, 1, 1], [1, 1, 1]])
    p.pad(x, [[1, -1], [0, 0]])
    p.pad(x, [[1, 1], [0, 0]], "foo")
    p.pad(x, [[0.5, 1.0], [0.0, 0.0]])
    p.pad(x, [[1, 1], [0, 0]], constant_values=p.constant(1))
    t, u = p.placeholder("int32", None), p.placeholder("float32", None)
    late = p.pad(u, t)
    p.pad(x, p.placeholder("int32", [2, 2]))
    p.pad(u, [[1, 1], [0, 2]])
    p.pad(p.placeholder("float32", [None, 4]), [[1, 1], [0, 2]], "REFLECT")
    slope = p.gradients([late], [u])[0]
    p.run([late, slope], [[u, [[1.0, 2.0]]], [t, [[1, 0], [0, 2]]]])
    p.run([late], [[u, [[1.0, 2.0]]], [t, [[1, 0]]]])
    p.run([late], [[u, [[1.0, 2.0]]], [t, [[1, -1], [0, 0]]]])
    return p


def dropouts():
    p = Program("dropout", "what is dropped from a seed, scales, seeds of the ops behind")
    x = constant(p, [40, 25])
    check(p, p.dropout(x, 0.5, seed=3), [40, 25], [x])
    check(p, p.dropout(x, 0.9, seed=4, name="d"), [40, 25], [x])
    check(p, p.dropout(x, 0.3, [40, 1], 5), [40, 25], [x])
    d = constant(p, [8, 3], dtype="float64")
    p.run([p.dropout(d, 0.75, seed=6)])
    keep = p.placeholder("float32", [])
    late = p.dropout(x, keep, seed=7)
    slope = p.gradients([late], [x])[0]
    p.run([late, slope], [[keep, 0.4]])
    p.run([late], [[keep, 1.0]])
    p.dropout(x, p.placeholder("float32", None))
    p.dropout(p.placeholder("float32", None), 0.5)
    p.dropout(p.placeholder("float32", [None, 3]), 0.5)
    p.dropout([1.0, 2.0], 0.5)
    p.dropout(x, 1.0)
    p.dropout(x, 1)
    p.dropout(x, 0.0)
    p.dropout(x, 1.5)
    p.dropout(p.constant([1, 2]), 0.5)
    p.dropout(x, p.constant(1))
    p.dropout(x, p.constant([0.5, 0.5]))
    p.dropout(x, p.constant(0.5, "float64"))
    return p


def dropout_seeds():
    p = Program("dropout_seeds", "a graph's seed counts every dropout, also of nothing")
    p.set_random_seed(11)
    x = constant(p, [30])
    ops = [p.dropout(x, 0.5), p.dropout(x, 1.0), p.dropout(x, 0.5), p.random_uniform([3])]
    p.run(ops)
    return p


def lookups():
    p = Program("lookups", "embedding_lookup and l2_normalize")
    table = p.get_variable("table", initializer=(
        [[1.0, 2.0, 2.0], [0.0, 0.0, 0.0], [3.0, 0.0, 4.0], [0.1, 0.2, 0.2], [1.0, 1.0, 1.0]]))
    ids = p.constant([2, 0, 2])
    p.run([p.global_variables_initializer()])
    rows = p.embedding_lookup(table, ids)
    limited = p.embedding_lookup(table, [[3, 2]], max_norm=1.0, name="e")
    p.gradients([rows], [table])
    p.run([rows, limited])
    x = constant(p, [4, 3])
    p.run([p.embedding_lookup(x, [1, 1, 0])])
    p.embedding_lookup(p.placeholder("float32", None), ids, max_norm=2.0)
    p.embedding_lookup(x, p.placeholder("int64", None))
    p.embedding_lookup(x, [0.5])
    outside = p.embedding_lookup(x, [9])
    p.run([outside])
    check(p, p.l2_normalize(x, 1), [4, 3], [x])
    check(p, p.l2_normalize(x), [4, 3], [x])
    check(p, p.l2_normalize(x, [0, 1], 5.0, "q"), [4, 3], [x])
    p.run([p.l2_normalize([[3.0, 4.0], [0.0, 0.0]], -1)])
    p.l2_normalize(x, 4)
    return p


def programs():
    counter[0] = 600
    return [activations(), one_hots(), splits(), pads(), dropouts(), dropout_seeds(), lookups()]
