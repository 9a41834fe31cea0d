"""Calls that select elements: indices, masks, partitions, sets, orders."""

from .writer import ANY, INTEGERS, NUMBERS, SIGNED

ORDERED = ("float32", "float32", "float64", "int32", "int64", "uint8")


def indices(w, sizes, count, dtypes=INTEGERS):
    """Returns an operand of indices below `count`, now and then one that is not."""
    high = max(count - 1, 0)
    if w.spoil and w.chance(0.3):
        w.spoil -= 1
        high += 2
    return w.operand(dtypes, sizes, (0, high))


def bounds(w, size):
    begin = w.pick((0, 0, 1, -1, -2, size - 1, size + 3, -size - 2))
    end = w.pick((size, size, 1, 2, -1, 0, size + 5, -size - 1))
    step = w.pick((1, 1, 1, 2, 3, -1, -1, -2))
    return begin, end, step


def getitem(w):
    x = w.tensor(ANY, least=1)
    if x.held is None:
        return None
    entries = []
    for size in x.sizes[:w.rng.randrange(1, x.rank + 1)]:
        if w.chance(0.15):
            entries.append(None)
        kind = w.weighted({"number": 3, "range": 5, "all": 2})
        if kind == "number":
            entries.append(w.rng.randrange(-size, size) if size and not w.spoil else 0)
        elif kind == "all":
            entries.append([None, None, None])
        else:
            begin, end, step = bounds(w, size)
            entries.append([None if w.chance(0.3) else begin, None if w.chance(0.3) else end,
                            None if w.chance(0.4) else step])
    if w.chance(0.2):
        entries.insert(w.rng.randrange(len(entries) + 1), "...")
    if w.chance(0.12):
        at = w.rng.randrange(len(entries))
        if isinstance(entries[at], int):
            entries[at] = w.made({"dtype": w.pick(INTEGERS), "shape": [], "values": [0]},
                                 tensor=True)
    return {"tensor": x, "index": entries}


def slices(w):
    x = w.tensor(ANY)
    begin = [w.rng.randrange(size + 1) for size in x.sizes]
    size = [w.pick((-1, w.rng.randrange(s - b + 1))) for s, b in zip(x.sizes, begin)]
    dtype = w.pick(INTEGERS)
    return {"input_": x, "begin": w.integers(begin, only=dtype),
            "size": w.integers(size, only=dtype)}


def strided(w):
    x = w.tensor(ANY, least=1)
    count = w.rng.randrange(1, x.rank + 1)
    begin, end, step = zip(*[bounds(w, size) for size in x.sizes[:count]])
    dtype = w.pick(INTEGERS)
    args = {"input_": x, "begin": w.integers(begin, only=dtype), "end": w.integers(end, only=dtype),
            **w.maybe(0.7, strides=w.integers(step, only=dtype))}
    for mask in ("begin_mask", "end_mask", "shrink_axis_mask", "new_axis_mask"):
        args.update(w.maybe(0.15, **{mask: w.rng.randrange(2 ** count)}))
    args.update(w.maybe(0.1, ellipsis_mask=2 ** w.rng.randrange(count)))
    return args


def gather(w):
    x = w.tensor(ANY, least=1)
    axis = w.axis(x.rank)
    args = {"params": x}
    if w.chance(0.25) and x.rank > 1:
        batch = w.rng.randrange(1, x.rank)
        args["batch_dims"] = batch - (w.chance(0.2) and 0)
        axis = w.rng.randrange(batch, x.rank)
        args["indices"] = indices(w, x.sizes[:batch] + w.shape(most=1), x.sizes[axis])
        args["axis"] = axis
        return args
    if w.chance(0.5):
        args["axis"] = axis
    else:
        axis = 0
    size = x.sizes[axis] if -x.rank <= axis < x.rank else 1
    args["indices"] = indices(w, w.shape(most=2) if size else [0], size)
    return args


def rows(w, x, most=2):
    """Returns indices of elements or slices of x, the shape before their numbers, and how many."""
    depth = w.rng.randrange(0 if w.chance(0.1) else 1, x.rank + 1)
    before = w.shape(least=1, most=most)
    low = min(x.sizes[:depth], default=1)
    return indices(w, before + [depth], low), before, depth


def gather_nd(w):
    x = w.tensor(ANY, least=1)
    return {"params": x, "indices": rows(w, x)[0]}


def scatter_nd(w):
    x = w.shape(least=1, most=3)
    depth = w.rng.randrange(1, len(x) + 1)
    before = w.shape(least=1, most=2)
    dtype = w.pick(INTEGERS)
    return {"indices": indices(w, before + [depth], min(x[:depth]), dtype),
            "updates": w.operand(NUMBERS, before + x[depth:]), "shape": w.integers(x, only=dtype)}


def tensor_scatter(w):
    x = w.tensor(SIGNED, least=1, most=3)
    # Which of two updates of one element counts last is not defined.
    depth = w.rng.randrange(1, x.rank + 1)
    low = min(x.sizes[:depth])
    chosen = w.rng.sample(range(low), w.rng.randrange(min(low, 3) + 1))
    numbers = w.integers([[i] * depth for i in chosen] or [[0] * depth])
    return {"tensor": x, "indices": numbers,
            "updates": w.operand(x.dtype, [max(len(chosen), 1)] + x.sizes[depth:])}


