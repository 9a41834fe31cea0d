#pragma once

#include <optional>
#include <string>

#include "core/graph/operand.h"

namespace towerflow::nn {

struct LayerOptions {
  std::string name{};
};

/// x weights + biases.
///
/// shapes   x [n, k], weights [k, m], biases [m] -> [n, m]
/// dtypes   those of matmul and bias_add
/// grads    x, weights, biases
/// errors   those of matmul and bias_add
/// source   tf.nn.xw_plus_b
Tensor xw_plus_b(const Operand& x, const Operand& weights, const Operand& biases,
                 LayerOptions options = {}, Site site = Site::current());

/// relu(x weights + biases). (tf.nn.relu_layer)
Tensor relu_layer(const Operand& x, const Operand& weights, const Operand& biases,
                  LayerOptions options = {}, Site site = Site::current());

struct CReluOptions {
  std::string name{};
  int axis = -1;  ///< along which the two halves are concatenated
};

/// The positive and the negative part of `features`: relu of [features, -features].
///
/// shapes   features [.., n, ..] -> [.., 2 n, ..]     dtypes  signed numbers
/// grads    features
/// errors   ValueError: axis out of range
/// source   tf.nn.crelu
Tensor crelu(const Operand& features, CReluOptions options = {}, Site site = Site::current());

struct ZeroFractionOptions {
  std::string name{};
};

/// The fraction of elements that are zero; NaN of a tensor without elements.
///
/// shapes   value [..] -> []     dtypes  numbers -> float32
/// grads    none: the fraction is piecewise constant
/// source   tf.nn.zero_fraction
Tensor zero_fraction(const Operand& value, ZeroFractionOptions options = {},
                     Site site = Site::current());

}  // namespace towerflow::nn
