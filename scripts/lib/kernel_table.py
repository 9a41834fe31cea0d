"""Writes the table of what kernels use of a card to docs/cuda.md, between two comments.

    kernel_table.py PAGE ROWS

A line of ROWS is what scripts/kernel-table prints of a kernel, after its architecture and file.
"""

import collections
import pathlib
import sys

BEGIN, END = "<!-- resources: begin -->\n", "<!-- resources: end -->\n"
ARCHITECTURES = ["sm_75", "sm_80", "sm_90", "sm_100"]


def table(lines):
    """Returns the worst kernel of each file by architecture, then the kernels that spill."""
    kernels = collections.defaultdict(set)
    shared = collections.Counter()
    registers = collections.Counter()
    occupancy = {}
    spills = collections.defaultdict(dict)
    for line in lines:
        arch, file, kernel, *numbers = line.replace("%", "").split()
        used, bytes_shared, spilled, occupied = map(int, numbers)
        kernels[file].add(kernel)
        shared[file] = max(shared[file], bytes_shared)
        registers[file, arch] = max(registers[file, arch], used)
        occupancy[file, arch] = min(occupancy.get((file, arch), 100), occupied)
        if spilled > 0:
            spills[kernel][arch] = spilled
    text = ("| file | kernels | shared bytes | " + " | ".join(ARCHITECTURES) + " |\n"
            + "|---|---:|---:|" + "---:|" * len(ARCHITECTURES) + "\n")
    for file in sorted(kernels):
        cells = [f"{registers[file, arch]} ({occupancy[file, arch]} %)" for arch in ARCHITECTURES]
        text += f"| {file} | {len(kernels[file])} | {shared[file]:,} | " + " | ".join(cells) + " |\n"
    if not spills:
        return text + "\nNo kernel spills registers.\n"
    return text + "\nThese spill registers (bytes stored and loaded):\n\n" + "".join(
        f"- {kernel}: " + ", ".join(f"{spilled} on {arch}" for arch, spilled in by_arch.items())
        + "\n" for kernel, by_arch in sorted(spills.items()))


def main():
    page = pathlib.Path(sys.argv[1])
    text = page.read_text()
    if BEGIN not in text or END not in text:
        sys.exit(f"{page} has no place for the table")
    before, rest = text.split(BEGIN)
    made = table(pathlib.Path(sys.argv[2]).read_text().splitlines())
    page.write_text(before + BEGIN + "\n" + made + "\n" + END + rest.split(END)[1])


if __name__ == "__main__":
    main()
