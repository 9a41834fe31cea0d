"""tf.layers, recurrent cells and TF-Slim, with their scopes, regularizers and updates."""

from . import arguments, control, scopes
from .arguments import array

ACTIVATIONS = ("relu", "tanh", "sigmoid", "softplus", "elu", None)


def inputs(live, rank):
    """Returns a float tensor with known sizes but, perhaps, that of the batch."""
    fitting = [t for t in live.tensors if t.dtype == "float32" and t.shape is not None
               and len(t.shape) == rank and None not in t.shape[1:]
               and all(d > 0 for d in t.shape[1:])]
    held = live.recent(fitting)
    if held is not None and live.chance(0.7):
        return held
    sizes = {2: [2, 3], 3: [2, 5, 2], 4: [2, 5, 4, 2]}[rank]
    sizes = [live.rng.randrange(1, 3)] + [max(1, d + live.rng.randrange(-1, 2)) for d in sizes[1:]]
    if live.chance(0.35) and not live.inside:
        given = [None if live.chance(0.5) else sizes[0]] + sizes[1:]
        if live.chance(0.03):
            given = live.pick((None, [None] * rank, given[:-1]))
        return live.call("placeholder", dtype="float32", shape=given)
    dtype = "float32" if live.chance(0.96) else live.pick(("float64", "int32"))
    return live.call("constant", value=array(live, "float32", sizes) if dtype == "float32" else
                     arguments.literal(live, dtype, sizes), dtype=dtype)


def common(live, args):
    if live.chance(0.4):
        args["activation"] = live.pick(ACTIVATIONS)
    if live.chance(0.2):
        args["use_bias"] = live.chance(0.3)
    if live.chance(0.15):
        args["bias_regularizer"] = "l2"
    if live.chance(0.1):
        args["trainable"] = live.chance(0.3)
    return naming(live, args)


def naming(live, args):
    if live.chance(0.3):
        args["name"] = live.pick(("fc", "layer", "a", "conv", "x/y", "d_1", "fc"))
        if live.chance(0.05):
            args["name"] = live.pick(("a b", "1", "/x", "_u"))
    return args


def kernel(live, args):
    if live.chance(0.3):
        args["kernel_initializer"] = live.pick((
            {"initializer": "constant", "value": 0.25}, {"initializer": "glorot_normal"},
            {"initializer": "he_normal"}, {"initializer": "truncated_normal", "stddev": 0.5}))
    if live.chance(0.25):
        args["kernel_regularizer"] = live.pick(("l2", "none"))
    if live.chance(0.05):
        args["kernel_constraint"] = "halved"
    if live.chance(0.06):
        args["reuse"] = live.pick((True, "AUTO_REUSE", False))
    return common(live, args)


def dense(live):
    rank = live.pick((2, 2, 2, 3, 4))
    args = kernel(live, {"units": live.rng.randrange(1, 5) if live.chance(0.96) else 0})
    if live.chance(0.06):
        args["activity_regularizer"] = "l2"
    return live.call("layer_dense", inputs=inputs(live, rank), **args)


def window(live, args, images=True):
    args["kernel_size"] = live.pick((1, 2, 3, [2, 1], [1, 3])) if images else live.pick((1, 2, 3))
    if live.chance(0.4):
        args["strides"] = live.pick((1, 2, [2, 1], [1, 2])) if images else live.pick((1, 2))
    if live.chance(0.5):
        args["padding"] = live.pick(("same", "valid", "SAME", "same"))
    if live.chance(0.15) and "strides" not in args:
        args["dilation_rate"] = 2
    if live.chance(0.03):
        args.update(live.pick(({"padding": "full"}, {"kernel_size": 0}, {"strides": 0},
                               {"kernel_size": [1, 2, 3]}, {"data_format": "NHWC"})))
    return args


def convolution(live):
    op = live.weighted({"conv2d": 4, "conv1d": 2, "conv2d_transpose": 1.5,
                        "separable_conv2d": 1.5})
    args = window(live, {"filters": live.rng.randrange(1, 4)}, op != "conv1d")
    if op == "conv2d_transpose":
        args.pop("dilation_rate", None)
    if op == "separable_conv2d":
        if isinstance(args.get("strides"), list):  # TensorFlow's kernel takes equal strides
            args["strides"] = 2
        if live.chance(0.3):
            args["depth_multiplier"] = 2
        if live.chance(0.2):
            args["depthwise_regularizer"] = "l2"
        common(live, args)
    else:
        kernel(live, args)
    return live.call("layer_" + op, inputs=inputs(live, 3 if op == "conv1d" else 4), **args)


