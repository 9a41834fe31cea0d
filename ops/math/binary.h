#pragma once

#include <string>

#include "core/graph/operand.h"

namespace towerflow {

/// Elementwise functions of two tensors. Shapes broadcast as in NumPy: aligned from the right, two
/// sizes must be equal, or one of them 1 or missing.
///
/// shapes   x, y that broadcast -> the broadcast shape
/// dtypes   all numbers, the same for both operands and the result; comparisons give bool
/// grads    x, y: summed over the broadcast dimensions; comparisons, logical ops and floordiv have
///          none
/// errors   ValueError: shapes that do not broadcast; TypeError: dtypes that differ or that the op
///          does not take; at run time InvalidArgumentError: integer division by zero, negative
///          integer power
/// source   tf.add, tf.subtract, ..; the operators below are Python's

struct BinaryOptions {
  std::string name{};
};

Tensor add(const Operand& x, const Operand& y, BinaryOptions options = {},
           Site site = Site::current());
Tensor subtract(const Operand& x, const Operand& y, BinaryOptions options = {},
                Site site = Site::current());
Tensor multiply(const Operand& x, const Operand& y, BinaryOptions options = {},
                Site site = Site::current());
/// Multiplies x by a scalar; of IndexedSlices, scales the values. (tf.scalar_mul)
Tensor scalar_mul(const Operand& scalar, const Operand& x, BinaryOptions options = {},
                  Site site = Site::current());
template <GradientLike T>
Gradient scalar_mul(const Operand& scalar, const T& x, BinaryOptions options = {},
                    Site site = Site::current()) {
  const Gradient gradient = PresentGradient(x, site).gradient();
  return gradient.with_values(
      scalar_mul(scalar, gradient.representative(), std::move(options), site));
}
/// x / y as real numbers: integers are cast to a floating type first. (tf.truediv)
Tensor truediv(const Operand& x, const Operand& y, BinaryOptions options = {},
               Site site = Site::current());
/// The same as `truediv`. (tf.divide)
Tensor divide(const Operand& x, const Operand& y, BinaryOptions options = {},
              Site site = Site::current());
/// Like `truediv`, but 0 where y is 0. (tf.div_no_nan)
Tensor div_no_nan(const Operand& x, const Operand& y, BinaryOptions options = {},
                  Site site = Site::current());
/// The largest integer not greater than x / y. Adds an op FloorDiv named "floordiv". (tf.floordiv)
Tensor floordiv(const Operand& x, const Operand& y, BinaryOptions options = {},
                Site site = Site::current());
/// The same, named "FloorDiv". (tf.floor_div)
Tensor floor_div(const Operand& x, const Operand& y, BinaryOptions options = {},
                 Site site = Site::current());
/// Python 2's x / y: `floordiv` of integers, `realdiv` of other numbers. (tf.div)
Tensor div(const Operand& x, const Operand& y, BinaryOptions options = {},
           Site site = Site::current());
/// x / y without a cast; the quotient of integers is truncated towards 0. (tf.realdiv)
Tensor realdiv(const Operand& x, const Operand& y, BinaryOptions options = {},
               Site site = Site::current());
/// x / y truncated towards 0, without gradient. (tf.truncatediv)
Tensor truncatediv(const Operand& x, const Operand& y, BinaryOptions options = {},
                   Site site = Site::current());
/// x - truncatediv(x, y) * y, which has the sign of x, without gradient. Takes int32, int64 and
/// floating dtypes. (tf.truncatemod)
Tensor truncatemod(const Operand& x, const Operand& y, BinaryOptions options = {},
                   Site site = Site::current());
/// x - floordiv(x, y) * y, which has the sign of y. (tf.floormod)
Tensor floormod(const Operand& x, const Operand& y, BinaryOptions options = {},
                Site site = Site::current());
inline Tensor mod(const Operand& x, const Operand& y, BinaryOptions options = {},
                  Site site = Site::current()) {
  return floormod(x, y, std::move(options), site);
}
/// The larger of x and y, NaN if either is NaN. If they are equal, x gets the gradient.
Tensor maximum(const Operand& x, const Operand& y, BinaryOptions options = {},
               Site site = Site::current());
Tensor minimum(const Operand& x, const Operand& y, BinaryOptions options = {},
               Site site = Site::current());
Tensor pow(const Operand& x, const Operand& y, BinaryOptions options = {},
           Site site = Site::current());
/// (x - y)^2
Tensor squared_difference(const Operand& x, const Operand& y, BinaryOptions options = {},
                          Site site = Site::current());

/// The angle of the point (x, y), from -pi to pi: atan(y / x) for a positive x. Floating dtypes.
Tensor atan2(const Operand& y, const Operand& x, BinaryOptions options = {},
             Site site = Site::current());
/// The derivative of order a + 1 of lgamma(x), NaN for an order that is not whole. Floating dtypes;
/// only x has a gradient. (tf.polygamma)
Tensor polygamma(const Operand& a, const Operand& x, BinaryOptions options = {},
                 Site site = Site::current());

/// Comparisons. equal and not_equal also take bools and strings.
Tensor equal(const Operand& x, const Operand& y, BinaryOptions options = {},
             Site site = Site::current());
Tensor not_equal(const Operand& x, const Operand& y, BinaryOptions options = {},
                 Site site = Site::current());
Tensor greater(const Operand& x, const Operand& y, BinaryOptions options = {},
               Site site = Site::current());
Tensor greater_equal(const Operand& x, const Operand& y, BinaryOptions options = {},
                     Site site = Site::current());
Tensor less(const Operand& x, const Operand& y, BinaryOptions options = {},
            Site site = Site::current());
Tensor less_equal(const Operand& x, const Operand& y, BinaryOptions options = {},
                  Site site = Site::current());

/// Logical operations on bools.
Tensor logical_and(const Operand& x, const Operand& y, BinaryOptions options = {},
                   Site site = Site::current());
Tensor logical_or(const Operand& x, const Operand& y, BinaryOptions options = {},
                  Site site = Site::current());
/// True where exactly one of x and y is; made of the ops of the other three. (tf.logical_xor)
Tensor logical_xor(const Operand& x, const Operand& y, BinaryOptions options = {},
                   Site site = Site::current());

}  // namespace towerflow

