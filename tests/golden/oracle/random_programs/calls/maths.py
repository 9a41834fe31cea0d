"""Calls of mathematics: functions of elements, reductions, products, segments, counts."""

from .writer import FLOATS, INTEGERS, NUMBERS, SIGNED

UNARY = {"negative": SIGNED, "abs": SIGNED, "square": NUMBERS, "sign": SIGNED, "floor": FLOATS,
         "ceil": FLOATS, "round": SIGNED, "rint": FLOATS, "sqrt": FLOATS, "rsqrt": FLOATS,
         "reciprocal": FLOATS, "exp": FLOATS, "expm1": FLOATS, "log": FLOATS, "log1p": FLOATS,
         "sigmoid": FLOATS, "tanh": FLOATS, "sin": FLOATS, "cos": FLOATS, "tan": FLOATS,
         "asin": FLOATS, "acos": FLOATS, "atan": FLOATS, "sinh": FLOATS, "cosh": FLOATS,
         "asinh": FLOATS, "acosh": FLOATS, "atanh": FLOATS, "erf": FLOATS, "erfc": FLOATS,
         "lgamma": FLOATS, "digamma": FLOATS, "is_nan": FLOATS, "is_inf": FLOATS,
         "is_finite": FLOATS, "logical_not": ("bool",)}
BINARY = {"add": NUMBERS, "subtract": NUMBERS, "multiply": NUMBERS, "divide": NUMBERS,
          "truediv": NUMBERS, "div": NUMBERS, "realdiv": FLOATS, "floordiv": NUMBERS,
          "floor_div": NUMBERS, "truncatediv": ("int32", "int64", "uint8"),
          "truncatemod": SIGNED, "floormod": SIGNED, "mod": SIGNED, "maximum": NUMBERS,
          "minimum": NUMBERS, "pow": SIGNED, "squared_difference": SIGNED, "div_no_nan": FLOATS,
          "xdivy": FLOATS, "xlogy": FLOATS, "xlog1py": FLOATS, "equal": NUMBERS + ("bool",),
          "not_equal": NUMBERS + ("string",), "greater": NUMBERS, "greater_equal": NUMBERS,
          "less": NUMBERS, "less_equal": NUMBERS, "logical_and": ("bool",),
          "logical_or": ("bool",), "logical_xor": ("bool",)}
REDUCTIONS = {"reduce_sum": NUMBERS, "reduce_mean": NUMBERS, "reduce_prod": NUMBERS,
              "reduce_max": NUMBERS, "reduce_min": NUMBERS, "reduce_all": ("bool",),
              "reduce_any": ("bool",), "reduce_logsumexp": FLOATS, "reduce_variance": FLOATS,
              "reduce_std": FLOATS}


def unary(dtypes):
    def make(w):
        kind = w.pick(("any", "any", "unit", "positive"))
        return {"x": w.tensor(dtypes, kind=kind)}
    return make


def pair(w, dtypes, kinds=("any", "any")):
    sizes = w.shape()
    dtype = w.pick(dtypes)
    first = w.operand(dtype, sizes if w.chance(0.7) else w.broadcast(sizes), kinds[0])
    return first, w.operand(dtype, w.broadcast(sizes), kinds[1])


def binary(dtypes, first="x", second="y"):
    def make(w):
        kinds = w.pick((("any", "any"), ("any", "positive"), ("positive", "fine")))
        x, y = pair(w, dtypes, kinds)
        return {first: x, second: y}
    return make


def polygamma(w):
    dtype = w.pick(FLOATS)
    sizes = w.shape(most=2)
    orders = w.array("int32", sizes, (0, 4))
    a = w.made(dict(orders, dtype=dtype, values=[float(n) for n in orders["values"]]))
    return {"a": a, "x": w.operand(dtype, w.broadcast(sizes), "positive")}


def scalar_mul(w):
    x = w.tensor(NUMBERS)
    return {"scalar": w.operand(x.dtype, []), "x": x}


def reduction(dtypes):
    def make(w):
        x = w.tensor(dtypes)
        axes = w.axes(x.rank)
        args = {"input_tensor": x}
        if axes is not None:
            args["axis"] = w.integers(axes, tensor=True) if axes != [] and w.chance(0.25) else axes
        return dict(args, **w.maybe(0.3, keepdims=w.chance(0.8)))
    return make


def norm(w):
    x = w.tensor(FLOATS, least=1)
    args = {"tensor": x}
    kind = w.pick(("all", "one", "two"))
    if kind == "one":
        args["axis"] = w.axis(x.rank)
    elif kind == "two" and x.rank > 1:
        args["axis"] = w.rng.sample(range(x.rank), 2)
    orders = ("euclidean", 1, float("inf")) if "axis" in args and kind == "two" else \
        ("euclidean", 1, 2, 3, 2.5, float("inf"))
    args.update(w.maybe(0.6, ord=w.pick(orders)))
    if kind == "two" and w.chance(0.2):
        args["ord"] = "fro"
    return dict(args, **w.maybe(0.3, keepdims=True))


