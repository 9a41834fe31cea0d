"""Calls that differentiate and optimize."""

import tensorflow.compat.v1 as tf

from . import arguments, ops, wide
from .arguments import op_name

OPTIMIZERS = {"GradientDescentOptimizer": 4, "MomentumOptimizer": 4, "AdamOptimizer": 4,
              "RMSPropOptimizer": 2, "AdagradOptimizer": 2}


def optimizer(live):
    op = live.weighted(OPTIMIZERS)
    args = {}
    rate = live.pick((0.125, 0.25, 0.01))
    if live.chance(0.06):
        made = live.call("constant", value=rate)
        rate = made if made.ok else rate
    if op != "AdamOptimizer" or live.chance(0.5):
        args["learning_rate"] = rate
    if op == "MomentumOptimizer":
        args["momentum"] = live.pick((0.5, 0.9))
        if live.chance(0.3):
            args["use_nesterov"] = True
    elif op == "AdamOptimizer" and live.chance(0.3):
        args.update(beta1=0.5, beta2=0.75, epsilon=0.01)
    elif op == "RMSPropOptimizer":
        if live.chance(0.5):
            args.update(decay=0.5, momentum=0.25, epsilon=0.01)
        if live.chance(0.3):
            args["centered"] = True
    elif op == "AdagradOptimizer" and live.chance(0.3):
        args["initial_accumulator_value"] = live.pick((0.5, 1.0, -1.0, 0.0))
    if live.chance(0.15):
        args["use_locking"] = True
    if live.chance(0.3):
        args["name"] = arguments.pick_or_odd(live, ("train", "opt", "Adam", "Momentum", "sgd"),
                                      ("a b", "", "1"), 0.06)
    return live.call(op, **args)


def chosen_optimizer(live):
    if live.optimizers and live.chance(0.6):
        return live.recent(live.optimizers)
    made = optimizer(live)
    return made if made.ok else None


def trainable(live, dtypes=("float32",)):
    """Returns a float variable; makes one if there is none."""
    held = live.recent([v for v in live.variables if v.dtype in dtypes])
    if held is None or live.chance(0.1):
        made = live.call("get_variable", name=live.pick(arguments.VARIABLES),
                         shape=arguments.shape(live, live.pick((0, 1, 2))),
                         initializer={"initializer": "constant", "value": 0.5})
        if made.ok:
            return made
    return held


def term(live, variable):
    """Returns a tensor that depends on a variable."""
    how = live.weighted({"square": 4, "product": 4, "gather": 3, "matmul": 3, "tanh": 2, "plain": 1,
                         "stopped": 0.7, "cast": 0.4})
    sizes = variable.shape
    if how == "gather" and sizes:
        rows = sizes[0] or 1
        indices = [live.rng.randrange(rows) for _ in range(live.rng.randrange(1, 4))]
        return live.call("gather", params=variable, indices=indices, **op_name(live, 0.2))
    if how == "matmul" and sizes is not None and len(sizes) == 2 and sizes[0]:
        fitting = [t for t in live.tensors if t.dtype == variable.dtype and t.shape is not None
                   and len(t.shape) == 2 and t.shape[1] == sizes[0]]
        x = live.recent(fitting) or ops.fresh(live, variable.dtype, [2, sizes[0]])
        return live.call("matmul", a=x, b=variable, **op_name(live, 0.2))
    if how == "product":
        other = ops.partner(live, variable)
        return live.call("multiply", x=variable, y=other, **op_name(live, 0.2))
    if how == "stopped":
        return live.call("stop_gradient", input=variable)
    if how == "cast":
        return live.call("cast", x=variable, dtype=live.pick(("int32", "float64", "float32")))
    if how == "plain":
        return live.call("identity", input=variable)
    return live.call("tanh" if how == "tanh" else "square", x=variable, **op_name(live, 0.2))


def loss(live, count=None):
    """Returns a tensor, nearly always a scalar that depends on some variables."""
    if live.chance(0.04):
        return live.recent(live.tensors)
    total = None
    for _ in range(count or live.weighted({1: 4, 2: 4, 3: 2})):
        variable = trainable(live)
        if variable is None:
            return None
        part = term(live, variable)
        if not part.ok or part.dtype not in arguments.FLOATS:
            continue
        op = live.pick(("reduce_mean", "reduce_sum"))
        one = live.call(op, input_tensor=part, **op_name(live, 0.2))
        if one.ok and total is not None and one.dtype == total.dtype:
            one = live.call("operator", operator=live.pick("++-*"), a=total, b=one)
        total = one if one.ok else total
    return total


