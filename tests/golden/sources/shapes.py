"""Static shapes: inference and errors."""

from oracle.builder import Program


def partial_shapes():
    p = Program("partial_shapes", "unknown dimensions through ops")
    x = p.placeholder("float32", [None, 4], name="x")
    y = p.placeholder("float32", [None, 4], name="y")
    u = p.placeholder("float32", name="u")
    x + y, x + u, u * 2.0
    p.matmul(x, p.ones([4, 3]))
    p.reshape(x, [-1, 2, 2]), p.reshape(x, [-1]), p.reshape(u, [2, -1])
    p.concat([x, y], 0), p.concat([x, y], 1), p.concat([x, x], -1)
    p.reduce_sum(x), p.reduce_sum(x, 0), p.reduce_sum(x, 1, True), p.reduce_mean(u, 0)
    p.expand_dims(x, -1), p.squeeze(p.ones([1, 3, 1])), p.argmax(x, 1)
    p.transpose(x), p.stack([x, y]), p.add_n([x, y]), p.gather(x, [0, 0, 0])
    p.zeros_like(x), p.shape(x), p.cast(x, "int32"), p.softmax(x)
    return p


def convolution_shapes():
    p = Program("convolution_shapes", "conv2d, max_pool, bias_add: output sizes and errors")
    x = p.placeholder("float32", [None, 7, 6, 3], name="x")
    w = p.placeholder("float32", [3, 3, 3, 8], name="w")
    for padding in ("SAME", "VALID"):
        for stride in (1, 2, 3):
            p.conv2d(x, w, [1, stride, stride, 1], padding)
            p.max_pool(x, [1, 3, 3, 1], [1, stride, stride, 1], padding)
    p.conv2d(x, w, [1, 1, 1, 1], "OTHER")
    p.conv2d(x, p.placeholder("float32", [3, 3, 4, 8]), [1, 1, 1, 1], "SAME")
    p.conv2d(x, p.placeholder("float32", [3, 3, 3]), [1, 1, 1, 1], "SAME")
    p.conv2d(x, p.placeholder("float32", [9, 9, 3, 8]), [1, 1, 1, 1], "VALID")
    p.max_pool(x, [1, 9, 9, 1], [1, 1, 1, 1], "VALID")
    p.max_pool(p.placeholder("float32", [3, 3]), [1, 2, 2, 1], [1, 2, 2, 1], "SAME")
    p.bias_add(x, p.placeholder("float32", [3]))
    p.bias_add(x, p.placeholder("float32", [4]))
    p.bias_add(x, p.placeholder("float32", [1, 3]))
    return p


def transposed_shapes():
    p = Program("transposed_convolution_shapes", "conv2d_transpose: sizes known in part, errors")
    x = p.placeholder("float32", [None, 4, 3, 8], name="x")
    w = p.placeholder("float32", [3, 3, 2, 8], name="w")
    strides = [1, 2, 2, 1]
    batch = p.gather(p.shape(x), 0)
    p.conv2d_transpose(x, w, p.stack([batch, 8, 6, 2]), strides)
    p.conv2d_transpose(x, w, [batch, 7, 5, 2], strides)
    p.conv2d_transpose(x, w, [batch, 9, 7, 2], strides, "VALID")
    p.conv2d_transpose(x, w, p.placeholder("int32", [4]), strides)
    p.conv2d_transpose(x, w, p.placeholder("int32", None), strides)
    p.conv2d_transpose(x, w, p.shape(p.placeholder("float32", [None, 8, 6, 2])), strides)
    p.conv2d_transpose(p.placeholder("float32", [5, 4, 3, 8]), w, [5, 8, 6, 2], strides)
    p.conv2d_transpose(x, w, [5, 8, 6], strides)
    p.conv2d_transpose(x, w, [5, 8, 6, 2], strides, "OTHER")
    p.conv2d_transpose(x, p.placeholder("float32", [3, 3, 8, 2]), [5, 8, 6, 2], strides)
    p.conv2d_transpose(x, p.placeholder("float32", [3, 3, 8]), [5, 8, 6, 2], strides)
    return p


