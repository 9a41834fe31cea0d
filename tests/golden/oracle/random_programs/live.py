"""A program that is written while TensorFlow runs it, so that the writer knows what exists."""

import json
import random

import tensorflow.compat.v1 as tf

from .. import values
from ..builder import refs_in
from ..interpreter import Interpreter


class Held:
    """A result of a call or an element of it: the reference for later calls, and the value."""

    ok = True

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


class LiveFunction(dict):
    """The {"function": ...} form of a function whose body `writer` writes when it is run first."""

    def __init__(self, parameters, writer):
        super().__init__(function={"parameters": parameters, "calls": [], "returns": None})
        self.writer = writer


class LiveInterpreter(Interpreter):
    """Writes the bodies of functions while it runs them."""

    def __init__(self):
        super().__init__()
        self.live, self.writers = None, {}

    def arguments_of(self, call):
        self.find_writers(call.get("args", {}))
        return super().arguments_of(call)

    def find_writers(self, form):
        if isinstance(form, LiveFunction):
            self.writers[id(form["function"])] = form.writer
        elif isinstance(form, (dict, list)):
            for part in form.values() if isinstance(form, dict) else form:
                self.find_writers(part)

    def run_function(self, form, arguments):
        writer = self.writers.pop(id(form), None)
        if writer is None:
            return super().run_function(form, arguments)
        return self.live.write_function(form, arguments, writer)


class LiveProgram:
    """The random generator, the calls so far, and all results by kind, oldest first."""

    def __init__(self, seed, wide=False):
        self.wide = wide  # also use the calls of wide.py
        self.rng = random.Random(seed)
        self.interpreter = LiveInterpreter()
        self.interpreter.live = self
        self.calls = []
        self.made = 0  # calls, those of functions included
        self.inside = 0  # functions being written
        self.mapping = 0  # those of map_fn, scan, ...; 10 more in one of a dataset
        self.depth = 0  # open scopes
        self.tensors, self.variables, self.operations = [], [], []
        self.scopes, self.slices, self.optimizers, self.pairs = [], [], [], []
        self.averages, self.templates, self.themes = [], [], {}
        self.seeded = False  # the graph seed was set before any random op
        self.decided = False  # compare values even where rounding could decide otherwise

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
        out = "r%d" % self.made
        self.made += 1
        call = {"op": op, "out": out}
        args = {key: plain(part) for key, part in args.items()}
        if args:
            call["args"] = args
        self.calls.append(call)
        if self.inside:
            # An error ends the function and is that of the outer call.
            result = Result({"ref": out}, self.interpreter.perform(call), True)
            self.keep(result)
            return result
        outcome = self.interpreter.step(call)
        call["expect"] = outcome
        ok = not ("error" in outcome or "skipped" in outcome)
        value = self.interpreter.bound.get(out) if ok else None
        result = Result({"ref": out}, value, ok)
        self.keep(result)
        return result

    def function(self, writer, *parameters):
        """Returns the form of a function. `writer` gets Held parameters and returns the results."""
        named = ["r%d_%s" % (self.made, one) for one in parameters]
        self.made += 1
        return LiveFunction(named, writer)

    def write_function(self, form, arguments, writer):
        lists = [part for part in vars(self).values() if isinstance(part, list)
                 and part is not self.calls]
        lengths, calls, depth = [len(part) for part in lists], self.calls, self.depth
        bound, opened = dict(self.interpreter.bound), len(self.interpreter.open)
        self.calls = form["calls"]
        self.inside += 1
        try:
            held = []
            for name, value in zip(form["parameters"], arguments):
                self.interpreter.bound[name] = value
                held.append(Result({"ref": name}, value, True))
                self.keep(held[-1])
            form["returns"] = plain(writer(*held))
            while self.depth > depth:
                self.exit()
            return values.decode(form["returns"], self.interpreter.bound, self.interpreter)
        finally:
            while len(self.interpreter.open) > opened:
                self.interpreter.open.pop().__exit__(None, None, None)
            self.inside -= 1
            self.calls, self.depth, self.interpreter.bound = calls, depth, bound
            for part, length in zip(lists, lengths):
                del part[length:]

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
        # The forms of functions are plain dicts from here on.
        return json.loads(json.dumps({"name": name, "about": about, "calls": calls,
                                      "final": final}))


def plain(value):
    if isinstance(value, Held):
        return value.ref
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if isinstance(value, dict) and not isinstance(value, LiveFunction) and (
            "tuple" in value or "dict" in value):
        return {key: plain(part) if key == "tuple" else {k: plain(p) for k, p in part.items()}
                for key, part in value.items()}
    return value
