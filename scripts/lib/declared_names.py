"""Finds the names that a C++ file declares. Relies on clang-format's layout, with declarations at the
start of a line."""

import re

NAMESPACE = re.compile(r"(?:inline )?namespace(?: ([\w:]+))? \{")
# Lines that declare no name that could clash: access specifiers, directives, and `using a::b` and
# namespace aliases, which may be repeated.
OTHER = re.compile(r"(public|private|protected):|using [\w:]+;|using namespace|namespace \w+ =|"
                   r"static_assert|extern ")
TYPE = re.compile(r"(?:class|struct|union|enum(?: class| struct)?|concept) (?:\[\[.*?\]\] )?(\w+)")
ALIAS = re.compile(r"using (\w+) =")
# Removed, since it comes between a name and the parenthesis or equals sign after it, or hides a
# name.
NOISE = re.compile(r"\[\[.*?\]\]|__attribute__\(\(.*?\)\)\)|decltype\([^()]*\)|alignas\([^()]*\)|"
                   r"explicit\([^()]*\)|requires ?\([^()]*\)")
NAME = re.compile(r"(operator\s*\S+?|~?\w+)\s*(?:\[[^\]]*\])*\s*(?=[({=;])")


def without_arguments(text):
    """Returns `text` without everything in angle brackets."""
    before = None
    while before != text:
        before, text = text, re.sub(r"<[^<>()]*>|<[^<>]*\([^<>()]*\)[^<>]*>", "", text)
    return text


def names_in(lines, public):
    """Yields (enclosing named namespaces, name, line number) of the names that a file declares with
    internal linkage or, with `public`, with external linkage."""
    inside = []  # names; None for an unnamed namespace
    template = ""
    opened_at = 0
    for number, line in enumerate(lines, 1):
        opened = NAMESPACE.match(line)
        if opened:
            inside.append(opened.group(1))
            opened_at = number
            continue
        # clang-format adds no comment to the end of a namespace of one declaration.
        if line.startswith("}  // namespace") or (line == "}" and number == opened_at + 2):
            inside.pop()
            continue
        begins = template or re.match(r"[A-Za-z_\[~]", line)
        own = None in inside or line.startswith("static ")
        if own == public or not inside or not begins or OTHER.match(line):
            continue
        text = re.sub(r"//.*", "", line).strip()
        if re.match(r"template\b", text) or template:
            # The template arguments may span several lines; the declaration follows them.
            template = template + " " + text
            if template.count("<") > template.count(">"):
                continue
            text, template = without_arguments(template).replace("template", "", 1).strip(), ""
            if not text:
                continue
        # Names in `types` are visible in the enclosing namespace.
        scope = "::".join(name for name in inside if name).replace("::types", "")
        text = without_arguments(NOISE.sub("", text)).strip()
        found = TYPE.match(text) or ALIAS.match(text) or NAME.search(text)
        if found and "::" not in text[:found.end()].rsplit(" ", 1)[-1]:
            yield scope, found.group(1), number
            if text.startswith("const"):
                for further in re.findall(r", (\w+) =", text):
                    yield scope, further, number
