"""Gradients: their options, absent ones, second derivatives and custom gradients."""

from oracle.builder import Program, generate


def both_variables(p):
    """Returns w, used twice, v, used once, an unused variable and a loss. Each gradient reads only
    its own variable, since TensorFlow may already have updated others."""
    w = p.get_variable("w", initializer=generate(1, [3]))
    v = p.get_variable("v", initializer=generate(2, [3]))
    unused = p.get_variable("unused", initializer=generate(3, [3]))
    return w, v, unused, p.reduce_sum(p.exp(v) + w * p.tanh(w), name="loss")


def gated(gate):
    p = Program("gate_gradients_%s" % gate, "compute_gradients with gate_gradients=%s" % gate)
    w, v, unused, loss = both_variables(p)
    opt = p.GradientDescentOptimizer(0.5)
    pairs = p.compute_gradients(opt, loss, gate_gradients=gate)
    train = p.apply_gradients(opt, pairs)
    p.compute_gradients(opt, loss, [unused], gate_gradients=gate)
    p.compute_gradients(opt, p.reduce_sum(p.gather(w, [0, 0])), [w, unused], gate_gradients=gate)
    p.identity(w)  # shows which names the calls above used
    p.run([p.global_variables_initializer()])
    p.run([pairs[0][0], pairs[1][0]])
    p.run([train])
    p.run([w, v, unused])
    return p


def gate_of_gradients():
    p = Program("gate_of_gradients", "tf.gradients with gate_gradients, of slices too")
    w, v, unused, loss = both_variables(p)
    found = p.gradients([loss], [w, v, unused], gate_gradients=True)
    p.gradients([p.reduce_sum(p.gather(w, [2, 2, 0]) * 3.0)], [w], gate_gradients=True)
    p.no_op()
    p.run([p.global_variables_initializer()])
    p.run([found[0], found[1]])
    return p


def aggregation():
    p = Program("aggregation_method", "every aggregation method, and one that does not exist")
    w, v, unused, loss = both_variables(p)
    kept = [p.gradients([loss], [w, v], aggregation_method=m) for m in (None, 0, 1, 2)]
    p.gradients([loss], [w], aggregation_method=7)
    p.gradients([loss], [unused], aggregation_method=7)
    kept.append(p.compute_gradients(p.GradientDescentOptimizer(1.0), loss, [w],
                                    aggregation_method=1)[0])
    p.gradients([p.gather(w, [0]) + p.gather(w, [1, 1])], [w], aggregation_method=2)
    p.identity(w)
    p.run([p.global_variables_initializer()])
    p.run([found[0] for found in kept])
    return p


def unconnected():
    p = Program("unconnected_gradients", "zeros and none, for variables, feeds and integers")
    w, v, unused, loss = both_variables(p)
    fed = p.placeholder("float32", [None])
    ids = p.placeholder("int32", [2])
    zeros = p.gradients([loss], [w, unused, fed, ids], unconnected_gradients="zero")
    p.gradients([loss], [w, unused, fed, ids], unconnected_gradients="none")
    with p.name_scope("scope"):
        p.gradients([loss], [unused], unconnected_gradients="zero")
    p.gradients([], [unused]), p.gradients([], [unused], unconnected_gradients="zero")
    p.gradients([loss], [w], unconnected_gradients="other")
    p.run([zeros[1]])  # needs no initialized variable
    p.run([zeros[2]], [[fed, [1.0, 2.0]]])
    return p


def colocated():
    p = Program("colocated", "gradients beside their ops, or where the call stands")
    with p.device("/gpu:0"):
        w = p.get_variable("w", initializer=generate(1, [3]))
        y = p.square(w)
    with p.device("/gpu:1"):
        z = p.exp(y)
    loss = p.reduce_sum(z) + p.reduce_sum(y)
    for flag in (False, True):
        with p.device("/cpu:0"):
            found = p.gradients([loss], [w], colocate_gradients_with_ops=flag)
    pairs = p.compute_gradients(p.GradientDescentOptimizer(1.0), loss, gate_gradients=2,
                                colocate_gradients_with_ops=True)
    p.run([p.global_variables_initializer()])
    p.run([found[0], pairs[0][0]])
    return p


