"""Shared by the interop tests: finding TensorFlow, running our program, arrays in files.

$INTEROP_PROGRAM is the program of program.cc. The Python that runs a test needs TensorFlow, or
$TF_PYTHON names a Python that has it; otherwise the test is skipped.
"""

import importlib.util
import json
import os
import pathlib
import re
import struct
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
SAMPLE = ROOT / "samples" / "mnist"
LIMIT = 600  # seconds for one run of our program


class OurError(Exception):
    """An error that the library threw: `kind` is the name of its class."""

    def __init__(self, kind, message):
        super().__init__(f"{kind}: {message}")
        self.kind = kind


def ours(*arguments):
    """Runs our program and returns the lines it printed."""
    command = [os.environ["INTEROP_PROGRAM"], *map(str, arguments)]
    result = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                            timeout=LIMIT, check=False)
    error = re.search(r"^(\w+Error): (.*)\Z", result.stderr, re.M | re.S)
    if result.returncode == 1 and error:
        raise OurError(*error.groups())
    if result.returncode != 0:
        raise RuntimeError(f"{command} ended with {result.returncode}: {result.stderr}")
    return result.stdout.splitlines()


def tensorflow():
    """Returns TensorFlow with 1.x behaviour."""
    os.environ["TF_USE_LEGACY_KERAS"] = "1"
    os.environ["CUDA_VISIBLE_DEVICES"] = "-1"
    import tensorflow.compat.v1 as tf
    tf.disable_v2_behavior()
    tf.disable_resource_variables()
    tf.logging.set_verbosity(tf.logging.ERROR)
    return tf


def name_of(dtype):
    return "string" if dtype == object else str(dtype)


def dtype_called(name):
    import ml_dtypes
    import numpy as np
    special = {"string": np.dtype(object), "bfloat16": np.dtype(ml_dtypes.bfloat16)}
    return special[name] if name in special else np.dtype(name)


def write_arrays(folder, arrays):
    """Writes arrays in the format of arrays.h; strings are `bytes` in object arrays."""
    import numpy as np
    folder.mkdir(parents=True, exist_ok=True)
    listed = []
    with open(folder / "values.bin", "wb") as file:
        for name, array in arrays.items():
            array = np.asarray(array)
            listed.append({"name": name, "dtype": name_of(array.dtype), "shape": array.shape})
            if array.dtype != object:
                file.write(array.tobytes())
                continue
            for text in array.ravel():
                file.write(struct.pack("<Q", len(text)) + text)
    (folder / "list.json").write_text(json.dumps(listed))
    return folder


def read_arrays(folder):
    import numpy as np
    arrays, values, place = {}, (folder / "values.bin").read_bytes(), 0
    for one in json.loads((folder / "list.json").read_text()):
        dtype, count = dtype_called(one["dtype"]), int(np.prod(one["shape"], dtype=np.int64))
        if dtype == object:
            array = np.empty(count, object)
            for i in range(count):
                length, = struct.unpack_from("<Q", values, place)
                array[i] = values[place + 8:place + 8 + length]
                place += 8 + length
        else:
            array = np.frombuffer(values, dtype, count, place)
            place += count * dtype.itemsize
        arrays[one["name"]] = array.reshape(one["shape"])
    if place != len(values):
        raise ValueError("values.bin is longer than list.json says")
    return arrays


def strings(texts):
    """Returns a vector of strings."""
    import numpy as np
    array = np.empty(len(texts), object)
    array[:] = texts
    return array


def tensor(value):
    """Converts a value from TensorFlow, whose scalar strings are `bytes`, to an array."""
    import numpy as np
    return strings([value]).reshape([]) if isinstance(value, bytes) else np.asarray(value)


class InteropTest(unittest.TestCase):
    """Gives each test a temporary folder."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def assert_same_arrays(self, ours, theirs):
        """Asserts equal names, dtypes, shapes and bits."""
        self.assertEqual(sorted(ours), sorted(theirs))
        for name, array in ours.items():
            self.assert_same_array(array, theirs[name], name)

    def assert_same_array(self, ours, theirs, name):
        import numpy as np
        theirs = np.asarray(theirs)
        self.assertEqual((ours.dtype, ours.shape), (theirs.dtype, theirs.shape), name)
        if ours.dtype == object:
            self.assertEqual(ours.ravel().tolist(), theirs.ravel().tolist(), name)
        else:
            self.assertEqual(ours.tobytes(), theirs.tobytes(), name)


def main(module="tensorflow"):
    """Runs the script's tests in a Python that has `module`; returns 77 if there is none."""
    if importlib.util.find_spec(module) is None:
        python = os.environ.pop("TF_PYTHON", None)
        if python:
            return subprocess.run([python, *sys.argv], check=False).returncode
        print(f"SKIPPED: no {module} in this Python; scripts/test --interop looks for one with it")
        return 77
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    return 0 if unittest.main(exit=False).result.wasSuccessful() else 1
