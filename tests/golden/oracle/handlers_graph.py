"""Scopes, variables, collections, sessions."""

import operator as py

import tensorflow.compat.v1 as tf

from .functions import (CONSTRAINTS, DEVICE_FUNCTIONS, GETTERS, REGULARIZERS, TEMPLATES,
                        partitioner_of)
from .handlers import handler, method, plain


def entered(interpreter, manager):
    result = manager.__enter__()
    interpreter.open.append(manager)
    return result


def reuse_flag(reuse):
    return tf.AUTO_REUSE if reuse == "AUTO_REUSE" else reuse


@handler
def enter_variable_scope(interpreter, name_or_scope=None, default_name=None, values=None,
                         initializer=None, reuse=None, dtype=None, auxiliary_name_scope=True,
                         regularizer=None, custom_getter=None, caching_device=None,
                         partitioner=None, constraint=None):
    return entered(interpreter, tf.variable_scope(
        name_or_scope, default_name=default_name, values=values, initializer=initializer,
        regularizer=REGULARIZERS[regularizer], custom_getter=GETTERS[custom_getter],
        caching_device=caching_device, partitioner=partitioner_of(partitioner),
        constraint=CONSTRAINTS[constraint], reuse=reuse_flag(reuse), dtype=dtype,
        auxiliary_name_scope=auxiliary_name_scope))


@handler
def enter_name_scope(interpreter, name=None, default_name=None, values=None):
    return entered(interpreter, tf.name_scope(name, default_name, values))


@handler
def enter_device(interpreter, device_name_or_function=None):
    return entered(interpreter, tf.device(device_name_or_function)) and None


@handler
def enter_device_function(interpreter, function):
    return entered(interpreter, tf.device(DEVICE_FUNCTIONS[function])) and None


@handler
def enter_control_dependencies(interpreter, control_inputs=None):
    return entered(interpreter, tf.control_dependencies(control_inputs)) and None


@handler
def enter_colocate_with(interpreter, op=None, ignore_existing=False):
    return entered(interpreter, tf.colocate_with(op, ignore_existing)) and None


@handler
def exit_(interpreter):
    interpreter.open.pop().__exit__(None, None, None)


plain("get_variable_scope", tf.get_variable_scope, "")
method("reuse_variables", "scope", "reuse_variables", "")


@handler
def scope_name(interpreter, scope):
    return scope.name


@handler
def scope_original_name_scope(interpreter, scope):
    return scope.original_name_scope


@handler
def scope_reuse(interpreter, scope):
    return "AUTO_REUSE" if scope.reuse is tf.AUTO_REUSE else bool(scope.reuse)


@handler
def get_name_scope(interpreter):
    return interpreter.graph.get_name_scope()


@handler
def get_variable(interpreter, name, shape=None, dtype=None, initializer=None, trainable=None,
                 collections=None, regularizer=None, custom_getter=None, caching_device=None,
                 partitioner=None, validate_shape=True, constraint=None, synchronization="AUTO"):
    return tf.get_variable(name, shape, dtype, initializer, REGULARIZERS[regularizer], trainable,
                           collections, caching_device, partitioner_of(partitioner),
                           validate_shape, custom_getter=GETTERS[custom_getter],
                           constraint=CONSTRAINTS[constraint],
                           synchronization=tf.VariableSynchronization[synchronization])


@handler
def make_template(interpreter, name, function, create_scope_now=False, unique_name=None,
                  custom_getter=None):
    return tf.make_template(name, TEMPLATES[function], create_scope_now, unique_name,
                            GETTERS[custom_getter])


@handler
def call_template(interpreter, template, x):
    return template(x)


@handler
def template_scope(interpreter, template):
    return template.variable_scope


@handler
def parts(interpreter, variable):
    """Returns the parts of a partitioned variable."""
    return list(variable)


@handler
def as_tensor(interpreter, variable):
    return tf.convert_to_tensor(variable)


plain("get_local_variable", tf.get_local_variable,
      "name shape dtype initializer collections")


@handler
def Variable(interpreter, initial_value, trainable=None, collections=None, name=None, dtype=None,
             caching_device=None, validate_shape=True, constraint=None):
    return tf.Variable(initial_value=initial_value, trainable=trainable, collections=collections,
                       validate_shape=validate_shape, caching_device=caching_device, name=name,
                       dtype=dtype, constraint=CONSTRAINTS[constraint])


@handler
def extend_collection_ref(interpreter, key, values):
    """Extends the collection's list in place."""
    tf.get_collection_ref(key).extend(values)


@handler
def clear_collection_ref(interpreter, key):
    del tf.get_collection_ref(key)[:]


@handler
def scope_collection(interpreter, scope, listing):
    return list(getattr(scope, listing)())


@handler
def initialized_value(interpreter, variable):
    return variable.initialized_value()


@handler
def initializer_of(interpreter, variable):
    return variable.initializer


@handler
def read_value(interpreter, variable):
    return variable.value()


plain("global_variables_initializer", tf.global_variables_initializer, "")
plain("local_variables_initializer", tf.local_variables_initializer, "")
plain("variables_initializer", tf.variables_initializer, "var_list name")
for listing in ("global_variables", "local_variables", "trainable_variables"):
    plain(listing, getattr(tf, listing), "scope")
plain("add_to_collection", tf.add_to_collection, "name value")
plain("add_to_collections", tf.add_to_collections, "names value")
plain("get_collection", tf.get_collection, "key scope")
plain("set_random_seed", tf.set_random_seed, "seed")


@handler
def get_all_collection_keys(interpreter):
    return sorted(k for k in interpreter.graph.get_all_collection_keys() if isinstance(k, str))


@handler
def get_tensor_by_name(interpreter, name):
    return interpreter.graph.get_tensor_by_name(name)


@handler
def get_operation_by_name(interpreter, name):
    return interpreter.graph.get_operation_by_name(name)


@handler
def unique_name(interpreter, name):
    return interpreter.graph.unique_name(name)


@handler
def set_shape(interpreter, tensor, shape):
    tensor.set_shape(shape)
    return tensor.get_shape()


@handler
def get_shape(interpreter, tensor):
    return tensor.get_shape()


BINARY = {"+": py.add, "-": py.sub, "*": py.mul, "/": py.truediv, "//": py.floordiv, "%": py.mod,
          "**": py.pow, "<": py.lt, "<=": py.le, ">": py.gt, ">=": py.ge}


@handler
def operator(interpreter, operator, a, b=None):
    """Returns `a operator b`, or -a without b."""
    return py.neg(a) if b is None else BINARY[operator](a, b)


@handler
def new_session(interpreter):
    """Closes the session; the next `run` opens one where variables are uninitialized."""
    if interpreter.session is not None:
        interpreter.session.close()
    interpreter.session = None


@handler
def run(interpreter, fetches, feeds=(), compare="close"):
    """`compare` is only used when values are compared; README.md, "Comparing values"."""
    if interpreter.session is None:
        # One thread per op, so that sums have a fixed order and recordings are reproducible.
        config = tf.ConfigProto(allow_soft_placement=True, device_count={"CPU": 1},
                                intra_op_parallelism_threads=1)
        # Runs the graph without rewrites; this also saves a tenth of a program's time.
        config.graph_options.rewrite_options.disable_meta_optimizer = True
        config.graph_options.optimizer_options.opt_level = tf.OptimizerOptions.L0
        interpreter.session = tf.Session(graph=interpreter.graph, config=config)
    return interpreter.session.run(list(fetches), {key: value for key, value in feeds})
