#!/usr/bin/env python3
"""From the start of a process to the end of its first MNIST step, and its peak of memory, ours and
TensorFlow's in turns.

    compare_start.py --tf-python PYTHON --command build/towerflow [--num-towers N] [--repeats R]
                     [--steps K] [--json]

Time is wall time until the process has ended after one step; memory is the most it had resident
over K steps.
"""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent


def run(command):
    """Runs a process; returns its seconds and its peak memory in MiB."""
    start = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - start
    if status != 0:
        sys.exit("%s ended with %d" % (" ".join(command), status))
    return seconds, usage.ru_maxrss / 1024


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tf-python", required=True)
    parser.add_argument("--command", required=True)
    parser.add_argument("--num-towers", type=int, default=1)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    towers = ["--num-towers", str(options.num_towers)]
    programs = {
        "towerflow": lambda warm_up: [options.command, "bench", "mnist", "--windows", "1",
                                      "--steps", "1", "--warm-up", str(warm_up)] + towers,
        "tensorflow": lambda warm_up: [options.tf_python, str(HERE / "tf_mnist_step.py"),
                                       "--windows", "1", "--steps", "1", "--warm-up",
                                       str(warm_up)] + towers,
    }
    first = {name: [] for name in programs}
    peak = {name: [] for name in programs}
    for _ in range(options.repeats):
        for name, command in programs.items():
            first[name].append(run(command(0))[0])
            peak[name].append(run(command(options.steps))[1])
    for name in programs:
        print("%-11s %7.3f s to the end of the first step (%.3f to %.3f), %6.1f MiB at most"
              % (name, statistics.median(first[name]), min(first[name]), max(first[name]),
                 statistics.median(peak[name])))
    times = statistics.median(first["tensorflow"]) / statistics.median(first["towerflow"])
    share = statistics.median(peak["towerflow"]) / statistics.median(peak["tensorflow"])
    print("%.1f times sooner, with %.2f of the memory" % (times, share))
    if options.json:
        print(json.dumps({"first_step_seconds": statistics.median(first["towerflow"]),
                          "peak_mib": statistics.median(peak["towerflow"]),
                          "share_of_memory": share, "times_sooner": times}))


if __name__ == "__main__":
    main()
