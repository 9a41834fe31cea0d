"""All optimizers with schedules of the learning rate; steps that are run, and their slots."""

from . import arguments, control, training

EXTRA = {
    "GradientDescentOptimizer": {}, "MomentumOptimizer": {"use_nesterov": (True,)},
    "AdamOptimizer": {"beta1": (0.5,), "beta2": (0.75,), "epsilon": (0.01,)},
    "RMSPropOptimizer": {"decay": (0.5,), "momentum": (0.25,), "epsilon": (0.01,),
                         "centered": (True,)},
    "AdagradOptimizer": {"initial_accumulator_value": (0.5, 1.0)},
    "AdadeltaOptimizer": {"rho": (0.5,), "epsilon": (0.01,)},
    "AdagradDAOptimizer": {"initial_gradient_squared_accumulator_value": (0.5,),
                           "l1_regularization_strength": (0.125,),
                           "l2_regularization_strength": (0.25,)},
    "FtrlOptimizer": {"learning_rate_power": (-0.5, -0.25, 0.0), "beta": (0.25,),
                      "initial_accumulator_value": (0.5,), "l1_regularization_strength": (0.125,),
                      "l2_regularization_strength": (0.25,),
                      "l2_shrinkage_regularization_strength": (0.125,)},
    "ProximalAdagradOptimizer": {"initial_accumulator_value": (0.5,),
                                 "l1_regularization_strength": (0.125,),
                                 "l2_regularization_strength": (0.25,)},
    "ProximalGradientDescentOptimizer": {"l1_regularization_strength": (0.125,),
                                         "l2_regularization_strength": (0.25,)},
}


def schedule(live, step):
    """Returns a learning rate that depends on the step."""
    rate, name = live.pick((0.5, 0.25)), {"name": "rate"} if live.chance(0.2) else {}
    op = live.pick(("exponential_decay", "natural_exp_decay", "inverse_time_decay",
                    "polynomial_decay", "cosine_decay", "linear_cosine_decay"))
    if op in ("exponential_decay", "natural_exp_decay", "inverse_time_decay"):
        more = {"staircase": True} if live.chance(0.3) else {}
        return live.call(op, learning_rate=rate, global_step=step, decay_steps=live.pick((2, 10)),
                         decay_rate=0.5, **more, **name)
    more = {}
    if op == "polynomial_decay":
        if live.chance(0.5):
            more = {"end_learning_rate": 0.125, "power": live.pick((1.0, 2.0))}
        if live.chance(0.3):
            more["cycle"] = True
    elif op == "cosine_decay" and live.chance(0.4):
        more = {"alpha": 0.25}
    return live.call(op, learning_rate=rate, global_step=step, decay_steps=live.pick((2, 10)),
                     **more, **name)


def optimizer(live, step):
    op = live.pick(sorted(EXTRA))
    rate = schedule(live, step) if step is not None and live.chance(0.3) else \
        live.pick((0.125, 0.25, 0.5))
    args = {"learning_rate": rate}
    if op == "MomentumOptimizer":
        args["momentum"] = 0.5
    if op == "AdagradDAOptimizer":
        if step is None:
            step = live.call("get_or_create_global_step")
        args["global_step"] = step
    for key, options in EXTRA[op].items():
        if live.chance(0.3):
            args[key] = live.pick(options)
    if live.chance(0.2):
        args["name"] = arguments.pick_or_odd(live, ("train", "opt", "Adam"), ("a b", "1"), 0.05)
    return live.call(op, **args)


def loss(live):
    """Returns the sum of results of the program, so that gradients go through all it has."""
    floats = [t for t in live.tensors if t.dtype == "float32" and t.shape is not None]
    total = None
    for _ in range(live.weighted({1: 3, 2: 3, 3: 1})):
        held = live.recent(floats)
        if held is None:
            break
        part = live.call(live.pick(("reduce_mean", "reduce_sum")), input_tensor=held)
        if not part.ok:
            continue
        total = part if total is None else live.call("operator", operator="+", a=total, b=part)
    if total is None or live.chance(0.2):
        variable = training.trainable(live)
        return training.term(live, variable) if variable is not None else total
    return total


def gradients(live):
    target = loss(live)
    pool = live.variables * 2 + [t for t in live.tensors if t.dtype == "float32"]
    xs = [live.recent(pool) for _ in range(live.rng.randrange(1, 4))]
    if target is None or not target.ok or None in xs:
        return None
    before = len(live.tensors)
    result = live.call("gradients", ys=[target], xs=xs,
                       **({"unconnected_gradients": "zero"} if live.chance(0.15) else {}))
    # TensorFlow leaves the context of a loop open when it refuses a second gradient.
    loops = any(op.type == "LoopCond" for op in live.graph.get_operations())
    if loops:
        live.slopes += live.tensors[before:]
        del live.tensors[before:]
    if result.ok and live.chance(0.08) and not loops:
        dense = [i for i, g in enumerate(result.value) if g is not None and not hasattr(g, "indices")]
        if dense:
            again = live.call("gradients", ys=[result[dense[0]]], xs=xs)
            return again
    return result


def minimize(live):
    step = live.call("get_or_create_global_step") if live.chance(0.5) else None
    target = loss(live)
    if target is None or not target.ok:
        return None
    made = optimizer(live, step)
    if not made.ok:
        return None
    args = {"global_step": step} if step is not None else {}
    if live.chance(0.1):
        args["name"] = "train"
    if live.chance(0.3):
        pairs = live.call("compute_gradients", optimizer=made, loss=target)
        if not pairs.ok or not isinstance(pairs.value, list):
            return None
        done = live.call("apply_gradients", optimizer=made, **args,
                         grads_and_vars=training.pairs_of(live, pairs))
    else:
        done = live.call("minimize", optimizer=made, loss=target, **args)
    if done.ok:
        live.steps.append(done)
        live.call("optimizer_variables", optimizer=made)
    return done


def any_call(live):
    if live.chance(0.3):
        return gradients(live)
    if live.chance(0.2):
        return control.source(live)
    return minimize(live)
