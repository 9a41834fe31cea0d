"""Runs of a program's results, if their values are well-defined."""

import tensorflow.compat.v1 as tf

from . import arguments
from .analysis import Fetched


def feed_value(live, tensor):
    sizes = [d if d is not None else 2 for d in (tensor.shape.as_list()
                                                 if tensor.shape.rank is not None else [2, 2])]
    if live.chance(0.02):
        sizes = sizes + [2]
    return arguments.literal(live, tensor.dtype.name, sizes)


def run(live, fetches):
    """Runs Held fetches if their values are well-defined; returns the result or None."""
    values = [fetch_of(f.value) for f in fetches]
    part = Fetched(values, [])
    if part.blocks() or part.races():
        return None
    held = {h.value.name: h for h in live.tensors}
    feeds = []
    for tensor in part.placeholders():
        if tensor.name not in held or live.chance(0.02):
            continue
        feeds.append([held[tensor.name], feed_value(live, tensor)])
    args = {"feeds": feeds} if feeds else {}
    if (not live.decided and part.undecided()) or (not live.seeded and uses_random(live)):
        args["compare"] = "shape"
    result = live.call("run", fetches=fetches, **args)
    if not result.ok and part.has_side_effects():
        # It is undefined how far a run came before it failed.
        live.call("new_session")
    return result


def uses_random(live):
    return any(op.type.startswith(("Random", "TruncatedNormal"))
               for op in live.graph.get_operations())


def fetch_of(value):
    if isinstance(value, tf.Variable):
        return value._variable if hasattr(value, "_variable") else value.value()
    return value if isinstance(value, tf.Operation) else value


def initialize(live):
    """Runs the initializers of all variables."""
    made = live.call("global_variables_initializer")
    if made.ok:
        run(live, [made])
    if live.graph.get_collection("local_variables"):
        made = live.call("local_variables_initializer")
        if made.ok:
            run(live, [made])


def some_run(live):
    """Runs one to three results."""
    pool = live.tensors * 2 + live.variables + live.operations
    if not pool:
        return None
    for _ in range(4):
        fetches = [live.recent(pool) for _ in range(live.weighted({1: 4, 2: 3, 3: 2}))]
        made = run(live, fetches)
        if made is not None:
            return made
    return None


def run_final_steps(live):
    """Initializes and runs steps, as a training program does at its end."""
    while live.depth:
        live.exit()
    if live.chance(0.95):
        initialize(live)
    for _ in range(live.weighted({1: 3, 2: 4, 3: 2})):
        if live.operations and live.chance(0.5):
            step = live.recent([o for o in live.operations if o.value.type != "NoOp"
                                or o.value.control_inputs])
            if step is not None and run(live, [step]) is not None:
                listed = live.variables[-4:]
                if listed:
                    run(live, listed)
                continue
        some_run(live)
