"""Chains of tf.data, their iterators, and elements that go on into the program."""

import tensorflow.compat.v1 as tf

from . import arguments, control
from .arguments import array, literal


def components(live, rows):
    """Returns a tensor, tuple or dict with `rows` rows each, or without rows for None."""
    def one():
        sizes = arguments.shape(live, live.pick((0, 1, 1, 2)))
        sizes = sizes if rows is None else [rows] + sizes
        dtype = live.weighted({"float32": 5, "int32": 2, "int64": 1, "string": 0.5})
        if dtype == "string" or live.chance(0.5):
            return literal(live, dtype if dtype != "int64" else "int32", sizes)
        return live.call("constant", value=array(live, dtype, sizes), dtype=dtype)

    how = live.weighted({"one": 5, "tuple": 4, "dict": 1.5, "nested": 0.5})
    if how == "one":
        return one()
    if how == "tuple":
        return {"tuple": [one() for _ in range(live.rng.randrange(1, 4))]}
    if how == "dict":
        return {"dict": {key: one() for key in ("b", "a")}}
    return {"tuple": [one(), {"tuple": [one(), one()]}]}


def source(live):
    how = live.weighted({"slices": 5, "range": 4, "tensors": 1})
    if how == "range":
        bounds = live.pick(([5], [3], [1, 6], [0, 8, 2], [5, 0, -1], [0], [2, 2]))
        if live.chance(0.04):
            bounds = live.pick(([0, 5, 0], [1.5], [[1]], ["a"]))
        return live.call("dataset_range", bounds=bounds)
    if how == "tensors":
        return live.call("dataset_from_tensors", tensors=components(live, None))
    rows = live.weighted({1: 1, 2: 2, 3: 4, 5: 3, 0: 0.1})
    tensors = components(live, rows)
    if live.chance(0.04):
        tensors = live.pick((1, {"tuple": [[1, 2], [1, 2, 3]]}))
    return live.call("dataset_from_tensor_slices", tensors=tensors)


def changed(live, held):
    """Returns a tensor made of a component in a function."""
    if held.dtype == "string" or held.dtype == "bool":
        return held
    if held.dtype in ("float32", "float64") and held.shape is not None:
        live.mapping += 10  # a function of a dataset makes no variables
        try:
            return control.chain(live, held, 1)
        finally:
            live.mapping -= 10
    return live.call("operator", operator=live.pick("+-*"), a=held, b=live.rng.randrange(1, 4))


def leaves(held):
    """Returns the Held tensors of a parameter, which may be a tuple or dict."""
    if isinstance(held.value, (tuple, list)):
        return [leaf for i in range(len(held.value)) for leaf in leaves(part(held, i))]
    if isinstance(held.value, dict):
        return [leaf for key in sorted(held.value) for leaf in leaves(part(held, key))]
    return [held]


def part(held, key):
    from .live import Result
    return Result(dict(held.ref, path=held.ref.get("path", []) + [key]), held.value[key], True)


def parameters(dataset):
    """Returns the names of the parameters of a function of its elements."""
    types = tf.data.get_output_types(dataset.value)
    return ["e%d" % i for i in range(len(types))] if isinstance(types, tuple) else ["e"]


def mapped(live, dataset):
    def write(*held):
        made = [leaf for one in held for leaf in leaves(one)]
        made = [changed(live, one) if live.chance(0.8) else one for one in made]
        if len(made) > 1 and live.chance(0.2):
            made = made[:-1]
        if live.chance(0.15) and len(made) < 5:
            made.append(made[0])
        if len(made) == 1:
            return made[0]
        return {"dict": dict(zip("cab", made))} if live.chance(0.1) and len(made) <= 3 else \
            {"tuple": made}

    args = {"num_parallel_calls": 2} if live.chance(0.2) else {}
    return live.call("dataset_map", dataset=dataset,
                     map_func=live.function(write, *parameters(dataset)), **args)


def filtered(live, dataset):
    def write(*held):
        one = [leaf for h in held for leaf in leaves(h)][0]
        if one.dtype in ("string", "bool"):
            return live.call("constant", value=True)
        total = live.call("reduce_sum", input_tensor=one) if one.shape != [] else one
        if live.chance(0.03):
            return total
        return live.call(live.pick(("greater", "less", "not_equal")), x=total, y=
                         arguments.number(live, total.dtype))

    return live.call("dataset_filter", dataset=dataset,
                     predicate=live.function(write, *parameters(dataset)))


