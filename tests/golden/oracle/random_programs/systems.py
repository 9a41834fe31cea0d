"""Whole programs: control flow, layers, datasets and optimizers together."""

from . import control, datasets, layers, ops, optimizers, runs
from .analysis import Fetched

PROFILES = {
    "control": {control.any_call: 6, ops.any_op: 1, optimizers.gradients: 1.5,
                optimizers.minimize: 0.7},
    "layers": {layers.any_call: 6, ops.any_op: 0.5, optimizers.gradients: 0.7,
               optimizers.minimize: 1},
    "datasets": {datasets.any_call: 5, control.any_call: 0.7, ops.any_op: 0.5},
    "optimizers": {optimizers.any_call: 5, control.any_call: 1, layers.any_call: 1},
    "mixed": {control.any_call: 3, layers.any_call: 3, datasets.any_call: 1,
              optimizers.any_call: 2, ops.any_op: 1},
}


def run(live, fetches):
    """Runs results; those that need an element only if their pipeline has one left."""
    return runs.run(live, fetches)


def finish(live):
    while live.depth:
        live.exit()
    runs.initialize(live)
    datasets.run_elements(live)
    fresh = [t for t in live.tensors[-12:] + live.slopes[-6:] if "IteratorGetNext" not in
             Fetched([t.value], []).types()]
    for _ in range(live.weighted({1: 1, 2: 3, 3: 2})):
        if fresh:
            run(live, [live.recent(fresh) for _ in range(live.weighted({1: 2, 2: 2, 3: 1}))])
    for step in live.steps:
        for _ in range(2):
            run(live, [step])
    if live.steps:
        listed = live.call("global_variables")
        if listed.ok and listed.value:
            live.call("run", fetches=[listed[i] for i in range(len(listed.value))])
    if live.updates:
        run(live, live.updates)


def write(live, about):
    live.call("set_random_seed", seed=live.rng.randrange(100))
    live.seeded = live.decided = True
    live.steps, live.updates, live.elements = [], [], []
    live.slopes = []  # gradients through loops
    profile = PROFILES[about]
    for _ in range(live.weighted({2: 3, 4: 3, 6: 3, 9: 1})):
        live.weighted(profile)(live)
    finish(live)
