"""Small records of large tensors; README.md, "MNIST parity"."""

import functools

import numpy as np

from . import generator

PROBES = 24
PROJECTIONS = 16
SIGN_STREAM, PROBE_STREAM = 98, 99


@functools.lru_cache(maxsize=None)
def signs(size):
    """Returns [PROJECTIONS, size] values: +1 where bit k of h(SIGN_STREAM, i) is 0, else -1."""
    h = generator.hashes(SIGN_STREAM, size)
    return np.stack([1.0 - 2.0 * ((h >> np.uint64(k)) & np.uint64(1)).astype(np.float64)
                     for k in range(PROJECTIONS)])


def round_to_nine_digits(value):
    return float("%.9g" % value)


def summary(tensor):
    """Returns {"norm", "sum", "projections", "probes"} of a tensor, in float64."""
    flat = np.asarray(tensor).reshape(-1)
    wide = flat.astype(np.float64)
    where = generator.integers(PROBE_STREAM, [PROBES], flat.size, np.int64)
    return {
        "norm": round_to_nine_digits(np.sqrt(np.sum(wide * wide))),
        "sum": round_to_nine_digits(np.sum(wide)),
        "projections": [round_to_nine_digits(p) for p in signs(flat.size) @ wide],
        "probes": [float(str(x)) for x in flat[where]],
    }


def distance(a, b):
    """Estimates |a - b| / |b| from two summaries; 0 if both are zero."""
    d = np.sqrt(np.mean(np.square(np.subtract(a["projections"], b["projections"]))))
    return d / b["norm"] if b["norm"] else d
