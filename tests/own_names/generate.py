"""A program that defines a function of its own for every name of the library's, and calls them all.

  generate.py OUTPUT DEPFILE HEADER   writes it, for what the header and those it includes declare

C++ looks for a function that is called without its namespace beside the types of its arguments as
well. Each function of the program takes any arguments, as the worst match there is: one of the
library's that is found too, and can be called, is taken instead, and the program does not compile.
"""

import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
# Inside of the library, though a header names it.
INTERNAL = {"towerflow::custom"}
# Names that the standard library has as well, and finds beside types that derive from its own.
STANDARD = {"equal", "fill", "random_shuffle", "size"}
# What is found beside a type on purpose.
CUSTOMISED = {"collection_name"}
# Arguments of one function, which stay beside it.
OPTIONS = re.compile(r"Options?$")
ARGUMENTS = ["T", "T, T", "T, float, float"]
LISTS = ["std::vector<T>", "std::vector<std::vector<T>>"]

UNREAD = re.compile(r'//[^\n]*|^#(?:[^\n]*\\\n)*[^\n]*|"(?:\\.|[^"\\])*"', re.M)
NAMESPACE = re.compile(r"namespace ([\w:]+)$")
TYPE = re.compile(r"(template <.*> )?(?:class|struct|enum class|enum) (?:\[\[\w+\]\] )?(\w+)(?: final)?"
                  r"(?: : ([^{]*))?$")
FUNCTION = re.compile(r"(\w+)\(")
MACRO = re.compile(r"TOWERFLOW_\w+\((\w+)\)$")


def declarations(text):
    """(namespace, declaration without its body, whether it has one) of all at namespace scope."""
    namespaces, parentheses, braces, begin, head = [], 0, 0, 0, None
    text = re.sub(r"\s+", " ", UNREAD.sub("", text))
    for at, char in enumerate(text):
        if char in "()":
            parentheses += 1 if char == "(" else -1
        elif parentheses > 0:
            continue
        elif char == "{":
            head = head or text[begin:at].strip()
            named = NAMESPACE.match(head) if braces == 0 else None
            if named:
                namespaces.append(named.group(1))
                begin, head = at + 1, None
            else:
                braces += 1
        elif char == "}" and braces == 0:
            namespaces.pop()
            begin = at + 1
        elif char == "}":
            braces -= 1
            if braces == 0 and FUNCTION.search(head):
                yield "::".join(namespaces), head, True
                begin, head = at + 1, None
        elif char == ";" and braces == 0:
            yield "::".join(namespaces), head or text[begin:at].strip(), head is not None
            begin, head = at + 1, None


def read(headers):
    """The functions and the types that they declare, as {name with its namespace: what it says}."""
    functions, types = {}, {}
    for header in headers:
        for space, declaration, has_body in declarations((ROOT / header).read_text()):
            if space in INTERNAL or declaration.startswith("using "):
                continue
            found = TYPE.match(declaration)
            if found:
                if has_body:
                    types[space + "::" + found.group(2)] = found.group(1), found.group(3) or ""
                continue
            before, _, _ = declaration.partition("(")
            if " operator" in before or "=" in before.replace("= void", ""):
                continue
            found = MACRO.match(declaration) or FUNCTION.search(declaration)
            if found:
                functions[space + "::" + found.group(1)] = declaration
    return functions, types


def derives_from_standard(name, types):
    bases = types[name][1].replace("public ", "")
    inner = [known for known in types if known.endswith("::" + bases)]
    return "std::" in bases or any(derives_from_standard(known, types) for known in inner)


def checks(what, names, arguments):
    """A function template that compiles where calls with such arguments find the program's own."""
    found = ['  static_assert(std::is_same_v<decltype(%s(std::declval<Arguments>()...)), Own>, "%s");'
             % (name, name) for name in names]
    calls = ["%s<%s>()" % (what, listed) for listed in arguments]
    return ["template <class... Arguments>", "constexpr bool %s() {" % what, *found,
            "  return true;", "}", "",
            "template <class T>", "constexpr bool %s_with() {" % what,
            "  return %s;" % " && ".join(calls), "}", ""]


def generate(functions, types):
    names = sorted({name.rpartition("::")[2] for name in functions} - CUSTOMISED)
    out = ["// Made by tests/own_names/generate.py.", "#include <towerflow/tf.h>", "",
           "namespace porter {", "", "struct Own {};",
           *("Own %s(...);" % name for name in names), "",
           *checks("standard", sorted(STANDARD & set(names)), ARGUMENTS),
           *checks("most", [name for name in names if name not in STANDARD], ARGUMENTS + LISTS)]
    for name, (template, _) in types.items():
        if template is None and not OPTIONS.search(name):
            own = name.replace("::types", "")
            out.append("static_assert(most_with<%s>());" % own)
            if not derives_from_standard(name, types):
                out.append("static_assert(standard_with<%s>());" % own)
    return "\n".join([*out, "", "}  // namespace porter", ""])


def misplaced(functions, types):
    """What does not keep to the rule of core/graph/types.h."""
    for name in types:
        if "::types::" not in name and not OPTIONS.search(name):
            yield name + ": a type outside of `types`, beside functions"
    for name in functions:
        if "::types::" in name and name.rpartition("::")[2] not in CUSTOMISED:
            yield name + ": a function in `types`, beside types"


def main():
    output, depfile, header = sys.argv[1:]
    headers = subprocess.run([ROOT / "packaging/public_headers", ROOT / header], check=True,
                             stdout=subprocess.PIPE, text=True).stdout.split()
    functions, types = read(headers)
    findings = list(misplaced(functions, types))
    if findings:
        sys.exit("core/graph/types.h says why this cannot stay:\n" + "\n".join(findings))
    pathlib.Path(output).write_text(generate(functions, types))
    needed = " ".join(str(ROOT / path) for path in headers)
    pathlib.Path(depfile).write_text("%s: %s\n" % (output, needed))


if __name__ == "__main__":
    main()
