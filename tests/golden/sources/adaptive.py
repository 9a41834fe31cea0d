"""Several steps of Adam, RMSProp and Adagrad, dense and sparse; names and order of slots."""

from oracle.builder import Program, generate

from .training import model, steps

KINDS = {
    "adam": ("AdamOptimizer", [0.1], {}, ["m", "v"]),
    "adam_own": ("AdamOptimizer", [0.05, 0.5, 0.75, 0.125], {"name": "Mine", "use_locking": True},
                 ["m", "v"]),
    "rmsprop": ("RMSPropOptimizer", [0.1], {}, ["rms", "momentum"]),
    "rmsprop_momentum": ("RMSPropOptimizer", [0.05, 0.5, 0.75, 1.0], {}, ["rms", "momentum"]),
    "rmsprop_centered": ("RMSPropOptimizer", [0.05, 0.75, 0.5, 0.5], {"centered": True},
                         ["rms", "mg", "momentum"]),
    "adagrad": ("AdagradOptimizer", [0.1], {}, ["accumulator"]),
    "adagrad_own": ("AdagradOptimizer", [0.25], {"initial_accumulator_value": 0.5, "name": "Sums"},
                    ["accumulator"]),
}


def dense(name):
    kind, arguments, options, slot_names = KINDS[name]
    p = Program(name, "minimize with a global step, four steps")
    loss, w, b = model(p)
    step = p.get_or_create_global_step()
    opt = getattr(p, kind)(*arguments, **options)
    train = p.minimize(opt, loss, step)
    p.get_slot_names(opt), p.optimizer_variables(opt)
    slots = [p.get_slot(opt, v, slot) for v in (w, b) for slot in slot_names]
    steps(p, train, [w, b, step, loss] + slots)
    return p


def sparse(name):
    kind, arguments, options, slot_names = KINDS[name]
    p = Program(name + "_sparse", "slices with a row twice, three steps")
    w = p.get_variable("w", initializer=generate(5, [5, 2]))
    rows = p.gather(w, p.constant([3, 1, 3]))
    loss = p.reduce_sum(p.square(rows))
    opt = getattr(p, kind)(*arguments, **options)
    train = p.minimize(opt, loss)
    slots = [p.get_slot(opt, w, slot) for slot in slot_names]
    steps(p, train, [w] + slots, count=3)
    return p


def one_graph():
    p = Program("adaptive_one_graph", "several optimizers, scopes, and a variable without gradient")
    with p.variable_scope("net"):
        w = p.get_variable("w", [2])
        b = p.get_variable("a", [2])
        p.get_variable("unused", [2])
        loss = p.reduce_sum(p.square(w) + b)
        p.minimize(p.AdamOptimizer(0.1), loss)
    with p.name_scope("train"):
        p.minimize(p.AdamOptimizer(0.1), loss)
        p.minimize(p.RMSPropOptimizer(0.1), loss, name="second")
    opt = p.AdamOptimizer(0.1)
    p.minimize(opt, loss)
    p.minimize(opt, loss)
    p.optimizer_variables(opt)
    p.minimize(p.AdagradOptimizer(0.1), loss)
    p.AdagradOptimizer(0.1, initial_accumulator_value=0.0)
    return p


def adam_under_reuse():
    p = Program("adam_under_reuse", "slots cannot be made in a scope that reuses; powers can")
    w = p.get_variable("w", [2])
    loss = p.reduce_sum(p.square(w))
    p.reuse_variables(p.get_variable_scope())
    p.minimize(p.AdamOptimizer(0.1), loss)
    return p


def shared_slots():
    p = Program("shared_slots", "two optimizers in one scope: the second finds the first's slots")
    for reuse in (None, True):
        with p.variable_scope("net", reuse=reuse):
            w = p.get_variable("w", [2])
            p.minimize(p.MomentumOptimizer(0.1, 0.9), p.reduce_sum(p.square(w)))
    return p


def programs():
    return ([dense(name) for name in KINDS] +
            [sparse(name) for name in KINDS] + [one_graph(), adam_under_reuse(), shared_slots()])
