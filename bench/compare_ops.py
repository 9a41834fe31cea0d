#!/usr/bin/env python3
"""Every op that has a case worth timing (tests/ops/cases), ours and TensorFlow's in turns.

    compare_ops.py --tf-python PYTHON --ops build/tests/ops/cases/bench_ops [--case PREFIX]
                   [--from PREFIX] [--size small|middle|large] [--windows W] [--ms M] [--json]

Prints for each case, and for its gradients, the microseconds of a run of both, the ratio, and the
rate at which ours passes over operands and results. A window runs M milliseconds; the medians of W
windows count. Operands are variables, and nothing is fetched.
"""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import tempfile

from turns import Program

HERE = pathlib.Path(__file__).resolve().parent


def timed(programs, number, part, options):
    """Returns the median microseconds of each program, from windows in turns, and our GB/s; None if
    a program has nothing to time."""
    first = [program.window(number, part, 1) for program in programs]
    if any(one["us"] is None for one in first):
        return None
    steps = []
    for program in programs:
        us = program.window(number, part, 2)["us"]
        steps.append(max(1, int(options.ms * 1000 / us)))
    windows = [[] for _ in programs]
    for _ in range(options.windows):
        for program, some, count in zip(programs, windows, steps):
            some.append(program.window(number, part, count))
    us = [statistics.median(window["us"] for window in some) for some in windows]
    return us, statistics.median(window["gb_per_second"] for window in windows[0])


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tf-python", required=True)
    parser.add_argument("--ops", required=True)
    parser.add_argument("--case", default="")
    parser.add_argument("--from", dest="first", default="", help="skip the cases before this one")
    parser.add_argument("--size", choices=("small", "middle", "large"), default="large",
                        help="middle: a sixteenth of large; small: the operands of the tests")
    parser.add_argument("--windows", type=int, default=7)
    parser.add_argument("--ms", type=float, default=20)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    listed = subprocess.run([options.ops, options.size, "--list"], check=True, capture_output=True, text=True).stdout
    cases = [json.loads(line) for line in listed.splitlines()]
    with tempfile.NamedTemporaryFile("w") as file:
        file.write(listed)
        file.flush()
        programs = [Program("towerflow", [options.ops, options.size]),
                    Program("tensorflow", [options.tf_python, str(HERE / "tf_ops.py"), file.name])]
        print("%-34s %10s %10s %7s %7s" % ("", "ours us", "theirs us", "ratio", "GB/s"))
        rows = []
        names = [case["name"] for case in cases]
        starts = [i for i, name in enumerate(names) if name.startswith(options.first)]
        if not starts:
            parser.error("no case begins with %r" % options.first)
        first = starts[0]
        for number, case in enumerate(cases):
            if number < first or not case["name"].startswith(options.case):
                continue
            for part in (0, 1) if case["gradients"] else (0,):
                found = timed(programs, number, part, options)
                if found is None:
                    continue
                (ours, theirs), rate = found
                name = case["name"] + (", gradient" if part else "")
                rows.append({"case": name, "us": ours, "peer_us": theirs, "ratio": theirs / ours})
                print("%-34s %10.1f %10.1f %7.2f %7.1f" % (name, ours, theirs, theirs / ours, rate),
                      flush=True)
        for program in programs:
            program.close()
    ratios = [row["ratio"] for row in rows]
    if ratios:
        print("%d timed: geometric mean of the ratios %.2f, %d below 1"
              % (len(rows), statistics.geometric_mean(ratios), sum(ratio < 1 for ratio in ratios)))
    if options.json:
        print(json.dumps(rows))


if __name__ == "__main__":
    main()
