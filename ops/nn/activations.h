#pragma once

#include <string>

#include "core/graph/operand.h"
#include "ops/math/unary.h"

namespace towerflow::nn {

struct ActivationOptions {
  std::string name{};
};

/// Elementwise activation functions.
///
/// shapes   features [...] -> [...]
/// dtypes   floating; relu6 all real numbers
/// grads    features: dy times the slope; where two pieces meet, the slope of relu6 is 0, that of
///          leaky_relu alpha
/// errors   TypeError: another dtype
/// source   tf.nn.elu, ..

/// exp(x) - 1 below zero, x above.
Tensor elu(const Operand& features, ActivationOptions options = {}, Site site = Site::current());
/// 1.0507 * x above zero, 1.0507 * 1.67326 * (exp(x) - 1) below, which keeps the mean of layers at
/// 0 and their variance at 1. (Klambauer et al. 2017)
Tensor selu(const Operand& features, ActivationOptions options = {}, Site site = Site::current());
/// log(exp(x) + 1), without overflow.
Tensor softplus(const Operand& features, ActivationOptions options = {},
                Site site = Site::current());
/// x / (|x| + 1)
Tensor softsign(const Operand& features, ActivationOptions options = {},
                Site site = Site::current());
/// min(max(x, 0), 6)
Tensor relu6(const Operand& features, ActivationOptions options = {}, Site site = Site::current());

struct LeakyReluOptions {
  ByName by_name = ByName();
  std::string name{};
};

/// x above zero, alpha * x below. Integers are cast to float32 first.
Tensor leaky_relu(const Operand& features, float alpha = 0.2F, LeakyReluOptions options = {},
                  Site site = Site::current());
inline Tensor leaky_relu(const Operand& features, LeakyReluOptions options,
                         Site site = Site::current()) {
  return leaky_relu(features, 0.2F, std::move(options), site);
}

/// tf.nn.sigmoid and tf.nn.tanh
using towerflow::sigmoid;
using towerflow::tanh;

}  // namespace towerflow::nn