def duplicates():
    p = Program("duplicates", "a variable twice in var_list and in apply_gradients")
    w, v, unused, loss = both_variables(p)
    for make in (lambda: p.GradientDescentOptimizer(0.25, use_locking=True),
                 lambda: p.MomentumOptimizer(0.25, 0.5, use_locking=True)):
        opt = make()
        pairs = p.compute_gradients(opt, loss, [w, v, w])
        train = p.apply_gradients(opt, [[pairs[0][0], w], [pairs[1][0], v], [pairs[2][0], w]])
        p.optimizer_variables(opt)
        p.run([p.global_variables_initializer()])
        p.run([pairs[0][0], pairs[2][0]])
    p.apply_gradients(p.GradientDescentOptimizer(1.0), [])
    p.apply_gradients(p.GradientDescentOptimizer(1.0), [[None, w], [None, w]])
    opt = p.GradientDescentOptimizer(0.5, use_locking=True)
    grad = p.constant([1.0, 2.0, 4.0])
    train = p.apply_gradients(opt, [[grad, w], [grad, w]])
    p.run([train])
    p.run([w])
    return p


def var_lists():
    p = Program("var_lists", "var_list none, explicit, empty; a loss of integers; grad_loss")
    w, v, unused, loss = both_variables(p)
    fixed = p.get_variable("fixed", initializer=generate(4, [3]), trainable=False)
    opt = p.GradientDescentOptimizer(0.25)
    p.compute_gradients(opt, loss), p.compute_gradients(opt, loss, [v, fixed, w])
    p.compute_gradients(opt, loss, [])
    p.compute_gradients(opt, p.cast(loss, "int32"))
    p.compute_gradients(opt, loss, grad_loss=p.constant(2))
    doubled = p.compute_gradients(opt, loss, [w], grad_loss=p.constant(2.0))
    p.minimize(opt, loss, None, [unused]), p.minimize(opt, loss, None, [])
    p.minimize(opt, p.stop_gradient(loss)), p.compute_gradients(opt, loss, gate_gradients=5)
    train = p.minimize(opt, loss, None, [w], grad_loss=p.constant(2.0), aggregation_method=1)
    p.identity(w)
    p.run([p.global_variables_initializer()])
    p.run([doubled[0][0]])
    p.run([train])
    p.run([w, v])
    return p


def given_grad_ys():
    p = Program("given_grad_ys", "grad_ys: dense, slices, absent, of wrong dtypes and numbers")
    x = p.get_variable("x", initializer=generate(1, [4, 2]))
    y = x * 3.0
    slices = p.IndexedSlices(p.ones([2, 2]), p.constant([1, 1]), p.constant([4, 2]))
    dense = p.gradients([y, p.square(x)], [x], [p.ones([4, 2]), None])
    thin = p.gradients([y], [x], [slices])
    p.gradients([x], [x], [slices])
    p.gradients([y], [x], [None, None]), p.gradients([y], [x], [p.constant(1)])
    p.gradients([y], [x], [p.ones([3, 2])])
    p.gradients([p.greater(x, 0.0)], [x], [p.constant(True)])
    p.gradients([p.constant("text")], [x])
    p.run([p.global_variables_initializer()])
    p.run([dense[0], thin[0]])
    return p


def stopped():
    p = Program("stopped", "stop_gradient, and stop_gradients, which may be the xs themselves")
    a = p.get_variable("a", initializer=generate(1, [2]))
    b = a * 2.0
    c = a + b
    d = p.stop_gradient(b) * c
    kept = [p.gradients([c], [a, b]), p.gradients([c], [a, b], stop_gradients=[a, b]),
            p.gradients([c], [a, b], stop_gradients=[b]), p.gradients([c], [a], stop_gradients=[b]),
            p.gradients([d], [a, b]), p.gradients([d, c], [a, b, c])]
    p.gradients([p.stop_gradient(c)], [a, b]), p.gradients([c], [a], stop_gradients=[c])
    p.gradients([c], [c], stop_gradients=[c])
    p.run([p.global_variables_initializer()])
    for found in kept:
        p.run([found[0]])
    p.run([kept[0][1], kept[1][1], kept[2][1], kept[5][2]])
    return p


