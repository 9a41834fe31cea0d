"""Finds the names in a C++ file that no header it includes declares. Reads text, without a compiler:
what it finds may be a member or a variable of that name, and the compiler has the last word."""

import collections
import re

from declared_names import names_in

INCLUDED = re.compile(r'^#include "([^"]+)"', re.M)
MACRO = re.compile(r"^#define (\w+)", re.M)
FORWARD = re.compile(r"^(?:class|struct|enum class) (\w+)(?: : [\w:]+)?;$", re.M)
# Comments, directives, strings, and lines that only name namespaces.
SILENT = re.compile(r'//[^\n]*|/\*.*?\*/|^(?:using )?namespace [^\n]*|^#include [^\n]*|'
                    r'R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"', re.S | re.M)
OWN_TYPE = re.compile(r"(?:class|struct|enum class|using|union|enum|typename|concept)(?:\.\.\.)?\s+(\w+)")
# A variable, parameter or function: a type or a comma before it, and one of these after it.
TYPE_END = r"(?:\b(?!return\b|else\b|case\b|throw\b|not\b|and\b|or\b)\w+|[>&*\]])"
OWN_VARIABLE = re.compile(TYPE_END + r"\s+[&*]*([a-z]\w*)\s*(?=[=({;:,)\]])|[&*]([a-z]\w*)\s*(?=[=;:,)\]])")
LAMBDA = re.compile(r"\bauto&? (\w+) = \[")
DECLARES = re.compile(TYPE_END + r"\s*$")
USED = re.compile(r"(\.|->|::)?\s*\b([A-Za-z_]\w*)\b(?=(\s*\(|::)?)")
FOREIGN = {"std", "ranges", "views", "filesystem", "this_thread", "chrono", "fs", "fmt", "google", "protobuf", "dnnl",
           "leveldb", "CLI", "nlohmann"}


class Sources:
    """The files of a project: {path from the root: text}."""

    def __init__(self, texts):
        self.texts = texts
        self.includes = {path: [name for name in INCLUDED.findall(text) if name in texts]
                         for path, text in texts.items()}
        self.declared_by = collections.defaultdict(set)
        for path, text in texts.items():
            if path.endswith(".h"):
                names = [name for _, name, _ in names_in(FORWARD.sub("", text).splitlines(), public=True)]
                for name in names + MACRO.findall(text):
                    self.declared_by[name].add(path)

    def read_with(self, path):
        """Returns the files that a compiler reads with `path`, itself among them."""
        found, waiting = set(), [path]
        while waiting:
            at = waiting.pop()
            if at not in found:
                found.add(at)
                waiting += self.includes.get(at, [])
        return found

    def undeclared_in(self, path):
        """Returns the names in `path` that headers declare, but none that is read with it."""
        defined = FORWARD.sub("", self.texts[path])
        text = SILENT.sub(" ", defined)
        own = {name for public in (False, True) for _, name, _ in names_in(defined.splitlines(), public=public)}
        own.update(OWN_TYPE.findall(text), LAMBDA.findall(text))
        variables = set().union(*OWN_VARIABLE.findall(text))
        read = self.read_with(path)
        found = set()
        for use in USED.finditer(text):
            name = use[2]
            headers = self.declared_by.get(name)
            if not headers or headers & read or name in own or not is_use(text, use):
                continue
            declared_here = DECLARES.search(text[max(0, use.start() - 60):use.start(2)])
            if name not in variables or use[1] == "::" or (use[3] and not declared_here):
                found.add(name)
        return found


def is_use(text, use):
    """Returns whether the name that `use` found can be one of this project's headers."""
    before, name, after = use[1], use[2], use[3]
    if before in (".", "->") or (after == "::" and name[0].islower()):
        return False
    if before == "::":
        outer = re.search(r"(\w+)\s*::\s*$", text[max(0, use.start() - 60):use.start(2)])
        return bool(outer) and outer[1] not in FOREIGN and outer[1][0].islower()
    # A lower-case word without a parenthesis is nearly always a member or a local variable.
    return name[0].isupper() or after is not None or bool(re.match("k[A-Z]", name))
