"""Conditionals, loops and TensorArrays whose functions have ops, layers and further control flow."""

from . import arguments, ops, scopes
from .arguments import literal, number, op_name

FLOATS = ("float32", "float64")
NAMES = ("loop", "choose", "a", "x/y", "cond", "while", "map", "a_1")
ODD = ("x/", "1", "a b", "_u", "a//b")


def named(live, rate=0.25):
    if not live.chance(rate):
        return {}
    return {"name": live.pick(NAMES if live.chance(0.93) else ODD)}


def source(live, rank=None):
    """Returns a float tensor or variable; makes one if there is none."""
    def suits(held):
        if held.dtype not in FLOATS or held.shape is None:
            return False
        return (rank is None or len(held.shape) == rank) and ops.size(
            [d or 2 for d in held.shape]) <= 64

    pool = live.variables if live.chance(0.25) else live.tensors
    held = live.recent([h for h in pool if suits(h)])
    if held is None or live.chance(0.1):
        sizes = arguments.shape(live, live.pick((0, 1, 2)) if rank is None else rank)
        how = live.pick(("placeholder", "constant", "constant", "variable"))
        if how == "placeholder" and not live.inside:
            given = [None if live.chance(0.25) else d for d in sizes]
            return live.call("placeholder", dtype="float32", shape=given)
        if how == "variable":
            return live.call("get_variable", name=live.pick(arguments.VARIABLES) +
                             str(live.made), shape=sizes, initializer=
                             {"initializer": "random_uniform", "minval": -1.0, "maxval": 1.0,
                              "seed": live.rng.randrange(100)})
        return live.call("constant", value=arguments.array(live, "float32", sizes),
                         dtype="float32")
    return held


def predicate(live):
    """Returns a bool scalar, rarely something else."""
    if live.chance(0.05):
        return live.pick((source(live), live.call("constant", value=[True, False])))
    how = live.weighted({"placeholder": 3, "less": 3, "equal": 1, "constant": 1, "any": 1})
    preds = [t for t in live.tensors if t.dtype == "bool" and t.shape == []]
    if how == "any" and preds:
        return live.recent(preds)
    if how == "placeholder" and not live.inside:
        shape = {"shape": []} if live.chance(0.9) else {}
        return live.call("placeholder", dtype="bool", **shape)
    if how == "less":
        total = live.call("reduce_sum", input_tensor=source(live))
        return live.call(live.pick(("less", "greater")), x=total, y=number(live, total.dtype)) \
            if total.ok else live.call("constant", value=True)
    ints = [t for t in live.tensors if t.dtype == "int32" and t.shape == []]
    if how == "equal" and ints:
        return live.call("equal", x=live.recent(ints), y=live.rng.randrange(3))
    return live.call("constant", value=live.chance(0.5))


