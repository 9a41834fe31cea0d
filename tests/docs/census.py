"""Makes a C++ program of the symbols in census.txt that are said to be here, which shows that they are.

  census.py [CENSUS]            prints how many calls the symbols cover
  census.py CENSUS PROGRAM      writes the program as well
"""

import dataclasses
import pathlib
import sys

CENSUS = pathlib.Path(__file__).with_name("census.txt")


@dataclasses.dataclass
class Symbol:
    name: str
    calls: int
    packages: int
    code: str | None  # None if it is absent
    reason: str

    @property
    def here(self):
        return self.code is not None


def read(path):
    symbols = []
    for line in path.read_text().splitlines():
        if not line or line.startswith("#"):
            continue
        name, calls, packages, *rest = line.split(" ", 3)
        kind, _, text = (rest[0] if rest else "").partition(" ")
        if kind not in ("", "is", "absent") or (kind and not text):
            sys.exit(f"{path}: a line says neither `is CODE` nor `absent REASON`: {line}")
        own = f"using tf::{name.replace('.', '::')};"
        code = {"": own, "is": text, "absent": None}[kind]
        symbols.append(Symbol(name, int(calls), int(packages), code, text if code is None else ""))
    names = [symbol.name for symbol in symbols]
    if len(names) != len(set(names)):
        sys.exit(f"{path}: a symbol occurs twice")
    return symbols


def program(symbols):
    lines = ["// Made by tests/docs/census.py from tests/docs/census.txt.", "#include <cstdio>", "",
             '#include "towerflow/tf.h"', "", "int main() {", f'  std::puts("{coverage(symbols)}");']
    lines += [f"  [[maybe_unused]] const auto symbol_{i} = [] {{ {symbol.code} }};  // {symbol.name}"
              for i, symbol in enumerate(symbols) if symbol.here]
    return "\n".join([*lines, "}", ""])


def coverage(symbols):
    calls = sum(symbol.calls for symbol in symbols)
    covered = sum(symbol.calls for symbol in symbols if symbol.here)
    here = sum(symbol.here for symbol in symbols)
    return (f"{here} of {len(symbols)} symbols are here: {covered} of {calls} calls, "
            f"{100 * covered / calls:.1f} %")


def main():
    symbols = read(pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else CENSUS)
    if len(sys.argv) > 2:
        pathlib.Path(sys.argv[2]).write_text(program(symbols))
    print(coverage(symbols))


if __name__ == "__main__":
    main()
