"""Writes one call: its operands, attributes and name, then the runs of what it gives."""

import math

import numpy as np
import tensorflow.compat.v1 as tf

from ... import values
from .. import arguments
from ..analysis import Fetched

FLOATS = ("float32", "float32", "float32", "float64")
INTEGERS = ("int32", "int64")
NUMBERS = ("float32", "float32", "float32", "float64", "int32", "int64", "uint8")
SIGNED = ("float32", "float32", "float32", "float64", "int32", "int64")
ANY = ("float32", "float32", "float64", "int32", "int64", "uint8", "bool", "string")
SIZES = {0: 0.04, 1: 0.2, 2: 0.3, 3: 0.3, 4: 0.1, 5: 0.06}
SPECIAL = ("nan", "inf", "-inf", 0.0, -0.0, 1e30, -1e30, 1e-30, 1.0, -1.0)
TEXTS = ("", "a", "b", "bc", "x y", "A")


class Given:
    """An operand: its argument, what it holds, and its tensor if it is one."""

    def __init__(self, argument, dtype, sizes, held=None):
        self.argument, self.dtype, self.sizes, self.held = argument, dtype, sizes, held

    @property
    def rank(self):
        return len(self.sizes)


class Writer:
    def __init__(self, live):
        self.live = live
        self.rng, self.chance, self.pick = live.rng, live.chance, live.pick
        self.weighted = live.weighted
        self.feeds = {}  # name of a placeholder -> [held, array]
        self.results = []  # Given of earlier calls
        self.spoil = 0  # how many more operands may get a wrong dtype, shape or value
        self.inputs = []  # Given of the present call
        self.ranked = False  # whether the ranks of the present call's placeholders are known

    def scope(self):
        self.live.enter("name_scope", name=self.pick(("a", "b", "net", "A", "x/y")))

    # Shapes and values

    def shape(self, rank=None, least=0, most=4):
        if rank is None:
            ranks = {0: 2, 1: 5, 2: 6, 3: 4, 4: 2, 5: 0.7}
            rank = self.weighted({r: ranks[r] for r in range(least, most + 1)})
        return [self.weighted(SIZES) for _ in range(rank)]

    def broadcast(self, sizes):
        """Returns a shape that can be broadcast with `sizes`."""
        partner = [1 if self.chance(0.25) else size for size in sizes]
        return partner[self.rng.randrange(len(sizes) + 1) if self.chance(0.3) else 0:]

    def number(self, dtype, kind):
        rng = self.rng
        if dtype == "bool":
            return self.chance(0.5)
        if dtype == "string":
            return self.pick(TEXTS)
        if isinstance(kind, tuple):  # a range of integers, both ends included
            kind = (max(kind[0], 0), max(kind[1], 0)) if dtype == "uint8" else kind
            return rng.randint(*kind) if dtype in INTEGERS + ("uint8",) else \
                float(np.float32(rng.uniform(*kind)))
        if dtype == "uint8":
            return rng.randrange(0, 12)
        if dtype in INTEGERS:
            return rng.randrange(1, 8) if kind in ("positive", "probability") else \
                rng.randrange(-5, 9)
        number = {"quarters": lambda: rng.randrange(-16, 17) / 4,
                  "fine": lambda: rng.uniform(-3, 3), "unit": lambda: rng.uniform(-1, 1),
                  "positive": lambda: rng.uniform(0.05, 4), "probability": rng.random,
                  "special": lambda: self.pick(SPECIAL)}[kind]()
        return number if isinstance(number, str) else float(np.float32(number))

    def array(self, dtype, sizes, kind="any"):
        """Returns the form of an array."""
        if kind == "any":
            kind = self.weighted({"quarters": 5, "fine": 5, "special": 0.6})
            if dtype not in ("float32", "float64") and kind == "special":
                kind = "quarters"
        count = arguments.size(sizes)
        numbers = [self.number(dtype, "fine" if kind == "special" and self.chance(0.6) else kind)
                   for _ in range(count)]
        if dtype in INTEGERS and kind == "quarters" and self.chance(0.03) and count:
            numbers[0] = self.pick((2**31 - 1, -2**31))
        return {"dtype": dtype, "shape": list(sizes), "values": numbers}

    # Operands

    def spoilt(self, dtype, sizes):
        """Returns a dtype and a shape, one of them wrong if an operand is to be spoilt."""
        if not self.spoil or self.chance(0.5):
            return dtype, sizes
        self.spoil -= 1
        kind = self.pick(("dtype", "rank", "size", "size"))
        if kind == "dtype":
            return self.pick(ANY), sizes
        if kind == "rank" or not sizes:
            return dtype, sizes[:-1] if sizes and self.chance(0.5) else sizes + [self.pick((1, 2))]
        at = self.rng.randrange(len(sizes))
        return dtype, sizes[:at] + [self.pick((0, 1, sizes[at] + 1))] + sizes[at + 1:]

    def operand(self, dtypes, sizes, kind="any", tensor=False):
        """Returns an operand of one of the dtypes; `tensor`: not a value."""
        dtype = dtypes if isinstance(dtypes, str) else self.pick(dtypes)
        dtype, sizes = self.spoilt(dtype, list(sizes))
        if kind == "any" and self.chance(0.1):
            fitting = [r for r in self.results if r.dtype == dtype and r.sizes == sizes]
            if fitting:
                return self.noted(self.pick(fitting))
        return self.noted(self.made(self.array(dtype, sizes, kind), tensor))

    def noted(self, given):
        self.inputs.append(given)
        return given

    def made(self, array, tensor=False):
        """Returns an operand with these values: a literal, array, constant or placeholder."""
        dtype, sizes = array["dtype"], array["shape"]
        how = self.weighted({"literal": 0 if tensor else 1.5, "array": 0 if tensor else 1.5,
                             "constant": 3, "known": 2, "partly": 1.2, "rank": 0.8,
                             "unknown": 0 if self.ranked else 0.8})
        if how == "literal" and dtype in ("float32", "int32", "bool", "string"):
            return Given(nested(array), dtype, sizes)
        if how in ("array", "literal"):
            return Given({"array": array}, dtype, sizes)
        if how == "constant":
            held = self.live.call("constant", value={"array": array})
            return Given(held, dtype, sizes, held)
        static = {"known": sizes, "rank": [None] * len(sizes), "unknown": None,
                  "partly": [None if self.chance(0.5) else size for size in sizes]}[how]
        held = self.live.call("placeholder", dtype=dtype,
                              **({} if static is None else {"shape": static}))
        self.feeds[held.value.name] = [held, {"array": array}]
        return Given(held, dtype, sizes, held)

    def tensor(self, dtypes=NUMBERS, rank=None, least=0, most=4, kind="any"):
        """Returns an operand of a random shape."""
        if kind == "any" and self.chance(0.1):
            fitting = [r for r in self.results if r.dtype in dtypes
                       and (r.rank == rank if rank is not None else least <= r.rank <= most)]
            if fitting:
                return self.noted(self.pick(fitting))
        return self.operand(dtypes, self.shape(rank, least, most), kind)

    def integers(self, numbers, dtypes=INTEGERS, only=None, tensor=False):
        """Returns an argument for sizes, axes or indices (nested lists); `only`: that dtype,
        `tensor`: literal or tensor, not an array."""
        numbers = np.array(numbers, dtype=np.int64)
        if self.spoil and self.chance(0.4):
            self.spoil -= 1
            if numbers.size and self.chance(0.7):
                numbers.reshape(-1)[self.rng.randrange(numbers.size)] = \
                    self.pick((-9, -2, -1, 0, 1, 2, 7))
            elif self.chance(0.5):
                numbers = np.concatenate([numbers.reshape(-1), [1]])
            else:
                dtypes, only, tensor = "float32", "float32", True
        natural = numbers.tolist()
        if self.chance(0.5) and only in (None, "int32") and dtypes != "float32" and numbers.size:
            return natural
        dtype = only or self.pick(dtypes)
        return self.made({"dtype": dtype, "shape": list(numbers.shape),
                          "values": [float(n) if dtype == "float32" else int(n)
                                     for n in numbers.reshape(-1)]}, tensor).argument

    def axis(self, rank, new=False):
        """Returns an axis of either sign; `new`: of a dimension to insert."""
        if self.spoil and self.chance(0.3):
            self.spoil -= 1
            return self.pick((rank + new, -rank - 1 - new, 9, -9))
        rank += new
        return self.rng.randrange(-rank, rank) if rank else self.pick((0, -1))

    def axes(self, rank):
        """Returns None, an axis or a list of different axes."""
        if self.chance(0.25):
            return None
        if self.chance(0.5):
            return self.axis(rank)
        chosen = self.rng.sample(range(rank), self.rng.randrange(rank + 1))
        chosen = [a - rank if self.chance(0.3) else a for a in chosen]
        if self.spoil and self.chance(0.3):
            self.spoil -= 1
            chosen.append(self.pick((rank, 0, -rank - 1)))
        return chosen

    def axis_tensor(self, rank):
        """Returns an axis as a number, constant or placeholder."""
        return self.integers(self.axis(rank)) if self.chance(0.35) else self.axis(rank)

    def maybe(self, probability=0.4, **args):
        """Returns the arguments, or {}."""
        return args if self.chance(probability) else {}

    # Calls

    def call(self, op, make):
        """Makes a call and runs its results and gradients."""
        self.spoil, self.inputs, self.ranked = int(self.chance(0.15)), [], False
        args = make(self)
        if args is None:
            return
        args = {key: bare(part) for key, part in args.items()}
        if takes_name(op):
            args.update(arguments.op_name(self.live, 0.25))
        result = self.live.call(op, **args)
        if not result.ok or result.value is None:
            return
        tensors = flat(result)
        done = self.run(tensors)
        if done is None:
            return
        for held, value in zip(tensors, done):
            sizes = list(np.shape(value))
            exact = not np.issubdtype(np.asarray(value).dtype, np.floating) or \
                op in EXACT and np.all(np.isfinite(value))
            if exact and len(sizes) < 6 and np.size(value) < 200:
                self.results.append(Given(held, held.dtype, sizes, held))
        self.gradients(op, tensors, done)

    def run(self, tensors, **args):
        tensors = [held for held in tensors if isinstance(held.value, values.TENSORS)]
        if not tensors:
            return None
        needed = Fetched([held.value for held in tensors], []).placeholders()
        feeds = [self.feeds[t.name] for t in needed if t.name in self.feeds]
        if feeds:
            args["feeds"] = feeds
        out = self.live.call("run", fetches=tensors, **args)
        return out.value if out.ok else None

    def gradients(self, op, tensors, done):
        """Runs the gradients of the floating results with respect to the floating tensors."""
        xs, ys, shapes = [], [], []
        for given in self.inputs:
            if given.held is not None and given.dtype in ("float32", "float64") and \
                    all(given.held is not x for x in xs):
                xs.append(given.held)
        for held, value in zip(tensors, done):
            if held.dtype in ("float32", "float64"):
                ys.append(held)
                shapes.append(list(np.shape(value)))
        if not xs or not ys or not self.chance(0.5):
            return
        args = {}
        if self.chance(0.5):
            args["grad_ys"] = [self.made(self.array(y.dtype, sizes, "fine"), tensor=True).argument
                               for y, sizes in zip(ys, shapes)]
        first = self.live.call("gradients", ys=ys, xs=xs, **args)
        if not first.ok:
            return
        grads = self.dense(first)
        if self.run(grads) is None or not grads or not self.chance(0.3):
            return
        second = self.live.call("gradients", ys=grads, xs=xs)
        if second.ok:
            self.run(self.dense(second))

    def dense(self, result):
        """Returns the gradients that are there, slices as tensors."""
        found = []
        for index, gradient in enumerate(result.value):
            if isinstance(gradient, tf.IndexedSlices):
                made = self.live.call("as_tensor", variable=result[index])
                found += [made] if made.ok else []
            elif gradient is not None:
                found.append(result[index])
        return found


