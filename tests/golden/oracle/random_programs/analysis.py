"""Decides whether the values of a run are well-defined: no race in TensorFlow and no decision that
rounding could change."""

WRITERS = ("Assign", "AssignAdd", "AssignSub", "ScatterUpdate", "ScatterAdd", "ScatterSub")
# Their output may share the memory of their first input.
VIEWS = ("Identity", "Reshape", "Squeeze", "ExpandDims", "StopGradient", "PreventGradient",
         "Snapshot")
INEXACT = ("Exp", "Log", "Tanh", "Sigmoid", "Sqrt", "Rsqrt", "Softmax", "RealDiv", "Pow", "Mean",
           "RandomUniform", "RandomStandardNormal", "TruncatedNormal", "VariableV2", "Div",
           "SparseSoftmaxCrossEntropyWithLogits", "Log1p", "MatMul", "Conv2D", "Sum")
DECISIONS = ("ArgMax", "Less", "LessEqual", "Greater", "GreaterEqual", "Equal", "NotEqual",
             "InTopKV2", "InTopK", "FloorDiv", "FloorMod", "Cast", "Sign", "ReluGrad")
RANDOM = ("RandomUniform", "RandomStandardNormal", "TruncatedNormal", "RandomUniformInt",
          "RandomShuffle")
BLOCKING = ("Queue", "Reader", "FIFOQueue", "RandomShuffleQueue", "LimitEpochs", "CountUpTo")


def writes(op):
    """Returns the variable that an op writes, or None."""
    if op.type in WRITERS or op.type.startswith(("Apply", "SparseApply")):
        return variable_of(op.inputs[0])
    return None


def written(op):
    """Returns all variables that an op writes, including slots."""
    if writes(op) is None:
        return []
    found = [variable_of(t) for t in op.inputs if t.dtype._is_ref_dtype]
    return [v for v in found if v is not None]


def variable_of(tensor):
    """Returns the variable of a reference tensor, or None."""
    op = tensor.op
    while op.type != "VariableV2":
        if not op.inputs or not tensor.dtype._is_ref_dtype:
            return None
        tensor = op.inputs[0]
        op = tensor.op
    return op


class Fetched:
    """The part of a graph that a run executes."""

    def __init__(self, fetches, fed):
        self.fetches = fetches
        self.ops = {}  # op -> itself, an ordered set
        self.before = {}  # op -> set of its ancestors
        fed_ops = {t.op for t in fed}
        stack = [f if not hasattr(f, "op") else f.op for f in fetches]
        while stack:
            op = stack.pop()
            if op in self.ops:
                continue
            self.ops[op] = op
            if op not in fed_ops:
                stack += [t.op for t in op.inputs] + list(op.control_inputs)
        self.fed_ops = fed_ops

    def direct(self, op):
        if op in self.fed_ops:
            return []
        return [t.op for t in op.inputs] + list(op.control_inputs)

    def ancestors(self, op):
        """Returns all ops that run before `op`. Walks the graph, as programs are small."""
        if op not in self.before:
            seen, stack = set(), self.direct(op)
            while stack:
                one = stack.pop()
                if one not in seen:
                    seen.add(one)
                    stack += self.direct(one)
            self.before[op] = seen
        return self.before[op]

    def placeholders(self):
        return [op.outputs[0] for op in self.ops if op.type == "Placeholder"]

    def types(self):
        return {op.type for op in self.ops}

    def blocks(self):
        return any(t.startswith(BLOCKING) for t in self.types())

    def accesses(self, variable):
        """Returns the ops that access the variable's memory, as (op, views in between)."""
        found, stack, seen = [], [(variable, ())], set()
        while stack:
            op, views = stack.pop()
            if op in seen:
                continue
            seen.add(op)
            for out in op.outputs:
                for consumer in out.consumers():
                    if consumer not in self.ops:
                        continue
                    found.append((consumer, views))
                    is_view = consumer.type in VIEWS and consumer.inputs[0].op is op
                    if is_view or (writes(consumer) is not None and consumer.inputs[0].op is op):
                        stack.append((consumer, views + (consumer,)))
        return found

    def races(self):
        """Returns whether a variable is read and written, or written twice, in undefined order."""
        for writer in self.ops:
            for variable in written(writer):
                if self.unordered(writer, variable):
                    return True
        return False

    def unordered(self, writer, variable):
        before = self.ancestors(writer)
        for reader, views in self.accesses(variable):
            if reader is writer:
                continue
            after = writer in self.ancestors(reader)
            if reader not in before and not after:
                return True
            # An Assign may replace the variable's buffer; an earlier view keeps the old value.
            if after and any(writer not in self.ancestors(v) and v is not writer for v in views):
                return True
        for fetch in self.fetches:
            op = getattr(fetch, "op", fetch)
            if hasattr(fetch, "op") and op is not writer:
                views = [op] if op is variable else [c for c, _ in self.accesses(variable)]
                if op in views and (op.type in VIEWS or op is variable or writes(op) is not None):
                    return True
        return False

    def undecided(self):
        """Returns whether rounding could change a decision."""
        for op in self.ops:
            if op.type in DECISIONS and any(a.type in INEXACT for a in self.ancestors(op)):
                return True
        return False

    def has_side_effects(self):
        """Returns whether a run changes variables or the state of random ops."""
        return any(writes(op) is not None or op.type in RANDOM for op in self.ops)
