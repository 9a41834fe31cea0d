"""Programs with functions: control flow, layers, datasets and optimizers together."""

from oracle.builder import Program, generate, initializer


def branches():
    p = Program("branches", "a cond with a layer in a branch, and gradients through it")
    x = p.placeholder("float32", [2, 3], name="x")
    choose = p.placeholder("bool", [], name="choose")

    def layer():
        return p.layer_dense(x, 3, kernel_initializer=initializer("constant", value=0.5))

    y = p.call("cond", pred=choose, true_fn=p.function(layer), false_fn=p.function(lambda: x * 2.0))
    loss = p.reduce_sum(p.square(y), name="loss")
    grads = p.gradients([loss], [x])
    p.run([p.global_variables_initializer()])
    value = generate(1, [2, 3])
    for flag in (True, False):
        p.run([loss, grads[0]], feeds=[[x, value], [choose, flag]])
    return p


def loops():
    p = Program("loops", "a loop in a scope whose body has a layer and a cond, optimized twice")
    x = p.constant(generate(2, [2, 3]), name="x")
    with p.variable_scope("net"):
        def body(i, a):
            more = i + 1
            hidden = p.layer_dense(a, 3, activation="tanh", name="hidden", reuse="AUTO_REUSE",
                                   kernel_initializer=initializer("random_uniform", seed=3))
            return [more, p.call("cond", pred=p.less(i, 1), true_fn=p.function(lambda: hidden * a),
                                 false_fn=p.function(lambda: hidden))]

        result = p.call("while_loop", cond=p.function(lambda i, a: p.less(i, 3), "i", "a"),
                        body=p.function(body, "i", "a"), loop_vars=[0, x])
    loss = p.reduce_mean(p.square(result[1]))
    step = p.minimize(p.MomentumOptimizer(0.5, 0.5), loss)
    p.run([p.global_variables_initializer()])
    for _ in range(2):
        p.run([step])
        p.run([loss])
    variables = p.global_variables()
    p.run([variables[i] for i in range(4)])
    return p


def fed_by_dataset():
    p = Program("fed_by_dataset", "a dataset of pairs, mapped, filtered and batched, feeds a layer")
    rows = p.constant(generate(4, [5, 2]))
    dataset = p.dataset_from_tensor_slices({"tuple": [rows, [0, 1, 2, 3, 4]]})

    def kept(row, label):
        return p.not_equal(label, 2)

    def mapped(row, label):
        return {"tuple": [p.tanh(row), label * 2]}

    dataset = p.dataset_filter(dataset, p.function(kept, "row", "label"))
    dataset = p.dataset_map(dataset, p.function(mapped, "row", "label"))
    iterator = p.initializable_iterator(p.dataset_batch(dataset, 3))
    begin = p.iterator_initializer(iterator)
    element = p.get_next(iterator)
    y = p.layer_dense(element[0], 2, kernel_initializer=initializer("constant", value=0.25))
    p.run([p.global_variables_initializer()])
    for _ in range(2):
        p.run([begin])
        for _ in range(3):
            p.run([y, element[1]])
    return p


def broken_functions():
    p = Program("broken_functions", "errors of functions are those of the call that runs them")
    x = p.constant([1.0, 2.0])
    flag = p.constant(True)
    p.call("cond", pred=flag, true_fn=p.function(lambda: x),
           false_fn=p.function(lambda: p.reshape(x, [3])))
    p.call("cond", pred=flag, true_fn=p.function(lambda: x),
           false_fn=p.function(lambda: p.cast(x, "int32")))
    p.call("cond", pred=flag, true_fn=p.function(lambda: x), false_fn=p.function(lambda: [x, x]))
    missing = p.reshape(x, [5])
    p.call("cond", pred=flag, true_fn=p.function(lambda: x), false_fn=p.function(lambda: missing))
    p.call("while_loop", cond=p.function(lambda a: p.constant(True), "a"),
           body=p.function(lambda a: p.expand_dims(a, 0), "a"), loop_vars=[x])
    return p


def gated_gradients():
    p = Program("gated_gradients", "what leaves the loop of a gradient waits for the other gradients")
    q = p.placeholder("float32", [], name="q")
    x = p.get_variable("x", [2], initializer=initializer("ones"))
    y = p.tanh(x * 2.0)

    def loop():
        result = p.call("while_loop", cond=p.function(lambda i, a: p.less(i, 3), "i", "a"),
                        body=p.function(lambda i, a: [i + 1, -(a * q)], "i", "a"),
                        loop_vars=[0, y], name="x/y")
        return result[1]

    z = p.call("cond", pred=p.less(q, 1.75), true_fn=p.function(lambda: p.square(y - 0.25)),
               false_fn=p.function(loop))
    step = p.minimize(p.GradientDescentOptimizer(0.5), p.reduce_sum(z))
    p.run([p.global_variables_initializer()])
    for value in (0.0, 2.5):
        p.run([step], feeds=[[q, value]])
        p.run([x])
    return p


