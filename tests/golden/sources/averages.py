"""Exponential moving averages of variables and tensors."""

from oracle.builder import Program, generate, initializer

ONES = initializer("ones")


def towers(p, count, body):
    for i in range(count):
        with p.device("/gpu:%d" % i), p.name_scope("tower_%d" % i):
            body(i)
            p.reuse_variables(p.get_variable_scope())


def of_variables():
    p = Program("of_variables", "shadows beside their variables, four updates")
    w = p.get_variable("w", initializer=generate(3, [3, 2]))
    b = p.get_variable("b", [2], initializer=ONES)
    ema = p.ExponentialMovingAverage(0.75)
    p.ema_average(ema, w), p.ema_average_name(ema, w)
    update = p.ema_apply(ema, [w, b])
    shadows = [p.ema_average(ema, v) for v in (w, b)]
    p.ema_average_name(ema, w), p.ema_variables_to_restore(ema)
    p.run([p.global_variables_initializer()])
    p.run(shadows)
    for i in range(4):
        p.run([p.assign(w, w * 1.5)])
        p.run([update])
        p.run(shadows)
    again = p.ema_apply(ema, [w])
    p.run([again])
    p.run(shadows)
    return p


def of_tensors(name, zero_debias):
    p = Program(name, "the shadow of a tensor begins at zero")
    x = p.placeholder("float32", [2], name="x")
    with p.name_scope("tower_0"):
        loss = p.reduce_sum(p.square(x), name="loss")
        split = p.identity(x)
    ema = p.ExponentialMovingAverage(0.5, zero_debias=zero_debias, name="avg")
    p.ema_average_name(ema, loss)
    update = p.ema_apply(ema, [loss, split])
    shadows = [p.ema_average(ema, t) for t in (loss, split)]
    p.ema_average_name(ema, loss), p.ema_average(ema, x)
    p.run([p.global_variables_initializer()])
    for value in ([1.0, 2.0], [3.0, -1.0], [0.5, 0.25]):
        p.run([update], [[x, value]])
        p.run(shadows)
    p.global_variables(), p.trainable_variables(), p.moving_average_variables()
    return p


def num_updates(name, dtype):
    p = Program(name, "a decay that grows with the count of steps")
    w = p.get_variable("w", [2], initializer=ONES)
    step = p.get_variable("step", [], dtype, initializer("zeros"), trainable=False)
    ema = p.ExponentialMovingAverage(0.9999, step)
    update = p.ema_apply(ema, [w])
    shadow = p.ema_average(ema, w)
    p.run([p.global_variables_initializer()])
    for i in range(3):
        p.run([p.assign_add(w, [1.0, -2.0]), p.assign_add(step, 7)], compare="shape")
        p.run([update])
        p.run([shadow, step])
    return p


def decays():
    p = Program("decays", "the decay as a number, tensor, variable; counts as a number")
    w = p.get_variable("w", [2], initializer=ONES)
    wide = p.get_variable("wide", [2], "float64", ONES)
    rate = p.get_variable("rate", [], initializer=initializer("constant", value=0.5))
    fed = p.placeholder("float32", [], name="fed")
    updates, shadows = [], []
    for number, decay in enumerate([rate, fed, 1, 0.25]):
        ema = p.ExponentialMovingAverage(decay, name="ema%d" % number)
        updates.append(p.ema_apply(ema, [w, wide]))
        shadows += [p.ema_average(ema, v) for v in (w, wide)]
    for count in (3, 2.5):
        ema = p.ExponentialMovingAverage(0.9, count)
        updates.append(p.ema_apply(ema, [wide, w]))
        shadows += [p.ema_average(ema, v) for v in (w, wide)]
    p.ema_apply(p.ExponentialMovingAverage(p.constant(0.5, "float64")), [w])
    p.run([p.global_variables_initializer()])
    p.run([p.assign(w, [3.0, -4.0]), p.assign(wide, [0.1, 0.2])], compare="shape")
    p.run(updates, [[fed, 0.75]])
    p.run(shadows)
    return p


def trainables():
    p = Program("trainables", "apply without a list takes the trainable variables")
    with p.variable_scope("net"):
        w = p.get_variable("w", [2], initializer=ONES)
        p.get_variable("frozen", [2], trainable=False)
    step = p.get_or_create_global_step()
    ema = p.ExponentialMovingAverage(0.9, step)
    p.ema_apply(ema)
    p.ema_variables_to_restore(ema)
    p.ema_variables_to_restore(ema, [w])
    p.ema_variables_to_restore(ema, [])
    p.moving_average_variables(), p.moving_average_variables("net"), p.moving_average_variables("o")
    empty = p.ExponentialMovingAverage(0.9, name="empty")
    p.ema_apply(empty, [])
    p.ema_variables_to_restore(empty)
    return p


def in_scopes():
    p = Program("average_scopes", "names of shadows inside variable scopes and name scopes")
    with p.variable_scope("net"):
        w = p.get_variable("w", [2], initializer=ONES)
        ema = p.ExponentialMovingAverage(0.9)
        p.ema_average_name(ema, w)
        p.ema_apply(ema, [w])
        p.ema_average_name(ema, w)
        x = p.square(w, name="x")
        p.ema_apply(ema, [x])
        debiased = p.ExponentialMovingAverage(0.9, zero_debias=True, name="debiased")
        p.ema_apply(debiased, [x])
    with p.name_scope("train"):
        p.ema_apply(p.ExponentialMovingAverage(0.9), [w])
        p.ema_apply(p.ExponentialMovingAverage(0.9, name="Other"), [w, x])
        with p.variable_scope("scope"):
            p.ema_apply(p.ExponentialMovingAverage(0.9, zero_debias=True), [x])
    p.ema_apply(p.ExponentialMovingAverage(0.9), [w])
    v = p.Variable([1.0, 2.0], name="v")
    with p.variable_scope("net"):
        p.ema_apply(p.ExponentialMovingAverage(0.9), [v])
    p.ema_variables_to_restore(ema)
    return p


