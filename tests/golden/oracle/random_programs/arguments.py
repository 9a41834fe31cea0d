"""Arguments: names, shapes, numbers, devices. Most are ordinary, some unusual, a few invalid."""

DTYPES = {"float32": 16, "float64": 2, "int32": 3, "int64": 1, "bool": 1}
FLOATS = ("float32", "float64", "float16", "bfloat16")
NAMES = ("a", "b", "c", "x", "y", "h", "net", "loss", "A", "X", "Net", "a_1", "x/y", "out", "Add",
         "MatMul", "Const", "gradients_x", "tower_0")
ODD_NAMES = ("x/", "a/b/", "1", "a.b", "0/x", "a//b", "a_", "_u", "-q", "a b", "a:0", ".",
             "a>b", "/x", "é", "x_1_1")
SCOPES = ("a", "b", "net", "layer", "A", "a_1", "tower_0", "tower_1", "tower_10", "d", "x/y", "o")
ODD_SCOPES = ("", "a/", "x/y/", "/", "a b", "1", "_u", "a//b", "-q", "a.b", "Net/", "é", "a_1/")
VARIABLES = ("v", "w", "b", "u", "V", "weights", "k/v", "v_1", "w/x")
ODD_VARIABLES = ("", "v/", "a b", "_v", "v:0", "1", "/v", "a//v")
DEVICES = ("/cpu:0", "/gpu:0", "/gpu:1", "cpu:0", "gpu:1", "/device:CPU:0", "/device:GPU:1",
           "/device:GPU:0", "/cpu:1", "/gpu:2")
ODD_DEVICES = ("", "/CPU:0", "/GPU:1", "GPU:0", "/device:gpu:0", "/cpu:*", "/device:GPU:*",
               "/job:worker", "/job:ps/task:1", "/task:2", "/replica:1", "/job:ps/replica:0/cpu:0",
               "/job:worker/replica:0/task:0/device:GPU:1", "/job:a/task:3/gpu:0", "/task:0/cpu:0",
               "/job:*", "/replica:*/task:*")
WRONG_DEVICES = ("/foo:0", "gpu", "/cpu:x", "gpu:0:1", "/job:", "/gpu", "//", "/job:a/job:b",
                 "/task:x", "0", "/device:0", "/device:TPU:0", "/cpu:-1", " /cpu:0", "/cpu:0/",
                 "/job:a b", "/device:CPU:0/gpu:1", "/job:1", "/replica:a", "/device:XLA_CPU:0")
KEYS = ("losses", "update_ops", "summaries", "my", "towers", "regularization_losses",
        "model_variables", "moving_average_variables", "variables", "trainable_variables",
        "local_variables", "train_op", "activations")


def op_name(live, given=0.35):
    """Returns {} or {"name": ...}."""
    if not live.chance(given):
        return {}
    return {"name": live.pick(NAMES if live.chance(0.94) else ODD_NAMES)}


def pick_or_odd(live, options, odd, rate=0.08):
    return live.pick(odd if live.chance(rate) else options)


def shape(live, rank=None):
    """Returns a shape of small known sizes."""
    if rank is None:
        rank = live.weighted({0: 3, 1: 5, 2: 6, 3: 2, 4: 1})
    return [live.weighted({1: 2, 2: 6, 3: 5, 4: 2, 5: 1}) for _ in range(rank)]


def dtype(live):
    return live.weighted(DTYPES)


def number(live, of):
    """Returns an element. Floats are multiples of 1/4, so that short computations are exact."""
    if of == "bool":
        return live.chance(0.5)
    if of == "string":
        return live.pick(("", "a", "bc", "x y"))
    if of in FLOATS:
        return live.rng.randrange(-8, 9) / 4.0
    return live.rng.randrange(-4, 8)


def literal(live, of, sizes):
    """Returns nested lists of numbers."""
    if not sizes:
        return number(live, of)
    return [literal(live, of, sizes[1:]) for _ in range(sizes[0])]


def array(live, of, sizes):
    """Returns a literal or a generated array, which includes dtype and shape."""
    if of in ("float32", "float64") and live.chance(0.25):
        form = {"stream": live.rng.randrange(100), "shape": sizes}
        if of != "float32":
            form["dtype"] = of
        return {"generate": form}
    return literal(live, of, sizes)


def size(sizes):
    product = 1
    for one in sizes:
        product *= one
    return product
