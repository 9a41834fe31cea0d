#!/usr/bin/env python3
"""Saving variables to the disk: ours, TensorFlow's and a plain dd of as many bytes, in turns.

    compare_save.py --tf-python PYTHON --command build/towerflow [--dir DIR] [--megabytes M]
                    [--variables V] [--windows W] [--json]

All write into DIR and wait until the disk has it: ours is a Saver's checkpoint, TensorFlow's is
written through afterwards, dd's is conv=fdatasync. Prints MB (10^6 bytes) a second, our share of
dd's rate, of neighbouring windows, and by how much memory grew above the variables while saving
(MiB, 2^20 bytes). Files are deleted between windows, outside of their time; DIR needs room for one
copy.
"""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import tempfile
import time

from turns import Program, middle

HERE = pathlib.Path(__file__).resolve().parent


def dd(folder, megabytes):
    """Returns the rate of dd in MB/s."""
    with tempfile.NamedTemporaryFile(dir=folder, prefix="bench-save-") as file:
        start = time.perf_counter()
        subprocess.run(["dd", "if=/dev/zero", "of=" + file.name, "bs=1M", "iflag=count_bytes",
                        "count=%d" % (megabytes * 10**6), "conv=fdatasync", "status=none"],
                       check=True)
        return megabytes / (time.perf_counter() - start)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tf-python", required=True)
    parser.add_argument("--command", required=True)
    parser.add_argument("--dir", default="runs", help="on the disk to be measured")
    parser.add_argument("--megabytes", type=int, default=500)
    parser.add_argument("--variables", type=int, default=4)
    parser.add_argument("--windows", type=int, default=7)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    os.makedirs(options.dir, exist_ok=True)
    what = ["--dir", options.dir, "--megabytes", str(options.megabytes), "--variables",
            str(options.variables)]
    ours = Program("towerflow", [options.command, "bench", "save", "--serve"] + what)
    peer = Program("tensorflow", [options.tf_python, str(HERE / "tf_save.py")] + what)
    dd(options.dir, options.megabytes)
    plain, saves = [], {ours: [], peer: []}
    for _ in range(options.windows):
        plain.append(dd(options.dir, options.megabytes))
        for program in saves:
            saves[program].append(program.window(1))
    for program in saves:
        program.close()
    print("%-12s %6.0f MB/s (middle half %.0f to %.0f)" % (("dd",) + middle(plain)))
    line = {"megabytes": options.megabytes, "dd_mb_per_second": statistics.median(plain)}
    for program, windows in saves.items():
        rates = [window["mb_per_second"] for window in windows]
        extra = max(window["extra_mib"] for window in windows)
        share = middle([a / b for a, b in zip(rates, plain)])
        print("%-12s %6.0f MB/s (middle half %.0f to %.0f), %.2f of dd's rate (%.2f to %.2f), "
              "%.1f MiB beside the variables"
              % ((program.name,) + middle(rates) + share + (extra,)))
        line[program.name] = {"mb_per_second": statistics.median(rates), "share_of_dd": share[0],
                              "extra_mib": extra}
    if options.json:
        print(json.dumps(line))


if __name__ == "__main__":
    main()
