"""Calls that make and rearrange tensors."""

from .writer import ANY, FLOATS, INTEGERS, NUMBERS, SIGNED


def concat(w):
    x = w.tensor(ANY, least=1)
    axis = w.axis(x.rank)
    parts = [x]
    for _ in range(w.rng.randrange(0, 3)):
        sizes = list(x.sizes)
        if -x.rank <= axis < x.rank:
            sizes[axis] = w.weighted({0: 1, 1: 3, 2: 3})
        parts.append(w.operand(x.dtype, sizes))
    return {"values": parts, "axis": w.integers(axis, only="int32") if w.chance(0.2) else axis}


def stack(w):
    x = w.tensor(ANY, most=3)
    parts = [x] + [w.operand(x.dtype, x.sizes) for _ in range(w.rng.randrange(0, 3))]
    return {"values": parts, **w.maybe(axis=w.axis(x.rank, new=True))}


def unstack(w):
    x = w.tensor(ANY, least=1, most=3)
    return {"value": x, **w.maybe(num=x.sizes[0] + w.chance(0.1)), **w.maybe(axis=w.axis(x.rank))}


def split(w):
    x = w.tensor(ANY, least=1, most=3)
    axis = w.axis(x.rank)
    size = x.sizes[axis] if -x.rank <= axis < x.rank else 2
    if w.chance(0.5):
        pieces = w.pick([n for n in (1, 2, 3, 4, 5) if size % n == 0])
    else:
        first = w.rng.randrange(size + 1)
        pieces = w.pick(([first, size - first], [first, -1], [size], [first, 0, size - first]))
        pieces = w.integers(pieces)
    return {"value": x, "num_or_size_splits": pieces,
            "axis": w.integers(axis, only="int32") if w.chance(0.15) else axis}


def pad(w):
    x = w.tensor(NUMBERS + ("bool",), least=1)
    mode = w.pick(("CONSTANT", "CONSTANT", "REFLECT", "SYMMETRIC", "reflect"))
    most = [3 if mode == "CONSTANT" else max(size - (mode.upper() == "REFLECT"), 0)
            for size in x.sizes]
    paddings = [[w.rng.randrange(min(m, 3) + 1), w.rng.randrange(min(m, 3) + 1)] for m in most]
    args = {"tensor": x, "paddings": w.integers(paddings), "mode": mode}
    if mode == "CONSTANT" and x.dtype != "bool":
        args.update(w.maybe(0.3, constant_values=w.operand(x.dtype, [])))
    return args


def one_hot(w):
    indices = w.operand(("int32", "int64", "uint8"), w.shape(most=3), (-1, 4))
    args = {"indices": indices, "depth": w.integers(w.rng.randrange(0, 5), only="int32"),
            **w.maybe(axis=w.axis(indices.rank, new=True))}
    dtype = w.pick(NUMBERS + ("bool",))
    args.update(w.maybe(0.3, on_value=w.operand(dtype, [])))
    args.update(w.maybe(0.3, off_value=w.operand(dtype, [])))
    args.update(w.maybe(0.3, dtype=dtype))
    return args


def tile(w):
    x = w.tensor(ANY, most=3)
    return {"input": x, "multiples": w.integers([w.rng.randrange(0, 4) for _ in x.sizes])}


def transpose(w):
    x = w.tensor(ANY)
    perm = w.rng.sample(range(x.rank), x.rank)
    return {"a": x, **w.maybe(0.8, perm=w.integers(perm))}


def expand_dims(w):
    x = w.tensor(ANY)
    return {"input": x, "axis": w.integers(w.axis(x.rank, new=True)) if w.chance(0.2)
            else w.axis(x.rank, new=True)}


def squeeze(w):
    sizes = [1 if w.chance(0.5) else size for size in w.shape()]
    x = w.operand(ANY, sizes)
    ones = [i - len(sizes) * w.chance(0.3) for i, size in enumerate(sizes) if size == 1]
    if w.spoil and w.chance(0.5):
        ones.append(w.pick((0, len(sizes), -len(sizes) - 1)))
    return {"input": x, **w.maybe(0.6, axis=[i for i in ones if w.chance(0.7)])}


