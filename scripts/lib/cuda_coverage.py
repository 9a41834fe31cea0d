"""Adds up what tests of the CUDA backend counted, and lists what none of them reached, and how many
bytes kernels move.

    cuda_coverage.py PAGE [--check | --write] FILE...

PAGE is docs/cuda.md, where each list stands between two comments.
"""

import argparse
import collections
import pathlib
import sys

MISSED, MOVED = "not reached", "bytes moved"  # what the comments say
LOWEST = 1.05  # times that a byte is accessed, for a kernel to be listed
TITLES = {"entry": "Entries of the table", "epilogue": "Epilogues of cuBLASLt", "kernel": "Kernels"}


def read(files):
    """Returns the counts by kind and name. A kernel counts if all processes know it: those of tests
    are in one plug-in only."""
    counts = collections.defaultdict(collections.Counter)
    known = collections.Counter()
    processes = 0
    for file in files:
        for line in pathlib.Path(file).read_text().splitlines():
            kind, name, count, *_ = line.split()
            if kind == "bytes":
                continue
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


def largest(files):
    """Returns the bytes that the largest launch of each kernel accessed: those that differ, and all."""
    launches = {}
    for file in files:
        for line in pathlib.Path(file).read_text().splitlines():
            kind, name, *numbers = line.split()
            if kind == "bytes":
                launches[name] = max(launches.get(name, (0, 0)), tuple(map(int, numbers)))
    return launches


def moved(launches):
    """Returns, as text of the page, how often kernels access a byte: by name, the most of all types."""
    ratios = collections.defaultdict(float)
    for name, (least, most) in launches.items():
        if least > 0:
            stem = name.partition("_")[0]
            ratios[stem] = max(ratios[stem], most / least)
    above = sorted(((ratio, stem) for stem, ratio in ratios.items() if ratio >= LOWEST), reverse=True)
    text = (f"Of {len(ratios)} kernels, {len(ratios) - len(above)} access each byte once. The others, "
            "whose bytes mostly come from a cache\nafter the first time:\n\n"
            "| times | kernels |\n|---:|---|\n")
    rows = collections.defaultdict(list)
    for ratio, stem in above:
        rows[f"{ratio:.1f}" if ratio < 3 else f"{ratio:.0f}"].append(stem)
    return text + "".join(f"| {times} | {', '.join(sorted(stems))} |\n"
                          for times, stems in rows.items())


def replaced(page, mark, text):
    """Returns the page with this text between two comments."""
    begin, end = f"<!-- {mark}: begin -->\n", f"<!-- {mark}: end -->\n"
    if begin not in page or end not in page:
        sys.exit(f"the page has no place for \"{mark}\"")
    before, rest = page.split(begin)
    return before + begin + "\n" + text + "\n" + end + rest.split(end)[1]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("page", type=pathlib.Path)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--write", action="store_true")
    parser.add_argument("files", nargs="+")
    arguments = parser.parse_args()

    counts = read(arguments.files)
    known = counts.get("kernel", {})
    launches = {name: both for name, both in largest(arguments.files).items() if name in known}
    missed, bytes_moved = listed(counts), moved(launches)
    print(missed, bytes_moved, sep="\n", end="")
    if not (arguments.check or arguments.write):
        return
    page = arguments.page.read_text()
    wanted = replaced(replaced(page, MISSED, missed), MOVED, bytes_moved)
    if arguments.write:
        arguments.page.write_text(wanted)
    elif wanted != page:
        sys.exit(f"{arguments.page} has another list: scripts/cuda-coverage --write")


if __name__ == "__main__":
    main()
