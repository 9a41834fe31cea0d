"""More calls (`sweep --kind wide`): losses, averages, templates, clipping, custom gradients, and ops
whose gradients are of interest."""

from . import arguments, ops
from .arguments import literal, op_name

REDUCTIONS = ("none", "weighted_sum", "weighted_mean", "weighted_sum_over_batch_size",
              "weighted_sum_by_nonzero_weights")


def twin(live, held):
    """Returns a tensor with the dtype and shape of `held`, if possible another one."""
    same = [t for t in live.tensors + live.variables if t.dtype == held.dtype
            and t.shape == held.shape]
    other = live.recent(same)
    if other is not None and live.chance(0.7):
        return other
    return literal(live, held.dtype, held.shape) if held.known else held


def weights(live, held):
    """Returns {} or {"weights": ...} for a loss."""
    if live.chance(0.5):
        return {}
    sizes = held.shape if held.known else [2]
    rows = sizes[:1] + [1] * (len(sizes) - 1)
    return {"weights": live.pick((0.5, 0.0, 2.0, literal(live, "float32", rows),
                                  literal(live, "float32", sizes), literal(live, "float32", [3])))}


def loss(live):
    held = ops.floating(live)
    if held is None or held.shape is None:
        return None
    args = weights(live, held)
    if live.chance(0.4):
        args["reduction"] = live.pick(REDUCTIONS)
    if live.chance(0.2):
        args["scope"] = live.pick(("loss", "a", "x/y", "net"))
    if live.chance(0.15):
        args["loss_collection"] = live.pick(("my", None))
    op = live.weighted({"absolute_difference": 2, "mean_squared_error": 3, "huber_loss": 1,
                        "hinge_loss": 1, "log_loss": 0.7, "sigmoid_cross_entropy": 2,
                        "softmax_cross_entropy": 2, "sparse_softmax_cross_entropy": 2,
                        "compute_weighted_loss": 1, "cosine_distance": 0.5})
    if op == "compute_weighted_loss":
        return live.call(op, losses=held, **args)
    if op == "sigmoid_cross_entropy":
        if live.chance(0.3):
            args["label_smoothing"] = 0.25
        return live.call(op, multi_class_labels=twin(live, held), logits=held, **args)
    if op == "softmax_cross_entropy":
        if live.chance(0.3):
            args["label_smoothing"] = 0.25
        return live.call(op, onehot_labels=twin(live, held), logits=held, **args)
    if op == "sparse_softmax_cross_entropy":
        if not held.known or not held.shape or not held.shape[-1]:
            return None
        labels = live.call("zeros", shape=held.shape[:-1], dtype="int32")
        return live.call(op, labels=labels, logits=held, **args) if labels.ok else None
    if op == "hinge_loss":
        return live.call(op, labels=twin(live, held), logits=held, **args)
    if op == "cosine_distance":
        args["axis"] = ops.axis_of(live, held)
    return live.call(op, labels=twin(live, held), predictions=held, **args)


def ask_losses(live):
    what = live.weighted({"get_losses": 2, "get_regularization_losses": 1, "get_total_loss": 2,
                          "get_regularization_loss": 1, "add_loss": 1})
    if what == "add_loss":
        held = live.recent(live.tensors)
        return held and live.call(what, loss=held)
    named = what.endswith("_loss") and live.chance(0.2)
    return live.call(what, **({"name": live.pick(("total", "a"))} if named else {}))


def average(live):
    if not live.averages or live.chance(0.15):
        args = {"decay": live.pick((0.5, 0.75, 0.9))}
        if live.chance(0.2):
            args["zero_debias"] = True
        if live.chance(0.2):
            args["name"] = live.pick(("avg", "EMA", "a"))
        if live.chance(0.2):
            step = live.call("get_or_create_global_step")
            if step.ok:
                args["num_updates"] = step
        ema = live.call("ExponentialMovingAverage", **args)
        if ema.ok:
            live.averages.append(ema)
        return ema
    ema = live.recent(live.averages)
    what = live.weighted({"apply": 5, "average": 3, "average_name": 2, "restore": 1, "assign": 1})
    pool = live.variables if live.chance(0.8) else live.tensors
    held = live.recent([h for h in pool if h.dtype in ("float32", "float64")])
    if what == "restore":
        return live.call("ema_variables_to_restore", ema=ema)
    if what == "apply" and live.chance(0.3):
        return live.call("ema_apply", ema=ema)
    if held is None:
        return None
    if what == "apply":
        others = [live.recent(live.variables)] if live.chance(0.3) else []
        return live.call("ema_apply", ema=ema, var_list=[held] + [o for o in others if o])
    if what == "assign":
        if held not in live.variables or not held.known:
            return None
        args = {"zero_debias": False} if live.chance(0.5) else {}
        return live.call("assign_moving_average", variable=held, decay=0.5,
                         value=literal(live, held.dtype, held.shape), **args)
    return live.call("ema_" + what, ema=ema, var=held)