def scan(w):
    x = w.tensor(SIGNED, least=1)
    return {"x": x, **w.maybe(0.8, axis=w.axis_tensor(x.rank)), **w.maybe(exclusive=True),
            **w.maybe(reverse=True)}


def segment(w):
    x = w.tensor(SIGNED, least=1, most=3)
    ids = sorted(w.rng.randrange(4) for _ in range(x.sizes[0]))
    if w.spoil and w.chance(0.4):
        ids = ids[::-1]
    return {"data": x, "segment_ids": w.integers(ids)}


def unsorted(dtypes):
    def make(w):
        x = w.tensor(dtypes, least=1, most=3)
        depth = w.rng.randrange(1, x.rank + 1)
        count = w.pick((1, 2, 4))
        ids = w.operand(INTEGERS, x.sizes[:depth], (-1, count - 1 + (w.spoil and w.chance(0.4))))
        return {"data": x, "segment_ids": ids, "num_segments": w.integers(count)}
    return make


def matmul(w):
    rows, inner, columns = (w.weighted({0: 0.5, 1: 2, 2: 4, 3: 4, 5: 1}) for _ in range(3))
    batch = w.shape(most=2) if w.chance(0.4) else []
    args = {}
    for name in ("transpose_a", "transpose_b", "adjoint_a", "adjoint_b"):
        args.update(w.maybe(0.12, **{name: True}))
    a = [rows, inner][::-1 if args.get("transpose_a") or args.get("adjoint_a") else 1]
    b = [inner, columns][::-1 if args.get("transpose_b") or args.get("adjoint_b") else 1]
    dtype = w.pick(SIGNED)
    return dict(args, a=w.operand(dtype, batch + a),
                b=w.operand(dtype, (batch if w.chance(0.7) else w.broadcast(batch)) + b))


def tensordot(w):
    a = w.tensor(SIGNED, least=1, most=3)
    kind = w.rng.randrange(3)
    if kind == 0:
        count = w.rng.randrange(0, a.rank + 1)
        b = w.operand(a.dtype, a.sizes[a.rank - count:] + w.shape(most=2))
        return {"a": a, "b": b, "axes": count}
    axes = w.rng.sample(range(a.rank), w.rng.randrange(1, a.rank + 1))
    other = w.shape(most=1)
    sizes = [a.sizes[i] for i in axes] + other
    order = w.rng.sample(range(len(sizes)), len(sizes))
    b = w.operand(a.dtype, [sizes[i] for i in order])
    places = [order.index(i) for i in range(len(axes))]
    chosen = [[i - a.rank * w.chance(0.2) for i in axes], places]
    return {"a": a, "b": b, "axes": w.integers(chosen, only="int32") if kind == 1 else chosen}


EQUATIONS = ("ij,jk->ik", "ij,jk", "bij,bjk->bik", "ij->ji", "ii->i", "ii->", "ij->i", "i,i->",
             "i,j->ij", "ij,ij->", "abc,cd->abd", "...ij,...jk->...ik", "bij,bkj->bik", "ij,j->i",
             "ijk->kij", "...i->...", "abc,abd->cd", "ij,kj", "...,...->...", "iij->j")


def einsum(w):
    equation = w.pick(EQUATIONS)
    sizes = {}
    dtype = w.pick(FLOATS)
    inputs = []
    batch = w.shape(most=1)
    for labels in equation.split("->")[0].split(","):
        shape = []
        if labels.startswith("..."):
            shape, labels = list(batch), labels[3:]
        for label in labels:
            shape.append(sizes.setdefault(label, w.weighted({1: 2, 2: 4, 3: 3, 0: 0.3})))
        given = w.operand(dtype, shape, tensor=True)
        inputs.append(given)
    return {"equation": equation, "inputs": inputs}


def cross(w):
    sizes = w.shape(most=2) + [3]
    dtype = w.pick(SIGNED)
    return {"a": w.operand(dtype, sizes), "b": w.operand(dtype, sizes)}


def ranges(w):
    dtype = w.pick(("int32", "int32", "int64", "float32", "float64"))
    start, limit = sorted(w.rng.randrange(-8, 9) for _ in range(2))
    step = w.pick((1, 2, 3))
    if w.chance(0.3):
        start, limit, step = limit, start, -step
    if w.spoil and w.chance(0.5):
        step = w.pick((0, -step))

    def made(number):
        if dtype.startswith("int"):
            return w.integers(number, only=dtype)
        return w.made({"dtype": dtype, "shape": [], "values": [number / 4]})

    if w.chance(0.3):
        return {"start": made(abs(limit))}
    return {"start": made(start), "limit": made(limit),
            **(w.maybe(0.7, delta=made(step)) if step in (1,) else {"delta": made(step)})}


