#pragma once

#include <string>

#include "core/graph/operand.h"
#include "ops/operand_list.h"

namespace towerflow::train {

/// Learning rates that decay with the number of steps.
///
/// shapes   all [] -> []
/// dtypes   that of learning_rate, to which the others are cast
/// grads    those of the ops they consist of
/// source   tf.train.exponential_decay, ..

struct DecayOptions {
  bool staircase = false;  ///< decays only at multiples of `decay_steps`
  std::string name{};
};

/// learning_rate * decay_rate ^ (global_step / decay_steps)
Tensor exponential_decay(const Operand& learning_rate, const Operand& global_step,
                         const Operand& decay_steps, const Operand& decay_rate,
                         DecayOptions options = {}, Site site = Site::current());

/// learning_rate * e ^ (-decay_rate * global_step / decay_steps)
Tensor natural_exp_decay(const Operand& learning_rate, const Operand& global_step,
                         const Operand& decay_steps, const Operand& decay_rate,
                         DecayOptions options = {}, Site site = Site::current());

/// learning_rate / (1 + decay_rate * global_step / decay_steps)
Tensor inverse_time_decay(const Operand& learning_rate, const Operand& global_step,
                          const Operand& decay_steps, const Operand& decay_rate,
                          DecayOptions options = {}, Site site = Site::current());

struct PolynomialDecayOptions {
  Operand end_learning_rate = 0.0001;
  Operand power = 1.0;
  bool cycle = false;  ///< extends the decay to the next multiple of `decay_steps`
  std::string name{};
};

/// Decays from learning_rate to end_learning_rate over decay_steps, then stays constant:
/// (learning_rate - end) * (1 - global_step / decay_steps) ^ power + end
Tensor polynomial_decay(const Operand& learning_rate, const Operand& global_step,
                        const Operand& decay_steps, PolynomialDecayOptions options = {},
                        Site site = Site::current());

struct CosineDecayOptions {
  double alpha = 0.0;  ///< final value, as a fraction of learning_rate
  std::string name{};
};

/// learning_rate * ((1 - alpha) * (1 + cos(pi * global_step / decay_steps)) / 2 + alpha);
/// constant from decay_steps on.
Tensor cosine_decay(const Operand& learning_rate, const Operand& global_step,
                    const Operand& decay_steps, CosineDecayOptions options = {},
                    Site site = Site::current());

struct CosineDecayRestartsOptions {
  Operand t_mul = 2.0;  ///< factor by which each period is longer than the one before
  Operand m_mul = 1.0;  ///< factor by which each period begins lower than the one before
  Operand alpha = 0.0;  ///< lowest value, as a fraction of learning_rate
  std::string name{};
};

/// Cosine decay that starts again after first_decay_steps, then after t_mul times as many, and so
/// on (Loshchilov and Hutter 2016).
Tensor cosine_decay_restarts(const Operand& learning_rate, const Operand& global_step,
                             const Operand& first_decay_steps,
                             CosineDecayRestartsOptions options = {}, Site site = Site::current());

struct LinearCosineDecayOptions {
  Operand num_periods = 0.5;  ///< number of periods of the cosine
  Operand alpha = 0.0;        ///< added to the linear part
  Operand beta = 0.001;       ///< added to the product
  std::string name{};
};

/// With x = global_step / decay_steps, at most 1:
/// learning_rate * ((alpha + 1 - x) * (1 + cos(2 pi num_periods x)) / 2 + beta)
Tensor linear_cosine_decay(const Operand& learning_rate, const Operand& global_step,
                           const Operand& decay_steps, LinearCosineDecayOptions options = {},
                           Site site = Site::current());

struct NoisyLinearCosineDecayOptions {
  Operand initial_variance = 1.0;
  Operand variance_decay = 0.55;
  Operand num_periods = 0.5;  ///< number of periods of the cosine
  Operand alpha = 0.0;        ///< added to the linear part
  Operand beta = 0.001;       ///< added to the product
  std::string name{};
};

/// As linear_cosine_decay, with normal noise of variance
/// initial_variance / (1 + global_step) ^ variance_decay in the linear part. The noise is float32,
/// so learning_rate must be too.
Tensor noisy_linear_cosine_decay(const Operand& learning_rate, const Operand& global_step,
                                 const Operand& decay_steps,
                                 NoisyLinearCosineDecayOptions options = {},
                                 Site site = Site::current());

struct PiecewiseConstantOptions {
  std::string name{};
};

/// Returns values[0] if x <= boundaries[0], values[i] if boundaries[i-1] < x <= boundaries[i], and
/// the last value above the last boundary. The boundaries must increase.
///
/// shapes   x and boundaries []; values any, where they differ the result is unknown
/// dtypes   boundaries that of x (int32 ones are cast to int64); values any, all the same
/// grads    values
/// errors   ValueError: not exactly one more value than boundaries, no boundaries, dtypes that
///          differ; at run time InvalidArgumentError: x is in several pieces
/// source   tf.train.piecewise_constant
Tensor piecewise_constant(const Operand& x, const OperandList& boundaries,
                          const OperandList& values, PiecewiseConstantOptions options = {},
                          Site site = Site::current());

}  // namespace towerflow::train