def normalization(live):
    args = naming(live, {})
    if live.chance(0.5):
        args["training"] = live.chance(0.7)
    for key in ("center", "scale"):
        if live.chance(0.15):
            args[key] = False
    if live.chance(0.2):
        args.update(momentum=0.5, epsilon=0.01)
    if live.chance(0.1):
        args["fused"] = live.chance(0.5)
    if live.chance(0.1):
        args["axis"] = live.pick((-1, 1, 0, 9))
    if live.chance(0.1):
        args["gamma_regularizer"] = "l2"
    made = live.call("layer_batch_normalization", inputs=inputs(live, live.pick((2, 3, 4, 4))),
                     **args)
    if live.chance(0.4):
        updates = live.call("get_collection", key="update_ops")
        if updates.ok and updates.value:
            live.updates = [updates[i] for i in range(len(updates.value))]
    return made


def pooling(live):
    rank = live.pick((3, 4, 4))
    op = "%s_pooling%dd" % (live.pick(("max", "average")), rank - 2)
    sizes = (1, 2, [2, 1], [1, 2]) if rank == 4 else (1, 2)
    args = naming(live, {"pool_size": live.pick(sizes), "strides": live.pick(sizes)})
    if live.chance(0.4):
        args["padding"] = live.pick(("same", "valid", "SAME"))
    if live.chance(0.02):
        args["pool_size"] = live.pick((0, 9))
    return live.call("layer_" + op, inputs=inputs(live, rank), **args)


def other(live):
    if live.chance(0.5):
        return live.call("layer_flatten", inputs=inputs(live, live.pick((2, 3, 4))),
                         **naming(live, {}))
    args = naming(live, {"rate": live.pick((0.5, 0.25, 0.0))})
    if live.chance(0.6):
        args["training"] = live.chance(0.8)
    if live.chance(0.4):
        args["seed"] = live.rng.randrange(50)
    if live.chance(0.03):
        args["rate"] = live.pick((1.5, -0.5))
    return live.call("layer_dropout", inputs=inputs(live, live.pick((2, 3))), **args)


def cell(live, depth=0):
    op = live.weighted({"BasicRNNCell": 2, "GRUCell": 2, "BasicLSTMCell": 3, "LSTMCell": 3,
                        "MultiRNNCell": 1.5 if depth == 0 else 0,
                        "DropoutWrapper": 1 if depth < 2 else 0,
                        "ResidualWrapper": 0.5 if depth < 2 else 0})
    if op == "MultiRNNCell":
        cells = [cell(live, 1) for _ in range(live.weighted({1: 1, 2: 4, 3: 1}))]
        return live.call(op, cells=[c for c in cells if c.ok])
    if op in ("DropoutWrapper", "ResidualWrapper"):
        args = {}
        if op == "DropoutWrapper":
            args = {live.pick(("input_keep_prob", "output_keep_prob", "state_keep_prob")): 0.5,
                    "seed": live.rng.randrange(50)}
        return live.call(op, cell=cell(live, depth + 1), **args)
    args = {"num_units": live.rng.randrange(1, 4)}
    if live.chance(0.2):
        args["activation"] = live.pick(("relu", "sigmoid", "tanh"))
    if live.chance(0.15):
        args["name"] = live.pick(("cell", "a", "x/y"))
    if op in ("BasicLSTMCell", "LSTMCell"):
        if live.chance(0.2):
            args["forget_bias"] = 0.5
        if live.chance(0.1):
            args["state_is_tuple"] = False
    if op == "LSTMCell":
        if live.chance(0.3):
            args["use_peepholes"] = True
        if live.chance(0.2):
            args["cell_clip"] = 0.25
        if live.chance(0.25):
            args["num_proj"] = 2
            if live.chance(0.4):
                args["proj_clip"] = 0.125
        if live.chance(0.3):
            args["initializer"] = {"initializer": "random_uniform", "minval": -0.5, "maxval": 0.5}
    return live.call(op, **args)


