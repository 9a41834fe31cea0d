"""Runs one program with TensorFlow and records each call's outcome; README.md, "Running"."""

import tensorflow.compat.v1 as tf

from . import handlers, values

tf.disable_v2_behavior()
tf.disable_resource_variables()

LISTINGS = (
    "global_variables",
    "local_variables",
    "trainable_variables",
    "model_variables",
    "moving_average_variables",
)


class Interpreter:
    """The state of running one program: graph, results by name, open scopes, session."""

    def __init__(self):
        self.graph = tf.Graph()
        self.bound = {}
        self.open = []  # context managers, innermost last
        self.skip_depth = 0  # > 0 inside a scope whose entry failed or was skipped
        self.session = None
        self.seen = 0

    def run(self, program):
        """Returns the program with "expect" in every call and "final" filled in."""
        calls = []
        with self.graph.as_default():
            for call in program["calls"]:
                bare = {key: part for key, part in call.items() if key != "expect"}
                calls.append(dict(bare, expect=self.step(bare)))
            while self.open:
                self.open.pop().__exit__(None, None, None)
            final = self.final()
        if self.session is not None:
            self.session.close()
        return dict(program, calls=calls, final=final)

    def step(self, call):
        entering = call["op"].startswith("enter_")
        if self.skip_depth:
            self.skip_depth += entering - (call["op"] == "exit")
            return {"skipped": True}
        try:
            args = self.arguments_of(call)
        except values.Unbound:
            self.skip_depth += entering
            return {"skipped": True}
        try:
            result = handlers.call(self, call["op"], args)
        except handlers.BadProgram:
            raise
        except Exception as error:  # only its class is recorded
            self.skip_depth += entering
            return self.outcome({"error": type(error).__name__})
        if isinstance(call.get("out"), str):
            self.bound[call["out"]] = result
        outcome = {} if result is None else {"result": values.describe(result)}
        if call["op"] == "run":
            keep = call["args"].get("compare") != "shape"
            outcome = {"values": [None if v is None else values.array(v, keep) for v in result]}
        return self.outcome(outcome)

    def arguments_of(self, call):
        return {k: values.decode(v, self.bound, self) for k, v in call.get("args", {}).items()}

    def perform(self, call):
        """Runs a call of a function's body; an error ends the function."""
        result = handlers.call(self, call["op"], self.arguments_of(call))
        if isinstance(call.get("out"), str):
            self.bound[call["out"]] = result
        return result

    def run_function(self, form, arguments):
        """Runs the body of a function with `arguments`; what it binds ends with it."""
        if len(arguments) != len(form["parameters"]):
            raise TypeError("a function of %d parameters got %d arguments"
                            % (len(form["parameters"]), len(arguments)))
        outer, depth = dict(self.bound), len(self.open)
        self.bound.update(zip(form["parameters"], arguments))
        try:
            for call in form["calls"]:
                self.perform(call)
            return values.decode(form["returns"], self.bound, self)
        finally:
            while len(self.open) > depth:
                self.open.pop().__exit__(None, None, None)
            self.bound = outer

    def outcome(self, outcome):
        operations = self.graph.get_operations()
        made, self.seen = operations[self.seen :], len(operations)
        if made:
            outcome["nodes"] = [values.node(operation) for operation in made]
        return outcome

    def final(self):
        collections = {
            key: [values.collected(item) for item in self.graph.get_collection_ref(key)]
            for key in self.graph.get_all_collection_keys()
            if isinstance(key, str)
        }
        listings = {name: [v.name for v in getattr(tf, name)()] for name in LISTINGS}
        return {"collections": dict(sorted(collections.items())), "listings": listings}
