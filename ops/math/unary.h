#pragma once

#include <string>

#include "core/graph/operand.h"

namespace towerflow {

/// Elementwise functions of one tensor.
///
/// shapes   x [...] -> [...]
/// dtypes   floating; negative, abs, square, reciprocal and sign also take signed integers, square
///          uint8 too, round any integers (without adding a node). is_* give bool, logical_not
///          takes bool
/// grads    x; zero for sign; none for floor, ceil, round, rint and those that give bool: they are
///          piecewise constant
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
TOWERFLOW_UNARY(tan);
TOWERFLOW_UNARY(asin);
TOWERFLOW_UNARY(acos);
TOWERFLOW_UNARY(atan);
TOWERFLOW_UNARY(sinh);
TOWERFLOW_UNARY(cosh);
TOWERFLOW_UNARY(asinh);
TOWERFLOW_UNARY(acosh);
TOWERFLOW_UNARY(atanh);
TOWERFLOW_UNARY(erf);      ///< the Gauss error function
TOWERFLOW_UNARY(erfc);     ///< 1 - erf(x), precise for large x
TOWERFLOW_UNARY(lgamma);   ///< log |gamma(x)|
TOWERFLOW_UNARY(digamma);  ///< the derivative of lgamma; NaN at 0, -1, -2, ..
TOWERFLOW_UNARY(rint);     ///< like round, for floating dtypes only
TOWERFLOW_UNARY(sign);
TOWERFLOW_UNARY(floor);
TOWERFLOW_UNARY(ceil);
TOWERFLOW_UNARY(round);  ///< halves to the nearest even number
TOWERFLOW_UNARY(is_nan);
TOWERFLOW_UNARY(is_inf);
TOWERFLOW_UNARY(is_finite);
TOWERFLOW_UNARY(logical_not);
#undef TOWERFLOW_UNARY

}  // namespace towerflow

namespace towerflow::types {

/// Python's unary minus: adds an op Neg named "Neg". Unlike with tf::negative, slices stay slices.
///
/// The first overload is a template so that a gradient, which fits both, selects the second.
template <class = void>
Tensor operator-(const Operand& x);
Gradient operator-(const PresentGradient& x);

}  // namespace towerflow::types