def bincount(w):
    x = w.operand("int32", w.shape(most=2), (0 if w.chance(0.95) else -1, 6))
    args = {"arr": x}
    if w.chance(0.4):
        args["weights"] = w.operand(SIGNED, x.sizes)
    args.update(w.maybe(0.3, minlength=w.integers(w.rng.randrange(9), only="int32")))
    args.update(w.maybe(0.3, maxlength=w.integers(w.rng.randrange(6), only="int32")))
    return dict(args, **w.maybe(0.2, dtype=w.pick(SIGNED)))


def histogram(w):
    dtype = w.pick(SIGNED)
    low, high = sorted(w.rng.randrange(-4, 6) for _ in range(2))
    if dtype.startswith("int"):
        bounds = {"dtype": dtype, "shape": [2], "values": [low, high + 1]}
    else:
        bounds = {"dtype": dtype, "shape": [2], "values": [low / 2, high / 2 + 0.5]}
    return {"values": w.operand(dtype, w.shape(most=2), "quarters"), "value_range": w.made(bounds),
            **w.maybe(0.6, nbins=w.integers(w.pick((1, 2, 4, 5)), only="int32")),
            **w.maybe(0.3, dtype=w.pick(INTEGERS))}


def confusion(w):
    w.ranked = w.chance(0.95)
    sizes = w.shape(1)
    args = {"labels": w.operand(INTEGERS, sizes, (0, 3)),
            "predictions": w.operand(INTEGERS, sizes, (0, 3)),
            **w.maybe(0.5, num_classes=w.integers(w.pick((4, 4, 5, 2)))),
            **w.maybe(0.3, dtype=w.pick(SIGNED))}
    if w.chance(0.25):
        args["weights"] = w.operand(SIGNED, sizes)
    return args


def check_numerics(w):
    return {"tensor": w.tensor(FLOATS), "message": w.pick(("bad", "", "a b"))}


def add_n(w):
    x = w.tensor(NUMBERS)
    return {"inputs": [x] + [w.operand(x.dtype, x.sizes, tensor=True)
                             for _ in range(w.rng.randrange(3))]}


def clip(w):
    x = w.tensor(SIGNED)
    low, high = (w.operand(x.dtype, [], (-2, 0)), w.operand(x.dtype, [], (0, 3)))
    return {"t": x, "clip_value_min": low, "clip_value_max": high}


def clip_norm(w):
    x = w.tensor(FLOATS, kind="fine")
    axes = w.axes(x.rank)
    return {"t": x, "clip_norm": w.operand(x.dtype, [], "positive"),
            **({} if axes is None or isinstance(axes, int) else {"axes": axes})}


OPERATORS = ("+", "-", "*", "/", "//", "%", "**", "<", "<=", ">", ">=")


def operator(w):
    x, y = pair(w, SIGNED, ("any", "positive"))
    if x.held is None and y.held is None:
        return None
    return {"operator": w.pick(OPERATORS), "a": x, "b": y}


CALLS = ([(name, unary(dtypes)) for name, dtypes in UNARY.items()]
         + [(name, binary(dtypes)) for name, dtypes in BINARY.items()]
         + [(name, reduction(dtypes)) for name, dtypes in REDUCTIONS.items()] * 2
         + [("atan2", binary(FLOATS, "y", "x")), ("polygamma", polygamma),
            ("scalar_mul", scalar_mul), ("norm", norm), ("norm", norm), ("cumsum", scan),
            ("cumprod", scan), ("l2_loss", lambda w: {"t": w.tensor(FLOATS)})]
         + [("segment_" + name, segment) for name in ("sum", "mean", "prod", "max", "min")]
         + [("unsorted_segment_" + name, unsorted(SIGNED)) for name in ("sum", "prod", "max", "min")]
         + [("unsorted_segment_" + name, unsorted(FLOATS)) for name in ("mean", "sqrt_n")]
         + [("matmul", matmul)] * 3 + [("tensordot", tensordot)] * 2 + [("einsum", einsum)] * 3
         + [("cross", cross), ("range", ranges), ("range", ranges), ("bincount", bincount),
            ("histogram_fixed_width", histogram), ("confusion_matrix", confusion),
            ("check_numerics", check_numerics), ("add_n", add_n), ("clip_by_value", clip),
            ("clip_by_norm", clip_norm), ("operator", operator), ("operator", operator)])
