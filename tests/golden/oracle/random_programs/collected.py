"""Calls that fill and read collections."""

import tensorflow.compat.v1 as tf

from . import arguments, scopes
from .variables import filter_scope


def member(live):
    how = live.weighted({"element": 10, "text": 1, "number": 1})
    if how == "text":
        return live.pick(arguments.SCOPES)
    if how == "number":
        return live.pick((1, 2.5, 7))
    return scopes.graph_element(live) or "text"


def key_for(live, value):
    """Returns a collection's name. The variable collections get only variables, since the functions
    that list variables rely on that."""
    variable = isinstance(getattr(value, "value", None), tf.Variable)
    return live.pick([k for k in arguments.KEYS if variable or not k.endswith("variables")])


def any_call(live):
    how = live.weighted({"add": 5, "several": 1, "read": 5, "keys": 0.7})
    if how == "add":
        value = member(live)
        return live.call("add_to_collection", name=key_for(live, value), value=value)
    if how == "several":
        value = member(live)
        names = [key_for(live, value) for _ in range(live.rng.randrange(0, 4))]
        return live.call("add_to_collections", names=names, value=value)
    if how == "keys":
        return live.call("get_all_collection_keys")
    args = {"scope": filter_scope(live)} if live.chance(0.6) else {}
    return live.call("get_collection", key=live.pick(arguments.KEYS), **args)
