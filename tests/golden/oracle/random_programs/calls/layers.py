"""Calls of neural networks: activations, layers, normalization, samples."""

from .writer import FLOATS, INTEGERS, NUMBERS, SIGNED

ACTIVATIONS = {"relu": NUMBERS, "relu6": NUMBERS, "elu": FLOATS, "selu": FLOATS,
               "softplus": FLOATS, "softsign": FLOATS}


def activation(dtypes):
    return lambda w: {"features": w.tensor(dtypes)}


def leaky_relu(w):
    return {"features": w.tensor(SIGNED), **w.maybe(alpha=w.pick((0.1, 0.0, 0.5, 1.0, 2.0)))}


def crelu(w):
    x = w.tensor(FLOATS, least=1)
    return {"features": x, **w.maybe(axis=w.axis(x.rank))}


def softmax(w):
    x = w.tensor(FLOATS, least=1, kind=w.pick(("quarters", "fine")))
    return {"logits": x, **w.maybe(0.5, axis=w.axis(x.rank))}


def bias_add(w):
    x = w.tensor(NUMBERS, least=2)
    args = {"value": x}
    if w.chance(0.4):
        args["data_format"] = w.pick(("NHWC", "NCHW"))
    size = x.sizes[1] if args.get("data_format") == "NCHW" else x.sizes[-1]
    return dict(args, bias=w.operand(x.dtype, [size]))


def dense(w):
    dtype = w.pick(FLOATS)
    rows, inner, columns = (w.pick((1, 2, 3, 4)) for _ in range(3))
    return {"x": w.operand(dtype, [rows, inner]), "weights": w.operand(dtype, [inner, columns]),
            "biases": w.operand(dtype, [columns])}


def lrn(w):
    x = w.operand("float32", w.shape(4), "fine")
    return {"input": x, **w.maybe(depth_radius=w.pick((0, 1, 2, 5))), **w.maybe(bias=2.0),
            **w.maybe(alpha=0.5), **w.maybe(beta=w.pick((0.5, 0.75, 1.0)))}


def lookup(w):
    dtype = w.pick(FLOATS)
    width = w.shape(most=2)
    args = {}
    if w.chance(0.5):
        rows = w.pick((1, 3, 5))
        args["params"] = w.operand(dtype, [rows] + width)
    else:
        parts = w.pick((2, 3))
        each = w.pick((1, 2))
        rows = each * parts
        args["params"] = [w.operand(dtype, [each] + width, tensor=True)
                          for _ in range(parts)]
        args.update(w.maybe(0.6, partition_strategy=w.pick(("mod", "div"))))
    high = rows - 1 + (2 if w.spoil and w.chance(0.3) else 0)
    args["ids"] = w.operand(INTEGERS, w.shape(most=2), (0, high))
    return dict(args, **w.maybe(0.25, max_norm=1.0))


def moments(w):
    x = w.tensor(FLOATS, least=1)
    axes = w.rng.sample(range(x.rank), w.rng.randrange(1, x.rank + 1))
    return {"x": x, "axes": axes, **w.maybe(0.3, keepdims=True)}


def weighted_moments(w):
    x = w.tensor(FLOATS, least=1)
    axes = w.rng.sample(range(x.rank), w.rng.randrange(1, x.rank + 1))
    weights = w.operand(x.dtype, [1 if w.chance(0.4) else size for size in x.sizes], "positive")
    return {"x": x, "axes": axes, "frequency_weights": weights, **w.maybe(0.3, keep_dims=True)}


def statistics(w):
    x = w.tensor(FLOATS, least=1)
    axes = w.rng.sample(range(x.rank), w.rng.randrange(1, x.rank + 1))
    return {"x": x, "axes": axes, **w.maybe(shift=w.operand(x.dtype, [])),
            **w.maybe(0.3, keep_dims=True)}


def normalize_moments(w):
    dtype = w.pick(FLOATS)
    sizes = w.shape(most=2)
    return {"counts": w.operand(dtype, [], "positive"), "mean_ss": w.operand(dtype, sizes),
            "variance_ss": w.operand(dtype, sizes, "positive"),
            "shift": w.operand(dtype, []) if w.chance(0.5) else None}


def batch_normalization(w):
    x = w.tensor(FLOATS, least=1)
    sizes = x.sizes[-1:] if w.chance(0.7) else [1 if w.chance(0.5) else s for s in x.sizes]
    return {"x": x, "mean": w.operand(x.dtype, sizes, tensor=True),
            "variance": w.operand(x.dtype, sizes, "positive", tensor=True),
            "offset": w.operand(x.dtype, sizes, tensor=True) if w.chance(0.7) else None,
            "scale": w.operand(x.dtype, sizes, tensor=True) if w.chance(0.7) else None,
            "variance_epsilon": w.pick((0.001, 0.5))}


