#!/usr/bin/env python3
"""Records the systems of systems/*.py as TensorFlow builds and trains them.

    record_systems.py --regenerate [SYSTEM...]   writes systems/*.graph.json.gz and *.curves.json
    record_systems.py --check [SYSTEM...]        fails if they are not what TensorFlow does

A graph is the whole program's, with its input. A curve is ten steps from generated values and
batches: the losses of each step, the gradients of the first if `train` returns them, and the
variables after the last. A file of systems/ has

    GRAPHS, CURVES   lists of options: towers, batch (examples of a tower) and what `train` also takes
    OUTLINES         options of graphs of which only variables, sums and groups are recorded, with
                     the collections; none if absent
    INNER            scopes whose nodes may differ from TensorFlow's; none if absent
    ROUNDING         a regular expression of the slots that hold only rounding errors, since the
                     gradient is zero; none if absent
    STEPS            of a curve; 10 if absent
    COMPACT          whether the system is large: the graphs are recorded without the nodes of
                     gradients, which are not compared, and the curves as *.curves.json.gz with
                     shorter summaries
    EXPONENTS        of the generated initial values, by variable; -4 if absent
    inputs(batch, ...)
                     what a tower reads, for the options of these names: [(dtype, shape, exponent of
                     real values or end of integers)]
    train(next_batch, towers, batch, ...)
                     builds the program with its own input, or with what `next_batch` returns in each
                     tower; returns the losses and the ops that a step runs, one after the other; as
                     a third result maybe a dictionary of `gradients`, pairs with their variables
                     that are recorded in the first step, and of `handed`, tensors whose values the
                     first run of a step hands to the others: gradients of a program that lets
                     updates overtake them
"""

import argparse
import gzip
import inspect
import json
import os
import pathlib
import re
import sys

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("TF_USE_LEGACY_KERAS", "1")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")
os.environ.setdefault("TF_ENABLE_ONEDNN_OPTS", "0")

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import numpy as np  # noqa: E402

STEPS = 10
ROUNDING_LIMIT = 1e-5
OUTLINE_OPS = ("VariableV2", "AddN", "NoOp")
BATCH_STREAM, STEP_STREAMS, TOWER_STREAMS = 1000000, 1000, 100


def exponent_of(system, name):
    return system.EXPONENTS.get(name, -4)


def initial_values(system, variables):
    """Returns the values from which a curve starts: of the trainable variables, in their order."""
    from oracle import generator
    return [generator.generate(i, v.shape.as_list(), v.dtype.base_dtype.as_numpy_dtype,
                               exponent_of(system, v.op.name)) for i, v in enumerate(variables)]


def batch(inputs, step, tower):
    """Returns the batch of a tower at a step."""
    from oracle import generator
    place = BATCH_STREAM + STEP_STREAMS * step + TOWER_STREAMS * tower
    return [generator.uniform(place + i, shape, bound, dtype) if dtype.startswith("float")
            else generator.integers(place + i, shape, bound, np.dtype(dtype).type)
            for i, (dtype, shape, bound) in enumerate(inputs)]


def is_compact(system):
    return getattr(system, "COMPACT", False)


def summary_of(system, value, short=True, digits=7):
    """Returns what a distance needs of a tensor's summary: of a large system four projections, if
    `short`."""
    from oracle import checksums
    summary = checksums.summary(value)
    count = 4 if short and is_compact(system) else None
    return {"norm": float("%.*g" % (digits, summary["norm"])),
            "projections": [float("%.*g" % (digits, one)) for one in summary["projections"][:count]]}


def end_of(system, name, value):
    """Returns the record of a variable after the last step."""
    if not re.search(getattr(system, "ROUNDING", "$^"), name):
        return summary_of(system, value)
    assert np.linalg.norm(value) < ROUNDING_LIMIT, (name, value)
    return {"below": ROUNDING_LIMIT}


def is_recorded(operation, system, outline):
    in_gradients = operation.type != "VariableV2" and "/gradients/" in "/" + operation.name
    if in_gradients and (outline or is_compact(system)):
        return False
    return not outline or operation.type in OUTLINE_OPS


def graph_of(name, system, options, outline=False):
    """Returns the record of a program's graph."""
    import tensorflow.compat.v1 as tf
    from oracle import values
    from oracle.interpreter import Interpreter
    recorder = Interpreter()
    with recorder.graph.as_default():
        system.train(None, **options)
        nodes = [values.node(operation) for operation in tf.get_default_graph().get_operations()
                 if is_recorded(operation, system, outline)]
        final = recorder.final()
    return {"name": "_".join([name, *map(str, options.values())]), "options": options,
            **({"outline": list(OUTLINE_OPS)} if outline else {}),
            **({"inner": system.INNER} if hasattr(system, "INNER") else {}),
            "calls": [{"op": "system", "expect": {"nodes": nodes}}], "final": final}


