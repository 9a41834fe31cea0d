#!/usr/bin/env python3
"""Whether the MNIST step is fast, or only one way of writing it: compare.py on variants.

    variants.py --tf-python PYTHON --command build/towerflow [--windows W] [--steps K]

Each variant changes both programs alike, but for the averager and the names, which are ours. The
last column is the ratio to TensorFlow as a share of the ratio of the step as it is.
"""

import argparse
import json
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
VARIANTS = (
    ("as it is, one tower", [], 0),
    ("as it is, two logical CPUs", ["--num-towers", "2"], 1),
    ("hand-written averager", ["--num-towers", "2", "--by-hand"], 1),
    ("other names", ["--prefix", "my_"], 0),
    ("batch 63", ["--batch-size", "63"], 0),
    ("3x3 kernels", ["--kernel", "3"], 0),
    ("an extra ReLU", ["--relu-logits"], 0),
    ("three towers, two CPUs", ["--num-towers", "3", "--devices", "2"], 1),
)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tf-python", required=True)
    parser.add_argument("--command", required=True)
    parser.add_argument("--windows", default="9")
    parser.add_argument("--steps", default="10")
    options = parser.parse_args()
    ratios = []
    print("%-28s %10s %10s %8s  %-14s %s" % ("", "ours", "tensorflow", "ratio", "middle half",
                                             "of the step as it is"))
    for name, flags, like in VARIANTS:
        done = subprocess.run(
            [sys.executable, str(HERE / "compare.py"), "--tf-python", options.tf_python,
             "--command", options.command, "--windows", options.windows, "--steps",
             options.steps, "--json"] + flags, text=True, stdout=subprocess.PIPE, check=True)
        found = json.loads(done.stdout.strip().split("\n")[-1])
        ratios.append(found["ratio"])
        print("%-28s %8.0f/s %8.0f/s %8.2f  %.2f to %.2f   %.2f"
              % (name, found["examples_per_second"], found["peer_examples_per_second"],
                 found["ratio"], found["low"], found["high"], found["ratio"] / ratios[like]),
              flush=True)


if __name__ == "__main__":
    main()
