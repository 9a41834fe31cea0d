"""Values and gradients of every op, with given grad_ys."""

from oracle.builder import Program, generate

counter = [100]


def constant(p, shape, **options):
    """Returns a constant with values from a new stream."""
    counter[0] += 1
    return p.constant(generate(counter[0], shape, **options))


def check(p, y, shape, xs):
    """Runs y of `shape` and the gradients of y with respect to `xs` with a generated grad_ys."""
    grads = p.gradients([y], xs, [constant(p, shape)])
    p.run([y] + [grads[i] for i in range(len(xs))])


def program(name, about):
    def wrap(build):
        def make():
            p = Program(name, about)
            build(p)
            return p
        MAKERS.append(make)
        return make
    return wrap


MAKERS = []


@program("arithmetic", "operators and their broadcasting")
def arithmetic(p):
    shapes = (([2, 3], [2, 3], [2, 3]), ([2, 3], [3], [2, 3]), ([2, 1, 3], [4, 1], [2, 4, 3]),
              ([5], [], [5]), ([], [2, 2], [2, 2]))
    for a_shape, b_shape, out in shapes:
        for op in ("add", "subtract", "multiply", "divide"):
            a, b = constant(p, a_shape), constant(p, b_shape, kind="positive", exponent=1)
            check(p, p.call(op, a, b), out, [a, b])
    x = constant(p, [4])
    check(p, 1.0 - x * 2.0 / 3.0 + 0.25, [4], [x])
    check(p, -x, [4], [x])


@program("unary", "elementwise functions of one argument")
def unary(p):
    for op in ("square", "exp", "negative", "relu", "identity", "tanh", "sigmoid"):
        x = constant(p, [3, 5], exponent=1)
        check(p, p.call(op, x), [3, 5], [x])
    for op in ("sqrt", "log"):
        x = constant(p, [3, 5], kind="positive", exponent=1)
        check(p, p.call(op, x), [3, 5], [x])
    x = p.constant([-1.0, 0.0, 2.0])
    check(p, p.relu(x), [3], [x])


@program("double", "the same ops in float64")
def double(p):
    a, b = constant(p, [3, 4], dtype="float64"), constant(p, [4, 2], dtype="float64")
    y = p.reduce_mean(p.square(p.matmul(a, b)), 1)
    gy = constant(p, [3], dtype="float64")
    grads = p.gradients([y], [a, b], [gy])
    p.run([y, grads[0], grads[1]])
    p.run([p.exp(a), p.log(p.square(b)), a / 3.0])


@program("matmul", "matmul with every transposition")
def matmul(p):
    for transpose_a in (False, True):
        for transpose_b in (False, True):
            a = constant(p, [4, 3] if transpose_a else [3, 4])
            b = constant(p, [5, 4] if transpose_b else [4, 5])
            check(p, p.matmul(a, b, transpose_a, transpose_b), [3, 5], [a, b])
    a, b = constant(p, [1, 33]), constant(p, [33, 17])
    check(p, p.matmul(a, b), [1, 17], [a, b])
    a, b = constant(p, [0, 3]), constant(p, [3, 2])
    check(p, p.matmul(a, b), [0, 2], [a, b])


@program("conv2d", "padding, strides, odd sizes")
def conv2d(p):
    cases = (([2, 6, 6, 3], [3, 3, 3, 4], 1, "SAME", [2, 6, 6, 4]),
             ([1, 7, 5, 2], [3, 3, 2, 3], 2, "SAME", [1, 4, 3, 3]),
             ([2, 7, 6, 1], [5, 5, 1, 8], 1, "VALID", [2, 3, 2, 8]),
             ([1, 8, 8, 2], [2, 3, 2, 2], 2, "VALID", [1, 4, 3, 2]),
             ([2, 5, 5, 3], [1, 1, 3, 5], 1, "SAME", [2, 5, 5, 5]),
             ([1, 6, 6, 1], [5, 5, 1, 32], 1, "SAME", [1, 6, 6, 32]))
    for x_shape, w_shape, stride, padding, out in cases:
        x, w = constant(p, x_shape), constant(p, w_shape)
        check(p, p.conv2d(x, w, [1, stride, stride, 1], padding), out, [x, w])