def clip(live):
    held = ops.floating(live)
    if held is None:
        return None
    op = live.pick(("clip_by_value", "clip_by_norm", "global_norm", "clip_by_global_norm"))
    if op == "clip_by_value":
        return live.call(op, t=held, clip_value_min=-0.5, clip_value_max=live.pick((0.5, 1.0)),
                         **op_name(live))
    if op == "clip_by_norm":
        return live.call(op, t=held, clip_norm=live.pick((0.5, 10.0)), **op_name(live))
    several = [held] + [h for h in (ops.floating(live), live.recent(live.slices)) if h is not None
                        and h.dtype == held.dtype]
    if live.chance(0.2):
        several.append(None)
    if op == "global_norm":
        return live.call(op, t_list=several, **op_name(live))
    return live.call(op, t_list=several, clip_norm=1.0, **op_name(live))


def more_ops(live):
    held = ops.floating(live) if live.chance(0.9) else ops.tensor(live)
    if held is None:
        return None
    op = live.pick(("floor", "is_nan", "rsqrt", "log1p", "expm1", "reciprocal", "sin", "sign",
                    "squared_difference", "floordiv", "floormod", "div_no_nan", "reduce_prod",
                    "reduce_min", "identity_n", "unstack", "sigmoid_ce", "softmax_ce",
                    "boolean_mask"))
    named = op_name(live)
    if op in ("squared_difference", "floordiv", "floormod", "div_no_nan"):
        return live.call(op, x=held, y=ops.partner(live, held), **named)
    if op in ("reduce_prod", "reduce_min"):
        if live.chance(0.5):
            named["axis"] = ops.axis_of(live, held)
        return live.call(op, input_tensor=held, **named)
    if op == "identity_n":
        return live.call(op, input=[held, live.recent(live.tensors) or held], **named)
    if op == "unstack":
        return live.call(op, value=held, axis=ops.axis_of(live, held), **named)
    if op == "boolean_mask":
        if not held.known or not held.shape:
            return None
        return live.call(op, tensor=held, mask=literal(live, "bool", held.shape[:1]), **named)
    if op == "sigmoid_ce":
        return live.call("sigmoid_cross_entropy_with_logits", labels=twin(live, held), logits=held,
                         **named)
    if op == "softmax_ce":
        return live.call("softmax_cross_entropy_with_logits_v2", labels=twin(live, held),
                         logits=held, **named)
    return live.call(op, x=held, **named)


def template(live):
    if not live.templates or live.chance(0.3):
        args = {"create_scope_now": True} if live.chance(0.2) else {}
        if live.chance(0.1):
            args["unique_name"] = live.pick(("a", "net", "t"))
        made = live.call("make_template", name=live.pick(arguments.SCOPES),
                         function=live.pick(("scaled", "plain")), **args)
        if made.ok:
            live.templates.append(made)
        return made
    held = ops.floating(live)
    return held and live.call("call_template", template=live.recent(live.templates), x=held)


def own_gradient(live):
    function = live.weighted({"log1pexp": 2, "product_and_sum": 1, "scaled": 1})
    held = ops.floating(live)
    if held is None:
        return None
    inputs = [held] + ([held] if function == "product_and_sum" else [])
    args = {}
    if function == "scaled":
        scalars = [v for v in live.variables if v.dtype == "float32" and v.shape == []]
        variable = live.recent(scalars)
        if variable is None:
            return None
        args["variable"] = variable
    return live.call("custom_gradient", function=function, inputs=inputs, **args)


def schedule(live):
    step = live.call("get_or_create_global_step")
    if not step.ok:
        return None
    args = {"staircase": True} if live.chance(0.4) else {}
    return live.call("exponential_decay", learning_rate=0.5, global_step=step, decay_steps=4,
                     decay_rate=0.5, **args, **op_name(live))


KINDS = {loss: 5, ask_losses: 2, average: 4, clip: 2, more_ops: 5, template: 2, own_gradient: 1,
         schedule: 0.5}


def any_call(live):
    """Makes a call of one of the program's few kinds, so that its calls interact."""
    if not live.themes:
        live.themes = {live.weighted(KINDS): 2, live.weighted(KINDS): 1}
    return live.weighted(live.themes)(live)


def gradient_options(live):
    """Returns more arguments for `gradients`, `compute_gradients` and `minimize`."""
    args = {}
    if not live.wide:
        return args
    if live.chance(0.15):
        args["colocate_gradients_with_ops"] = True
    if live.chance(0.15):
        args["aggregation_method"] = live.pick((0, 1, 2))
    return args


def variable_options(live):
    """Returns more arguments for `get_variable`."""
    args = {}
    if not live.wide:
        return args
    if live.chance(0.08):
        args["constraint"] = "halved"
    if live.chance(0.08):
        args["caching_device"] = live.pick(("/cpu:0", "/gpu:1", ""))
    if live.chance(0.12):
        args["partitioner"] = live.pick((["fixed", 2, 0], ["fixed", 2, 1], ["axis_size", 16, 0],
                                         ["min_max", 2, 0], ["fixed", 1, 0]))
    if live.chance(0.05):
        args["synchronization"] = live.pick(("ON_READ", "ON_WRITE"))
    return args
