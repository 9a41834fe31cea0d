"""Generates a program that defines a function for every name of the library and calls them all.

  generate.py OUTPUT DEPFILE   writes it

C++ also looks up unqualified function calls in the namespaces of the argument types. Each function
of the program accepts any arguments, as the worst match. If lookup also finds a viable function of
the library, that one is called instead, and the program does not compile.
"""

import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import public_api  # noqa: E402

# Internal to the library, though named in a header; or describing types and never an argument.
INTERNAL = {"towerflow::attr", "towerflow::AttrConversion", "towerflow::custom"}
# Names that the standard library also has, found for types that derive from its types.
STANDARD = {"equal", "fill", "random_shuffle", "reverse", "size", "sort", "unique"}
# Customization points, which lookup by argument types is meant to find.
CUSTOMISED = {"collection_name"}
# Options of one function, which are in the same namespace as the function.
OPTIONS = re.compile(r"Options?$")
ARGUMENTS = ["T", "T, T", "T, float, float"]
LISTS = ["std::vector<T>", "std::vector<std::vector<T>>"]


def read():
    """Returns the headers and the qualified names of functions and types."""
    api = public_api.read()
    functions = {function.name for function in api.functions
                 if function.member is None and not function.constructor}
    inside = tuple(space + "::" for space in INTERNAL)
    return (api.headers, {name for name in functions if not name.startswith(inside)},
            {name: kind for name, kind in api.types.items()
             if name not in INTERNAL and not name.startswith(inside)})


def derives_from_standard(name, types):
    bases = types[name].bases.replace("public ", "")
    inner = [known for known in types if known.endswith("::" + bases)]
    return "std::" in bases or any(derives_from_standard(known, types) for known in inner)


def checks(what, names, arguments):
    """Returns a template that compiles if calls with `arguments` find the program's functions."""
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
    for name, kind in types.items():
        if not kind.template and not OPTIONS.search(name):
            own = name.replace("::types", "")
            out.append("static_assert(most_with<%s>());" % own)
            if not derives_from_standard(name, types):
                out.append("static_assert(standard_with<%s>());" % own)
    return "\n".join([*out, "", "}  // namespace porter", ""])


def misplaced(functions, types):
    """Yields violations of the rule in core/graph/types.h."""
    for name in types:
        if "::types::" not in name and not OPTIONS.search(name):
            yield name + ": a type outside of `types`, beside functions"
    for name in functions:
        if "::types::" in name and name.rpartition("::")[2] not in CUSTOMISED:
            yield name + ": a function in `types`, beside types"


def main():
    output, depfile = sys.argv[1:]
    headers, functions, types = read()
    findings = list(misplaced(functions, types))
    if findings:
        sys.exit("core/graph/types.h says why this cannot stay:\n" + "\n".join(findings))
    pathlib.Path(output).write_text(generate(functions, types))
    needed = " ".join(str(public_api.ROOT / path) for path in headers)
    pathlib.Path(depfile).write_text("%s: %s\n" % (output, needed))


if __name__ == "__main__":
    main()
