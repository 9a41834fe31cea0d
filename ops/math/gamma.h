#pragma once

namespace towerflow::special {

/// The derivative of log |gamma(x)|; NaN at 0 and the negative integers.
double digamma(double x);

/// The Hurwitz zeta function: the sum of (q + k)^-x over k >= 0. As in TensorFlow, infinity for x =
/// 1 and at the poles of an even power, NaN for x < 1 and where the power of a negative q has no
/// real value.
double hurwitz_zeta(double x, double q);

/// The derivative of order n + 1 of log gamma(x): digamma(x) for n = 0, NaN for an n that is
/// negative or not whole.
double polygamma(double n, double x);

}  // namespace towerflow::special
