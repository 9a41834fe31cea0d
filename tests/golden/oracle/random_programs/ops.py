"""Calls of ops on existing tensors: arithmetic, shapes, reductions, layers, random numbers."""

from . import arguments
from .arguments import array, literal, number, op_name, shape, size
from .live import Held

LIMIT = 400  # maximal number of elements of a tensor to keep


def fresh(live, dtype=None, sizes=None):
    """Returns a new tensor: a placeholder, a constant, zeros or the value of a variable."""
    dtype = dtype or arguments.dtype(live)
    sizes = shape(live) if sizes is None else sizes
    how = live.weighted({"constant": 8, "placeholder": 3, "zeros": 1, "ones": 1, "fill": 1,
                         "random": 1})
    named = op_name(live)
    if how == "placeholder":
        given = list(sizes)
        if given and live.chance(0.4):
            given[0] = None
        if live.chance(0.05):
            given = None
        return live.call("placeholder", dtype=dtype, shape=given, **named)
    if how in ("zeros", "ones"):
        return live.call(how, shape=sizes, dtype=dtype, **named)
    if how == "fill":
        return live.call("fill", dims=sizes, value=number(live, dtype), **named)
    if how == "random" and dtype in ("float32", "float64"):
        return random_numbers(live, sizes, dtype)
    args = {"value": array(live, dtype, sizes)}
    if dtype not in ("float32", "int32", "bool") or live.chance(0.1):
        args["dtype"] = dtype
    if live.chance(0.06):
        args.update(value=number(live, dtype), shape=sizes)
    if live.chance(0.02):
        args["shape"] = shape(live)
    if live.chance(0.02):
        args["dtype"] = arguments.dtype(live)
    return live.call("constant", **args, **named)


def random_numbers(live, sizes=None, dtype="float32"):
    op = live.weighted({"random_uniform": 3, "random_normal": 2, "truncated_normal": 2,
                        "random_shuffle": 1})
    args = op_name(live)
    if live.chance(0.4):
        args["seed"] = live.rng.randrange(100)
    if op == "random_shuffle":
        tensor = live.recent([t for t in live.tensors if t.shape])
        return fresh(live) if tensor is None else live.call(op, value=tensor, **args)
    args["shape"] = shape(live) if sizes is None else sizes
    args["dtype"] = dtype
    if op == "random_uniform":
        if live.chance(0.2):
            args.update(dtype=live.pick(("int32", "int64")), minval=-3, maxval=10)
        elif live.chance(0.5):
            args.update(minval=-1.0, maxval=2.0)
    elif live.chance(0.5):
        args.update(mean=1.0, stddev=0.5)
    return live.call(op, **args)


def tensor(live, dtypes=None, rank=None, fits=None):
    """Returns a tensor or variable of these dtypes and this rank; makes one if there is none."""
    def suits(held):
        if dtypes and held.dtype not in dtypes:
            return False
        if rank is not None and (held.shape is None or len(held.shape) != rank):
            return False
        return fits is None or fits(held)

    pool = live.variables if live.chance(0.25) else live.tensors
    held = live.recent([h for h in pool if suits(h)])
    if held is None:
        made = fresh(live, dtypes[0] if dtypes else None, None if rank is None else shape(live, rank))
        held = made if made.ok and suits(made) else None
    return held


def partner(live, held):
    """Returns a second operand compatible with `held`."""
    how = live.weighted({"tensor": 8, "number": 3, "list": 2, "wrong": 0.7})
    if how == "number":
        return number(live, held.dtype)
    if how == "list" and held.known and size(held.shape) <= 30:
        cut = live.rng.randrange(len(held.shape) + 1)
        return literal(live, held.dtype, held.shape[cut:])
    if how == "wrong":
        other = live.recent(live.tensors + live.variables)
        return other if live.chance(0.7) else number(live, live.pick(("float32", "int32", "bool")))
    dtype, sizes = held.dtype, held.shape
    same = [t for t in live.tensors + live.variables
            if t.dtype == dtype and (t.shape == sizes or t.shape == [] or
                                     (sizes and t.shape == sizes[1:]))]
    other = live.recent(same)
    if other is not None and live.chance(0.8):
        return other
    made = fresh(live, dtype, [s or 2 for s in sizes or []])
    return made if made.ok else number(live, dtype)