def same(live, x, depth=0):
    """Returns a tensor of the dtype and, nearly always, the shape of `x`."""
    if x.dtype not in FLOATS:
        return live.call("operator", operator=live.pick("+-*"), a=x, b=live.rng.randrange(1, 4))
    if live.mapping > 9 or (live.mapping and live.chance(0.9)):  # what a mapped function makes has no caching device
        kept = {"unary": 5, "number": 4, "tensor": 4, "product": 1, "identity": 0.5,
                "control": 1 if depth < 2 else 0}
    else:
        kept = None
    how = live.weighted(kept or {"unary": 5, "number": 4, "tensor": 4, "variable": 1.5, "layer": 1.2,
                         "control": 1.5 if depth < 2 else 0, "noise": 0.6, "scope": 1.0,
                         "identity": 0.5, "product": 1, "nothing": 0.3})
    if how == "nothing":
        return x
    if how == "number":
        return live.call("operator", operator=live.pick("+-**"[:3]), a=x,
                         b=live.rng.randrange(-4, 5) / 4.0)
    if how == "tensor":
        alike = [t for t in live.tensors + live.variables
                 if t.dtype == x.dtype and t.shape is not None and t.shape in (x.shape, [])]
        other = live.recent(alike)
        if other is not None:
            return live.call("operator", operator=live.pick("+-*"), a=x, b=other)
    if how == "variable" and x.known:
        made = live.call("get_variable", name=live.pick(("v", "w", "gain")) + str(live.made),
                         shape=x.shape if live.chance(0.7) else [], dtype=x.dtype,
                         initializer={"initializer": "constant", "value": 0.5})
        return live.call("operator", operator=live.pick("+*"), a=x, b=made)
    if how == "layer" and x.shape is not None and len(x.shape) == 2 and x.shape[1]:
        return live.call("layer_dense", inputs=x, units=x.shape[1], **(
            {"activation": live.pick(("tanh", "relu"))} if live.chance(0.5) else {}))
    if how == "product" and x.shape is not None and len(x.shape) == 2 and x.shape[1]:
        other = live.call("constant", value=literal(live, x.dtype, [x.shape[1]] * 2),
                          dtype=x.dtype)
        return live.call("matmul", a=x, b=other)
    if how == "control":
        found = live.weighted({conditional: 3, loop: 2, mapped: 0.7})(live, x, depth + 1)
        if found is not None:
            return found
    if how == "noise":
        ops.any_op(live)
    if how == "scope":
        before = live.depth
        opener = live.pick((scopes.name_scope, scopes.variable_scope, scopes.device,
                            scopes.control_dependencies))
        opener(live)
        found = same(live, x, depth)
        while live.depth > before:
            live.exit()
        return found
    if how == "identity":
        return live.call("identity", input=x)
    return live.call(live.weighted({"tanh": 4, "sigmoid": 2, "negative": 1, "abs": 0.5,
                                    "square": 1, "exp": 0.3}), x=x, **op_name(live, 0.2))


def chain(live, x, depth=0):
    for _ in range(live.weighted({0: 1, 1: 4, 2: 3, 3: 1})):
        x = same(live, x, depth)
    return x


def effect(live):
    """Returns an operation or assigned tensor of a branch."""
    floats = [v for v in live.variables if v.dtype == "float32" and v.known]
    variable = live.recent(floats)
    if variable is None or live.chance(0.3):
        return live.call("no_op")
    return live.call(live.pick(("assign", "assign_add")), ref=variable,
                     value=literal(live, "float32", variable.shape))


def branch(live, xs, depth, wrong=0.04):
    """Returns the writer of a branch that makes something like `xs`."""
    def write():
        made = [chain(live, x, depth) for x in xs]
        if live.chance(wrong):
            how = live.pick(("more", "dtype", "shape", "none"))
            if how == "more":
                made.append(source(live))
            elif how == "dtype":
                made[0] = live.call("cast", x=made[0], dtype=live.pick(("int32", "float64")))
            elif how == "shape":
                made[0] = live.call("expand_dims", input=made[0], axis=0)
            else:
                return None
        return made[0] if len(made) == 1 else made

    return write


def conditional(live, x=None, depth=0):
    xs = [x if x is not None else source(live)]
    if x is None and live.chance(0.35):
        xs.append(source(live))
    pred = predicate(live)
    if x is None and live.chance(0.08):
        return live.call("cond", pred=pred, true_fn=live.function(lambda: effect(live)),
                         false_fn=live.function(lambda: effect(live)), **named(live))
    if x is None and depth == 0 and live.chance(0.2):
        return choice(live, xs)
    return live.call("cond", pred=pred, true_fn=live.function(branch(live, xs, depth)),
                     false_fn=live.function(branch(live, xs, depth)), **named(live))


def choice(live, xs):
    pairs = [[predicate(live), live.function(branch(live, xs, 1, 0.02))]
             for _ in range(live.weighted({0: 0.1, 1: 3, 2: 4, 3: 1}))]
    args = named(live)
    if live.chance(0.8):
        args["default"] = live.function(branch(live, xs, 1, 0.02))
    if live.chance(0.25):
        args["exclusive"] = True
    return live.call("case", pairs=pairs, **args)