def inner_loops():
    p = Program("inner_loops", "outside tensors enter the outer loop before the inner loop begins")
    x = p.placeholder("float32", [], name="x")

    def outer(i, a):
        result = p.call("while_loop", cond=p.function(lambda j, b, c: p.less(j, 2), "j", "b", "c"),
                        body=p.function(lambda j, b, c: [j + 1, b * c, p.tanh(c)], "j", "b", "c"),
                        loop_vars=[0, a, x])
        return [i + 1, result[1]]

    p.call("while_loop", cond=p.function(lambda i, a: p.less(i, 2), "i", "a"),
           body=p.function(outer, "i", "a"), loop_vars=[0, 1.0])
    w = p.get_variable("w", [], initializer=initializer("ones"))
    with p.control_dependencies([w]):
        p.call("while_loop", cond=p.function(lambda i: p.less(i, 2), "i"),
               body=p.function(lambda i: p.operator("+", p.identity(i), 1), "i"), loop_vars=[0])
    return p


def conditions():
    p = Program("conditions", "references are merged beside their variable; one case; a wrong feed")
    w = p.get_variable("w", [], initializer=initializer("ones"))
    flag = p.placeholder("bool", name="flag")
    p.call("cond", pred=flag, true_fn=p.function(lambda: p.assign(w, 2.0)),
           false_fn=p.function(lambda: p.assign_add(w, 3.0)))
    x = p.constant([1.0, 2.0])
    p.case(pairs=[[p.less(1.0, 2.0), p.function(lambda: x * 2.0)]])
    y = p.call("cond", pred=flag, true_fn=p.function(lambda: -x), false_fn=p.function(lambda: x))
    p.run([y], feeds=[[flag, True]])
    p.run([y], feeds=[[flag, [True, False]]])
    return p


def dataset_errors():
    p = Program("dataset_errors", "arguments that are no scalars; prefetching; the collection of iterators")
    p.dataset_range([p.constant([1])])
    dataset = p.dataset_range([4])
    p.dataset_batch(dataset, p.constant([2], "int64"))
    ahead = p.dataset_prefetch(dataset, 1)
    p.one_shot_iterator(ahead)
    p.initializable_iterator(ahead)
    return p


def slim_averages():
    p = Program("slim_averages", "which nodes of moving averages are colocated; windows too large")
    x = p.placeholder("float32", [2, 3], name="x")
    p.slim_batch_norm(x)
    p.slim_fully_connected(x, 2, normalizer_fn="batch_norm")
    p.layer_batch_normalization(x, training=True)
    image = p.placeholder("float32", [1, 6, 3, 3], name="image")
    p.layer_conv2d(image, 1, [1, 3], dilation_rate=2)
    p.layer_conv2d(image, 1, [1, 4])
    p.layer_conv2d(image, 1, [1, 4], strides=2)
    p.layer_conv2d(image, 1, [1, 4], padding="same")
    return p


def unwritten():
    p = Program("unwritten", "what no iteration wrote is zeros of the shape that the graph knows")
    x = p.placeholder("float32", [2], name="x")
    array = p.TensorArray("float32", 1, dynamic_size=True)

    def body(i, t):
        return [i + 1, p.array_write(t, i, x)]

    result = p.call("while_loop", cond=p.function(lambda i, t: p.less(i, 1), "i", "t"),
                    body=p.function(body, "i", "t"), loop_vars=[0, array], maximum_iterations=0)
    p.run([p.array_stack(result[1])])
    p.array_scatter(array, [0, 1], p.constant([1.0, 2.0, 3.0]))
    p.dataset_batch(p.dataset_range([3]), -1, drop_remainder=True)
    return p


def captured():
    p = Program("captured", "all nodes that a dataset's function makes of outside tensors are its own")
    p.set_random_seed(3)
    x = p.tanh(p.constant([[0.5, -1.0], [2.0, 0.25]]))

    flag = p.less(p.reduce_sum(x), 0.0)

    def write(e):
        y = p.call("cond", pred=flag, true_fn=p.function(lambda: x),
                   false_fn=p.function(lambda: x * 2.0))
        loop = p.call("while_loop", cond=p.function(lambda a: p.less(p.reduce_sum(a), 9.0), "a"),
                      body=p.function(lambda a: a * a + 1.0, "a"), loop_vars=[x])
        kept = p.layer_dropout(x, 0.5, training=True, seed=4)
        total = p.reduce_sum(x) + p.reduce_max(kept)
        return {"tuple": [p.zeros_like(x) + y, kept * total, loop, e]}

    dataset = p.dataset_map(p.dataset_range([3]), p.function(write, "e"))
    element = p.get_next(p.one_shot_iterator(dataset))
    p.run([p.random_uniform([2])])
    for _ in range(3):
        p.run([element[0], element[1], element[2], element[3]])
    return p


def no_rate():
    p = Program("no_rate", "Ftrl with a rate of zero, whose linear term is not a number")
    w = p.get_variable("w", [2], initializer=initializer("constant", value=[0.5, 0.0]))
    rate = p.placeholder("float32", [], name="rate")
    optimizer = p.FtrlOptimizer(rate, learning_rate_power=-0.25, beta=0.25)
    step = p.minimize(optimizer, p.reduce_sum(p.square(w)))
    p.run([p.global_variables_initializer()])
    for value in (0.25, 0.0, 0.0):
        p.run([step], feeds=[[rate, value]])
        p.run([w])
    return p


def programs():
    return [branches(), loops(), fed_by_dataset(), broken_functions(), gated_gradients(),
            inner_loops(), conditions(), dataset_errors(), slim_averages(), unwritten(),
            captured(), no_rate()]
