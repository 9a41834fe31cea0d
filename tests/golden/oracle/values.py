"""JSON forms of arguments, results and arrays; README.md, "Values"."""

import base64
import math

import numpy as np
import tensorflow.compat.v1 as tf
from tensorflow.python.ops import variable_scope

from . import generator


class Unbound(Exception):
    """A reference to the result of an earlier call that failed."""


# A regularizer's loss is used like a tensor, but has another type.
TENSORS = (tf.Tensor, variable_scope._LazyEvalTensor)

INITIALIZERS = {
    "constant": tf.constant_initializer,
    "zeros": tf.zeros_initializer,
    "ones": tf.ones_initializer,
    "random_uniform": tf.random_uniform_initializer,
    "random_normal": tf.random_normal_initializer,
    "truncated_normal": tf.truncated_normal_initializer,
    "variance_scaling": tf.variance_scaling_initializer,
    "uniform_unit_scaling": tf.uniform_unit_scaling_initializer,
    "glorot_uniform": tf.glorot_uniform_initializer,
    "glorot_normal": tf.glorot_normal_initializer,
    "he_normal": tf.initializers.he_normal,
    "he_uniform": tf.initializers.he_uniform,
    "lecun_normal": tf.initializers.lecun_normal,
    "lecun_uniform": tf.initializers.lecun_uniform,
}


def names_in(value, refs, bound):
    """Adds the names that a form refers to, and those that functions in it bind, to sets."""
    if isinstance(value, list):
        for item in value:
            names_in(item, refs, bound)
    elif isinstance(value, dict):
        if isinstance(value.get("ref"), str):
            refs.add(value["ref"])
        for item in value.get("calls", []):
            if "out" in item:
                bound.add(item["out"])
        bound.update(value.get("parameters", []))
        for item in value.values():
            names_in(item, refs, bound)


def function_of(form, interpreter):
    """Returns a callable for a {"function": ...} form."""
    refs, own = set(), set()
    names_in(form, refs, own)
    for name in sorted(refs - own):
        if name not in interpreter.bound:
            raise Unbound(name)
    return lambda *arguments: interpreter.run_function(form, arguments)


def decode(value, bound, interpreter=None):
    """Decodes a JSON argument; `bound` maps names to results of earlier calls. Functions are run by
    `interpreter`."""
    if isinstance(value, list):
        return [decode(item, bound, interpreter) for item in value]
    if not isinstance(value, dict):
        return value
    if "function" in value:
        return function_of(value["function"], interpreter)
    if "tuple" in value:
        return tuple(decode(item, bound, interpreter) for item in value["tuple"])
    if "dict" in value:
        return {key: decode(item, bound, interpreter) for key, item in value["dict"].items()}
    if "ref" in value:
        if value["ref"] not in bound:
            raise Unbound(value["ref"])
        result = bound[value["ref"]]
        for key in value.get("path", []):
            result = result[key]
        return result
    if "generate" in value:
        return generator.generate(**value["generate"])
    if "array" in value:
        return written(**value["array"])
    if "float" in value:
        return float(value["float"])
    if "initializer" in value:
        args = {k: decode(v, bound) for k, v in value.items() if k != "initializer"}
        if "dtype" in args:
            args["dtype"] = tf.as_dtype(args["dtype"])
        return INITIALIZERS[value["initializer"]](**args)
    raise KeyError("no such argument form: %r" % value)


def written(dtype, shape, values):
    """Returns the array of a form that `array` returns."""
    kind = object if dtype == "string" else dtype
    return np.array([float(v) if isinstance(v, str) and dtype != "string" else v for v in values],
                    dtype=kind).reshape(shape)


def number(value):
    """Returns a float as the shortest exact JSON number, or "nan", "inf", "-inf" as strings."""
    wide = float(value)
    if math.isnan(wide) or math.isinf(wide):
        return str(wide)
    if isinstance(value, np.float32):
        short = float(str(value))
        if np.float32(short) == value:
            return short
    return wide


def element(value):
    if isinstance(value, (bytes, str)):
        raw = value if isinstance(value, bytes) else value.encode()
        text = raw.decode("latin-1")
        if all(32 <= ord(c) < 127 for c in text):
            return text
        return {"base64": base64.b64encode(raw).decode()}
    if isinstance(value, (bool, np.bool_)):
        return bool(value)
    if isinstance(value, np.integer):
        return int(value)
    return number(value)


def array(value, with_values=True):
    """Returns {"dtype", "shape", "values": flat, row-major} of a result of Session.run."""
    # NumPy's bytes dtype would drop trailing zero bytes.
    value = np.asarray(value, dtype=object if isinstance(value, bytes) else None)
    dtype = "string" if value.dtype.kind in "OSU" else value.dtype.name
    record = {"dtype": dtype, "shape": list(value.shape)}
    if with_values:
        record["values"] = [element(v) for v in value.reshape(-1)]
    return record


def shape(static):
    return None if static.rank is None else static.as_list()


def reuse(flag):
    return "AUTO_REUSE" if flag is tf.AUTO_REUSE else bool(flag)


def describe(value):
    """Returns the JSON form of a call's result."""
    if value is None or isinstance(value, (bool, int, float)):
        return value
    if isinstance(value, str):
        return {"string": value}
    if isinstance(value, (list, tuple)):
        return [describe(item) for item in value]
    if isinstance(value, dict):
        return {"dict": {key: describe(item) for key, item in value.items()}}
    if isinstance(value, tf.Variable):
        return {"variable": value.name, "dtype": value.dtype.name, "shape": shape(value.shape)}
    if isinstance(value, TENSORS):
        return {"tensor": value.name}
    if isinstance(value, tf.Operation):
        return {"operation": value.name}
    if isinstance(value, tf.IndexedSlices):
        return {"indexed_slices": [value.values.name, value.indices.name]}
    if isinstance(value, tf.TensorShape):
        return {"shape": shape(value)}
    if isinstance(value, tf.VariableScope):
        return {
            "scope": value.name,
            "original_name_scope": value.original_name_scope,
            "reuse": reuse(value.reuse),
        }
    return {"object": type(value).__name__, "name": getattr(value, "name", None)}


def node(operation):
    """Returns the record of one node without empty parts."""
    record = {
        "name": operation.name,
        "op": operation.type,
        "outputs": [[t.dtype.name, shape(t.shape)] for t in operation.outputs],
        "device": operation.device,
        "inputs": [t.name for t in operation.inputs],
        "control_inputs": sorted(o.name for o in operation.control_inputs),
        "colocated": sorted(
            group[5:].decode()
            for group in operation.colocation_groups()
            if group != b"loc:@" + operation.name.encode()
        ),
    }
    return {key: part for key, part in record.items() if part}


def collected(item):
    """Returns the record of a collection's member: its name, or {"object", "name"}."""
    if isinstance(item, (tf.Variable, tf.Operation) + TENSORS):
        return item.name
    if isinstance(item, (str, int, float, bool)):
        return describe(item)
    return {"object": type(item).__name__, "name": getattr(item, "name", None)}