@program("conv2d_transpose", "the sizes that conv2d makes smaller, made larger again")
def conv2d_transpose(p):
    cases = (([2, 3, 3, 4], [3, 3, 2, 4], 2, "SAME", [2, 6, 6, 2]),
             ([2, 3, 3, 4], [3, 3, 2, 4], 2, "SAME", [2, 5, 6, 2]),
             ([1, 4, 2, 3], [5, 5, 8, 3], 2, "VALID", [1, 11, 8, 8]),
             ([1, 6, 6, 1], [1, 1, 3, 1], 1, "SAME", [1, 6, 6, 3]),
             ([1, 2, 3, 2], [2, 2, 1, 2], 3, "SAME", [1, 5, 7, 1]))
    for value_shape, w_shape, stride, padding, out in cases:
        value, w = constant(p, value_shape), constant(p, w_shape)
        y = p.conv2d_transpose(value, w, out, [1, stride, stride, 1], padding)
        check(p, y, out, [value, w])


@program("max_pool", "windows, strides, ties")
def max_pool(p):
    cases = (([2, 6, 6, 3], 2, 2, "SAME", [2, 3, 3, 3]), ([1, 7, 5, 2], 3, 2, "SAME", [1, 4, 3, 2]),
             ([1, 7, 7, 2], 3, 2, "VALID", [1, 3, 3, 2]),
             ([1, 4, 4, 1], 2, 1, "SAME", [1, 4, 4, 1]))
    for shape, size, stride, padding, out in cases:
        x = constant(p, shape)
        check(p, p.max_pool(x, [1, size, size, 1], [1, stride, stride, 1], padding), out, [x])
    x = p.constant([[[[1.0], [1.0]], [[1.0], [1.0]]]])
    check(p, p.max_pool(x, [1, 2, 2, 1], [1, 2, 2, 1], "SAME"), [1, 1, 1, 1], [x])


@program("bias_add", "bias_add over two and four dimensions")
def bias_add(p):
    for shape in ([4, 3], [2, 3, 2, 5]):
        x, b = constant(p, shape), constant(p, shape[-1:])
        check(p, p.bias_add(x, b), shape, [x, b])


@program("reductions", "sum, mean, max over axes")
def reductions(p):
    for op in ("reduce_sum", "reduce_mean", "reduce_max"):
        for axis, keep, out in ((None, False, []), (0, False, [3, 4]), ([0, 2], True, [1, 3, 1]),
                                (-1, False, [2, 3]), ([1, 2], False, [2]), ([], False, [2, 3, 4])):
            x = constant(p, [2, 3, 4])
            check(p, p.call(op, x, axis, keep), out, [x])
    x = p.constant([1.0, 3.0, 3.0])
    check(p, p.reduce_max(x), [], [x])
    p.run([p.reduce_sum([1, 2, 3]), p.reduce_mean([1, 2, 4]), p.reduce_sum(p.zeros([0, 2]), 0),
           p.reduce_mean(p.zeros([0]))])


@program("rearranging", "reshape, concat, stack, expand_dims, squeeze, transpose, gather")
def rearranging(p):
    x, y = constant(p, [2, 3]), constant(p, [2, 3])
    check(p, p.reshape(x, [3, -1]), [3, 2], [x])
    check(p, p.expand_dims(x, 1), [2, 1, 3], [x])
    check(p, p.squeeze(p.expand_dims(x, 0)), [2, 3], [x])
    check(p, p.transpose(x), [3, 2], [x])
    check(p, p.concat([x, y], 0), [4, 3], [x, y])
    check(p, p.concat([x, y, x], -1), [2, 9], [x, y])
    check(p, p.stack([x, y]), [2, 2, 3], [x, y])
    check(p, p.stack([x, y], 2), [2, 3, 2], [x, y])
    check(p, p.add_n([x, y, x]), [2, 3], [x, y])
    p.run([p.gather(x, [1, 1, 0]), p.gather(p.constant([5, 6, 7]), [[2], [0]])])
    p.run([p.gather(x, p.constant([2]))])
    p.run([p.zeros([2, 2]), p.ones([3], "int32"), p.fill([2], 7), p.zeros_like(x)])