def absent_ones():
    p = Program("absent_ones", "where there is no gradient, and where asking is an error")
    x = p.placeholder("float32", [3])
    ids = p.placeholder("int32", [2])
    w = p.get_variable("w", initializer=generate(1, [3]))
    for y in (p.floor(x), p.greater(x, 0.0), p.argmax(x, 0), p.shape(x), p.cast(x, "int32"),
              p.cast(p.cast(x, "int32"), "float32"), p.is_nan(x), p.assign(w, x),
              p.assign_add(w, x), p.random_shuffle(x), p.zeros_like(x), p.ones_like(x),
              p.sign(x), p.floordiv(x, 2.0), p.floormod(x, 2.0), p.gather(x, ids),
              p.fill([2], 1.0), p.identity(x), x, p.cast(p.is_nan(x), "float32")):
        p.gradients([y], [x])
    p.gradients([p.gather(x, ids)], [ids]), p.gradients([ids], [ids])
    p.gradients([ids * 2], [ids]), p.gradients([p.cast(ids, "float32")], [ids])
    p.gradients([p.assign(w, x)], [w]), p.gradients([w], [w]), p.gradients([w * x], [w, w, x])
    p.in_top_k(p.reshape(x, [1, 3]), [0], 1)
    p.gradients([p.in_top_k(p.reshape(x, [1, 3]), [0], 1)], [x])
    p.no_op()
    return p


def several_outputs():
    p = Program("several_outputs", "ops of several outputs of which one is used")
    x = p.get_variable("x", initializer=generate(1, [2, 3]))
    y = p.get_variable("y", initializer=generate(2, [3]))
    rows = p.unstack(x)
    both = p.identity_n([x, y, p.constant(3)])
    kept = [p.gradients([rows[0] * 2.0], [x, rows[1]]), p.gradients([both[0]], [x, y]),
            p.gradients([both[1] * y], [x, y])]
    p.run([p.global_variables_initializer()])
    for found in kept:
        p.run([found[0]])
    p.run([kept[1][1], kept[2][1]])
    return p


LINEAR = ["negative", "sign", "identity"]  # without second gradients
UNARY = LINEAR + ["square", "sqrt", "rsqrt", "exp", "expm1", "log", "log1p", "tanh", "sigmoid",
         "reciprocal", "sin", "abs", "relu", "softmax"]


def second_unary():
    p = Program("second_unary", "first and second gradients of elementwise ops")
    x = p.placeholder("float32", [4])
    weight = p.constant(generate(9, [4]))
    wanted = []
    for name in UNARY:
        first = p.gradients([getattr(p, name)(x) * weight], [x])[0]
        second = p.gradients([first * weight], [x])[0]
        wanted.append((first, second, name))
    value = generate(5, [4], exponent=1, kind="positive")
    for first, second, name in wanted:
        p.run([first] if name in LINEAR else [first, second], [[x, value]])
    return p


def second_others():
    p = Program("second_others", "first and second gradients of products, reductions, layers")
    x = p.placeholder("float32", [2, 3])
    y = p.placeholder("float32", [2, 3])
    square = p.placeholder("float32", [3, 3])
    image = p.reshape(p.tile(x, [2, 3]), [1, 6, 6, 1])
    kernel = p.reshape(square, [3, 3, 1, 1])
    functions = [  # each with the indices in (x, y, square) that it uses
        (x * y, [0, 1]), (x / y, [0, 1]), (p.pow(p.abs(x), y), [0, 1]), (p.maximum(x, y), [0, 1]),
        (p.minimum(x, y), [0, 1]), (p.floormod(x, y), [0, 1]),
        (p.squared_difference(x, y), [0, 1]), (p.matmul(x, square), [0, 2]),
        (p.matmul(x, y, transpose_b=True), [0, 1]), (p.reduce_sum(x * x, 1), [0]),
        (p.reduce_mean(x * y, 0), [0, 1]), (p.reduce_max(x, 1), [0]), (p.reduce_min(x, 0), [0]),
        (p.reduce_prod(x, 1), [0]), (p.reduce_prod(x), [0]), (p.concat([x, x * y], 1), [0, 1]),
        (p.stack([x, y], 1), [0]), (p.tile(x * x, [1, 2]), [0]), (p.transpose(x * x), [0]),
        (p.gather(x * x, [1, 1, 0]), [0]), (p.expand_dims(x * y, 0), [0, 1]),
        (p.bias_add(x, p.reduce_sum(y, 0)), [0, 1]), (p.softmax(x * y), [0, 1]),
        (p.relu(x * y), [0, 1]), (p.conv2d(image, kernel, [1, 1, 1, 1], "SAME"), [0, 2]),
        (p.max_pool(image * image, [1, 2, 2, 1], [1, 2, 2, 1], "VALID"), [0]),
        (p.sparse_softmax_cross_entropy_with_logits(p.constant([2, 0]), x), [0]),
    ]
    feeds = [[x, generate(5, [2, 3])], [y, generate(6, [2, 3], exponent=1, kind="positive")],
             [square, generate(7, [3, 3])]]
    for f, used in functions:
        first = p.gradients([p.tanh(f)], [x, y, square])
        second = p.gradients([first[0] * first[0]], [x, y, square])
        p.run([first[0]] + [second[i] for i in range(3) if i in used], feeds)
    return p


