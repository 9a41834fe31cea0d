"""Writes programs: a method call adds the call of the op table's entry with that name.

    p = Program("reuse", "a second tower takes the variables of the first")
    with p.variable_scope("net", reuse=True) as scope:
        w = p.get_variable("w", [2, 3])
        p.matmul(x, w) + 1.0
"""

import contextlib

from .handlers import OPS


class Ref:
    """The result of a call; `ref[0]` is an element of a list result."""

    def __init__(self, program, out, path=()):
        self.program, self.out, self.path = program, out, path

    def __getitem__(self, key):
        return Ref(self.program, self.out, self.path + (key,))

    def json(self):
        return {"ref": self.out, "path": list(self.path)} if self.path else {"ref": self.out}

    def __add__(self, other):
        return self.program.operator("+", self, other)

    def __radd__(self, other):
        return self.program.operator("+", other, self)

    def __sub__(self, other):
        return self.program.operator("-", self, other)

    def __rsub__(self, other):
        return self.program.operator("-", other, self)

    def __mul__(self, other):
        return self.program.operator("*", self, other)

    def __rmul__(self, other):
        return self.program.operator("*", other, self)

    def __truediv__(self, other):
        return self.program.operator("/", self, other)

    def __rtruediv__(self, other):
        return self.program.operator("/", other, self)

    def __neg__(self):
        return self.program.operator("neg", self)


def plain_json(value):
    if isinstance(value, Ref):
        return value.json()
    if isinstance(value, (list, tuple)):
        return [plain_json(item) for item in value]
    if isinstance(value, dict):
        return {key: plain_json(item) for key, item in value.items()}
    return value


def refs_in(value):
    if isinstance(value, list):
        return {name for item in value for name in refs_in(item)}
    if isinstance(value, dict):
        if isinstance(value.get("ref"), str):
            return {value["ref"]}
        return {name for item in value.values() for name in refs_in(item)}
    return set()


class Program:
    def __init__(self, name, about):
        self.name, self.about, self.calls = name, about, []
        self.made = 0  # calls, those of functions included

    def call(self, op, *positional, **named):
        parameters = OPS[op][0]
        args = dict(zip(parameters, positional), **named)
        assert len(positional) <= len(parameters) and set(args) <= set(parameters), (op, args)
        out = "r%d" % self.made
        self.made += 1
        self.calls.append({"op": op, "args": plain_json(args), "out": out})
        return Ref(self, out)

    def function(self, write, *parameters):
        """Returns the form of a function whose body `write` writes; it gets a Ref for each of the
        parameters' names and returns the results."""
        outer, self.calls = self.calls, []
        refs = [Ref(self, "r%d_%s" % (self.made, name)) for name in parameters]
        returns = plain_json(write(*refs))
        calls, self.calls = self.calls, outer
        return {"function": {"parameters": [ref.out for ref in refs], "calls": calls,
                             "returns": returns}}

    @contextlib.contextmanager
    def within(self, op, *positional, **named):
        yield self.call(op, *positional, **named)
        self.call("exit")

    def __getattr__(self, op):
        if "enter_" + op in OPS:
            return lambda *args, **named: self.within("enter_" + op, *args, **named)
        if op not in OPS:
            raise AttributeError(op)
        return lambda *args, **named: self.call(op, *args, **named)

    def json(self):
        """Returns the program without expectations; unused results get no name."""
        used = refs_in([part for call in self.calls for part in call["args"].values()])
        calls = []
        for call in self.calls:
            kept = {"op": call["op"]}
            if call["args"]:
                kept["args"] = call["args"]
            if call["out"] in used:
                kept["out"] = call["out"]
            calls.append(kept)
        return {"name": self.name, "about": self.about, "calls": calls}


def generate(stream, shape, **options):
    """Returns a generated array; see README.md."""
    return {"generate": dict({"stream": stream, "shape": list(shape)}, **options)}


def initializer(kind, **args):
    return dict({"initializer": kind}, **args)