def flattened(live, dataset):
    def write(*held):
        one = [leaf for h in held for leaf in leaves(h)][0]
        if live.chance(0.03):
            return one
        inner = live.call("dataset_from_tensors" if one.shape == [] or one.shape is None or
                          live.chance(0.2) else "dataset_from_tensor_slices", tensors=one)
        if live.chance(0.4):
            inner = live.call("dataset_repeat", dataset=inner, count=2)
        return inner

    op = live.pick(("flat_map", "interleave"))
    args = {}
    if op == "interleave":
        args["cycle_length"] = live.pick((1, 2, 3))
        if live.chance(0.5):
            args["block_length"] = live.pick((1, 2))
    return live.call("dataset_" + op, dataset=dataset,
                     map_func=live.function(write, *parameters(dataset)), **args)


def transformed(live, dataset):
    how = live.weighted({"map": 4, "filter": 2, "flat_map": 1.5, "batch": 3, "shuffle": 1.5,
                         "repeat": 1.5, "take": 1, "skip": 1, "prefetch": 0.7, "shard": 0.7,
                         "cache": 0.7, "enumerate": 0.7, "zip": 1, "concatenate": 0.7,
                         "padded_batch": 1})
    if how == "map":
        return mapped(live, dataset)
    if how == "filter":
        return filtered(live, dataset)
    if how == "flat_map":
        return flattened(live, dataset)
    args = {}
    if how in ("batch", "padded_batch"):
        args["batch_size"] = live.pick((1, 2, 2, 3))
        if live.chance(0.3):
            args["drop_remainder"] = live.chance(0.7)
        if live.chance(0.03):
            args["batch_size"] = live.pick((0, -1, 1.5))
    elif how == "shuffle":
        args = {"buffer_size": live.pick((1, 2, 10))}
        if live.chance(0.6):
            args["seed"] = live.rng.randrange(20)
        if live.chance(0.2):
            args["reshuffle_each_iteration"] = live.chance(0.5)
    elif how in ("repeat", "take", "skip"):
        args = {"count": live.pick((1, 2, 2, 3, -1 if how == "take" else 2))}
    elif how == "prefetch":
        args = {"buffer_size": live.pick((1, 2))}
    elif how == "shard":
        args = {"num_shards": 2, "index": live.pick((0, 1, 1, 2))}
    elif how == "enumerate" and live.chance(0.3):
        args = {"start": 5}
    elif how == "zip":
        other = source(live)
        if not other.ok:
            return other
        return live.call("dataset_zip", datasets={"tuple": [dataset, other]} if live.chance(0.8)
                         else {"dict": {"x": dataset, "y": other}})
    elif how == "concatenate":
        return live.call("dataset_concatenate", first=dataset,
                         dataset=dataset if live.chance(0.7) else source(live))
    return live.call("dataset_" + how, dataset=dataset, **args)


def pipeline(live):
    """Returns the tensors of the next element."""
    dataset = source(live)
    for _ in range(live.weighted({0: 1, 1: 3, 2: 4, 3: 3, 4: 1})):
        if not dataset.ok:
            return None
        made = transformed(live, dataset)
        dataset = made if made.ok else dataset
    if not dataset.ok:
        return None
    if live.chance(0.2):
        live.call("dataset_shapes", dataset=dataset)
    how = live.weighted({"one_shot": 4, "initializable": 4, "like": 1})
    if how == "like":
        iterator = live.call("iterator_like", dataset=dataset)
        begin = live.call("make_initializer", iterator=iterator, dataset=dataset) \
            if iterator.ok else iterator
    else:
        iterator = live.call(how + "_iterator", dataset=dataset)
        begin = live.call("iterator_initializer", iterator=iterator) \
            if iterator.ok and (how == "initializable" or live.chance(0.05)) else None
    if not iterator.ok:
        return None
    element = live.call("get_next", iterator=iterator,
                        **({"name": "next"} if live.chance(0.2) else {}))
    if not element.ok:
        return None
    found = leaves(element)
    for one in found:
        if one is not element and one.value is not element.value:
            live.keep(one)
    live.elements.append((begin if begin is not None and begin.ok else None, found))
    return element


def run_elements(live):
    """Runs the elements of the pipelines, often to their ends."""
    for begin, found in live.elements:
        for _ in range(live.weighted({1: 4, 2: 1})):
            if begin is not None and live.chance(0.97):
                live.call("run", fetches=[begin])
            for _ in range(live.weighted({2: 2, 4: 3, 9: 2})):
                if not live.call("run", fetches=found).ok:
                    break


def any_call(live):
    return pipeline(live)
