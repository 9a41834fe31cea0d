"""Adds up what tests of the CUDA backend counted, and lists what none of them reached.

    cuda_coverage.py PAGE [--check | --write] FILE...

PAGE is docs/cuda.md, whose list stands between two comments.
"""

import argparse
import collections
import pathlib
import sys

BEGIN, END = "<!-- not reached: begin -->\n", "<!-- not reached: end -->\n"
TITLES = {"entry": "Entries of the table", "epilogue": "Epilogues of cuBLASLt", "kernel": "Kernels"}


def read(files):
    """Returns the counts by kind and name. A kernel counts if all processes know it: those of tests
    are in one plug-in only."""
    counts = collections.defaultdict(collections.Counter)
    known = collections.Counter()
    processes = 0
    for file in files:
        for line in pathlib.Path(file).read_text().splitlines():
            kind, name, count = line.split()
            counts[kind][name] += int(count)
            known[kind, name] += 1
            processes += (kind, name) == ("entry", "cudaMalloc")
    return {kind: {name: count for name, count in names.items() if known[kind, name] == processes}
            for kind, names in counts.items()}


def listed(counts):
    """Returns the list as text of the page: kernels by their name without the type."""
    text = ""
    for kind, title in TITLES.items():
        names = counts.get(kind, {})
        if not names:
            continue
        missed = sorted(name for name, count in names.items() if count == 0)
        text += f"{title}: {len(names) - len(missed)} of {len(names)} were reached"
        if not missed:
            text += ".\n\n"
            continue
        if kind == "kernel":
            by_stem = collections.defaultdict(list)
            for name in missed:
                stem, _, dtype = name.partition("_")
                by_stem[stem].append(dtype)
            missed = [stem + (f" ({', '.join(filter(None, types))})" if any(types) else "")
                      for stem, types in sorted(by_stem.items())]
        text += ", all but\n\n" + "".join(f"- {name}\n" for name in missed) + "\n"
    return text.rstrip("\n") + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("page", type=pathlib.Path)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--write", action="store_true")
    parser.add_argument("files", nargs="+")
    arguments = parser.parse_args()

    found = listed(read(arguments.files))
    print(found, end="")
    page = arguments.page.read_text()
    if not (arguments.check or arguments.write):
        return
    if BEGIN not in page or END not in page:
        sys.exit(f"{arguments.page} has no place for the list")
    before, rest = page.split(BEGIN)
    after = rest.split(END)[1]
    wanted = before + BEGIN + "\n" + found + "\n" + END + after
    if arguments.write:
        arguments.page.write_text(wanted)
    elif wanted != page:
        sys.exit(f"{arguments.page} has another list: scripts/cuda-coverage --write")


if __name__ == "__main__":
    main()
