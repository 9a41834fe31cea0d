#!/usr/bin/python3
"""Joins test files into one file, which a compiler reads much faster than each alone.

    join_sources.py OUTPUT FILE...

OUTPUT holds the text of each file, with line directives, so that messages and doctest name the
original. Files of tests may use the same names in their unnamed namespaces: another namespace is put
around those and the test cases after them. A file that defines anything else there, for other files,
is taken as it is, and must have names of its own. The files that follow also see macros and `using`.
Relies on clang-format's layout: `namespace {` and `}  // namespace` have lines of their own.
"""

import pathlib
import re
import sys


def separated(lines, name):
    """Returns `lines` with the namespace `name` from the first unnamed namespace to the end of what
    is around it, on the same lines; as they are if other files can use something defined there."""
    first = end = None
    inside = False
    for number, line in enumerate(lines):
        if line == "namespace {":
            first, inside, opened_at = number if first is None else first, True, number
        elif inside:
            # clang-format adds no comment to the end of a namespace of one declaration.
            inside = not (line == "}  // namespace" or (line == "}" and number == opened_at + 2))
        elif first is not None and line.startswith("}  // namespace"):
            end = number
            break
        elif first is not None and re.match(r"\w", line) and not line.startswith("TEST_CASE"):
            return lines
    if first is None:
        return lines
    end = len(lines) if end is None else end
    return [*lines[:first], f"namespace {name} {{ namespace {{", *lines[first + 1:end],
            "} " + "".join(lines[end:end + 1]), *lines[end + 1:]]


def main():
    output, *files = sys.argv[1:]
    parts = []
    for number, file in enumerate(files, 1):
        path = pathlib.Path(file)
        lines = path.read_text(encoding="utf-8").splitlines()
        parts.append("\n".join([f'#line 1 "{file}"', *separated(lines, f"{path.stem}_{number}")]))
    pathlib.Path(output).write_text("\n".join(parts) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