def reshape(w):
    x = w.tensor(ANY)
    count = 1
    for size in x.sizes:
        count *= size
    shapes = [[-1], [count], [1, -1], [count, 1], [-1, 1, 1]] + \
        [[n, -1] for n in (2, 3) if count and count % n == 0]
    return {"tensor": x, "shape": w.integers(w.pick(shapes))}


def fill(w):
    return {"dims": w.integers(w.shape(most=3)), "value": w.operand(ANY, [])}


def like(w):
    return {"tensor": w.tensor(ANY), **w.maybe(0.3, dtype=w.pick(NUMBERS + ("bool",)))}


def diagonal(w):
    return {"diagonal": w.tensor(SIGNED, least=1, most=2)}


def diag_part(w):
    half = w.shape(least=1, most=2)
    return {"input": w.operand(SIGNED, half + half)}


def band(w, rows, columns):
    """Returns the number of one diagonal, or a range of them."""
    low = w.rng.randint(-max(rows - 1, 0), max(columns - 1, 0))
    if w.chance(0.6):
        return low, low
    return low, w.rng.randint(low, max(columns - 1, low))


ALIGN = ("RIGHT_LEFT", "LEFT_RIGHT", "LEFT_LEFT", "RIGHT_RIGHT")


def longest(rows, columns, low, high):
    return min(rows + min(high, 0), columns - max(low, 0))


def diagonals(w, rows, columns, low, high):
    """Returns the shape of diagonals from low to high."""
    return ([high - low + 1] if high != low else []) + [max(longest(rows, columns, low, high), 0)]


def k_of(w, low, high):
    return {"k": w.integers(low if low == high else [low, high], only="int32")}


def matrix_diag(w):
    rows, columns = w.pick((1, 2, 3)), w.pick((1, 2, 4))
    low, high = band(w, rows, columns)
    sizes = w.shape(most=1) + diagonals(w, rows, columns, low, high)
    args = {"diagonal": w.operand(ANY[:-1], sizes)}
    if (low, high) != (0, 0) or w.chance(0.3):
        args.update(k_of(w, low, high))
        args.update(w.maybe(0.6, num_rows=rows, num_cols=columns))
        args.update(w.maybe(0.3, num_rows=rows))
        args.update(w.maybe(0.4, align=w.pick(ALIGN)))
        if args["diagonal"].dtype != "bool":
            args.update(w.maybe(0.3, padding_value=w.operand(args["diagonal"].dtype, [])))
    return args


def matrix_diag_part(w):
    x = w.tensor(ANY[:-1], least=2, most=3)
    low, high = band(w, *x.sizes[-2:])
    args = {"input": x}
    if w.chance(0.7):
        args.update(k_of(w, low, high))
        args.update(w.maybe(0.4, align=w.pick(ALIGN)))
        if x.dtype != "bool":
            args.update(w.maybe(0.3, padding_value=w.operand(x.dtype, [])))
    return args


def matrix_set_diag(w):
    x = w.tensor(ANY[:-1], least=2, most=3)
    rows, columns = x.sizes[-2:]
    low, high = band(w, rows, columns) if w.chance(0.6) else (0, 0)
    sizes = x.sizes[:-2] + diagonals(w, rows, columns, low, high)
    args = {"input": x, "diagonal": w.operand(x.dtype, sizes)}
    if (low, high) != (0, 0):
        args.update(k_of(w, low, high))
        args.update(w.maybe(0.4, align=w.pick(ALIGN)))
    return args


def matrix_band_part(w):
    lower, upper = w.rng.randrange(-1, 4), w.rng.randrange(-1, 4)
    dtype = w.pick(INTEGERS)
    return {"input": w.tensor(ANY[:-1], least=2, most=4),
            "num_lower": w.integers(lower, only=dtype), "num_upper": w.integers(upper, only=dtype)}


def trace(w):
    return {"x": w.tensor(SIGNED, least=2, most=3)}


def eye(w):
    args = {"num_rows": w.integers(w.rng.randrange(4), only="int32")}
    args.update(w.maybe(num_columns=w.integers(w.rng.randrange(4), only="int32")))
    args.update(w.maybe(0.3, batch_shape=w.shape(most=2)))
    args.update(w.maybe(0.3, dtype=w.pick(NUMBERS + ("bool",))))
    return args


