"""Calls that open, close and query scopes of every kind."""

from . import arguments, variables


def variable_scope(live):
    args = {}
    how = live.weighted({"name": 10, "captured": 4, "default": 3, "both": 1, "current": 2,
                         "nothing": 0.3})
    if how == "captured" and live.scopes:
        args["name_or_scope"] = live.recent(live.scopes)
    elif how == "current":
        args["name_or_scope"] = live.call("get_variable_scope")
    elif how == "default":
        args["name_or_scope"] = None
        args["default_name"] = arguments.pick_or_odd(live, arguments.SCOPES, arguments.ODD_SCOPES) or "d"
    elif how == "nothing":
        args["name_or_scope"] = None
    else:
        args["name_or_scope"] = arguments.pick_or_odd(live, arguments.SCOPES, arguments.ODD_SCOPES, 0.1)
        if how == "both":
            args["default_name"] = live.pick(arguments.SCOPES)
    if live.chance(0.35):
        args["reuse"] = live.weighted({True: 4, False: 2, "AUTO_REUSE": 4, None: 1})
    if live.chance(0.1):
        args["initializer"] = variables.initializer(live, "float32", None)
    if live.chance(0.07):
        args["dtype"] = live.pick(("float32", "float64", "int32"))
    if live.chance(0.08):
        args["regularizer"] = live.pick(("l2", "none"))
    if live.chance(0.07):
        args["custom_getter"] = live.pick(("suffixed", "frozen", "found_or_made"))
    if live.chance(0.1):
        args["auxiliary_name_scope"] = live.chance(0.3)
    return live.enter("variable_scope", **args)


def name_scope(live):
    how = live.weighted({"name": 10, "again": 2, "none": 1, "default": 2, "original": 1})
    if how == "none":
        return live.enter("name_scope", name=None)
    if how == "default":
        return live.enter("name_scope", name=live.pick((None, None, "n")),
                          default_name=live.pick(arguments.SCOPES))
    if how == "original" and live.scopes:
        name = live.call("scope_original_name_scope", scope=live.recent(live.scopes))
        return live.enter("name_scope", name=name) if name.ok else name
    name = arguments.pick_or_odd(live, arguments.SCOPES, arguments.ODD_SCOPES, 0.12)
    if how == "again" and name and not name.endswith("/"):
        name += "/"
    return live.enter("name_scope", name=name)


def device_name(live):
    table = live.weighted({"plain": 12, "odd": 5, "wrong": 0.8})
    return live.pick({"plain": arguments.DEVICES, "odd": arguments.ODD_DEVICES,
                      "wrong": arguments.WRONG_DEVICES}[table])


def device(live):
    none = live.chance(0.1)
    return live.enter("device", device_name_or_function=None if none else device_name(live))


def graph_element(live):
    """Returns a tensor, a variable or an operation."""
    pool = live.weighted({"tensors": 4, "variables": 3, "operations": 2})
    return live.recent(getattr(live, pool)) or live.recent(live.tensors)


def colocate_with(live):
    element = graph_element(live)
    if element is None:
        return None
    args = {"ignore_existing": True} if live.chance(0.3) else {}
    return live.enter("colocate_with", op=None if live.chance(0.1) else element, **args)


def control_dependencies(live):
    if live.chance(0.12):
        return live.enter("control_dependencies", control_inputs=None)
    inputs = [graph_element(live) for _ in range(live.weighted({0: 1, 1: 8, 2: 4, 3: 2}))]
    return live.enter("control_dependencies", control_inputs=[i for i in inputs if i is not None])


def ask(live):
    """Makes a query that adds no node."""
    what = live.weighted({"get_variable_scope": 2, "get_name_scope": 3, "scope_name": 2,
                          "scope_original_name_scope": 2, "scope_reuse": 2, "unique_name": 1.5,
                          "get_tensor_by_name": 1.5, "get_operation_by_name": 1.5,
                          "reuse_variables": 1})
    if what in ("get_variable_scope", "get_name_scope"):
        return live.call(what)
    if what == "unique_name":
        return live.call(what, name=arguments.pick_or_odd(live, arguments.NAMES, arguments.SCOPES, 0.3))
    if what.endswith("by_name"):
        element = graph_element(live)
        if element is None:
            return None
        name = element.value.name
        if live.chance(0.3):
            name = live.pick((name + "x", name.split(":")[0], name + ":0", "", ":0", name + ":1",
                              "nothing", "nothing:0", "a:b", "^" + name))
        return live.call(what, name=name)
    scope = live.recent(live.scopes)
    if scope is None or live.chance(0.3):
        scope = live.call("get_variable_scope")
    return live.call(what, scope=scope)
