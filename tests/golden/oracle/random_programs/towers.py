"""The tower loop of the source texts, with parts randomly omitted or changed."""

from . import arguments, training


def network(live, x, layers, scoped):
    """Adds fully connected layers to `x` [batch, columns]; returns the last output."""
    for index, units in enumerate(layers):
        if scoped:
            live.enter("variable_scope", name_or_scope="layer%d" % index)
        weights = live.call("get_variable", name="w" if scoped else "w%d" % index,
                            shape=[x.shape[1], units],
                            initializer={"initializer": "truncated_normal", "mean": 0.0,
                                         "stddev": 0.5, "seed": index})
        bias = live.call("get_variable", name="b" if scoped else "b%d" % index, shape=[units],
                         initializer={"initializer": "zeros"})
        if weights.ok and bias.ok:
            product = live.call("matmul", a=x, b=weights)
            if product.ok:
                x = live.call("operator", operator="+", a=product, b=bias)
                if live.chance(0.7):
                    x = live.call("relu", features=x)
        if scoped and live.interpreter.open and live.depth:
            live.exit()
    return x


def tower(live, style, index):
    """Adds one tower; returns the result of compute_gradients, or None."""
    depth = live.depth
    if style["device"]:
        live.enter("device", device_name_or_function="/gpu:%d" % index)
    if style["name_scope"]:
        live.enter("name_scope", name="tower_%d" % index)
    if style["reuse"] == "scope":
        live.enter("variable_scope", name_or_scope="net", reuse=index > 0)
    elif style["reuse"] == "auto":
        live.enter("variable_scope", name_or_scope="net", reuse="AUTO_REUSE")
    x = live.call("placeholder", dtype="float32", shape=[style["batch"], 3], name="x")
    logits = network(live, x, style["layers"], style["scoped"]) if x.ok else x
    pairs = None
    if logits.ok and logits.shape is not None and len(logits.shape) == 2:
        pairs = tower_loss(live, style, index, logits)
    while live.depth > depth:
        live.exit()
    return pairs


def tower_loss(live, style, index, logits):
    loss = live.call("square", x=logits)
    loss = live.call("reduce_mean", input_tensor=loss, name="loss")
    if style["losses"]:
        live.call("add_to_collection", name="losses", value=loss)
        kept = live.call("get_collection", key="losses", scope="tower_%d" % index)
        losses = [kept[i] for i in range(len(kept.value))] if kept.ok else []
        losses = [one for one in losses if one.value.dtype.base_dtype.name == "float32"]
        if losses:
            loss = live.call("add_n", inputs=losses, name="total_loss")
    if style["reuse"] == "variables":
        scope = live.call("get_variable_scope")
        live.call("reuse_variables", scope=scope)
    if live.chance(0.2):
        live.call("get_collection", key="summaries", scope="tower_%d" % index)
    args = {}
    if style["var_list"]:
        listed = live.call("trainable_variables", **(
            {} if live.chance(0.6) else {"scope": live.pick(("net", "layer0", "tower_0", "w"))}))
        args["var_list"] = [listed[i] for i in range(len(listed.value))]
    result = live.call("compute_gradients", optimizer=style["optimizer"], loss=loss, **args)
    if result.ok:
        live.pairs.append(result)
    return result if result.ok else None


def averaged(live, results):
    """Averages gradients as the source texts do."""
    pairs = []
    for index, (gradient, variable) in enumerate(results[0].value):
        del variable
        refs = [dict(r.ref, path=[index, 0]) for r in results if len(r.value) > index
                and r.value[index][0] is not None]
        if len(refs) == len(results) and not hasattr(gradient, "indices"):
            wide = [live.call("expand_dims", input=ref, axis=0) for ref in refs]
            grad = live.call("concat", values=wide, axis=0) if all(w.ok for w in wide) else None
            mean = grad and grad.ok and live.call("reduce_mean", input_tensor=grad, axis=0)
            pairs.append([mean if mean and mean.ok else None,
                          dict(results[0].ref, path=[index, 1])])
        elif live.chance(0.5):
            pairs.append([None, dict(results[0].ref, path=[index, 1])])
    return pairs


def program(live):
    """Writes the whole loop; a session runs it at the end, as in every program."""
    style = {
        "device": live.chance(0.7), "name_scope": live.chance(0.85), "scoped": live.chance(0.6),
        "reuse": live.weighted({"variables": 5, "scope": 3, "auto": 2, "none": 0.5}),
        "batch": live.pick((2, None, 3)), "losses": live.chance(0.4),
        "var_list": live.chance(0.25), "layers": [live.rng.randrange(1, 4)
                                                  for _ in range(live.rng.randrange(1, 3))],
    }
    opened = live.depth
    if live.chance(0.3):
        live.enter("device", device_name_or_function="/cpu:0")
    step = live.call("get_or_create_global_step") if live.chance(0.5) else None
    made = training.optimizer(live)
    if not made.ok:
        return
    style["optimizer"] = made
    if live.chance(0.6):
        live.enter("variable_scope", name_or_scope=live.call("get_variable_scope"))
    results = [tower(live, style, index) for index in range(live.weighted({1: 1, 2: 5, 3: 2}))]
    results = [r for r in results if r is not None]
    while live.depth > opened and live.chance(0.5):
        live.exit()
    if not results:
        return
    pairs = averaged(live, results) if live.chance(0.85) else training.pairs_of(live, results[0])
    args = {"global_step": step} if step is not None and step.ok else {}
    apply = live.call("apply_gradients", optimizer=made, grads_and_vars=pairs, **args,
                      **training.update_name(live))
    if apply.ok and live.chance(0.4):
        live.call("group", inputs=[apply], **arguments.op_name(live))
    while live.depth > opened:
        live.exit()
