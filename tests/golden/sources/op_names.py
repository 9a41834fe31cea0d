"""The nodes that each op makes and their names: by default, named, in scopes, after an invalid
name, and with arguments that are values or variables."""

from oracle.builder import Program, generate, initializer


def square(p, dtype="float32"):
    return p.placeholder(dtype, [2, 2], name="x")


# Op -> functions that call it with the arguments `n` on an `x` of [2, 2] and a variable `w`.
CALLS = {
    "placeholder": [lambda p, x, w, **n: p.placeholder("float32", [None, 2], **n)],
    "constant": [lambda p, x, w, **n: p.constant([1.0, 2.0], **n),
                 lambda p, x, w, **n: p.constant(3, shape=[2], **n)],
    "zeros_and_fills": [lambda p, x, w, **n: p.zeros([2], **n),
                        lambda p, x, w, **n: p.ones([2, 0], "int32", **n),
                        lambda p, x, w, **n: p.fill([2], 7.0, **n)],
    "likes": [lambda p, x, w, **n: p.zeros_like(x, **n), lambda p, x, w, **n: p.ones_like(w, **n),
              lambda p, x, w, **n: p.ones_like(x, "int32", **n)],
    "add": [lambda p, x, w, **n: p.add(x, w, **n), lambda p, x, w, **n: p.add(x, 1.0, **n),
            lambda p, x, w, **n: p.add(1.0, x, **n)],
    "subtract": [lambda p, x, w, **n: p.subtract(w, x, **n),
                 lambda p, x, w, **n: p.subtract(x, [1.0, 2.0], **n)],
    "multiply": [lambda p, x, w, **n: p.multiply(x, w, **n),
                 lambda p, x, w, **n: p.multiply(w, 2.0, **n)],
    "divide": [lambda p, x, w, **n: p.divide(x, w, **n), lambda p, x, w, **n: p.truediv(x, 2.0, **n)],
    "pow": [lambda p, x, w, **n: p.pow(x, 2.0, **n), lambda p, x, w, **n: p.pow(w, x, **n)],
    "comparisons": [lambda p, x, w, **n: p.less(x, w, **n), lambda p, x, w, **n: p.equal(x, 1.0, **n),
                    lambda p, x, w, **n: p.greater_equal(x, x, **n)],
    "extremes": [lambda p, x, w, **n: p.maximum(x, 0.0, **n),
                 lambda p, x, w, **n: p.minimum(w, x, **n)],
    "unaries": [lambda p, x, w, **n: p.negative(x, **n), lambda p, x, w, **n: p.square(w, **n),
                lambda p, x, w, **n: p.sqrt(x, **n), lambda p, x, w, **n: p.exp([1.0, 2.0], **n)],
    "curves": [lambda p, x, w, **n: p.tanh(x, **n), lambda p, x, w, **n: p.sigmoid(w, **n),
               lambda p, x, w, **n: p.log(x, **n), lambda p, x, w, **n: p.abs(w, **n)],
    "matmul": [lambda p, x, w, **n: p.matmul(x, w, **n),
               lambda p, x, w, **n: p.matmul(x, [[1.0], [2.0]], **n),
               lambda p, x, w, **n: p.matmul(x, x, transpose_a=True, **n)],
    "reductions": [lambda p, x, w, **n: p.reduce_sum(x, **n),
                   lambda p, x, w, **n: p.reduce_mean(w, 0, **n),
                   lambda p, x, w, **n: p.reduce_max(x, [0, 1], True, **n)],
    "argmax": [lambda p, x, w, **n: p.argmax(x, 1, **n), lambda p, x, w, **n: p.argmax(w, **n)],
    "reshape": [lambda p, x, w, **n: p.reshape(x, [-1], **n),
                lambda p, x, w, **n: p.reshape(w, p.shape(x), **n)],
    "shapes": [lambda p, x, w, **n: p.shape(x, **n), lambda p, x, w, **n: p.size(w, **n),
               lambda p, x, w, **n: p.rank(x, **n)],
    "open_shapes": [lambda p, x, w, **n: p.shape(p.placeholder("float32", [None, 2]), **n),
                    lambda p, x, w, **n: p.size(p.placeholder("float32", [None, 2]), **n),
                    lambda p, x, w, **n: p.rank(p.placeholder("float32"), **n)],
    "transpose": [lambda p, x, w, **n: p.transpose(x, **n),
                  lambda p, x, w, **n: p.transpose(w, [1, 0], **n),
                  lambda p, x, w, **n: p.transpose(p.placeholder("float32"), **n)],
    "concat": [lambda p, x, w, **n: p.concat([x, w], 0, **n), lambda p, x, w, **n: p.concat([x], 1, **n)],
    "stack": [lambda p, x, w, **n: p.stack([x, x], **n), lambda p, x, w, **n: p.stack([x, w], 1, **n),
              lambda p, x, w, **n: p.stack([1.0, 2.0], **n)],
    "tile": [lambda p, x, w, **n: p.tile(x, [1, 2], **n)],
    "expand_dims": [lambda p, x, w, **n: p.expand_dims(x, 0, **n),
                    lambda p, x, w, **n: p.expand_dims(w, -1, **n)],
    "squeeze": [lambda p, x, w, **n: p.squeeze(p.ones([1, 2, 1]), **n),
                lambda p, x, w, **n: p.squeeze(p.ones([1, 2, 1]), [0], **n)],
    "cast": [lambda p, x, w, **n: p.cast(x, "int32", **n), lambda p, x, w, **n: p.cast(w, "float32", **n),
             lambda p, x, w, **n: p.cast([1, 2], "float32", **n)],
    "gather": [lambda p, x, w, **n: p.gather(x, [0, 1], **n), lambda p, x, w, **n: p.gather(w, 1, **n)],
    "passing": [lambda p, x, w, **n: p.identity(x, **n), lambda p, x, w, **n: p.identity(w, **n),
                lambda p, x, w, **n: p.stop_gradient(w, **n)],
    "add_n": [lambda p, x, w, **n: p.add_n([x, x], **n), lambda p, x, w, **n: p.add_n([x], **n),
              lambda p, x, w, **n: p.add_n([w], **n), lambda p, x, w, **n: p.add_n([w, x], **n)],
    "relu": [lambda p, x, w, **n: p.relu(x, **n), lambda p, x, w, **n: p.relu(w, **n)],
    "bias_add": [lambda p, x, w, **n: p.bias_add(x, [1.0, 2.0], **n)],
    "softmax": [lambda p, x, w, **n: p.softmax(x, **n), lambda p, x, w, **n: p.softmax(w, **n)],
    "cross_entropy": [lambda p, x, w, **n: p.sparse_softmax_cross_entropy_with_logits([0, 1], x, **n)],
    "in_top_k": [lambda p, x, w, **n: p.in_top_k(x, [0, 1], 1, **n)],
    "conv2d": [lambda p, x, w, **n: p.conv2d(p.ones([1, 3, 3, 1]), p.ones([2, 2, 1, 2]),
                                            [1, 1, 1, 1], "SAME", **n)],
    "conv2d_transpose": [
        lambda p, x, w, **n: p.conv2d_transpose(p.ones([1, 2, 2, 3]), p.ones([2, 2, 1, 3]),
                                                [1, 4, 4, 1], [1, 2, 2, 1], **n),
        lambda p, x, w, **n: p.conv2d_transpose(p.ones([1, 2, 2, 3]), p.ones([2, 2, 1, 3]),
                                                p.constant([1, 3, 4, 1]), [1, 2, 2, 1], **n)],
    "max_pool": [lambda p, x, w, **n: p.max_pool(p.ones([1, 4, 4, 1]), [1, 2, 2, 1], [1, 2, 2, 1],
                                                 "VALID", **n)],
    "random_uniform": [lambda p, x, w, **n: p.random_uniform([2], **n),
                       lambda p, x, w, **n: p.random_uniform([2], 0, 9, "int32", **n)],
    "random_normal": [lambda p, x, w, **n: p.random_normal([2], **n),
                      lambda p, x, w, **n: p.truncated_normal([2], 1.0, 0.5, **n)],
    "random_shuffle": [lambda p, x, w, **n: p.random_shuffle(x, **n)],
    "assign": [lambda p, x, w, **n: p.assign(w, x, **n),
               lambda p, x, w, **n: p.assign(w, [[1.0, 2.0], [3.0, 4.0]], **n)],
    "assign_add": [lambda p, x, w, **n: p.assign_add(w, x, **n),
                   lambda p, x, w, **n: p.assign_sub(w, w, **n)],
    "group": [lambda p, x, w, **n: p.group([x, w], **n), lambda p, x, w, **n: p.group([], **n),
              lambda p, x, w, **n: p.no_op(**n)],
    "Variable": [lambda p, x, w, **n: p.Variable(1.0, **n),
                 lambda p, x, w, **n: p.Variable(generate(1, [2]), **n)],
    "init": [lambda p, x, w, **n: p.variables_initializer([w], **n),
             lambda p, x, w, **n: p.variables_initializer([], **n)],
}


def names_of(op, calls):
    p = Program("names_of_" + op, "the nodes of " + op + " and their names")
    x = square(p)
    w = p.get_variable("w", [2, 2], initializer=initializer("ones"))
    for call in calls:
        call(p, x, w)
    for call in calls:
        call(p, x, w, name="n")
        with p.name_scope("s"):
            call(p, x, w)
            with p.control_dependencies([x]), p.device("/gpu:1"):
                call(p, x, w, name="n")
    call = calls[0]
    call(p, x, w, name="bad name"), call(p, x, w, name="_x"), call(p, x, w, name="N")
    call(p, x, w, name="whole/"), call(p, x, w, name="whole/"), call(p, x, w, name="a/b")
    with p.variable_scope("v"):
        call(p, x, w), call(p, x, w, name="_x")
    for call in calls:
        call(p, x, w)
    return p


def programs():
    return [names_of(op, calls) for op, calls in CALLS.items()]