def overridden():
    p = Program("overridden", "gradient_override_map: nested, other ops' gradients, unknown names")
    x = p.constant([-1.0, 2.0])
    made = []
    with p.gradient_override_map([["Relu", "GoldenSeven"], ["Tanh", "GoldenSeven"]]):
        with p.gradient_override_map([["Relu", "Identity"]]):
            made += [p.relu(x), p.tanh(x)]
        made += [p.relu(x), p.square(x)]
    made.append(p.relu(x))
    for y in made:
        p.run([p.gradients([y], [x])[0]])
    with p.gradient_override_map([["Relu", "Shape"]]):
        p.gradients([p.relu(x)], [x])
    with p.gradient_override_map([["Relu", "NobodyHasRegisteredThis"]]):
        y = p.relu(x)
    p.gradients([y], [x]), p.gradients([p.stop_gradient(y)], [x]), p.gradients([y], [y])
    p.register_gradient("GoldenSeven"), p.register_gradient("Relu"), p.register_gradient("Shape")
    p.no_op()
    return p


def customized():
    p = Program("customized", "custom_gradient: nodes, several outputs, variables")
    x = p.constant([1.0, 2.0])
    w = p.get_variable("w", initializer=[3.0, 4.0])
    y = p.custom_gradient("log1pexp", [x])
    found = [p.gradients([y], [x])[0], p.gradients([y * y], [x])[0]]
    with p.name_scope("scope"):
        both = p.custom_gradient("product_and_sum", [x, w])
    one = p.gradients([both[0]], [x, w])
    found += [one[0], p.gradients([both[1]], [x])[0], p.gradients([both[0], both[1]], [x])[0]]
    scaled = p.custom_gradient("scaled", [x], w)
    two = p.gradients([scaled], [x, w])
    found += [scaled, two[0], two[1]]
    p.custom_gradient("blind", [x], w), p.custom_gradient("maker", [x])
    p.run([p.global_variables_initializer()])
    p.run(found)
    return p


def several_ys():
    p = Program("several_ys", "ys that depend on one another, xs that do, the same twice")
    a = p.get_variable("a", initializer=generate(1, [2]))
    b = p.square(a)
    c = p.exp(b)
    kept = [p.gradients([b, c], [a, b]), p.gradients([c, c], [a]), p.gradients([a], [a, b]),
            p.gradients([c], [a, b, a, c]), p.gradients([b], [c, a], name="mine")]
    p.run([p.global_variables_initializer()])
    p.run([kept[0][0], kept[0][1], kept[1][0], kept[2][0], kept[3][0], kept[3][1], kept[3][3],
           kept[4][1]])
    return p


def programs():
    return ([gated(gate) for gate in (0, 1, 2)] +
            [gate_of_gradients(), aggregation(), unconnected(), colocated(), duplicates(),
             var_lists(), given_grad_ys(), stopped(), absent_ones(), several_outputs(),
             second_unary(), second_others(), overridden(), customized(), several_ys()])
