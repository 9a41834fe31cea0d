"""Optimizers."""

import tensorflow.compat.v1 as tf

from .handlers import method, plain

plain("GradientDescentOptimizer", tf.train.GradientDescentOptimizer,
      "learning_rate use_locking name")
plain("MomentumOptimizer", tf.train.MomentumOptimizer,
      "learning_rate momentum use_locking name use_nesterov")
plain("AdamOptimizer", tf.train.AdamOptimizer,
      "learning_rate beta1 beta2 epsilon use_locking name")
plain("RMSPropOptimizer", tf.train.RMSPropOptimizer,
      "learning_rate decay momentum epsilon use_locking centered name")
plain("AdagradOptimizer", tf.train.AdagradOptimizer,
      "learning_rate initial_accumulator_value use_locking name")
plain("AdadeltaOptimizer", tf.train.AdadeltaOptimizer,
      "learning_rate rho epsilon use_locking name")
plain("AdagradDAOptimizer", tf.train.AdagradDAOptimizer,
      "learning_rate global_step initial_gradient_squared_accumulator_value "
      "l1_regularization_strength l2_regularization_strength use_locking name")
plain("FtrlOptimizer", tf.train.FtrlOptimizer,
      "learning_rate learning_rate_power initial_accumulator_value l1_regularization_strength "
      "l2_regularization_strength use_locking name accum_name linear_name "
      "l2_shrinkage_regularization_strength beta")
plain("ProximalAdagradOptimizer", tf.train.ProximalAdagradOptimizer,
      "learning_rate initial_accumulator_value l1_regularization_strength "
      "l2_regularization_strength use_locking name")
plain("ProximalGradientDescentOptimizer", tf.train.ProximalGradientDescentOptimizer,
      "learning_rate l1_regularization_strength l2_regularization_strength use_locking name")
method("compute_gradients", "optimizer", "compute_gradients",
       "loss var_list gate_gradients aggregation_method colocate_gradients_with_ops grad_loss")
method("apply_gradients", "optimizer", "apply_gradients", "grads_and_vars global_step name")
method("minimize", "optimizer", "minimize",
       "loss global_step var_list gate_gradients aggregation_method colocate_gradients_with_ops "
       "name grad_loss")
method("get_slot", "optimizer", "get_slot", "var name")
method("get_slot_names", "optimizer", "get_slot_names", "")
method("optimizer_variables", "optimizer", "variables", "")
plain("get_or_create_global_step", tf.train.get_or_create_global_step, "")
plain("get_global_step", tf.train.get_global_step, "")
