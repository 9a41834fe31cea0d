"""A program that is written while TensorFlow runs it, so that the writer knows what exists."""

import random

import tensorflow.compat.v1 as tf

from .. import values
from ..builder import refs_in
from ..interpreter import Interpreter


class Held:
    """A result of a call or an element of it: the reference for later calls, and the value."""

    def __init__(self, ref, value):
        self.ref, self.value = ref, value

    @property
    def dtype(self):
        return self.value.dtype.base_dtype.name

    @property
    def shape(self):
        """Returns a list of sizes, None for an unknown size; None for an unknown rank."""
        static = self.value.shape
        return None if static.rank is None else static.as_list()

    @property
    def known(self):
        return self.shape is not None and None not in self.shape


class Result(Held):
    """The result of a call; `ok` unless the call raised or was skipped."""

    def __init__(self, ref, value, ok):
        super().__init__(ref, value)
        self.ok = ok

    def __getitem__(self, index):
        ref = dict(self.ref, path=self.ref.get("path", []) + [index])
        return Held(ref, self.value[index])


class LiveProgram:
    """The random generator, the calls so far, and all results by kind, oldest first."""

    def __init__(self, seed, wide=False):
        self.wide = wide  # also use the calls of wide.py
        self.rng = random.Random(seed)
        self.interpreter = Interpreter()
        self.calls = []
        self.depth = 0  # open scopes
        self.tensors, self.variables, self.operations = [], [], []
        self.scopes, self.slices, self.optimizers, self.pairs = [], [], [], []
        self.averages, self.templates, self.themes = [], [], {}
        self.seeded = False  # the graph seed was set before any random op

    def chance(self, probability):
        return self.rng.random() < probability

    def pick(self, options):
        return options[self.rng.randrange(len(options))]

    def weighted(self, table):
        """Returns a random key of {option: weight}."""
        return self.rng.choices(list(table), list(table.values()))[0]

    def recent(self, options):
        """Returns a random element of a list, more likely one near its end."""
        if not options:
            return None
        count = len(options)
        back = min(int(self.rng.expovariate(1.0 / 4.0)), count - 1)
        return options[count - 1 - back] if self.chance(0.7) else self.pick(options)

    def call(self, op, /, **args):
        """Runs and records a call; arguments are JSON or Held."""
        out = "r%d" % len(self.calls)
        call = {"op": op, "out": out}
        args = {key: plain(part) for key, part in args.items()}
        if args:
            call["args"] = args
        self.calls.append(call)
        outcome = self.interpreter.step(call)
        call["expect"] = outcome
        ok = not ("error" in outcome or "skipped" in outcome)
        value = self.interpreter.bound.get(out) if ok else None
        result = Result({"ref": out}, value, ok)
        self.keep(result)
        return result

    def keep(self, held):
        value = held.value
        if isinstance(value, tf.Variable):
            self.variables.append(held)
        elif isinstance(value, values.TENSORS):
            self.tensors.append(held)
        elif isinstance(value, tf.Operation):
            self.operations.append(held)
        elif isinstance(value, tf.IndexedSlices):
            self.slices.append(held)
        elif isinstance(value, tf.VariableScope):
            self.scopes.append(held)
        elif isinstance(value, tf.train.Optimizer):
            self.optimizers.append(held)
        elif isinstance(value, (list, tuple)) and isinstance(held, Result):
            for index, part in enumerate(value):
                if isinstance(part, tf.Variable) or isinstance(part, values.TENSORS):
                    self.keep(held[index])

    def enter(self, scope, /, **args):
        """Opens a scope. If that fails, closes it at once, sometimes after a skipped call."""
        result = self.call("enter_" + scope, **args)
        if result.ok:
            self.depth += 1
            return result
        if self.chance(0.1):
            self.call("no_op", name="skipped")
        self.call("exit")
        return result

    def exit(self):
        self.call("exit")
        self.depth -= 1

    @property
    def graph(self):
        return self.interpreter.graph

    def finish(self):
        """Closes the open scopes and returns collections and lists of variables."""
        while self.interpreter.open:
            self.interpreter.open.pop().__exit__(None, None, None)
        final = self.interpreter.final()
        if self.interpreter.session is not None:
            self.interpreter.session.close()
        return final

    def program(self, name, about, final):
        used = refs_in([part for call in self.calls for part in call.get("args", {}).values()])
        calls = []
        for call in self.calls:
            kept = {key: call[key] for key in ("op", "args", "expect") if key in call}
            if call["out"] in used:
                kept["out"] = call["out"]
            calls.append(kept)
        return {"name": name, "about": about, "calls": calls, "final": final}


def plain(value):
    if isinstance(value, Held):
        return value.ref
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    return value
