"""Several steps of Adadelta, Ftrl, AdagradDA and the proximal optimizers; the schedules with cosines
that start again or have noise."""

from oracle.builder import Program, generate

from .training import model, steps

PENALTIES = {"l1_regularization_strength": 0.0625, "l2_regularization_strength": 0.125}
STEP = object()  # stands for the global step
KINDS = {
    "adadelta": ("AdadeltaOptimizer", [0.5], {}, ["accum", "accum_update"]),
    "adadelta_own": ("AdadeltaOptimizer", [1.0, 0.75, 0.125], {"name": "Mine", "use_locking": True},
                     ["accum", "accum_update"]),
    "adagrad_da": ("AdagradDAOptimizer", [0.5, STEP], {},
                   ["gradient_accumulator", "gradient_squared_accumulator"]),
    "adagrad_da_penalties": ("AdagradDAOptimizer", [0.5, STEP, 0.25], PENALTIES,
                             ["gradient_accumulator", "gradient_squared_accumulator"]),
    "ftrl": ("FtrlOptimizer", [0.25], {}, ["accum", "linear"]),
    "ftrl_penalties": ("FtrlOptimizer", [0.25, -0.5, 0.5],
                       dict(PENALTIES, accum_name="Squares", linear_name="Line"),
                       ["accum", "linear"]),
    "ftrl_power": ("FtrlOptimizer", [0.25, -0.75], dict(PENALTIES, beta=0.5), ["accum", "linear"]),
    "ftrl_shrinkage": ("FtrlOptimizer", [0.25],
                       {"l2_shrinkage_regularization_strength": 0.25, "name": "Shrink"},
                       ["accum", "linear"]),
    "proximal_adagrad": ("ProximalAdagradOptimizer", [0.25], {}, ["accumulator"]),
    "proximal_adagrad_penalties": ("ProximalAdagradOptimizer", [0.25, 0.5], PENALTIES,
                                   ["accumulator"]),
    "proximal_descent": ("ProximalGradientDescentOptimizer", [0.25], {}, []),
    "proximal_descent_penalties": ("ProximalGradientDescentOptimizer", [0.25], PENALTIES, []),
}


def optimizer(p, kind, arguments, options, step):
    arguments = [step if argument is STEP else argument for argument in arguments]
    return getattr(p, kind)(*arguments, **options)


def dense(name):
    kind, arguments, options, slot_names = KINDS[name]
    p = Program(name, "minimize with a global step, four steps")
    loss, w, b = model(p)
    step = p.get_or_create_global_step()
    opt = optimizer(p, kind, arguments, options, step)
    train = p.minimize(opt, loss, step)
    p.get_slot_names(opt), p.optimizer_variables(opt)
    slots = [p.get_slot(opt, v, slot) for v in (w, b) for slot in slot_names]
    steps(p, train, [w, b, step, loss] + slots)
    return p


def sparse(name):
    kind, arguments, options, slot_names = KINDS[name]
    p = Program(name + "_sparse", "slices with a row twice, three steps")
    w = p.get_variable("w", initializer=generate(5, [5, 2]))
    step = p.get_or_create_global_step()
    rows = p.gather(w, p.constant([3, 1, 3]))
    loss = p.reduce_sum(p.square(rows))
    opt = optimizer(p, kind, arguments, options, step)
    train = p.minimize(opt, loss, step)
    slots = [p.get_slot(opt, w, slot) for slot in slot_names]
    steps(p, train, [w, step] + slots, count=3)
    return p


def double(name):
    kind, arguments, options, slot_names = KINDS[name]
    p = Program(name + "_float64", "a variable of float64: the proximal optimizers refuse the rate")
    w = p.get_variable("w", initializer=generate(6, [3, 2], dtype="float64"))
    step = p.get_or_create_global_step()
    opt = optimizer(p, kind, arguments, options, step)
    train = p.minimize(opt, p.reduce_sum(p.square(w)), step)
    slots = [p.get_slot(opt, w, slot) for slot in slot_names]
    steps(p, train, [w, step] + slots, count=3)
    return p


def one_graph():
    p = Program("more_optimizers_one_graph", "several optimizers, names of their nodes, errors")
    w = p.get_variable("w", [2])
    p.get_variable("unused", [2])
    loss = p.reduce_sum(p.square(w))
    step = p.get_or_create_global_step()
    for kind, arguments in (("AdadeltaOptimizer", []), ("FtrlOptimizer", [0.1]),
                            ("AdagradDAOptimizer", [0.1, step]),
                            ("ProximalAdagradOptimizer", [0.1]),
                            ("ProximalGradientDescentOptimizer", [0.1])):
        opt = getattr(p, kind)(*arguments)
        p.minimize(opt, loss)
        with p.name_scope("train"):
            p.minimize(opt, loss, name="second")
        p.minimize(getattr(p, kind)(*arguments), loss)
    p.constant(1.0)
    p.AdagradDAOptimizer(0.1, step, 0.0)
    p.ProximalAdagradOptimizer(0.1, -1.0)
    for options in ({"learning_rate_power": 0.5}, {"initial_accumulator_value": -1.0},
                    {"l1_regularization_strength": -1.0}, {"l2_regularization_strength": -1.0},
                    {"l2_shrinkage_regularization_strength": -1.0}):
        p.FtrlOptimizer(0.1, **options)
    p.minimize(p.AdagradDAOptimizer(0.1, p.constant(3)), loss)
    return p


def rates():
    p = Program("waving_rates", "cosine decay with restarts, linear cosine decay, with noise")
    step = p.get_or_create_global_step()
    rate = p.constant(0.5, "float64")
    results = [p.cosine_decay_restarts(0.25, step, 3),
               p.cosine_decay_restarts(0.25, step, 2, 1.0, 0.5, name="equal"),
               p.cosine_decay_restarts(rate, step, 2.0, 1.5, 0.75, 0.125),
               p.linear_cosine_decay(0.25, step, 6),
               p.linear_cosine_decay(rate, step, 5, 1.5, 0.25, 0.5, name="linear")]
    noisy = [p.noisy_linear_cosine_decay(0.25, step, 6),
             p.noisy_linear_cosine_decay(0.25, step, 5, 0.5, 0.25, 1.5, 0.25, 0.5, name="noisy")]
    with p.name_scope("train"):
        p.cosine_decay_restarts(0.25, step, 100)
        p.linear_cosine_decay(0.25, step, p.constant(100))
        p.noisy_linear_cosine_decay(0.25, step, p.constant(100))
    p.run([p.global_variables_initializer()])
    for i in range(6):
        p.run(results)
        p.run(noisy + [p.assign_add(step, 1)], compare="shape")
    return p


def programs():
    return ([dense(name) for name in KINDS] + [sparse(name) for name in KINDS] +
            [double(name) for name in KINDS] + [one_graph(), rates()])
