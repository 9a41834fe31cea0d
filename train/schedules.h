#pragma once

#include <string>

#include "core/graph/operand.h"

namespace towerflow::train {

struct ExponentialDecayOptions {
  bool staircase = false;  ///< whole numbers of `decay_steps` only
  std::string name{};
};

/// learning_rate * decay_rate ^ (global_step / decay_steps)
///
/// shapes   all [] -> []
/// dtypes   that of learning_rate, to which the others are cast
/// grads    of the ops it is made of
/// source   tf.train.exponential_decay
Tensor exponential_decay(const Operand& learning_rate, const Operand& global_step,
                         const Operand& decay_steps, const Operand& decay_rate,
                         ExponentialDecayOptions options = {}, Site site = Site::current());

}  // namespace towerflow::train