def fused_batch_norm(w):
    order = w.pick(("NHWC", "NHWC", "NCHW"))
    x = w.operand("float32", [w.pick((1, 2, 3)) for _ in range(4)], "fine")
    channels = [x.sizes[1 if order == "NCHW" else -1] if len(x.sizes) == 4 else 2]
    training = w.chance(0.6)
    args = {"x": x, "scale": w.operand("float32", channels),
            "offset": w.operand("float32", channels)}
    if not training or w.chance(0.1):
        args.update(mean=w.operand("float32", channels),
                    variance=w.operand("float32", channels, "positive"))
    if not training:
        args["is_training"] = False
    if order != "NHWC":
        args["data_format"] = order
    return dict(args, **w.maybe(epsilon=w.pick((0.001, 0.1))))


def in_top_k(w):
    rows, classes = w.pick((1, 2, 4)), w.pick((1, 3, 5))
    return {"predictions": w.operand("float32", [rows, classes], w.pick(("quarters", "fine"))),
            "targets": w.operand(INTEGERS, [rows], (0, classes)),
            "k": w.integers(w.pick((1, 2, 3)), only="int32")}


def dropout(w):
    x = w.tensor(FLOATS, least=1, kind="fine")
    args = {"x": x, "keep_prob": w.pick((0.5, 0.75, 1.0, 0.1)), "seed": w.rng.randrange(100)}
    if w.chance(0.3):
        args["noise_shape"] = w.integers([1 if w.chance(0.5) else s for s in x.sizes], only="int32")
    return args


def random_shape(w):
    return w.integers(w.shape(most=3), only=w.pick(INTEGERS))


def uniform(w):
    dtype = w.pick(("float32", "float32", "float64", "int32", "int64"))
    args = {"shape": random_shape(w), "seed": w.rng.randrange(100), "dtype": dtype}
    if dtype.startswith("int") or w.chance(0.4):
        args["minval"] = w.pick((-3, 0, 2))
        args["maxval"] = w.pick((5, 10, 3))
    return args


def normal(w):
    return {"shape": random_shape(w), "seed": w.rng.randrange(100),
            **w.maybe(0.3, mean=1.5), **w.maybe(0.3, stddev=2.0),
            **w.maybe(0.3, dtype=w.pick(FLOATS))}


def shuffle(w):
    return {"value": w.tensor(NUMBERS + ("string",), least=1), "seed": w.rng.randrange(100)}


def multinomial(w):
    return {"logits": w.operand(FLOATS, [w.pick((1, 2, 3)), w.pick((1, 2, 4))], "fine"),
            "num_samples": w.integers(w.rng.randrange(6), only="int32"),
            "seed": w.rng.randrange(100), **w.maybe(0.3, output_dtype=w.pick(INTEGERS))}


def random_crop(w):
    x = w.tensor(NUMBERS, least=1, most=3)
    return {"value": x, "size": w.integers([w.rng.randrange(s + 1) for s in x.sizes]),
            "seed": w.rng.randrange(100)}


def l2_normalize(w):
    x = w.tensor(FLOATS)
    return {"x": x, "axis": w.axes(x.rank), **w.maybe(0.3, epsilon=0.5)}


CALLS = ([(name, activation(dtypes)) for name, dtypes in ACTIVATIONS.items()]
         + [("leaky_relu", leaky_relu), ("crelu", crelu), ("softmax", softmax),
            ("softmax", softmax), ("log_softmax", softmax), ("bias_add", bias_add),
            ("bias_add", bias_add), ("xw_plus_b", dense), ("relu_layer", dense), ("lrn", lrn),
            ("zero_fraction", lambda w: {"value": w.tensor(NUMBERS)}),
            ("embedding_lookup", lookup), ("embedding_lookup", lookup), ("moments", moments),
            ("weighted_moments", weighted_moments), ("sufficient_statistics", statistics),
            ("normalize_moments", normalize_moments),
            ("batch_normalization", batch_normalization), ("fused_batch_norm", fused_batch_norm),
            ("fused_batch_norm", fused_batch_norm), ("in_top_k", in_top_k),
            ("l2_normalize", l2_normalize), ("dropout", dropout),
            ("random_uniform", uniform), ("random_normal", normal), ("truncated_normal", normal),
            ("random_shuffle", shuffle), ("multinomial", multinomial),
            ("random_crop", random_crop)])