def meshgrid(w):
    dtype = w.pick(SIGNED)
    return {"args": [w.operand(dtype, w.shape(1)) for _ in range(w.pick((1, 2, 2, 3)))],
            **w.maybe(indexing=w.pick(("xy", "ij")))}


def linspace(w):
    dtype = w.pick(FLOATS)
    return {"start": w.operand(dtype, [], "fine"), "stop": w.operand(dtype, [], "fine"),
            "num": w.integers(w.rng.randrange(1, 7))}


def sequence_mask(w):
    return {"lengths": w.operand(INTEGERS, w.shape(most=3), (-1, 5)),
            **w.maybe(maxlen=w.integers(w.rng.randrange(6), only="int32")),
            **w.maybe(0.3, dtype=w.pick(NUMBERS + ("bool",)))}


def blocks(w):
    return [w.pick((1, 2, 2, 3)) for _ in range(w.pick((1, 2, 2)))]


def space_to_batch_nd(w):
    block = blocks(w)
    paddings, sizes = [], []
    for step in block:
        before, after = w.rng.randrange(3), w.rng.randrange(3)
        times = w.rng.randrange(1, 4)
        sizes.append(step * times - before - after)
        if sizes[-1] < 0:
            sizes[-1] += step * ((-sizes[-1]) // step + 1)
        paddings.append([before, after])
    x = w.operand(NUMBERS, [w.pick((1, 2))] + sizes + w.shape(most=1))
    return {"input": x, "block_shape": w.integers(block), "paddings": w.integers(paddings)}


def batch_to_space_nd(w):
    block = blocks(w)
    batch = w.pick((1, 2))
    for step in block:
        batch *= step
    sizes = [w.rng.randrange(1, 4) for _ in block]
    crops = [[w.rng.randrange(min(s * b, 2)), w.rng.randrange(min(s * b, 2))]
             for s, b in zip(sizes, block)]
    x = w.operand(NUMBERS, [batch] + sizes + w.shape(most=1))
    return {"input": x, "block_shape": w.integers(block), "crops": w.integers(crops)}


def space_to_batch(w):
    x = w.operand(NUMBERS, [w.pick((1, 2)), 2 * w.pick((1, 2)), 2 * w.pick((1, 2)), 2])
    return {"input": x, "paddings": w.integers(w.pick(([[0, 0], [0, 0]], [[1, 1], [0, 2]]))),
            "block_size": 2 if w.chance(0.9) else w.pick((0, 1, 3))}


def batch_to_space(w):
    x = w.operand(NUMBERS, [4 * w.pick((1, 2)), w.pick((1, 2)), w.pick((1, 2, 3)), 2])
    return {"input": x, "crops": w.integers(w.pick(([[0, 0], [0, 0]], [[1, 0], [0, 1]]))),
            "block_size": 2 if w.chance(0.9) else w.pick((0, 1, 3))}


def required_paddings(w):
    count = w.pick((1, 2, 3))
    base = [[w.rng.randrange(3), w.rng.randrange(3)] for _ in range(count)]
    return {"input_shape": w.integers([w.rng.randrange(1, 8) for _ in range(count)], only="int32"),
            "block_shape": w.integers([w.rng.randrange(1, 4) for _ in range(count)], only="int32"),
            "base_paddings": w.integers(base, only="int32")}


def space_to_depth(w):
    size = w.pick((2, 2, 3))
    x = w.operand(NUMBERS, [w.pick((1, 2)), size * w.pick((1, 2)), size * w.pick((1, 2)), 2])
    return {"input": x, "block_size": size}


def depth_to_space(w):
    x = w.operand(NUMBERS, [w.pick((1, 2)), w.pick((1, 2)), w.pick((1, 2, 3)), 4 * w.pick((1, 2))])
    return {"input": x, "block_size": 2 if w.chance(0.95) else 3}


def conversion(w):
    return {"x": w.tensor(NUMBERS + ("bool",), kind="quarters")}


def cast(w):
    return {"x": w.tensor(NUMBERS + ("bool",), kind=w.pick(("quarters", "fine"))),
            "dtype": w.pick(NUMBERS + ("bool",))}


def saturate_cast(w):
    x = w.tensor(NUMBERS, kind=w.pick(("quarters", (-300, 300))))
    return {"value": x, "dtype": w.pick(NUMBERS)}


def broadcast_to(w):
    sizes = w.shape(most=4)
    return {"input": w.operand(ANY[:-1], w.broadcast(sizes)), "shape": w.integers(sizes)}


def with_shape(w, x):
    shape = [None if w.chance(0.4) else size for size in x.sizes]
    if w.spoil and w.chance(0.5):
        shape.append(None)
    return {"shape": None if w.chance(0.1) else shape}


def ensure_shape(w):
    x = w.tensor(ANY)
    args = {"x": x, **with_shape(w, x)}
    return args if args["shape"] is not None else None


def with_default(w):
    x = w.tensor(ANY)
    return {"input": x, **with_shape(w, x)}


def reverse(w):
    x = w.tensor(ANY)
    return {"tensor": x, "axis": w.integers(w.rng.sample(range(x.rank), w.rng.randrange(x.rank + 1)))}


def roll(w):
    x = w.tensor(NUMBERS, least=1)
    if w.chance(0.5):
        return {"input": x, "shift": w.integers(w.rng.randrange(-6, 7)),
                "axis": w.integers(w.axis(x.rank))}
    count = w.pick((1, 2))
    return {"input": x, "shift": w.integers([w.rng.randrange(-6, 7) for _ in range(count)]),
            "axis": w.integers([w.axis(x.rank) for _ in range(count)])}


def reverse_sequence(w):
    x = w.tensor(ANY, least=2)
    batch, seq = w.rng.sample(range(x.rank), 2)
    lengths = w.operand(INTEGERS, [x.sizes[batch]], (0, x.sizes[seq]))
    return {"input": x, "seq_lengths": lengths, "seq_axis": seq, "batch_axis": batch}


def invert_permutation(w):
    count = w.rng.randrange(0, 6)
    return {"x": w.integers(w.rng.sample(range(count), count))}


def asked(w):
    return {"input": w.tensor(ANY), **w.maybe(out_type=w.pick(INTEGERS))}


CALLS = [("concat", concat), ("stack", stack), ("unstack", unstack), ("split", split), ("pad", pad),
         ("one_hot", one_hot), ("tile", tile), ("transpose", transpose),
         ("expand_dims", expand_dims), ("squeeze", squeeze), ("reshape", reshape), ("fill", fill),
         ("zeros_like", like), ("ones_like", like), ("diag", diagonal), ("diag_part", diag_part),
         ("matrix_diag", matrix_diag), ("matrix_diag_part", matrix_diag_part),
         ("matrix_set_diag", matrix_set_diag), ("matrix_band_part", matrix_band_part),
         ("trace", trace), ("eye", eye), ("meshgrid", meshgrid), ("linspace", linspace),
         ("sequence_mask", sequence_mask), ("space_to_batch_nd", space_to_batch_nd),
         ("batch_to_space_nd", batch_to_space_nd), ("space_to_batch", space_to_batch),
         ("batch_to_space", batch_to_space),
         ("required_space_to_batch_paddings", required_paddings),
         ("space_to_depth", space_to_depth), ("depth_to_space", depth_to_space),
         ("to_float", conversion), ("to_double", conversion), ("to_int32", conversion),
         ("to_int64", conversion), ("cast", cast), ("saturate_cast", saturate_cast),
         ("broadcast_to", broadcast_to), ("ensure_shape", ensure_shape),
         ("placeholder_with_default", with_default), ("reverse", reverse), ("roll", roll),
         ("reverse_sequence", reverse_sequence), ("invert_permutation", invert_permutation),
         ("shape", asked), ("size", asked), ("rank", lambda w: {"input": w.tensor(ANY)}),
         ("identity", lambda w: {"input": w.tensor(ANY)}),
         ("stop_gradient", lambda w: {"input": w.tensor(ANY)})]