def conflicts():
    p = Program("conflicts", "shapes that do not fit")
    a, b = p.placeholder("float32", [2, 3], name="a"), p.placeholder("float32", [4], name="b")
    a + b
    p.multiply(a, b)
    p.matmul(a, b)
    p.matmul(a, a)
    p.concat([a, b], 0), p.concat([a, a], 2), p.concat([a, a], -3)
    p.reshape(a, [4, 2]), p.reshape(a, [-1, -1]), p.reshape(a, [-1, 4])
    p.reduce_sum(a, 2), p.reduce_sum(a, -3), p.argmax(a, 2), p.expand_dims(a, 3)
    p.add_n([a, b]), p.stack([a, b]), p.squeeze(a, [0])
    p.sparse_softmax_cross_entropy_with_logits(p.placeholder("int32", [3]), a)
    p.sparse_softmax_cross_entropy_with_logits(p.placeholder("int32", [2]), a)
    p.in_top_k(a, p.placeholder("int32", [3]), 1)
    p.transpose(a, [0, 0]), p.fill([-1], 1.0)
    return p


def dtype_conflicts():
    p = Program("dtype_conflicts", "dtypes that do not fit")
    f, i = p.placeholder("float32", [2], name="f"), p.placeholder("int32", [2], name="i")
    d = p.placeholder("float64", [2], name="d")
    f + i
    f + d
    p.add(f, i)
    f + 1
    i + 1.5
    i / i
    f / 2
    p.matmul(p.ones([2, 2]), p.ones([2, 2], "float64"))
    p.concat([f, i], 0), p.stack([f, i]), p.add_n([f, i])
    p.relu(p.placeholder("bool", [2])), p.sqrt(i), p.gather(f, f)
    p.constant("text", "float32"), p.constant(1.5, "int32"), p.constant([1, 2.5])
    p.constant([[1, 2], [3]])
    p.assign(p.Variable(1.0, name="v"), i)
    p.in_top_k(p.placeholder("float32", [2, 3]), f, 1)
    return p


def constants():
    p = Program("constants", "dtypes and shapes of constants, by value and by argument")
    for value in (1, 1.0, True, "text", [1, 2], [[1.0, 2.0]], [True], ["a", "b"], 2147483648, []):
        p.constant(value)
    p.constant(1, "float32")
    p.constant(0.5, shape=[2, 3])
    p.constant([1, 2, 3, 4], shape=[2, 2])
    p.constant([1, 2, 3], shape=[2, 2])
    p.constant([1, 2, 3, 4, 5], shape=[2, 2])
    p.constant(7, "int64", [2])
    p.constant(300, "uint8")
    return p


def set_shape():
    p = Program("set_shape", "set_shape merges, and refuses what contradicts")
    x = p.placeholder("float32", name="x")
    p.get_shape(x)
    p.set_shape(x, [None, 3])
    p.get_shape(x)
    p.set_shape(x, [2, None])
    p.set_shape(x, [5, 3])
    p.set_shape(x, [2])
    p.get_shape(x)
    p.reshape(x, [-1])
    return p


def assigned_shapes():
    p = Program("assigned_shapes", "assign, assign_add and feeds of another shape")
    v = p.get_variable("v", [2])
    p.assign(v, [1.0, 2.0, 3.0])
    p.assign_add(v, [1.0, 2.0, 3.0])
    p.assign_add(v, 1.0)
    x = p.placeholder("float32", [None, 2], name="x")
    y = x * 2.0
    p.run([y], [[x, [[1.0, 2.0]]]])
    p.run([y], [[x, [1.0, 2.0]]])
    p.run([y], [[x, [[1.0, 2.0, 3.0]]]])
    p.run([y])
    p.run([y], [[y, [[1.0, 1.0]]]])
    p.run([y, y], [[x, [[3, 4], [5, 6]]]])
    return p


def programs():
    return [partial_shapes(), convolution_shapes(), transposed_shapes(), conflicts(),
            dtype_conflicts(), constants(), set_shape(), assigned_shapes()]
