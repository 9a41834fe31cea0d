"""Arrays that C++ can reproduce bit for bit; README.md, "Generated arrays"."""

import numpy as np

GAMMA = np.uint64(0x9E3779B97F4A7C15)
MIX_1 = np.uint64(0xBF58476D1CE4E5B9)
MIX_2 = np.uint64(0x94D049BB133111EB)


def splitmix64(z):
    """Applies SplitMix64's output function (public domain, S. Vigna) to a uint64 array."""
    with np.errstate(over="ignore"):
        z = np.asarray(z, np.uint64) + GAMMA
        z = (z ^ (z >> np.uint64(30))) * MIX_1
        z = (z ^ (z >> np.uint64(27))) * MIX_2
        return z ^ (z >> np.uint64(31))


def hashes(stream, count):
    """h(stream, i) = splitmix64(splitmix64(stream) + i) for i = 0 .. count-1."""
    with np.errstate(over="ignore"):
        return splitmix64(splitmix64(np.uint64(stream)) + np.arange(count, dtype=np.uint64))


def uniform(stream, shape, exponent=0, dtype=np.float32):
    """Multiples of 2^(exponent-23) in [-2^exponent, 2^exponent), exact in float32."""
    top = (hashes(stream, int(np.prod(shape))) >> np.uint64(40)).astype(np.int64) - (1 << 23)
    return np.ldexp(top.astype(np.float64), exponent - 23).astype(dtype).reshape(shape)


def positive(stream, shape, exponent=0, dtype=np.float32):
    """Multiples of 2^(exponent-24) in (0, 2^exponent], exact in float32."""
    top = (hashes(stream, int(np.prod(shape))) >> np.uint64(40)).astype(np.int64) + 1
    return np.ldexp(top.astype(np.float64), exponent - 24).astype(dtype).reshape(shape)


def integers(stream, shape, modulo, dtype=np.int32):
    """h mod `modulo`."""
    return (hashes(stream, int(np.prod(shape))) % np.uint64(modulo)).astype(dtype).reshape(shape)


def generate(stream, shape, dtype="float32", exponent=0, modulo=None, kind=None):
    """Returns the array of a {"generate": {...}} argument."""
    dtype = np.dtype(dtype)
    if modulo is not None:
        return integers(stream, shape, modulo, dtype)
    return (positive if kind == "positive" else uniform)(stream, shape, exponent, dtype)