def loop_options(live):
    args = named(live)
    if live.chance(0.2):
        args["parallel_iterations"] = live.pick((1, 2, 10, 32))
    if live.chance(0.12):
        args["back_prop"] = False
    if live.chance(0.15):
        args["swap_memory"] = live.chance(0.5)
    return args


def loop(live, x=None, depth=0):
    """A loop over a counter and one or two tensors, perhaps with a TensorArray."""
    first = x if x is not None else source(live)
    xs = [first]
    if live.chance(0.3):
        xs.append(source(live))
    count = live.weighted({0: 1, 1: 1, 2: 3, 3: 3, 4: 1})
    limit = count
    if live.chance(0.15):
        limit = live.call("constant", value=count)
    args = loop_options(live)
    if live.chance(0.2):
        args["maximum_iterations"] = live.pick((0, 1, 2, 5)) if live.chance(0.8) else \
            live.call("constant", value=live.pick((1, 3)))
    grows = live.chance(0.12) and first.shape and all(one.shape is not None for one in xs)
    if grows or live.chance(0.08):
        shapes = [list(one.shape) for one in xs]
        if grows:
            shapes[0][0] = None
        args["shape_invariants"] = [[]] + shapes
        if live.chance(0.1):
            args["shape_invariants"] = live.pick(([[]], [[], [7]], [[]] + [None] * len(xs)))
    array = None
    if live.chance(0.15) and "shape_invariants" not in args:
        array = live.call("TensorArray", dtype=first.dtype, size=count,
                          **({"dynamic_size": True} if live.chance(0.3) else {}))
    wrong = live.weighted({"fewer": 3, "dtype": 0.3, "shape": 3, "cond": 3}) \
        if live.chance(0.05) else None

    def goes_on(i, *values):
        if wrong == "cond":
            return live.pick((i, live.call("constant", value=[True])))
        return live.call("less", x=i, y=limit) if live.chance(0.7) else \
            live.call("operator", operator="<", a=i, b=limit)

    def body(i, *values):
        step = live.call("operator", operator="+", a=i, b=1)
        made = [chain(live, value, depth + 1) for value in values[:len(xs)]]
        if grows:
            made[0] = live.call("concat", values=[made[0], made[0]], axis=0)
        if wrong == "dtype":
            made[0] = live.call("cast", x=made[0], dtype="int32")
        elif wrong == "shape":
            made[0] = live.call("expand_dims", input=made[0], axis=0)
        elif wrong == "fewer":
            return [step]
        if array is not None:
            made.append(live.call("array_write", array=values[-1], index=i,
                                  value=made[0]))
        return [step] + made

    parameters = ["i"] + ["abc"[k] for k in range(len(xs))] + (["t"] if array is not None else [])
    result = live.call("while_loop", cond=live.function(goes_on, *parameters),
                       body=live.function(body, *parameters),
                       loop_vars=[0] + xs + ([array] if array is not None else []), **args)
    if not result.ok:
        return None
    if array is not None and live.chance(0.9):
        ending = live.call(live.weighted({"array_stack": 4, "array_size": 1, "array_concat": 1}),
                           array=result[1 + len(xs)])
        if x is None:
            return ending
    return result[1]


def rows(live):
    """Returns a float tensor with rows."""
    for _ in range(10):
        held = source(live, live.pick((1, 2, 2)))
        if held.known or live.chance(0.03):
            break
    return held


def mapped(live, x=None, depth=0):
    """map_fn, scan, foldl or foldr over a tensor or two of them."""
    live.mapping += 1
    try:
        return mapped_or_none(live, x, depth)
    finally:
        live.mapping -= 1