UNARY = ("negative", "square", "sqrt", "exp", "log", "tanh", "sigmoid", "abs")
ARITHMETIC = {"add": 4, "subtract": 3, "multiply": 4, "divide": 2, "truediv": 1, "maximum": 1.5,
              "minimum": 1.5, "pow": 0.4, "equal": 1, "not_equal": .5, "greater": 1,
              "greater_equal": .5, "less": 1, "less_equal": .5}
OPERATORS = {"+": 5, "-": 4, "*": 5, "/": 3, "//": 0.5, "%": 0.5, "**": 0.3, "<": 0.5, "<=": 0.3,
             ">": 0.5, ">=": 0.3}


def numeric(live):
    return tensor(live, ("float32", "float64", "int32", "int64"))


def floating(live, rank=None):
    return tensor(live, ("float32", "float64"), rank)


def unary(live):
    held = floating(live) if live.chance(0.95) else tensor(live)
    return held and live.call(live.pick(UNARY), x=held, **op_name(live))


def binary(live):
    held = numeric(live) if live.chance(0.97) else tensor(live)
    if held is None:
        return None
    other = partner(live, held)
    x, y = (held, other) if live.chance(0.75) else (other, held)
    return live.call(live.weighted(ARITHMETIC), x=x, y=y, **op_name(live))


def operator(live):
    held = numeric(live)
    if held is None:
        return None
    if live.chance(0.1):
        return live.call("operator", operator="neg", a=held)
    other = partner(live, held)
    if isinstance(other, list):
        other = number(live, held.dtype)
    op = live.weighted(OPERATORS)
    # Only Python allows a plain value on the left of ** and //; C++ has functions for them.
    turned = live.chance(0.25) and (op not in ("**", "//") or isinstance(other, Held))
    a, b = (other, held) if turned else (held, other)
    return live.call("operator", operator=op, a=a, b=b)


def matmul(live):
    a = floating(live, 2)
    if a is None or a.shape is None or len(a.shape) != 2:
        return None
    args = op_name(live)
    columns = a.shape[1]
    if live.chance(0.15):
        args["transpose_a"] = True
        columns = a.shape[0]
    inner = columns or live.rng.randrange(1, 5)
    turned = live.chance(0.15)
    fitting = [t for t in live.tensors + live.variables if t.dtype == a.dtype and t.shape is not None
               and len(t.shape) == 2 and t.shape[1 if turned else 0] == inner]
    b = live.recent(fitting)
    if b is None or live.chance(0.3):
        outer = live.rng.randrange(1, 5)
        b = fresh(live, a.dtype, [outer, inner] if turned else [inner, outer])
    if live.chance(0.05):  # rank 2 at most: batched products are another op
        b = live.recent([t for t in live.tensors if t.shape is not None and len(t.shape) <= 2])
    if turned:
        args["transpose_b"] = True
    if b is None or (hasattr(b, "ok") and not b.ok) or b.shape is None or len(b.shape) > 2:
        return None
    return live.call("matmul", a=a, b=b, **args)


def axis_of(live, held, wrong=0.04):
    rank = len(held.shape) if held.shape is not None else 2
    if live.chance(wrong) or not rank:
        return live.rng.randrange(-rank - 2, rank + 3)
    return live.rng.randrange(-rank, rank)


def reduction(live):
    held = numeric(live) if live.chance(0.97) else tensor(live)
    if held is None:
        return None
    args = op_name(live)
    rank = len(held.shape) if held.shape is not None else 0
    if rank and live.chance(0.5):
        args["axis"] = axis_of(live, held)
        if live.chance(0.3):
            count = live.rng.randrange(0, rank + 1)
            args["axis"] = sorted(live.rng.sample(range(rank), count))
    if live.chance(0.2):
        args["keepdims"] = True
    op = live.weighted({"reduce_sum": 3, "reduce_mean": 4, "reduce_max": 1})
    return live.call(op, input_tensor=held, **args)


