#pragma once

#include <cmath>
#include <cstddef>

namespace towerflow {

/// How the optimizers with adaptive rates change one element of a variable and its slots. Each is
/// made of the op's scalar inputs, in their order, and serves the dense and the sparse update.

/// m += (g - m)(1 - beta1); v += (g^2 - v)(1 - beta2);
/// variable -= rate * sqrt(1 - beta2^t) / (1 - beta1^t) * m / (sqrt(v) + epsilon)
/// (Kingma and Ba 2015, section 2 at its end; tf.raw_ops.ApplyAdam)
template <class T>
struct AdamRule {
  static constexpr std::size_t kSlots = 2;
  static constexpr std::size_t kScalars = 6;  // beta1^t, beta2^t, rate, beta1, beta2, epsilon
  explicit AdamRule(const T* s)
      : alpha(s[2] * std::sqrt(T(1) - s[1]) / (T(1) - s[0])),
        rest1(T(1) - s[3]),
        rest2(T(1) - s[4]),
        epsilon(s[5]) {}
  void operator()(T& variable, T& m, T& v, T gradient) const {
    m += (gradient - m) * rest1;
    v += (gradient * gradient - v) * rest2;
    variable -= (m * alpha) / (std::sqrt(v) + epsilon);
  }
  T alpha, rest1, rest2, epsilon;
};

/// accumulator += g^2; variable -= rate * g / sqrt(accumulator)
/// (Duchi, Hazan and Singer 2011; tf.raw_ops.ApplyAdagrad)
template <class T>
struct AdagradRule {
  static constexpr std::size_t kSlots = 1;
  static constexpr std::size_t kScalars = 1;  // rate
  explicit AdagradRule(const T* s) : rate(s[0]) {}
  void operator()(T& variable, T& accumulator, T gradient) const {
    accumulator += gradient * gradient;
    variable -= (gradient * rate) / std::sqrt(accumulator);
  }
  T rate;
};

/// ms += (g^2 - ms)(1 - decay); momentum = momentum * factor + rate * g / sqrt(ms + epsilon);
/// variable -= momentum  (Hinton 2012, lecture 6; tf.raw_ops.ApplyRMSProp)
template <class T>
struct RmsPropRule {
  static constexpr std::size_t kSlots = 2;
  static constexpr std::size_t kScalars = 4;  // rate, decay, factor, epsilon
  explicit RmsPropRule(const T* s) : rate(s[0]), rest(T(1) - s[1]), factor(s[2]), epsilon(s[3]) {}
  void operator()(T& variable, T& ms, T& momentum, T gradient) const {
    ms += (gradient * gradient - ms) * rest;
    momentum = momentum * factor + (gradient * rate) / std::sqrt(ms + epsilon);
    variable -= momentum;
  }
  T rate, rest, factor, epsilon;
};

/// As RMSProp, with the variance of the gradient, ms - mg^2, in place of ms.
/// (Graves 2013, equations 38 to 45; tf.raw_ops.ApplyCenteredRMSProp)
template <class T>
struct CenteredRmsPropRule {
  static constexpr std::size_t kSlots = 3;
  static constexpr std::size_t kScalars = 4;  // rate, decay, factor, epsilon
  explicit CenteredRmsPropRule(const T* s)
      : rate(s[0]), rest(T(1) - s[1]), factor(s[2]), epsilon(s[3]) {}
  void operator()(T& variable, T& mg, T& ms, T& momentum, T gradient) const {
    ms += (gradient * gradient - ms) * rest;
    mg += (gradient - mg) * rest;
    momentum = momentum * factor + (gradient * rate) / std::sqrt((ms - mg * mg) + epsilon);
    variable -= momentum;
  }
  T rate, rest, factor, epsilon;
};

}  // namespace towerflow
