#!/usr/bin/env python3
"""Writes golden/cumsum.txt: cumulative sums of TensorFlow 2.21 (compat.v1), bit for bit.

Each line is a case: dtype; shape; axis, exclusive, reverse; elements of x; elements of the result.
Floating-point numbers are hexadecimal. Needs TensorFlow: see tests/golden/README.md.
"""
import os

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import numpy as np
import tensorflow.compat.v1 as tf  # noqa: E402

SHAPES = [(1,), (7,), (0, 3), (3, 0), (2, 3), (3, 1, 4), (2, 3, 5)]
DTYPES = ["float32", "float64", "int32", "int8", "uint8", "int64", "uint16"]


def texts(array):
    show = float.hex if array.dtype.kind == "f" else str
    return " ".join(show(x.item()) for x in array.ravel())


def elements(shape, dtype, generator):
    if dtype.startswith("float"):
        x = generator.standard_normal(shape).astype(dtype)
        if shape == (3, 1, 4):
            x[0, 0, :3] = -0.0, np.inf, np.nan
        return x
    info = np.iinfo(dtype)  # wide enough for sums that wrap
    return generator.integers(info.min, info.max, shape, dtype, endpoint=True)


def main():
    generator = np.random.default_rng(7)
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "golden", "cumsum.txt")
    with open(path, "w") as out, tf.Graph().as_default(), tf.Session() as session:
        for number, (dtype, shape) in enumerate((d, s) for d in DTYPES for s in SHAPES):
            x = elements(shape, dtype, generator)
            for axis in range(-1, len(shape)):
                exclusive, reverse = bool((number + axis) & 1), bool((number + axis) & 2)
                y = session.run(tf.cumsum(x, axis, exclusive, reverse))
                fields = [dtype, " ".join(map(str, shape)),
                          f"{axis} {exclusive:d} {reverse:d}", texts(x), texts(y)]
                out.write(";".join(fields) + "\n")


if __name__ == "__main__":
    main()
