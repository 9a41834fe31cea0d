#!/usr/bin/python3
"""Writes a C++ file with the texts of headers, for cuda/device/header_texts.h.

    embed_headers.py OUTPUT FUNCTION ROOT HEADER...

FUNCTION is the name of the function that returns them; headers are named by their paths from ROOT.
"""

import pathlib
import sys


def main():
    output, function, root, *headers = sys.argv[1:]
    entries = ""
    for header in map(pathlib.Path, headers):
        text = header.read_text(encoding="utf-8")
        if ')header"' in text:
            sys.exit(f"{header} cannot be embedded: it has the end of the string")
        name = header.resolve().relative_to(pathlib.Path(root).resolve()).as_posix()
        entries += f'    {{"{name}", R"header({text})header"}},\n'
    pathlib.Path(output).write_text(
        '#include "cuda/device/header_texts.h"\n\n'
        f"std::span<const towerflow::cuda::HeaderText> towerflow::cuda::{function}() {{\n"
        f"  static constexpr HeaderText kTexts[] = {{\n{entries}  }};\n"
        "  return kTexts;\n}\n", encoding="utf-8")


main()