namespace towerflow::math {

/// x / y, but 0 where x is 0, whatever y is. Floating dtypes. (tf.math.xdivy)
Tensor xdivy(const Operand& x, const Operand& y, BinaryOptions options = {},
             Site site = Site::current());
/// x log(y), but 0 where x is 0. (tf.math.xlogy)
Tensor xlogy(const Operand& x, const Operand& y, BinaryOptions options = {},
             Site site = Site::current());
/// x log(1 + y), but 0 where x is 0. (tf.math.xlog1py)
Tensor xlog1py(const Operand& x, const Operand& y, BinaryOptions options = {},
               Site site = Site::current());

}  // namespace towerflow::math

namespace towerflow::types {

/// Python's operators: `x * 2 - b`, `1.0 / x`, `x > 0`. A number takes the dtype of the tensor it
/// is combined with. operator+ adds an AddV2 op named "add", operator/ a RealDiv named "truediv",
/// operator% a FloorMod named "mod". A product with a bool operand is bool: both operands are cast
/// to int32 first.
Tensor operator+(const Operand& x, const Operand& y);
Tensor operator-(const Operand& x, const Operand& y);
Tensor operator*(const Operand& x, const Operand& y);
Tensor operator/(const Operand& x, const Operand& y);
Tensor operator%(const Operand& x, const Operand& y);
Tensor operator>(const Operand& x, const Operand& y);
Tensor operator>=(const Operand& x, const Operand& y);
Tensor operator<(const Operand& x, const Operand& y);
Tensor operator<=(const Operand& x, const Operand& y);

/// Python's augmented assignments. They bind `x`, a tensor or a gradient, to a new tensor and leave
/// the old one unchanged.
template <class T>
concept Rebindable =
    std::same_as<T, Tensor> || std::same_as<T, Gradient> || std::same_as<T, OptionalGradient>;
template <Rebindable T>
T& operator+=(T& x, const Operand& y) {
  return x = Operand(x, y.site()) + y;
}
template <Rebindable T>
T& operator-=(T& x, const Operand& y) {
  return x = Operand(x, y.site()) - y;
}
template <Rebindable T>
T& operator*=(T& x, const Operand& y) {
  return x = Operand(x, y.site()) * y;
}
template <Rebindable T>
T& operator/=(T& x, const Operand& y) {
  return x = Operand(x, y.site()) / y;
}
template <Rebindable T>
T& operator%=(T& x, const Operand& y) {
  return x = Operand(x, y.site()) % y;
}

}  // namespace towerflow::types