def gradients(live):
    ys = [loss(live) if live.chance(0.7) else ops.floating(live)
          for _ in range(live.weighted({1: 8, 2: 2}))]
    ys = [y for y in ys if y is not None]
    pool = live.variables if live.chance(0.6) else live.tensors + live.variables
    xs = [live.recent(pool) for _ in range(live.weighted({1: 4, 2: 4, 3: 2}))]
    xs = [x for x in xs if x is not None]
    if not ys:
        return None
    args = {}
    if live.chance(0.15):
        args["grad_ys"] = [grad_y(live, y) for y in ys]
    if live.chance(0.2):
        args["stop_gradients"] = [x for x in (live.recent(live.tensors + live.variables),)
                                  if x is not None]
    if live.chance(0.1):
        args["name"] = live.pick(("grads", "g", "gradients"))
    if live.wide and live.chance(0.2):
        args["gate_gradients"] = True
    if live.wide and live.chance(0.15):
        args["unconnected_gradients"] = "zero"
    return live.call("gradients", ys=ys, xs=xs, **args, **wide.gradient_options(live))


def grad_y(live, y):
    same = [t for t in live.tensors if t.dtype == y.dtype and t.shape == y.shape]
    if live.chance(0.2):
        return None
    if same and live.chance(0.9):
        return live.recent(same)
    return live.recent(live.tensors)


def var_list(live):
    """Returns {} or {"var_list": ...}."""
    if live.chance(0.65):
        return {}
    if live.chance(0.1):
        return {"var_list": []}
    listed = [live.recent(live.variables) for _ in range(live.rng.randrange(1, 4))]
    unique = []
    for held in listed:
        seen = held is not None and any(held.value is other.value for other in unique)
        if held is not None and (not seen or live.chance(0.1)):
            unique.append(held)
    return {"var_list": unique}


def compute_gradients(live):
    target, chosen = loss(live), chosen_optimizer(live)
    if target is None or chosen is None:
        return None
    gate = {"gate_gradients": live.pick((0, 1, 2))} if live.wide and live.chance(0.3) else {}
    result = live.call("compute_gradients", optimizer=chosen, loss=target, **var_list(live), **gate,
                       **wide.gradient_options(live))
    if result.ok and isinstance(result.value, list):
        live.pairs.append(result)
    return result


def pairs_of(live, result):
    """Returns the pairs [gradient or None, variable] of compute_gradients, sometimes changed."""
    pairs = []
    for index, (gradient, variable) in enumerate(result.value):
        del variable
        ref = dict(result.ref)
        grad = None if gradient is None else dict(ref, path=[index, 0])
        if live.chance(0.05):
            grad = None
        pairs.append([grad, dict(ref, path=[index, 1])])
    if pairs and live.chance(0.1):
        pairs.pop(live.rng.randrange(len(pairs)))
    if pairs and live.chance(0.02):
        pairs.append(pairs[0])
    return pairs


def global_step(live):
    """Returns {} or {"global_step": ...}."""
    if live.chance(0.6):
        return {}
    if live.chance(0.8):
        step = live.call("get_or_create_global_step")
    else:
        step = live.recent(live.variables)
    return {} if step is None or (hasattr(step, "ok") and not step.ok) else {"global_step": step}


def update_name(live):
    return {"name": live.pick(("train", "update", "Momentum"))} if live.chance(0.2) else {}


def apply_gradients(live):
    if not live.pairs or live.chance(0.3):
        compute_gradients(live)
    chosen = chosen_optimizer(live)
    if not live.pairs or chosen is None:
        return None
    pairs = pairs_of(live, live.recent(live.pairs))
    return live.call("apply_gradients", optimizer=chosen, grads_and_vars=pairs,
                     **global_step(live), **update_name(live))


def minimize(live):
    target, chosen = loss(live), chosen_optimizer(live)
    if target is None or chosen is None:
        return None
    return live.call("minimize", optimizer=chosen, loss=target, **global_step(live),
                     **var_list(live), **update_name(live), **wide.gradient_options(live))


def ask(live):
    what = live.weighted({"get_slot": 3, "get_slot_names": 1, "optimizer_variables": 2,
                          "get_global_step": 1, "get_or_create_global_step": 1})
    if "step" in what:
        return live.call(what)
    chosen = live.recent(live.optimizers)
    if chosen is None:
        return optimizer(live)
    if what != "get_slot":
        return live.call(what, optimizer=chosen)
    variable = live.recent([v for v in live.variables if isinstance(v.value, tf.Variable)])
    return variable and live.call(what, optimizer=chosen, var=variable,
                                  name=live.pick(("momentum", "m", "v", "rms", "accumulator")))


KINDS = {gradients: 3, compute_gradients: 2, apply_gradients: 4, minimize: 4, ask: 2,
         optimizer: 0.5, loss: 1}


def any_call(live):
    return live.weighted(KINDS)(live)
