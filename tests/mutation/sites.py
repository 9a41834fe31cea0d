"""Finds places in C++ sources that can be changed, and writes changed and original code side by side.

A changed expression becomes `(mutation::on(ID) ? CHANGED : ORIGINAL)`, so one build holds all mutants,
and an environment variable says which one runs.
"""

import dataclasses

from clang import cindex
from clang.cindex import CursorKind as Kind

OPERATORS = {"+": "-", "-": "+", "*": "/", "/": "*", "%": "*", "<": "<=", "<=": "<", ">": ">=", ">=": ">",
             "==": "!=", "!=": "==", "&&": "||", "||": "&&"}
# A call of another function with the same arguments.
CALLS = {"multiply": "add", "add": "subtract", "subtract": "add", "truediv": "multiply", "divide": "multiply",
         "reduce_sum": "reduce_mean", "reduce_mean": "reduce_sum", "maximum": "minimum", "minimum": "maximum",
         "sin": "cos", "cos": "sin", "exp": "expm1", "greater": "less", "less": "greater", "sqrt": "square",
         "greater_equal": "greater", "less_equal": "less", "zeros_like": "ones_like", "min": "max",
         "max": "min", "floor": "ceil", "ceil": "floor", "log": "log1p"}
# Calls whose arguments can be exchanged without an effect.
SYMMETRIC = {"add", "multiply", "maximum", "minimum", "equal", "not_equal", "add_n", "min", "max", "swap",
             "squared_difference", "__builtin_mul_overflow", "__builtin_add_overflow", "logical_and", "logical_or", "broadcast_gradient_args", "make_pair",
             "times", "graph_of", "all_of", "any_of", "exact_sum"}
FUNCTIONS = (Kind.FUNCTION_DECL, Kind.CXX_METHOD, Kind.FUNCTION_TEMPLATE, Kind.CONSTRUCTOR)
# Functions with such a word in their name are no kernels and no gradients: they decide about speed, a
# text, an error or a static shape.
INDIFFERENT = ("cost", "describe", "message", "explain", "estimate", "throw", "print", "log_", "check", "valid",
               "_shape", "why", "text", "in_place", "slices", "parallel", "cheap", "fuse", "lacks", "slice_bytes")


@dataclasses.dataclass(frozen=True)
class Site:
    path: str
    start: int  # offsets of the expression in the file
    end: int
    line: int
    function: str
    kind: str
    changed: str

    def code(self, number, source):
        return "(::towerflow::mutation::on(%d) ? %s : %s)" % (number, self.changed, source[self.start:self.end])


def text_of(cursor, source):
    return source[cursor.extent.start.offset:cursor.extent.end.offset]


def operator_of(cursor, parts, source):
    between = source[parts[0].extent.end.offset:parts[1].extent.start.offset]
    return between.strip() if cursor.kind == Kind.BINARY_OPERATOR else None


def changes_of(cursor, source):
    """Yields (kind of change, changed code) of an expression."""
    parts = list(cursor.get_children())
    text = text_of(cursor, source)
    if cursor.kind == Kind.BINARY_OPERATOR and len(parts) == 2:
        operator = operator_of(cursor, parts, source)
        if operator in OPERATORS:
            yield "%s to %s" % (operator, OPERATORS[operator]), "((%s) %s (%s))" % (
                text_of(parts[0], source), OPERATORS[operator], text_of(parts[1], source))
    elif cursor.kind == Kind.UNARY_OPERATOR and text and text[0] in "-!" and len(parts) == 1:
        # Both sides of the choice must be bool: an optional, for example, would turn the other into itself.
        yield "%s dropped" % text[0], ("(!!(%s))" if text[0] == "!" else "(%s)") % text_of(parts[0], source)
    elif cursor.kind == Kind.INTEGER_LITERAL and text.isdigit():
        yield "number", "1" if text == "0" else "0" if text == "1" else str(int(text) + 1)
    elif cursor.kind == Kind.FLOATING_LITERAL:
        yield "number", "(%s * 1.01)" % text if float(text.rstrip("fFlL")) else "0.01"
    elif cursor.kind == Kind.CALL_EXPR and cursor.spelling:
        arguments = list(cursor.get_arguments())
        name = cursor.spelling
        if name in CALLS and text.count(name + "(") == 1:
            yield "%s to %s" % (name, CALLS[name]), text.replace(name + "(", CALLS[name] + "(", 1)
        same = [a.type.get_canonical().spelling.replace("const ", "") for a in arguments[:2]]
        if len(same) == 2 and same[0] == same[1] and name not in SYMMETRIC and not name.startswith("operator"):
            first, second = arguments[0].extent, arguments[1].extent
            begin = cursor.extent.start.offset
            a, b = (source[e.start.offset:e.end.offset] for e in (first, second))
            if a != b and cursor.type.get_canonical().spelling != "void":
                yield "arguments exchanged", (
                    source[begin:first.start.offset] + b + source[first.end.offset:second.start.offset] + a +
                    source[second.end.offset:cursor.extent.end.offset])


def sites(path, arguments):
    """Returns the sites of a source file, in no order."""
    unit = cindex.Index.create().parse(path, args=arguments)
    errors = [str(d) for d in unit.diagnostics if d.severity >= cindex.Diagnostic.Error]
    if errors:
        raise ValueError("%s cannot be parsed: %s" % (path, errors[0]))
    # Offsets of libclang are bytes.
    source = open(path, "rb").read().decode("latin-1")
    found = []

    def walk(cursor, function, constant):
        if cursor.kind in (Kind.STATIC_ASSERT, Kind.CASE_STMT) or cursor.kind.is_attribute():
            constant = True
        if cursor.kind in FUNCTIONS and cursor.is_definition():
            function = cursor.spelling
            head = text_of(cursor, source).split("{", 1)[0]
            constant = "constexpr" in head
        if cursor.kind == Kind.VAR_DECL and "constexpr" in text_of(cursor, source).split("=", 1)[0]:
            constant = True
        plain = function and not constant and not any(word in function for word in INDIFFERENT)
        if plain and text_of(cursor, source)[:6] not in ("throw ",) and cursor.kind.is_expression():
            for kind, changed in changes_of(cursor, source):
                if '"' in changed or "\n" in changed or "fmt::" in changed:
                    continue
                found.append(Site(path, cursor.extent.start.offset, cursor.extent.end.offset,
                                  cursor.extent.start.line, function, kind, changed))
        if cursor.kind == Kind.CXX_THROW_EXPR:
            return
        for child in cursor.get_children():
            at = child.extent.start
            if at.file is None or at.file.name == path:
                walk(child, function, constant)

    walk(unit.cursor, None, False)
    return list({(s.start, s.end, s.kind): s for s in found}.values())


def rewrite(path, chosen, header):
    """Writes `chosen`, {number: site} without overlaps, into the file."""
    source = open(path, "rb").read().decode("latin-1")
    for number, site in sorted(chosen.items(), key=lambda item: -item[1].start):
        source = source[:site.start] + site.code(number, source) + source[site.end:]
    open(path, "wb").write(('#include "%s"\n' % header + source).encode("latin-1"))
