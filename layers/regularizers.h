#pragma once

#include <functional>
#include <optional>

#include "core/graph/operand.h"

namespace towerflow::keras::regularizers {

/// Returns the loss of weights: a regularizer of layers, of get_variable, and of activities.
using Penalty = std::function<std::optional<Tensor>(const Operand& weights)>;

/// Regularizers of weights. The factors are rounded to float32, as Keras rounds them.
///
/// shapes   weights [..] -> []
/// dtypes   float32, float64
/// grads    weights
/// errors   ValueError: a factor that is infinite or NaN
/// source   tf.keras.regularizers.l1, ..

/// l1 * sum(|w|)
Penalty l1(double factor = 0.01, Site site = Site::current());
/// l2 * sum(w^2), which is twice the loss of slim::l2_regularizer
Penalty l2(double factor = 0.01, Site site = Site::current());
/// The sum of both; a factor of 0 leaves its part out.
Penalty l1_l2(double l1_factor = 0.01, double l2_factor = 0.01, Site site = Site::current());

}  // namespace towerflow::keras::regularizers
