#!/usr/bin/env python3
"""Writes golden/op_defs.txt: TensorFlow 2.21's definitions of the ops in golden/ops.txt, and
golden/short_floats.txt: those that take float16 and bfloat16, and fewer dtypes than all.

Each line has fields separated by tabs: op, arguments, results ("x: T" as op_signature.h reads them,
joined by "; "), then "name type default" of each attribute in alphabetical order, with the default
in the form of attr_text, or "-" if there is none. An op that TensorFlow lacks has only its name.
`build/tests/test_ops_naming -tc='op definitions*'` writes ops.txt to the path in
TOWERFLOW_OPS_LIST. Needs TensorFlow: see tests/golden/README.md.
"""
import os
import pathlib

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import numpy as np  # noqa: E402
import tensorflow as tf  # noqa: E402
from tensorflow.python.framework import op_def_registry  # noqa: E402

HERE = pathlib.Path(__file__).parent / "golden"


def argument(arg, lists):
    kind = arg.type_list_attr or arg.type_attr or tf.as_dtype(arg.type).name
    if kind in lists:
        kind = f"list({kind})"
    if arg.is_ref:
        kind = f"Ref({kind})"
    if arg.number_attr:
        kind = f"{arg.number_attr} * {kind}"
    return f"{arg.name}: {kind}"


def one(kind, value):
    """Returns a value in the form of attr_text."""
    if kind == "bool":
        return "true" if value else "false"
    if kind == "float":
        return str(float(str(np.float32(value)))).removesuffix(".0")
    if kind == "string":
        return '"%s"' % value.decode()
    if kind == "type":
        return tf.as_dtype(value).name
    if kind == "shape":
        return "<unknown>" if value.unknown_rank else "(%s)" % ", ".join(str(d.size) for d in value.dim)
    if kind == "tensor":
        array = tf.make_ndarray(value)
        sizes = ", ".join(map(str, array.shape)) + ("," if array.ndim == 1 else "")
        return f"{array.dtype} ({sizes}) {array.tolist()}"
    return str(value)


FIELDS = {"bool": "b", "int": "i", "float": "f", "string": "s", "type": "type", "shape": "shape",
          "tensor": "tensor"}


def default(attr):
    if not attr.HasField("default_value"):
        return "-"
    value, kind = attr.default_value, attr.type
    if kind.startswith("list("):
        kind = kind[5:-1]
        return "[%s]" % ", ".join(one(kind, v) for v in getattr(value.list, FIELDS[kind]))
    return one(kind, getattr(value, FIELDS[kind]))


def line(name):
    op = None if name.startswith("_") else op_def_registry.get(name)
    if op is None:
        return name
    lists = {a.name for a in op.attr if a.type == "list(type)"}
    attributes = sorted(f"{a.name} {a.type} {default(a)}" for a in op.attr)
    return "\t".join([name, "; ".join(argument(a, lists) for a in op.input_arg),
                      "; ".join(argument(a, lists) for a in op.output_arg), *attributes])


names = (HERE / "ops.txt").read_text().split()
(HERE / "op_defs.txt").write_text("".join(line(name) + "\n" for name in names))


def takes_short_floats(name):
    """Returns whether a dtype attribute may be half and bfloat16, but not all dtypes."""
    op = None if name.startswith("_") else op_def_registry.get(name)
    allowed = [set(a.allowed_values.list.type) for a in op.attr if a.type == "type"] if op else []
    return any({tf.float16.as_datatype_enum, tf.bfloat16.as_datatype_enum} <= types for types in allowed)


(HERE / "short_floats.txt").write_text("".join(name + "\n" for name in names if takes_short_floats(name)))
