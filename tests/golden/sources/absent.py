"""Gradients absent in one tower or in all, with two optimizers, with and without slots."""

from oracle.builder import Program, generate, initializer


def variables(p):
    values = {"a": [1.0, -1.0], "b": [0.5, 2.0], "c": [3.0, 4.0]}
    return {name: p.get_variable(name, initializer=value) for name, value in values.items()}


def average(p, pairs_of_towers, present):
    """Averages over the towers that have a gradient, as the source texts do; `present[i]` lists the
    towers with a gradient for variable i."""
    averaged = []
    for i, towers in enumerate(present):
        grads = [p.expand_dims(pairs_of_towers[t][i][0], 0) for t in towers]
        mean = p.reduce_mean(p.concat(grads, 0), 0) if grads else None
        averaged.append([mean, pairs_of_towers[0][i][1]])
    return averaged


def towers(p, opt, v, uses):
    """Calls compute_gradients once per tower; tower t uses the variables named in uses[t]."""
    pairs = []
    with p.variable_scope(p.get_variable_scope()):
        for t, names in enumerate(uses):
            with p.device("/gpu:%d" % t), p.name_scope("tower_%d" % t):
                x = p.constant(generate(50 + t, [2]))
                loss = p.reduce_sum(p.add_n([p.square(v[n]) * x for n in names]), name="loss")
                p.reuse_variables(p.get_variable_scope())
                pairs.append(p.compute_gradients(opt, loss))
    return pairs


def observe(p, opt, v, train, slots=True, count=3):
    fetches = list(v.values())
    if slots:
        fetches += [p.get_slot(opt, v[n], "momentum") for n in ("a", "b")]
        p.get_slot(opt, v["c"], "momentum")
    p.run([p.global_variables_initializer()])
    for _ in range(count):
        p.run([train])
        p.run(fetches)


def in_one_tower(name, about, make, slots):
    p = Program(name, about)
    v = variables(p)
    opt = make(p)
    pairs = towers(p, opt, v, ["ab", "a"])
    train = p.apply_gradients(opt, average(p, pairs, [[0, 1], [0], []]))
    observe(p, opt, v, train, slots)
    return p


def nesterov(p):
    return p.MomentumOptimizer(0.1, 0.9, use_nesterov=True)


def descent(p):
    return p.GradientDescentOptimizer(0.1)


def later_absent():
    p = Program("later_absent", "two train ops over one optimizer: the absent variable's slot "
                "does not coast, a zero gradient lets it")
    v = variables(p)
    opt = nesterov(p)
    loss = p.reduce_sum(p.square(v["a"]) + p.square(v["b"]))
    full = p.compute_gradients(opt, loss)
    train = p.apply_gradients(opt, [full[0], full[1], full[2]])
    without = p.apply_gradients(opt, [full[0], [None, v["b"]]])
    zero = p.apply_gradients(opt, [full[0], [p.zeros_like(full[1][0]), v["b"]]])
    p.run([p.global_variables_initializer()])
    fetches = [v["a"], v["b"], v["c"]] + [p.get_slot(opt, v[n], "momentum") for n in "ab"]
    for op in (train, without, without, zero, train):
        p.run([op])
        p.run(fetches)
    return p


def everywhere_absent():
    p = Program("everywhere_absent", "no gradient for any variable")
    v = variables(p)
    opt = nesterov(p)
    loss = p.reduce_sum(p.constant([1.0, 2.0]))
    p.compute_gradients(opt, loss)
    p.minimize(opt, loss)
    p.apply_gradients(opt, [[None, v["a"]], [None, v["b"]]])
    p.run([p.global_variables_initializer()])
    p.run([v["a"]])
    return p


def two_optimizers(name, about, first, second):
    p = Program(name, about)
    with p.variable_scope("generator"):
        g = p.get_variable("w", initializer=[1.0, 2.0])
    with p.variable_scope("discriminator"):
        d = p.get_variable("w", initializer=[3.0, -1.0])
    step = p.get_variable("global_step", [], "int64", initializer("zeros"), trainable=False)
    d_loss = p.reduce_sum(p.square(d - g))
    g_loss = p.reduce_sum(p.square(g) * 0.5 + p.stop_gradient(d))
    d_vars = p.get_collection("trainable_variables", "discriminator")
    g_vars = p.get_collection("trainable_variables", "generator")
    opt_d, opt_g = first(p), second(p)
    p.compute_gradients(opt_g, g_loss)
    train_d = p.minimize(opt_d, d_loss, var_list=d_vars)
    train_g = p.minimize(opt_g, g_loss, step, g_vars)
    p.optimizer_variables(opt_d), p.optimizer_variables(opt_g)
    p.run([p.global_variables_initializer()])
    for op in (train_d, train_g, train_d, train_g):
        p.run([op])
        p.run([d, g, step])
    return p


def naive_averager():
    p = Program("naive_averager", "expand_dims of None, as the tutorials' averager meets it")
    v = variables(p)
    pairs = towers(p, descent(p), v, ["ab", "a"])
    p.expand_dims(pairs[1][1][0], 0)
    p.reduce_mean([pairs[0][0][0], pairs[1][0][0]], 0)
    p.concat([None, pairs[0][0][0]], 0)
    return p


def programs():
    return [in_one_tower("one_tower_momentum", "b absent in tower 1, c in both; Nesterov",
                         nesterov, True),
            in_one_tower("one_tower_descent", "b absent in tower 1, c in both; no slots", descent,
                         False),
            later_absent(), everywhere_absent(),
            two_optimizers("two_momentum", "two Momentum optimizers over two scopes", nesterov,
                           nesterov),
            two_optimizers("two_mixed", "one with slots, one without", nesterov, descent),
            two_optimizers("two_descent", "both without slots", descent, descent),
            naive_averager()]