def recurrent(live):
    """A cell that is called once, unrolled, or in a loop."""
    made = cell(live)
    if not made.ok:
        return None
    x = inputs(live, 2)
    if not x.ok:
        return None
    batch = (x.shape or [2])[0]
    if live.chance(0.5):
        args = {"dtype": "float32"} if live.chance(0.9) else {}
        if batch is not None and live.chance(0.3):
            state = live.call("zero_state", cell=made, batch_size=batch)
            if state.ok:
                args["initial_state"] = state
        if live.chance(0.2):
            args["scope"] = live.pick(("rnn", "a", "x/y"))
        result = live.call("static_rnn", cell=made, inputs=[x] * live.rng.randrange(1, 4), **args)
        if not result.ok or not result.value[0]:
            return None
        final = dict(result.ref, path=[0, len(result.value[0]) - 1])
        return live.call("identity", input=final)
    if batch is None:
        return None
    state = live.call("zero_state", cell=made, batch_size=batch)
    if not state.ok:
        return None
    scope = {"scope": live.pick(("s", "t"))} if live.chance(0.2) else {}
    result = live.call("cell_call", cell=made, inputs=x, state=state, **scope)
    if not result.ok:
        return None
    live.keep(result[0])
    if live.chance(0.4):
        live.call("nest_flatten", structure=result[1])
    return result[0]


def slim(live):
    args = {}
    if live.chance(0.3):
        args["scope"] = live.pick(("conv", "fc", "a", "x/y"))
    if live.chance(0.3):
        args["activation_fn"] = live.pick(ACTIVATIONS)
    if live.chance(0.25):
        args["weights_regularizer"] = "l2"
    if live.chance(0.25):
        args["normalizer_fn"] = live.pick(("batch_norm", "batch_norm", None))
    if live.chance(0.1):
        args["biases_initializer"] = None
    how = live.weighted({"conv2d": 3, "fully_connected": 3, "pool": 1.5, "batch_norm": 1.5,
                         "dropout": 1, "flatten": 1, "softmax": 1})
    scope = {key: args[key] for key in ("scope",) if key in args}
    if how == "conv2d":
        return live.call("slim_conv2d", inputs=inputs(live, 4), num_outputs=live.rng.randrange(1, 4),
                         kernel_size=live.pick((1, 2, [3, 3], [1, 2])), **args,
                         **({"stride": live.pick((1, 2))} if live.chance(0.3) else {}),
                         **({"padding": "VALID"} if live.chance(0.3) else {}))
    if how == "fully_connected":
        return live.call("slim_fully_connected", inputs=inputs(live, live.pick((2, 2, 3))),
                         num_outputs=live.rng.randrange(1, 4), **args)
    if how == "pool":
        return live.call("slim_" + live.pick(("max_pool2d", "avg_pool2d")), inputs=inputs(live, 4),
                         kernel_size=live.pick((1, 2, [2, 2])), **scope,
                         **({"stride": 1} if live.chance(0.4) else {}),
                         **({"padding": "SAME"} if live.chance(0.4) else {}))
    if how == "batch_norm":
        return live.call("slim_batch_norm", inputs=inputs(live, live.pick((2, 4))), **scope,
                         **({"is_training": live.chance(0.5)} if live.chance(0.5) else {}),
                         **({"scale": True} if live.chance(0.3) else {}),
                         **({"decay": 0.5} if live.chance(0.3) else {}))
    if how == "dropout":
        return live.call("slim_dropout", inputs=inputs(live, 2), **scope,
                         **({"is_training": live.chance(0.5)} if live.chance(0.4) else {}),
                         **({"keep_prob": 0.75} if live.chance(0.5) else {}))
    if how == "flatten":
        return live.call("slim_flatten", inputs=inputs(live, live.pick((3, 4))), **scope)
    return live.call("slim_softmax", logits=inputs(live, 2), **scope)


KINDS = {dense: 5, convolution: 4, normalization: 3, pooling: 2, other: 2, recurrent: 3, slim: 3}


def any_call(live):
    before = live.depth
    if live.chance(0.15):
        live.pick((scopes.variable_scope, scopes.name_scope, scopes.device))(live)
    made = live.weighted(KINDS)(live)
    if live.depth > before and live.chance(0.6):
        live.exit()
    if made is not None and made.ok and live.chance(0.1) and made.value is not None:
        return control.conditional(live, made)
    return made
