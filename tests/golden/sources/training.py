"""Optimizers over several steps, global steps, slots, failing calls."""

from oracle.builder import Program, generate, initializer


def model(p):
    """Returns loss, w, b of a linear layer with a bias, with fixed data and values."""
    x = p.constant(generate(1, [6, 3]), name="x")
    y = p.constant(generate(2, [6, 2]), name="y")
    with p.variable_scope("fc"):
        w = p.get_variable("w", initializer=generate(3, [3, 2]))
        b = p.get_variable("b", initializer=generate(4, [2]))
        loss = p.reduce_mean(p.square(p.matmul(x, w) + b - y), name="loss")
    return loss, w, b


def steps(p, train, fetches, count=4):
    p.run([p.global_variables_initializer()])
    for _ in range(count):
        p.run([train])
        p.run(fetches)


def gradient_descent():
    p = Program("gradient_descent", "minimize with a global step, four steps")
    loss, w, b = model(p)
    step = p.get_variable("global_step", [], "int64", initializer("zeros"), trainable=False)
    opt = p.GradientDescentOptimizer(0.5)
    train = p.minimize(opt, loss, step)
    p.get_slot_names(opt), p.optimizer_variables(opt)
    steps(p, train, [w, b, step, loss])
    return p


def momentum(name, about, **options):
    p = Program(name, about)
    loss, w, b = model(p)
    step = p.get_variable("global_step", [], initializer=initializer("constant", value=0),
                          trainable=False)
    opt = p.MomentumOptimizer(0.1, 0.9, **options)
    pairs = p.compute_gradients(opt, loss, gate_gradients=0)
    train = p.apply_gradients(opt, pairs, step)
    p.get_slot_names(opt)
    slots = [p.get_slot(opt, v, "momentum") for v in (w, b)]
    p.get_slot(opt, w, "other"), p.optimizer_variables(opt)
    steps(p, train, [w, b, slots[0], slots[1], step, pairs[0][0], pairs[1][0]])
    return p


def in_scopes():
    p = Program("in_scopes", "slot names inside a variable scope and a name scope")
    with p.variable_scope("net"):
        w = p.get_variable("w", [2])
        loss = p.reduce_sum(p.square(w))
        p.minimize(p.MomentumOptimizer(0.1, 0.9), loss)
    with p.name_scope("train"):
        p.minimize(p.MomentumOptimizer(0.1, 0.9), loss, name="second")
    p.minimize(p.MomentumOptimizer(0.1, 0.9, name="Other"), loss)
    p.minimize(p.GradientDescentOptimizer(0.1), loss)
    return p


def under_reuse():
    p = Program("under_reuse", "slots cannot be made where the root scope is in reuse")
    w = p.get_variable("w", [2])
    loss = p.reduce_sum(p.square(w))
    p.reuse_variables(p.get_variable_scope())
    p.minimize(p.GradientDescentOptimizer(0.1), loss)
    opt = p.MomentumOptimizer(0.1, 0.9)
    pairs = p.compute_gradients(opt, loss)
    p.apply_gradients(opt, pairs)
    return p


def var_lists():
    p = Program("var_lists", "compute_gradients with and without a var_list, None for no path")
    w = p.get_variable("w", [2])
    v = p.get_variable("v", [2])
    frozen = p.get_variable("frozen", [2], trainable=False)
    loss = p.reduce_sum(w * frozen)
    opt = p.GradientDescentOptimizer(0.1)
    p.compute_gradients(opt, loss)
    p.compute_gradients(opt, loss, [w])
    p.compute_gradients(opt, loss, [v])
    p.compute_gradients(opt, loss, [frozen, w])
    p.compute_gradients(opt, loss, [])
    p.compute_gradients(opt, loss, [w, w])
    p.minimize(opt, loss, var_list=[v])
    p.apply_gradients(opt, [])
    p.apply_gradients(opt, [[None, w]])
    p.compute_gradients(opt, loss, gate_gradients=5)
    p.compute_gradients(opt, p.cast(loss, "int32"))
    p.minimize(opt, p.cast(loss, "int32"))
    return p


def no_variables():
    p = Program("no_variables", "a graph without trainable variables")
    opt = p.GradientDescentOptimizer(0.1)
    p.compute_gradients(opt, p.constant(1.0))
    p.get_global_step()
    p.get_or_create_global_step()
    p.get_global_step()
    p.get_or_create_global_step()
    return p


def global_steps():
    p = Program("global_steps", "the op that counts is named after the optimizer or by argument")
    w = p.get_variable("w", [2], initializer=initializer("ones"))
    loss = p.reduce_sum(p.square(w))
    for dtype in ("int64", "int32", "float32"):
        step = p.get_variable("step_" + dtype, [], dtype, initializer("zeros"), trainable=False)
        train = p.minimize(p.GradientDescentOptimizer(0.25), loss, step)
        named = p.minimize(p.GradientDescentOptimizer(0.25), loss, step, name="train_" + dtype)
        p.run([p.global_variables_initializer()])
        p.run([train])
        p.run([named, loss], compare="shape")
        p.run([w, step])
    return p


def rates():
    p = Program("rates", "a learning rate that is a tensor, and a placeholder")
    w = p.get_variable("w", initializer=[1.0, -2.0])
    loss = p.reduce_sum(p.square(w))
    rate = p.placeholder("float32", [], name="rate")
    train = p.minimize(p.MomentumOptimizer(rate, 0.5), loss)
    p.run([p.global_variables_initializer()])
    for value in (0.5, 0.1):
        p.run([train], [[rate, value]])
        p.run([w])
    p.run([train])
    return p


def programs():
    return [gradient_descent(), momentum("momentum", "plain momentum, four steps"),
            momentum("nesterov", "Nesterov momentum, four steps", use_nesterov=True),
            momentum("nesterov_locking", "the same with locking", use_nesterov=True,
                     use_locking=True),
            in_scopes(), under_reuse(), var_lists(), no_variables(), global_steps(), rates()]
