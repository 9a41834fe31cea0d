"""Calls that make, find and assign variables."""

import tensorflow.compat.v1 as tf

from . import arguments, wide
from .analysis import Fetched, writes
from .arguments import array, literal, number, shape


def initializer(live, dtype, sizes):
    kind = live.weighted({"constant": 4, "zeros": 3, "ones": 2, "random_uniform": 2,
                          "random_normal": 1, "truncated_normal": 2})
    form = {"initializer": kind}
    if kind == "constant":
        form["value"] = number(live, dtype)
        if sizes and live.chance(0.15):
            form["value"] = literal(live, dtype, sizes)
        if live.chance(0.02):
            form["value"] = literal(live, dtype, shape(live))
    elif kind == "random_uniform":
        form.update(minval=-1.0, maxval=1.0)
    elif kind != "zeros" and kind != "ones":
        form.update(mean=0.0, stddev=0.5)
    if kind.endswith(("uniform", "normal")) and live.chance(0.3):
        form["seed"] = live.rng.randrange(1000)
    return form


def existing(live):
    """Returns a name in the current scope whose variable exists, and that variable."""
    prefix = tf.get_variable_scope().name
    prefix = prefix + "/" if prefix else ""
    names = [held for held in live.variables if held.value.op.name.startswith(prefix)]
    held = live.recent(names)
    return None if held is None else (held.value.op.name[len(prefix):], held)


def initial_tensor(live):
    """Returns a tensor for an initial value, which rarely depends on a variable."""
    held = live.recent(live.tensors)
    if held is None:
        return None
    op = held.value.op
    if live.chance(0.03) and not any(writes(o) for o in Fetched([op], []).ops):
        return held
    return None if "VariableV2" in Fetched([op], []).types() else held


def collections_of(live):
    keys = [live.pick(arguments.KEYS) for _ in range(live.weighted({0: 1, 1: 3, 2: 3}))]
    if live.chance(0.6):
        keys.append("variables")
    return keys


def get_variable(live, op="get_variable"):
    args = {}
    name = arguments.pick_or_odd(live, arguments.VARIABLES, arguments.ODD_VARIABLES, 0.03)
    dtype, sizes = arguments.dtype(live), shape(live, live.weighted({0: 1, 1: 4, 2: 5, 3: 1, 4: .3}))
    if dtype == "bool":
        dtype = "float32"
    reusing = tf.get_variable_scope().reuse
    found = existing(live) if live.chance(0.85 if reusing else 0.06) else None
    if found is not None:
        name, held = found
        if live.chance(0.9):
            dtype, sizes = held.dtype, held.shape
    value = None
    if live.chance(0.5):
        value = initializer(live, dtype, sizes)
    elif live.chance(0.12):
        value = array(live, dtype, sizes)
        sizes = None if live.chance(0.9) else sizes
        dtype = dtype if live.chance(0.5) else "float32"
    elif live.chance(0.08):
        value = initial_tensor(live)
        sizes = None if live.chance(0.6) else sizes
        dtype = value.dtype if value is not None and live.chance(0.6) else dtype
    if value is not None:
        args["initializer"] = value
    if live.chance(0.02):
        sizes = live.pick(([None, 2], [-1], None, [0], [2, None]))
    if sizes is not None:
        args["shape"] = sizes
    if dtype != "float32" or live.chance(0.1):
        args["dtype"] = dtype
    if live.chance(0.1):
        args["collections"] = collections_of(live)
    if op == "get_variable":
        if live.chance(0.12):
            args["trainable"] = live.chance(0.3)
        if live.chance(0.12):
            args["regularizer"] = live.pick(("l2", "l2", "none"))
        if live.chance(0.06):
            args["custom_getter"] = live.pick(("suffixed", "frozen", "found_or_made"))
        args.update(wide.variable_options(live))
    return live.call(op, name=name, **args)


def get_local_variable(live):
    return get_variable(live, "get_local_variable")


def plain(live):
    args = arguments.op_name(live, 0.8)
    dtype = arguments.dtype(live)
    tensor = initial_tensor(live)
    if tensor is not None and live.chance(0.2):
        args["initial_value"] = tensor
    else:
        args["initial_value"] = array(live, dtype, shape(live))
        if dtype not in ("float32", "bool", "int32") or live.chance(0.05):
            args["dtype"] = dtype
    if live.chance(0.15):
        args["trainable"] = live.chance(0.3)
    if live.chance(0.1):
        args["collections"] = collections_of(live)
    return live.call("Variable", **args)


def assign(live):
    variable = live.recent(live.variables)
    if variable is None:
        return None
    sizes = variable.shape if variable.known else []
    value = None
    if live.chance(0.4):
        same = [t for t in live.tensors if t.dtype == variable.dtype and t.shape == variable.shape]
        value = live.recent(same)
    if value is None:
        value = literal(live, variable.dtype, sizes)
    if live.chance(0.04):
        value = live.recent(live.tensors) or literal(live, "float32", shape(live))
    op = live.weighted({"assign": 3, "assign_add": 2, "assign_sub": 1})
    return live.call(op, ref=variable, value=value, **arguments.op_name(live, 0.2))


def ask(live):
    what = live.weighted({"initializer_of": 1, "read_value": 2, "global_variables": 1,
                          "local_variables": 0.5, "trainable_variables": 1,
                          "global_variables_initializer": 0.5, "local_variables_initializer": 0.3,
                          "variables_initializer": 0.5, "set_random_seed": 0.2})
    if what in ("initializer_of", "read_value"):
        variable = live.recent(live.variables)
        return None if variable is None else live.call(what, variable=variable)
    if what == "variables_initializer":
        listed = [live.recent(live.variables) for _ in range(live.rng.randrange(3))]
        return live.call(what, var_list=[v for v in listed if v is not None],
                         **arguments.op_name(live, 0.4))
    if what == "set_random_seed":
        return live.call(what, seed=live.pick((0, 1, 42, 2 ** 31)))
    if what.endswith("initializer"):
        return live.call(what)
    if live.chance(0.5):
        return live.call(what)
    return live.call(what, scope=filter_scope(live))


def filter_scope(live):
    """Returns a scope to filter a collection; some are regular expressions."""
    return live.pick(arguments.SCOPES + ("", "a/", "net/", "tower_1", "tower_1/", "a/v", ".*w",
                                         "[ab]", "a|b", "(a|net)/", "v", "^a", "w$", "a.*v", "V",
                                         r"tower_\d+/", "x?", None))
