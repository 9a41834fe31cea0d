"""Conditionals, loops and TensorArrays. A function is a {"function": ...} argument."""

import tensorflow.compat.v1 as tf

from .handlers import handler, method, plain

plain("cond", tf.cond, "pred true_fn false_fn name")
for name in ("scan", "foldl", "foldr"):
    plain(name, getattr(tf, name), "fn elems initializer parallel_iterations back_prop swap_memory "
          + ("infer_shape reverse name" if name == "scan" else "name"))


@handler
def while_loop(interpreter, cond, body, loop_vars, shape_invariants=None, parallel_iterations=10,
               back_prop=True, swap_memory=False, name=None, maximum_iterations=None):
    """`shape_invariants` is a list of shapes."""
    shapes = shape_invariants and [tf.TensorShape(shape) for shape in shape_invariants]
    return tf.while_loop(cond, body, loop_vars, shapes, parallel_iterations, back_prop, swap_memory,
                         name, maximum_iterations)


@handler
def case(interpreter, pairs, default=None, exclusive=False, name="case"):
    """`pairs` is a list of [predicate, function]."""
    return tf.case([(pred, function) for pred, function in pairs], default, exclusive=exclusive,
                   name=name)


@handler
def map_fn(interpreter, fn, elems, dtypes=None, parallel_iterations=None, back_prop=True,
           infer_shape=True, name=None):
    """`dtypes` is the dtype of the result or a list, in the structure of the results."""
    one = isinstance(dtypes, str)
    dtype = tf.as_dtype(dtypes) if one else dtypes and [tf.as_dtype(d) for d in dtypes]
    return tf.map_fn(fn, elems, dtype, parallel_iterations, back_prop, infer_shape=infer_shape,
                     name=name)


plain("TensorArray", tf.TensorArray,
      "dtype size dynamic_size clear_after_read tensor_array_name infer_shape element_shape "
      "colocate_with_first_write_call name")
for name, parameters in {
        "write": "index value name", "read": "index name", "stack": "name", "gather":
        "indices name", "concat": "name", "unstack": "value name", "scatter": "indices value name",
        "split": "value lengths name", "size": "name", "close": "name", "identity": "",
        "grad": "source flow name"}.items():
    method("array_" + name, "array", name, parameters)


@handler
def array_flow(interpreter, array):
    return array.flow
