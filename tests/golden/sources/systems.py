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


def programs():
    return [branches(), loops(), fed_by_dataset(), broken_functions()]