def mapped_or_none(live, x, depth):
    elems = x if x is not None and x.shape else rows(live)
    how = live.weighted({"map_fn": 4, "scan": 3, "foldl": 2, "foldr": 1})
    if x is not None:
        if not x.shape:
            return None
        how = "map_fn"
    args = loop_options(live)
    if how == "map_fn":
        args.pop("swap_memory", None)
        several = x is None and live.chance(0.25)
        if several:
            args["dtypes"] = elems.dtype if live.chance(0.9) else "int32"

        def write(one):
            if several:
                left, right = dict(one.ref, path=[0]), dict(one.ref, path=[1])
                summed = live.call("operator", operator=live.pick("+*-"), a=left, b=right)
                return chain(live, summed, depth + 1)
            made = chain(live, one, depth + 1)
            if x is None and live.chance(0.1):
                made = live.call("cast", x=made, dtype="int32")
            return made

        if x is None and not several and live.chance(0.15):
            args["dtypes"] = live.pick(("float32", "int32", "float64"))
        return live.call(how, fn=live.function(write, "e"),
                         elems=[elems, elems if live.chance(0.9) else rows(live)] if several
                         else elems, **args)
    if how == "scan":
        if live.chance(0.25):
            args["reverse"] = True

    def step(a, e):
        joined = live.call("operator", operator=live.pick("+*-"), a=a, b=e)
        return chain(live, joined, depth + 1)

    if live.chance(0.5):
        sizes = (elems.shape or [2])[1:]
        if None not in sizes:
            args["initializer"] = live.call(
                "constant", value=literal(live, elems.dtype, sizes), dtype=elems.dtype)
        if live.chance(0.06):
            args["initializer"] = live.pick((0.0, 1))
    return live.call(how, fn=live.function(step, "s", "e"), elems=elems, **args)


def arrays(live):
    """A TensorArray that is written and read without a loop."""
    count = live.rng.randrange(1, 4)
    sizes = arguments.shape(live, live.pick((0, 1, 1, 2)))
    args = named(live, 0.2)
    if live.chance(0.2):
        args["dynamic_size"] = live.chance(0.7)
    if live.chance(0.2):
        args["clear_after_read"] = live.chance(0.5)
    if live.chance(0.15):
        args["infer_shape"] = live.chance(0.5)
    if live.chance(0.15):
        args["element_shape"] = live.pick((sizes, [None] * len(sizes), [5], None))
    if live.chance(0.1):
        args["tensor_array_name"] = live.pick(("t", "x/y"))
    array = live.call("TensorArray", dtype="float32", size=count, **args)
    if not array.ok:
        return None
    how = live.weighted({"write": 3, "unstack": 3, "scatter": 1, "split": 1})
    value = source(live) if live.chance(0.3) else live.call(
        "constant", value=arguments.array(live, "float32", [count] + sizes))
    if how == "write":
        for index in range(count + live.chance(0.05)):
            one = live.call("constant", value=literal(live, "float32", sizes))
            array = live.call("array_write", array=array, index=index, value=one,
                              **named(live, 0.1))
            if not array.ok:
                return None
    elif how == "split":
        array = live.call("array_split", array=array, value=value, lengths=[1] * count)
    elif how == "scatter":
        array = live.call("array_scatter", array=array, value=value,
                          indices=live.rng.sample(range(count), count))
    else:
        array = live.call("array_unstack", array=array, value=value, **named(live, 0.1))
    if not array.ok:
        return None
    results = []
    for _ in range(live.rng.randrange(1, 3)):
        ending = live.weighted({"stack": 3, "read": 2, "gather": 1, "concat": 1, "size": 1})
        more = {"read": {"index": live.rng.randrange(count)},
                "gather": {"indices": [live.rng.randrange(count)]}}.get(ending, {})
        results.append(live.call("array_" + ending, array=array, **more, **named(live, 0.1)))
    return results[-1]


KINDS = {conditional: 5, loop: 5, mapped: 3, arrays: 1.5}


def any_call(live):
    return live.weighted(KINDS)(live)
