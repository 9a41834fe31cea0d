#!/usr/bin/env python3
"""Records the attributes that TensorFlow gives the nodes of golden programs.

    record_attributes.py [--check]

Writes attributes.json.gz: {FILE: {PROGRAM: {NODE: [OP, {NAME: TEXT}]}}}. TEXT is the result of the
library's attr_text, but for a tensor its dtype, shape and the CRC-32 of its bytes, with a zero byte
before each string. Nothing is run. README.md lists the required TensorFlow.
"""

import gzip
import json
import sys
import zlib

from run_tf import HERE, dumps

FILES = ["adaptive", "clipping", "collected_towers", "gradients_options", "initialized", "losses",
         "mnist", "mnist_summaries", "naming", "numerics", "op_names", "pieces_and_layers",
         "queues", "randoms", "shapes", "step_counts", "summaries", "three_stage_gan", "training",
         "update_ops"]
TARGET = HERE / "attributes.json.gz"


def shape_text(shape):
    if shape.unknown_rank:
        return "<unknown>"
    sizes = ["?" if d.size < 0 else str(d.size) for d in shape.dim]
    return "(%s%s)" % (", ".join(sizes), "," if len(sizes) == 1 else "")


def tensor_text(proto):
    import tensorflow.compat.v1 as tf

    array = tf.make_ndarray(proto)
    raw = array.tobytes()
    if array.dtype == object:
        raw = b"".join(b"\0" + one for one in array.reshape(-1))
    return "%s %s %08x" % (tf.as_dtype(proto.dtype).name, shape_text(proto.tensor_shape),
                           zlib.crc32(raw))


def text(value):
    import numpy as np
    import tensorflow.compat.v1 as tf

    kind = value.WhichOneof("value")
    one = {
        "b": lambda v: "true" if v else "false",
        "f": lambda v: str(np.float32(v)),
        "i": str,
        "s": lambda v: json.dumps(v.decode("latin-1")),
        "shape": shape_text,
        "tensor": tensor_text,
        "type": lambda v: tf.as_dtype(v).base_dtype.name,
    }
    if kind != "list":
        return one[kind](getattr(value, kind))
    for name in one:
        items = getattr(value.list, name)
        if items:
            return "[%s]" % ", ".join(one[name](item) for item in items)
    return "[]"


def nodes(program):
    from oracle.interpreter import Interpreter

    interpreter = Interpreter()
    calls = [call for call in program["calls"] if call["op"] != "run"]
    interpreter.run(dict(program, calls=calls))
    return {node.name: [node.op, {name: text(value) for name, value in sorted(node.attr.items())
                                  if not name.startswith("_")}]
            for node in interpreter.graph.as_graph_def().node}


def main():
    import tensorflow.compat.v1 as tf

    tf.logging.set_verbosity(tf.logging.ERROR)
    recorded = {}
    for name in FILES:
        programs = json.loads((HERE / "programs" / (name + ".json")).read_text())["programs"]
        recorded[name] = {program["name"]: nodes(program) for program in programs}
        print("%s: %d programs" % (name, len(programs)))
    raw = dumps(recorded).encode()
    if "--check" in sys.argv:
        return 0 if gzip.decompress(TARGET.read_bytes()) == raw else 1
    TARGET.write_bytes(gzip.compress(raw, 9, mtime=0))
    return 0


if __name__ == "__main__":
    sys.exit(main())