def view(live):
    held = tensor(live)
    if held is None:
        return None
    op = live.weighted({"identity": 3, "stop_gradient": 2, "reshape": 4, "expand_dims": 2,
                        "squeeze": 1.5, "shape": 2, "size": 1, "rank": 1, "transpose": 2.5,
                        "get_shape": .5, "set_shape": .7, "cast": 3, "zeros_like": 1,
                        "ones_like": 1, "argmax": 1, "tile": 1.5})
    named = {} if op in ("get_shape", "set_shape") else op_name(live)
    if op in ("identity", "stop_gradient", "rank"):
        return live.call(op, input=held, **named)
    if op in ("shape", "size"):
        if live.chance(0.2):
            named["out_type"] = "int64"
        return live.call(op, input=held, **named)
    if op in ("zeros_like", "ones_like"):
        if live.chance(0.2):
            named["dtype"] = arguments.dtype(live)
        return live.call(op, tensor=held, **named)
    if op == "get_shape":
        return live.call(op, tensor=held)
    if op == "set_shape":
        if held in live.variables:
            return None
        known = [d if d is not None else live.pick((2, 3, None)) for d in held.shape or []]
        if live.chance(0.1):
            known = shape(live)
        return live.call(op, tensor=held, shape=known)
    if op == "cast":
        return live.call(op, x=held, dtype=live.pick(("float32", "int32", "float64", "int64",
                                                      "bool", "float32")), **named)
    if op == "reshape":
        return reshape(live, held, named)
    if op == "transpose":
        rank = len(held.shape) if held.shape is not None else 2
        if live.chance(0.6):
            named["perm"] = live.rng.sample(range(rank), rank)
            if live.chance(0.05):
                named["perm"] = named["perm"] + [0]
        return live.call(op, a=held, **named)
    if op == "expand_dims":
        rank = len(held.shape) if held.shape is not None else 2
        axis = live.rng.randrange(-rank - 1, rank + 1)
        return live.call(op, input=held, axis=axis + (9 if live.chance(0.04) else 0), **named)
    if op == "squeeze":
        ones = [i for i, d in enumerate(held.shape or []) if d == 1]
        if live.chance(0.5):
            named["axis"] = ones if live.chance(0.9) else [axis_of(live, held)]
        return live.call(op, input=held, **named)
    if op == "argmax":
        if live.chance(0.9):
            named["axis"] = axis_of(live, held)
        if live.chance(0.3):
            named["output_type"] = "int32"
        return live.call(op, input=held, **named)
    if held.known and size(held.shape) > 60:
        return None
    rank = len(held.shape) if held.shape is not None else 1
    times = [live.rng.randrange(1, 3) for _ in range(rank + (live.chance(0.05)))]
    return live.call("tile", input=held, multiples=times, **named)