def curve_of(system, options):
    import tensorflow.compat.v1 as tf
    graph = tf.Graph()
    with graph.as_default():
        tf.set_random_seed(1)
        taken = inspect.signature(system.inputs).parameters
        inputs = system.inputs(**{name: options[name] for name in taken if name in options})
        fed = []

        def next_batch():
            fed.append([tf.placeholder(dtype, shape) for dtype, shape, _ in inputs])
            return fed[-1]

        losses, parts, *more = system.train(next_batch, **options)
        handed = more[0].get("handed", []) if more else []
        grads = more[0].get("gradients", []) if more else []
        trained = tf.trainable_variables()
        starts = initial_values(system, trained)
        session = tf.Session(config=tf.ConfigProto(
            allow_soft_placement=True, intra_op_parallelism_threads=1,
            inter_op_parallelism_threads=1))
        session.run(tf.global_variables_initializer())
        for variable, start in zip(trained, starts):
            variable.load(start, session)
        for variable, start in zip(trained, starts):  # averages start at the variable's value
            shadow = [v for v in tf.global_variables()
                      if v.op.name == variable.op.name + "/ExponentialMovingAverage"]
            if shadow:
                shadow[0].load(start, session)
        steps, gradients = [], []
        for step in range(getattr(system, "STEPS", STEPS)):
            feeds = {}
            for tower, placeholders in enumerate(fed):
                feeds.update(zip(placeholders, batch(inputs, step, tower)))
            got = session.run([losses, parts[0], [] if step else [g for g, _ in grads], handed],
                              feeds)
            feeds.update(zip(handed, got[3]))
            steps.append([float(str(loss)) for loss in got[0]])
            gradients += got[2]
            for part in parts[1:]:
                session.run(part, feeds)
        ends = session.run(tf.global_variables())
        found = {"gradients": {v.op.name: summary_of(system, g, short=False)
                               for g, (_, v) in zip(gradients, grads)}} if grads else {}
        return {"options": options, "inputs": inputs,
                "variables": [{"name": v.op.name, "exponent": exponent_of(system, v.op.name),
                               "initial": summary_of(system, start, digits=17)}
                              for v, start in zip(trained, starts)],
                "losses": steps,
                **found,
                "ends": {v.op.name: end_of(system, v.op.name, end)
                         for v, end in zip(tf.global_variables(), ends)}}


def dumps(value):
    return json.dumps(value, separators=(",", ":"), allow_nan=False)


def curves_text(curves):
    """Returns JSON with one line per variable."""
    def block(value, depth):
        if isinstance(value, dict) and "norm" not in value and depth < 3:
            return "{\n" + ",\n".join(dumps(k) + ":" + block(v, depth + 1)
                                      for k, v in value.items()) + "}"
        if isinstance(value, list) and value and isinstance(value[0], (dict, list)):
            return "[\n" + ",\n".join(block(v, depth + 1) for v in value) + "]"
        return dumps(value)
    return block(curves, 0) + "\n"


def differences(stored, fresh, path=""):
    from oracle import checksums
    if isinstance(stored, dict) and "norm" in stored:
        far = checksums.distance(fresh, stored)
        return ["%s: %.2g" % (path, far)] if far > 2e-5 else []
    if isinstance(stored, dict):
        return [d for k in stored for d in differences(stored[k], fresh[k], path + "/" + k)]
    if isinstance(stored, list):
        return [d for i, (a, b) in enumerate(zip(stored, fresh))
                for d in differences(a, b, "%s/%d" % (path, i))]
    if isinstance(stored, float):
        return [path] if abs(stored - fresh) > 2e-5 * abs(stored) else []
    return [] if stored == fresh else [path]


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--regenerate", action="store_true")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("systems", nargs="*")
    options = parser.parse_args()
    import importlib

    import tensorflow.compat.v1 as tf
    from oracle import interpreter  # noqa: F401  switches TensorFlow to 1.x behaviour
    tf.logging.set_verbosity(tf.logging.ERROR)
    names = sorted(path.stem for path in (HERE / "systems").glob("[a-z]*.py"))
    bad = 0
    for name in names:
        if options.systems and name not in options.systems:
            continue
        system = importlib.import_module("systems." + name)
        graphs = [graph_of(name, system, options) for options in system.GRAPHS]
        graphs += [graph_of(name, system, options, outline=True)
                   for options in getattr(system, "OUTLINES", [])]
        curves = {"format": 1, "tensorflow": tf.__version__,
                  "curves": [curve_of(system, options) for options in system.CURVES]}
        graph_path = HERE / "systems" / (name + ".graph.json.gz")
        packed = is_compact(system)
        curve_path = HERE / "systems" / (name + (".curves.json.gz" if packed else ".curves.json"))
        text = dumps({"format": 1, "tensorflow": tf.__version__, "programs": graphs})
        if options.regenerate:
            graph_path.write_bytes(gzip.compress(text.encode(), 9, mtime=0))
            written = curves_text(curves).encode()
            curve_path.write_bytes(gzip.compress(written, 9, mtime=0) if packed else written)
            print("%s: %d nodes, %d curves" % (
                name, sum(len(g["calls"][0]["expect"]["nodes"]) for g in graphs),
                len(curves["curves"])))
        if options.check:
            stored = curve_path.read_bytes()
            found = differences(json.loads(gzip.decompress(stored) if packed else stored), curves)
            if json.loads(gzip.decompress(graph_path.read_bytes())) != json.loads(text):
                found.append("graph")
            bad += len(found)
            print("%s: %s" % (name, found[:5] or "agrees"))
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
