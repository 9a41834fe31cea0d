#!/usr/bin/env python3
"""What <towerflow/tf.h> costs a compiler: a file that includes nothing else, against an empty one.

    include_time.py [--runs N] [--compiler CXX ...] [--flags FLAGS] [--header HEADER]

The compilers take turns. Prints the seconds of processor time that each takes, the median of the runs
and the middle half of them, without any cache and without what an empty file costs.
"""

import argparse
import os
import pathlib
import resource
import shlex
import shutil
import subprocess
import sys
import tempfile

from turns import middle

ROOT = pathlib.Path(__file__).resolve().parents[1]
LIMIT = 3.0  # the project's limit, in seconds


def seconds(command):
    """Returns the CPU time of one command, which does not depend on other load on the machine."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          check=False, env={**os.environ, "CCACHE_DISABLE": "1"})
    if done.returncode != 0:
        sys.exit("%s failed:\n%s" % (shlex.join(command), done.stderr))
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=7)
    parser.add_argument("--compiler", nargs="+", default=["g++", "clang++"])
    parser.add_argument("--flags", default="-std=c++20")
    parser.add_argument("--header", default="towerflow/tf.h")
    options = parser.parse_args()
    if options.runs < 1:
        parser.error("--runs wants at least 1")
    compilers = [c for c in options.compiler if shutil.which(c)]
    for absent in set(options.compiler) - set(compilers):
        print("%s is not installed" % absent)
    if not compilers:
        sys.exit("no compiler to measure")

    times = {compiler: [] for compiler in compilers}
    with tempfile.TemporaryDirectory() as folder:
        sources = {}
        for name, text in (("empty", ""), ("include", "#include <%s>\n" % options.header)):
            sources[name] = str(pathlib.Path(folder) / (name + ".cc"))
            pathlib.Path(sources[name]).write_text(text)
        for turn in range(options.runs + 1):
            for compiler in compilers:
                command = [compiler, *shlex.split(options.flags), "-I", str(ROOT), "-c", "-o",
                           os.path.join(folder, "out.o")]
                whole, empty = (seconds([*command, sources[n]]) for n in ("include", "empty"))
                if turn > 0:  # the first turn reads the headers from the disk
                    times[compiler].append(max(0.0, whole - empty))
    for compiler, costs in times.items():
        cost = middle(costs)
        print("%-8s %s <%s>: %.2f s (middle half %.2f to %.2f), %s %.0f s"
              % ((compiler, options.flags, options.header) + cost
                 + ("under" if cost[0] < LIMIT else "OVER", LIMIT)))


if __name__ == "__main__":
    main()