def reshape(live, held, named):
    count = size(held.shape) if held.known else None
    if count is None or live.chance(0.3):
        wanted = live.pick(([-1], [-1, 1], [1, -1], [-1, 2]))
    else:
        splits = [d for d in (1, 2, 3, 4, 6) if count % d == 0]
        d = live.pick(splits)
        wanted = live.pick(([count], [d, count // d], [d, -1], [1, count], [count // d, d]))
    if live.chance(0.05):
        wanted = live.pick(([-1, -1], [7], [], [0], [3, -1], [-2]))
    if live.chance(0.08):
        wanted = live.recent([t for t in live.tensors if t.dtype in ("int32", "int64")
                              and t.shape is not None and len(t.shape) == 1]) or wanted
    return live.call("reshape", tensor=held, shape=wanted, **named)


def joined(live):
    held = tensor(live)
    if held is None or (held.known and size(held.shape) > 60):
        return None
    same = [t for t in live.tensors + live.variables
            if t.dtype == held.dtype and t.shape == held.shape]
    parts = [held] + [live.pick(same) if same else held for _ in range(live.rng.randrange(0, 3))]
    if live.chance(0.05):
        parts.append(live.recent(live.tensors) or held)
    op = live.weighted({"concat": 4, "stack": 3, "add_n": 4})
    if op == "add_n":
        parts = parts if live.chance(0.97) else []
        return live.call(op, inputs=parts, **op_name(live))
    axis = axis_of(live, held)
    return live.call(op, values=parts, axis=axis, **op_name(live))


def gather(live):
    params = tensor(live, fits=lambda h: h.shape is not None and len(h.shape) > 0)
    if params is None:
        return None
    count = (params.shape or [2])[0] or 2
    indices = [live.rng.randrange(count) for _ in range(live.rng.randrange(1, 5))]
    if live.chance(0.03):
        indices = live.pick(([count + 3], [-1], [0.5], []))
    if live.chance(0.2):
        indices = live.call("constant", value=indices)
    elif live.chance(0.1):
        indices = 0
    return live.call("gather", params=params, indices=indices, **op_name(live))


def layer(live):
    op = live.weighted({"relu": 5, "bias_add": 3, "softmax": 2, "conv2d": 1.5, "max_pool": 1.2,
                        "in_top_k": 0.7, "sparse_softmax_cross_entropy_with_logits": 2})
    if op == "relu":
        held = numeric(live)
        return held and live.call(op, features=held, **op_name(live))
    if op in ("conv2d", "max_pool"):
        return image(live, op)
    held = floating(live, 2)
    if held is None:
        return None
    rows, columns = held.shape
    if op == "bias_add":
        bias = fresh(live, held.dtype, [columns or 2])
        return live.call(op, value=held, bias=bias, **op_name(live)) if bias.ok else None
    if op == "softmax":
        return live.call(op, logits=held if live.chance(.8) else floating(live), **op_name(live))
    labels = [live.rng.randrange(columns or 2) for _ in range(rows or 2)]
    if live.chance(0.04):
        labels = live.pick(([9] * (rows or 2), [0.5], [[0]], labels + [0]))
    if op == "in_top_k":
        return live.call(op, predictions=held, targets=labels, k=live.rng.randrange(1, 3),
                         **op_name(live))
    return live.call(op, labels=labels, logits=held, **op_name(live))


def image(live, op):
    def fits(held):
        return held.shape[3] is not None

    held = tensor(live, ("float32",), 4, fits)
    if held is None or held.shape is None or len(held.shape) != 4 or held.dtype != "float32":
        return None
    strides = [1, live.pick((1, 1, 2)), live.pick((1, 1, 2)), 1]
    if live.chance(0.04):
        strides = live.pick(([1, 1], [1, 0, 1, 1], [1, 1, 1]))
    padding = live.pick(("SAME", "SAME", "VALID", "VALID", "SAME", "same"))
    if op == "max_pool":
        return live.call(op, value=held, ksize=[1, live.pick((1, 2)), 2, 1], strides=strides,
                         padding=padding, **op_name(live))
    sizes = [live.pick((1, 2, 3)), live.pick((1, 2)), held.shape[3], live.pick((1, 2, 3))]
    kernel = fresh(live, "float32", sizes)
    return live.call(op, input=held, filter=kernel, strides=strides, padding=padding,
                     **op_name(live)) if kernel.ok else None


def grouping(live):
    if live.chance(0.3):
        return live.call("no_op", **op_name(live))
    pool = live.operations + live.tensors + live.variables
    inputs = [live.recent(pool) for _ in range(live.rng.randrange(0, 4))]
    inputs = [held for held in inputs if held is not None]
    return live.call("group", inputs=inputs, **op_name(live))


KINDS = {fresh: 4, unary: 3, binary: 5, operator: 4, matmul: 3, reduction: 4, view: 5, joined: 2,
         gather: 1.5, layer: 3, random_numbers: 1, grouping: 1.2}


def any_op(live):
    return live.weighted(KINDS)(live)
