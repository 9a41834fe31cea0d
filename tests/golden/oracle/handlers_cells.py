"""Recurrent cells. A state is a nested tuple; `nest_flatten` gives the list of its tensors."""

import tensorflow.compat.v1 as tf

from .handlers import OPS, handler, plain
from .handlers_keras import ACTIVATIONS


def cell(name, parameters):
    function = getattr(tf.nn.rnn_cell, name)

    def run(interpreter, **args):
        if "activation" in args:
            args["activation"] = ACTIVATIONS[args["activation"]]
        return function(**args)

    OPS[name] = (parameters.split(), run)


cell("BasicRNNCell", "num_units activation reuse name dtype")
cell("GRUCell", "num_units activation reuse kernel_initializer bias_initializer name dtype")
cell("BasicLSTMCell", "num_units forget_bias state_is_tuple activation reuse name dtype")
cell("LSTMCell",
     "num_units use_peepholes cell_clip initializer num_proj proj_clip forget_bias state_is_tuple "
     "activation reuse name dtype")
cell("MultiRNNCell", "cells state_is_tuple")
cell("DropoutWrapper", "cell input_keep_prob output_keep_prob state_keep_prob seed")
cell("ResidualWrapper", "cell")
plain("static_rnn", tf.nn.static_rnn, "cell inputs initial_state dtype scope")


@handler
def cell_call(interpreter, cell, inputs, state, scope=None):
    """Returns [output, state]."""
    return list(cell(inputs, state) if scope is None else cell(inputs, state, scope))


@handler
def zero_state(interpreter, cell, batch_size, dtype="float32"):
    return cell.zero_state(batch_size, dtype)


@handler
def nest_flatten(interpreter, structure):
    return tf.nest.flatten(structure)
