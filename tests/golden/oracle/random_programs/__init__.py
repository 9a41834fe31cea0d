"""Random golden programs: a seed always gives the same program, whatever ran before.

A program is written while TensorFlow runs it (live.py). Its topic decides how frequent each kind of
call is.
"""

from . import (calls, collected, ops, queues, runs, scopes, systems, towers, training, variables,
               wide)
from .live import LiveProgram

OPENERS = {scopes.variable_scope: 6, scopes.name_scope: 4, scopes.device: 3,
           scopes.control_dependencies: 2, scopes.colocate_with: 1.2}
# Weights of the kinds of calls for each topic. "close" ends the innermost open scope.
PROFILES = {
    "scopes": {"open": 5, "close": 3.5, "get": 6, "variable": 1, "ask": 2, "op": 2, "collect": 0.5},
    "naming": {"open": 4, "close": 3, "get": 1, "variable": 1, "ask": 1, "op": 6, "collect": 0.5},
    "devices": {"open": 5, "close": 3, "get": 2, "variable": 1, "ask": 0.3, "op": 5},
    "collections": {"open": 2, "close": 1.5, "get": 3, "variable": 1, "op": 2, "collect": 6},
    "numbers": {"open": 0.7, "close": 0.7, "get": 1, "variable": 0.5, "op": 9, "run": 1.5},
    "variables": {"open": 2, "close": 1.7, "get": 5, "variable": 3, "assign": 3, "ask": 1, "op": 1,
                  "run": 1},
    "training": {"open": 1.5, "close": 1.3, "get": 3, "variable": 1, "assign": 0.5, "op": 2,
                 "collect": 0.3, "train": 4},
    "everything": {"open": 2, "close": 1.7, "get": 2, "variable": 1, "assign": 1, "ask": 1, "op": 4,
                   "collect": 1, "train": 1.5, "run": 0.3},
}
WEIGHTS = {"scopes": 4, "naming": 3, "devices": 3, "collections": 2, "numbers": 4, "variables": 3,
           "training": 4, "everything": 3, "towers": 3, "queues": 0.7}
# The scopes that programs of a topic open more often.
FAVOURED = {"devices": (scopes.device, scopes.control_dependencies, scopes.colocate_with),
            "naming": (scopes.name_scope,), "scopes": (scopes.variable_scope,),
            "variables": (scopes.variable_scope, scopes.control_dependencies)}


def opener(live, about):
    if about in FAVOURED and live.chance(0.6):
        return live.pick(FAVOURED[about])(live)
    return live.weighted(OPENERS)(live)


def add_statement(live, about, subject):
    if subject == "open":
        if live.depth < 6:
            opener(live, about)
    elif subject == "close":
        if live.depth:
            live.exit()
    elif subject == "get":
        if live.chance(0.05):
            variables.get_local_variable(live)
        else:
            variables.get_variable(live)
    elif subject == "run":
        if live.chance(0.5):
            runs.initialize(live)
        runs.some_run(live)
    else:
        {"variable": variables.plain, "assign": variables.assign, "op": ops.any_op,
         "collect": collected.any_call, "train": training.any_call, "wide": wide.any_call,
         "ask": live.pick((scopes.ask, variables.ask))}[subject](live)


def write(live, about):
    if live.chance(0.75):
        live.call("set_random_seed", seed=live.rng.randrange(100))
        live.seeded = True
    if about == "towers":
        towers.program(live)
    elif about == "queues":
        queues.fill_and_empty_queue(live)
    calls = live.weighted({6: 1, 12: 3, 20: 4, 30: 3, 45: 1})
    profile = PROFILES.get(about, PROFILES["everything"])
    if live.wide:
        profile = dict(profile, wide=sum(profile.values()) / 3)
    if about in ("towers", "queues"):
        calls = live.rng.randrange(0, 6)
    while len(live.calls) < calls or (about in ("towers", "queues") and calls > 0):
        calls -= about in ("towers", "queues")
        add_statement(live, about, live.weighted(profile))
    if live.chance(0.75 if about != "devices" else 0.3):
        runs.run_final_steps(live)


def generate(seed, name=None, kind="plain", only=None):
    """Returns a seed's program with TensorFlow's outcomes. The kind "wide" has the calls of wide.py
    too, "calls" is of calls/, "systems" of systems.py; `only` is the one call or family that a
    program of "calls" makes, or the topic of "systems"."""
    live = LiveProgram(seed, kind == "wide")
    if kind == "calls":
        about = "calls"
    else:
        about = live.weighted(dict.fromkeys(systems.PROFILES, 1) if kind == "systems" else WEIGHTS)
        about = only or about
    with live.graph.as_default():
        if kind == "calls":
            calls.write(live, only)
        elif kind == "systems":
            systems.write(live, about)
        else:
            write(live, about)
        final = live.finish()
    return live.program(name or "random_%d" % seed, about, final)
