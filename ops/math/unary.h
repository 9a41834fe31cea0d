#pragma once

#include <string>

#include "core/graph/operand.h"

namespace towerflow {

/// Elementwise functions of one tensor.
///
/// shapes   x [...] -> [...]
/// dtypes   floating; negative, abs, square and sign also signed integers, round also integers
///          (where it makes no node). is_* give bool, logical_not takes bool
/// grads    x; that of sign is zero; floor, ceil, round and those that give bool have none: they
/// are
///          constant wherever they have a derivative
/// errors   TypeError: a dtype that the function does not take
/// source   tf.negative, tf.abs, ..

struct UnaryOptions {
  std::string name{};
};

#define TOWERFLOW_UNARY(function) \
  Tensor function(const Operand& x, UnaryOptions options = {}, Site site = Site::current())
TOWERFLOW_UNARY(negative);
TOWERFLOW_UNARY(abs);
TOWERFLOW_UNARY(square);
TOWERFLOW_UNARY(sqrt);
TOWERFLOW_UNARY(rsqrt);  ///< 1 / sqrt(x)
TOWERFLOW_UNARY(reciprocal);
TOWERFLOW_UNARY(exp);
TOWERFLOW_UNARY(expm1);  ///< exp(x) - 1
TOWERFLOW_UNARY(log);
TOWERFLOW_UNARY(log1p);  ///< log(1 + x)
TOWERFLOW_UNARY(sigmoid);
TOWERFLOW_UNARY(tanh);
TOWERFLOW_UNARY(sin);
TOWERFLOW_UNARY(cos);
TOWERFLOW_UNARY(sign);
TOWERFLOW_UNARY(floor);
TOWERFLOW_UNARY(ceil);
TOWERFLOW_UNARY(round);  ///< halves go to the even neighbour
TOWERFLOW_UNARY(is_nan);
TOWERFLOW_UNARY(is_inf);
TOWERFLOW_UNARY(is_finite);
TOWERFLOW_UNARY(logical_not);
#undef TOWERFLOW_UNARY

}  // namespace towerflow

namespace towerflow::types {

/// Python's unary minus: op Neg, called "Neg". Slices stay slices, unlike in tf::negative.
///
/// The first is a template so that a gradient, which both take, goes to the second.
template <class = void>
Tensor operator-(const Operand& x);
Gradient operator-(const PresentGradient& x);

}  // namespace towerflow::types