def sparse_to_dense(w):
    shape = w.shape(least=1, most=2)
    low = min(shape)
    chosen = sorted(w.rng.sample(range(low), w.rng.randrange(min(low, 3) + 1))) or [0]
    dtype = w.pick(INTEGERS)
    of = w.pick(NUMBERS + ("bool",))
    args = {"sparse_indices": w.integers([[i] * len(shape) for i in chosen], only=dtype),
            "output_shape": w.integers(shape, only=dtype),
            "sparse_values": w.operand(of, [] if w.chance(0.3) else [len(chosen)])}
    if of == "bool" or w.chance(0.4):
        args["default_value"] = w.operand(of, [])
    return dict(args, **w.maybe(0.2, validate_indices=w.chance(0.5)))


def where(w):
    sizes = w.shape()
    if w.chance(0.35):
        return {"condition": w.operand(("bool", "bool", "float32", "int32"), sizes)}
    x = w.operand(ANY, sizes)
    mask = sizes if w.chance(0.6) else sizes[:1]
    return {"condition": w.operand("bool", mask), "x": x, "y": w.operand(x.dtype, sizes)}


def where_v2(w):
    sizes = w.shape()
    dtype = w.pick(ANY)
    return {"condition": w.operand("bool", w.broadcast(sizes)),
            "x": w.operand(dtype, w.broadcast(sizes)), "y": w.operand(dtype, w.broadcast(sizes))}


def boolean_mask(w):
    x = w.tensor(ANY, least=1)
    axis = w.rng.randrange(x.rank) if w.chance(0.4) else 0
    depth = w.rng.randrange(1, x.rank - axis + 1)
    return {"tensor": x, "mask": w.operand("bool", x.sizes[axis:axis + depth]),
            **({"axis": axis} if axis else {})}


def unique(w):
    return {"x": w.operand(ANY, w.shape(1), "quarters"), **w.maybe(out_idx=w.pick(INTEGERS))}


def setdiff1d(w):
    dtype = w.pick(NUMBERS + ("string",))
    return {"x": w.operand(dtype, w.shape(1), "quarters"),
            "y": w.operand(dtype, w.shape(1), "quarters"), **w.maybe(index_dtype=w.pick(INTEGERS))}


def partition(w):
    x = w.tensor(ANY, most=3)
    count = w.pick((1, 2, 3))
    depth = w.rng.randrange(x.rank + 1)
    return {"data": x, "partitions": indices(w, x.sizes[:depth], count, "int32"),
            "num_partitions": count}


def stitch(w):
    parts = w.pick((1, 2, 3))
    inner = w.shape(most=1)
    dtype = w.pick(ANY)
    # Every index once: an element that no index names is not defined.
    sizes = [w.shape(most=2) for _ in range(parts)]
    counts = [sum([1]) if not s else (s[0] if len(s) == 1 else s[0] * s[1]) for s in sizes]
    order = w.rng.sample(range(sum(counts)), sum(counts))
    chosen, data = [], []
    for size, count in zip(sizes, counts):
        numbers, order = order[:count], order[count:]
        chosen.append(w.made({"dtype": "int32", "shape": size, "values": numbers}))
        data.append(w.operand(dtype, size + inner))
    return {"indices": chosen, "data": data}


def sort(w):
    x = w.tensor(ORDERED, least=1, kind=w.pick(("quarters", "fine")))
    return {"values": x, **w.maybe(axis=w.axis(x.rank)),
            **w.maybe(direction=w.pick(("ASCENDING", "DESCENDING")))}


def argsort(w):
    return dict(sort(w), **w.maybe(0.2, stable=True))


def top_k(w):
    x = w.tensor(ORDERED, least=1, kind=w.pick(("quarters", "fine")))
    return {"input": x, **w.maybe(0.9, k=w.integers(w.rng.randrange(x.sizes[-1] + 1),
                                                    only="int32"))}


def arg(w):
    x = w.tensor(ORDERED + ("bool",), least=1, kind=w.pick(("quarters", "fine")))
    return {"input": x, **w.maybe(0.8, axis=w.axis_tensor(x.rank)),
            **w.maybe(output_type=w.pick(INTEGERS))}


CALLS = [("getitem", getitem), ("getitem", getitem), ("slice", slices), ("strided_slice", strided),
         ("strided_slice", strided), ("gather", gather), ("gather", gather),
         ("gather_nd", gather_nd), ("scatter_nd", scatter_nd),
         ("tensor_scatter_nd_update", tensor_scatter), ("tensor_scatter_nd_add", tensor_scatter),
         ("tensor_scatter_nd_sub", tensor_scatter), ("sparse_to_dense", sparse_to_dense),
         ("where", where), ("where_v2", where_v2), ("boolean_mask", boolean_mask),
         ("unique", unique), ("unique_with_counts", unique), ("setdiff1d", setdiff1d),
         ("dynamic_partition", partition), ("dynamic_stitch", stitch), ("sort", sort),
         ("argsort", argsort), ("top_k", top_k), ("argmax", arg), ("argmin", arg)]
