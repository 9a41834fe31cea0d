"""The op table: name of an op in a program -> its parameters and the function that runs it."""

import inspect

import tensorflow.compat.v1 as tf

OPS = {}  # name -> (parameter names in order, function(interpreter, **args))
DTYPE_PARAMETERS = {"dtype", "out_type", "output_type", "out_idx", "index_dtype", "output_dtype",
                    "Targmax"}


class BadProgram(Exception):
    """The program is invalid: unknown op or parameter."""


def call(interpreter, name, args):
    if name not in OPS:
        raise BadProgram("no such op: " + name)
    parameters, function = OPS[name]
    unknown = set(args) - set(parameters)
    if unknown:
        raise BadProgram("%s takes no %s" % (name, sorted(unknown)))
    for key in DTYPE_PARAMETERS & set(args):
        args[key] = args[key] and tf.as_dtype(args[key])
    return function(interpreter, **args)


def handler(function):
    """Registers `function(interpreter, ...)` under its own name."""
    parameters = list(inspect.signature(function).parameters)[1:]
    OPS[function.__name__.rstrip("_")] = (parameters, function)
    return function


def plain(name, function, parameters):
    """Registers a TensorFlow function that gets its arguments unchanged."""
    OPS[name] = (parameters.split(), lambda interpreter, **args: function(**args))


def method(name, receiver, method_name, parameters):
    """Registers a method of the object in the first parameter, `receiver`."""

    def run(interpreter, **args):
        return getattr(args.pop(receiver), method_name)(**args)

    OPS[name] = ([receiver] + parameters.split(), run)


from . import (  # noqa: E402,F401  they fill OPS
    handlers_averages, handlers_calls, handlers_cells, handlers_control, handlers_datasets,
    handlers_gradients, handlers_graph, handlers_keras, handlers_layers, handlers_losses,
    handlers_metrics, handlers_ops, handlers_slim, handlers_train)
