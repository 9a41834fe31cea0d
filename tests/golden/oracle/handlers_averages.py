"""Moving averages, global steps and initialization."""

import tensorflow.compat.v1 as tf
from tensorflow.python.training import moving_averages

from .handlers import handler, method, plain

plain("ExponentialMovingAverage", tf.train.ExponentialMovingAverage,
      "decay num_updates zero_debias name")
method("ema_apply", "ema", "apply", "var_list")
method("ema_average", "ema", "average", "var")
method("ema_average_name", "ema", "average_name", "var")
method("ema_variables_to_restore", "ema", "variables_to_restore", "moving_avg_variables")
plain("assign_moving_average", moving_averages.assign_moving_average,
      "variable value decay zero_debias name")

plain("create_global_step", tf.train.create_global_step, "")


@handler
def assert_global_step(interpreter, global_step):
    tf.train.assert_global_step(global_step)


@handler
def global_step(interpreter, global_step):
    return tf.train.global_step(interpreter.session, global_step)


plain("is_variable_initialized", tf.is_variable_initialized, "variable")
plain("report_uninitialized_variables", tf.report_uninitialized_variables, "var_list name")
plain("assert_variables_initialized", tf.assert_variables_initialized, "var_list")
plain("initialize_variables", tf.initialize_variables, "var_list name")
plain("boolean_mask", tf.boolean_mask, "tensor mask name axis")
for listing in ("model_variables", "moving_average_variables"):
    plain(listing, getattr(tf, listing), "scope")
for older in ("all_variables", "initialize_all_variables", "initialize_local_variables"):
    plain(older, getattr(tf, older), "")
