#!/usr/bin/env python3
"""Records what TensorFlow does with golden programs.

    run_tf.py --regenerate [GROUP...]   runs sources/*.py, writes programs/*.json (or .json.gz)
    run_tf.py FILE.json                 runs the programs of FILE, prints FILE with expectations
    run_tf.py --check [GROUP...]        fails if programs/*.json are not what TensorFlow does
    run_tf.py --list                    the op table
"""

import argparse
import gzip
import importlib
import json
import os
import pathlib
import sys

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("TF_USE_LEGACY_KERAS", "1")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
FORMAT = 1


def dumps(value):
    return json.dumps(value, separators=(",", ":"), allow_nan=False, ensure_ascii=True)


def text_of(programs, version):
    """Returns JSON with one line per call and per node, so that diffs are short."""
    lines = ['{"format":%d,"tensorflow":%s,"programs":[' % (FORMAT, dumps(version))]
    for index, program in enumerate(programs):
        head = {k: v for k, v in program.items() if k not in ("calls", "final")}
        lines.append(dumps(head)[:-1] + ',"calls":[')
        for number, call in enumerate(program["calls"]):
            tail = "" if number + 1 == len(program["calls"]) else ","
            nodes = call["expect"].get("nodes", [])
            if len(nodes) < 2:
                lines.append(" " + dumps(call) + tail)
                continue
            rest = {k: v for k, v in call["expect"].items() if k != "nodes"}
            lines.append(" " + dumps(dict(call, expect=rest))[:-2] + ("," if rest else "")
                         + '"nodes":[')
            lines += ["  " + dumps(node) + "," for node in nodes[:-1]]
            lines.append("  " + dumps(nodes[-1]) + "]}}" + tail)
        lines.append('],"final":' + dumps(program["final"]) + "}"
                     + ("" if index + 1 == len(programs) else ","))
    return "\n".join(lines) + "\n]}\n"


def record(programs):
    import tensorflow.compat.v1 as tf
    from oracle.interpreter import Interpreter

    tf.logging.set_verbosity(tf.logging.ERROR)
    recorded = [Interpreter().run(program) for program in programs]
    text = text_of(recorded, tf.__version__)
    json.loads(text)
    return text


def groups(chosen):
    names = sorted(path.stem for path in (HERE / "sources").glob("[a-z]*.py"))
    for name in names:
        if not chosen or name in chosen:
            module = importlib.import_module("sources." + name)
            programs = [p if isinstance(p, dict) else p.json() for p in module.programs()]
            assert len({p["name"] for p in programs}) == len(programs), name
            packed = getattr(module, "COMPRESSED", False)
            yield HERE / "programs" / (name + (".json.gz" if packed else ".json")), programs


def read(path):
    raw = path.read_bytes()
    return (gzip.decompress(raw) if path.suffix == ".gz" else raw).decode()


def write(path, text):
    raw = text.encode()
    path.write_bytes(gzip.compress(raw, 9, mtime=0) if path.suffix == ".gz" else raw)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--regenerate", action="store_true")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    if options.list:
        from oracle import handlers, interpreter  # noqa: F401  (switches to 1.x behaviour)
        for name, (parameters, _) in sorted(handlers.OPS.items(), key=lambda item: item[0].lower()):
            print("| `%s` | %s |" % (name, ", ".join(parameters)))
        return 0
    if not (options.regenerate or options.check):
        for name in options.names:
            sys.stdout.write(record(json.loads(pathlib.Path(name).read_text())["programs"]))
        return 0
    stale = 0
    for path, programs in groups(options.names):
        text = record(programs)
        if options.regenerate:
            write(path, text)
        elif not path.exists() or read(path) != text:
            stale += 1
            print("%s: differs" % path.name)
        print("%s: %d programs, %d bytes" % (path.name, len(programs), len(text)))
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main())