def devices():
    p = Program("average_devices", "shadows of variables lie beside them, those of tensors here")
    with p.device("/cpu:0"):
        w = p.get_variable("w", [2], initializer=ONES)
    v = p.get_variable("v", [2], initializer=ONES)
    with p.device("/gpu:1"):
        loss = p.reduce_sum(w, name="loss")
    with p.device("/gpu:0"), p.name_scope("tower_0"):
        p.ema_apply(p.ExponentialMovingAverage(0.9, zero_debias=True), [w, v, loss])
    with p.control_dependencies([loss]):
        p.ema_apply(p.ExponentialMovingAverage(0.9, name="late"), [w, loss])
    with p.colocate_with(v):
        p.ema_apply(p.ExponentialMovingAverage(0.9, name="beside"), [w, loss])
    return p


def in_towers():
    p = Program("average_towers", "an average of every tower's losses, then of the variables")
    averages = []

    def tower(i):
        w = p.get_variable("w", [2], initializer=ONES)
        loss = p.reduce_sum(p.square(w), name="loss")
        p.add_to_collection("losses", loss)
        averages.append((p.ExponentialMovingAverage(0.9, name="avg"), loss))
        if i == 0:
            p.ema_apply(averages[-1][0], [loss])

    with p.variable_scope(p.get_variable_scope()):
        towers(p, 2, tower)
        p.ema_apply(averages[1][0], [averages[1][1]])
        p.ema_apply(p.ExponentialMovingAverage(0.9))
    step = p.get_or_create_global_step()
    ema = p.ExponentialMovingAverage(0.9999, step)
    update = p.ema_apply(ema)
    p.ema_apply(averages[1][0], [averages[1][1]])
    opt = p.MomentumOptimizer(0.1, 0.9)
    train = p.minimize(opt, averages[0][1] + averages[1][1], step)
    p.group([train, update])
    p.ema_variables_to_restore(ema)
    return p


def under_reuse():
    p = Program("average_reuse", "shadows cannot be made where the scope reuses, but can be found")
    for reuse in (None, True, "AUTO_REUSE"):
        with p.variable_scope("net", reuse=reuse):
            w = p.get_variable("w", [2], initializer=ONES)
            x = p.square(w)
            p.ema_apply(p.ExponentialMovingAverage(0.9), [w])
            p.ema_apply(p.ExponentialMovingAverage(0.9, zero_debias=True, name="avg"), [x])
            p.ema_apply(p.ExponentialMovingAverage(0.9, name="other%s" % reuse), [w])
    p.reuse_variables(p.get_variable_scope())
    ema = p.ExponentialMovingAverage(0.9)
    p.ema_apply(ema, [w])
    p.ema_average(ema, w)
    p.ema_apply(ema, [x])
    p.ema_apply(ema, [])
    return p


def wrong():
    p = Program("average_errors", "dtypes that have no average")
    w = p.get_variable("w", [2], initializer=ONES)
    n = p.get_variable("n", [2], "int32", initializer("zeros"))
    ema = p.ExponentialMovingAverage(0.9)
    p.ema_apply(ema, [w, n])
    p.ema_average(ema, w)
    p.ema_apply(ema, [p.cast(w, "int32")])
    p.ema_apply(ema)
    p.ema_apply(p.ExponentialMovingAverage("x"), [w])
    return p


def shapes():
    p = Program("average_shapes", "tensors whose shape is not known")
    x = p.placeholder("float32", [None, 2], name="x")
    y = p.placeholder("float32", name="y")
    ema = p.ExponentialMovingAverage(0.9)
    p.ema_apply(ema, [y, p.reduce_sum(x)])
    p.ema_apply(ema, [y, y])
    return p


def assigned():
    p = Program("assigned", "assign_moving_average by itself, with and without zero_debias")
    x = p.placeholder("float32", [2], name="x")
    with p.variable_scope("norm"):
        mean = p.get_variable("mean", [2], initializer=initializer("zeros"), trainable=False)
        plain = p.assign_moving_average(mean, x, 0.75, zero_debias=False)
        debiased = p.assign_moving_average(mean, x, 0.75)
        p.assign_moving_average(mean, x, p.constant(0.5), name="third")
        p.assign_moving_average(mean, mean, 1, zero_debias=False)
    wide = p.get_variable("wide", [], "float64", initializer("zeros"))
    cast = p.assign_moving_average(wide, p.constant(2.0, "float64"), 0.9)
    p.run([p.global_variables_initializer()])
    for value in ([1.0, 2.0], [3.0, -1.0]):
        p.run([plain], [[x, value]])
        p.run([debiased], [[x, value]])
        p.run([cast])
    p.run([mean, wide])
    p.reuse_variables(p.get_variable_scope())
    p.assign_moving_average(mean, x, 0.75)
    return p


def programs():
    return [of_variables(), of_tensors("of_tensors", False), of_tensors("of_tensors_debiased", True),
            num_updates("num_updates_int64", "int64"), num_updates("num_updates_float32", "float32"),
            decays(), trainables(), in_scopes(), devices(), in_towers(), under_reuse(), wrong(),
            shapes(), assigned()]