# Ops whose floating results rounding does not change, so that later calls may decide by them.
EXACT = {"reshape", "transpose", "concat", "stack", "unstack", "split", "slice", "strided_slice",
         "getitem", "gather", "gather_nd", "reverse", "roll", "tile", "pad", "expand_dims",
         "squeeze", "where", "boolean_mask", "sort", "negative", "abs", "identity", "diag",
         "matrix_diag", "matrix_diag_part", "broadcast_to", "relu", "sign"}


def nested(array):
    """Returns nested lists of an array's values."""
    def part(sizes, numbers):
        if not sizes:
            one = numbers[0]
            return {"float": one} if one in ("nan", "inf", "-inf") and \
                array["dtype"] != "string" else one
        step = len(numbers) // sizes[0] if sizes[0] else 0
        return [part(sizes[1:], numbers[i * step:(i + 1) * step]) for i in range(sizes[0])]

    return part(array["shape"], array["values"])


def bare(part):
    if isinstance(part, Given):
        return part.argument
    if isinstance(part, (list, tuple)):
        return [bare(item) for item in part]
    if isinstance(part, float) and not math.isfinite(part):
        return {"float": str(part)}
    return part


def takes_name(op):
    from ...handlers import OPS
    return "name" in OPS[op][0]


def flat(result):
    """Returns the tensors of a result as Held."""
    if isinstance(result.value, values.TENSORS):
        return [result]
    if isinstance(result.value, (list, tuple)):
        return [result[index] for index, part in enumerate(result.value)
                if isinstance(part, values.TENSORS)]
    return []