@program("choosing", "argmax, comparisons, in_top_k, cast, stop_gradient")
def choosing(p):
    x, y = constant(p, [3, 4]), constant(p, [3, 4])
    p.run([p.argmax(x, 0), p.argmax(x, 1), p.argmax(x, 1, output_type="int32"),
           p.argmax(p.constant([1.0, 3.0, 3.0]), 0)])
    i, j = p.constant([1, 2, 3]), p.constant([3, 2, 1])
    p.run([p.equal(i, j), p.greater(i, j), p.greater(x, y), p.equal(x, x)])
    p.run([p.in_top_k(x, p.constant([0, 1, 3]), 1), p.in_top_k(x, p.constant([0, 1, 3]), 2),
           p.in_top_k(p.ones([2, 3]), p.constant([0, 2]), 1)])
    p.run([p.cast(p.constant([1.7, -1.7, 0.0, 3e9]), "int64"), p.cast(i, "float32"),
           p.cast(p.constant([0.0, 0.5, 2.0]), "bool"), p.cast(p.equal(i, j), "float32"),
           p.cast(p.constant([0, 255, 256, -1]), "uint8")])
    check(p, x * p.stop_gradient(x), [3, 4], [x])
    check(p, p.cast(p.cast(x, "float64"), "float32"), [3, 4], [x])


@program("cross_entropy", "sparse softmax cross entropy, int32 and int64 labels")
def cross_entropy(p):
    for dtype in ("int32", "int64"):
        logits = constant(p, [5, 10], exponent=2)
        labels = constant(p, [5], modulo=10, dtype=dtype)
        check(p, p.sparse_softmax_cross_entropy_with_logits(labels, logits), [5], [logits])
    logits = p.constant([[1000.0, 0.0], [-1000.0, 0.0]])
    check(p, p.sparse_softmax_cross_entropy_with_logits(p.constant([0, 1]), logits), [2], [logits])
    logits = constant(p, [5, 10])
    loss = p.reduce_mean(p.sparse_softmax_cross_entropy_with_logits(
        constant(p, [5], modulo=10, dtype="int32"), logits))
    check(p, loss, [], [logits])
    p.run([p.softmax(logits)])
    p.run([p.sparse_softmax_cross_entropy_with_logits(p.constant([0, 2]), p.ones([2, 2]))])


@program("no_gradient", "paths that are cut, and that are not there")
def no_gradient(p):
    x, y = constant(p, [3]), constant(p, [3])
    i = p.cast(x, "int32")
    p.gradients([x * 2.0], [y])
    p.gradients([p.cast(i, "float32")], [x])
    p.gradients([p.stop_gradient(x)], [x])
    p.gradients([p.zeros_like(x)], [x])
    p.gradients([p.argmax(x, 0)], [x])
    p.gradients([i], [i])
    p.gradients([x], [x])
    p.gradients([x * y, x + y], [x, y])
    p.gradients([x * y], [x], stop_gradients=[x])
    p.gradients([x * y], [x], [p.ones([2])])
    p.gradients([x * y], [x], [p.ones([3]), p.ones([3])])
    p.gradients([x * y], [x], [None])
    p.gradients([p.greater(x, y)], [x])
    p.gradients([p.random_shuffle(x)], [x])


@program("whole", "a small net: every gradient at once, a value used twice, second order")
def whole(p):
    x = constant(p, [2, 8, 8, 1])
    w, b = constant(p, [3, 3, 1, 4], exponent=-1), constant(p, [4], exponent=-3)
    f, c = constant(p, [64, 5], exponent=-2), constant(p, [5], exponent=-3)
    h = p.max_pool(p.relu(p.bias_add(p.conv2d(x, w, [1, 1, 1, 1], "SAME"), b)), [1, 2, 2, 1],
                   [1, 2, 2, 1], "SAME")
    logits = p.matmul(p.reshape(h, [-1, 64]), f) + c
    loss = p.reduce_mean(p.sparse_softmax_cross_entropy_with_logits(p.constant([1, 4]), logits))
    grads = p.gradients([loss + 0.01 * p.reduce_sum(p.square(w))], [x, w, b, f, c])
    p.run([loss] + [grads[i] for i in range(5)])
    z = constant(p, [3])
    first = p.gradients([p.square(z) * z], [z])
    second = p.gradients([first[0]], [z])
    p.run([first[0], second[0]])


def programs():
    counter[0] = 100
    return [make() for make in MAKERS]
