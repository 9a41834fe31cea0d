#pragma once

#include <cmath>
#include <cstddef>
#include <type_traits>

namespace towerflow {

/// How an optimizer updates one element of a variable and its slots, given its gradient. The same
/// rule serves the dense update, the fused average-and-update of towers, and sparse rows, in scalar
/// code and in the loops of each instruction set; square roots and quotients are correctly rounded,
/// so that all give the same bits. A rule is constructed from the op's scalar inputs, in order.
///
/// kSlots           number of slots besides the variable
/// kScalars         number of scalar inputs of the op
/// kScalarsBeforeGradient  number of scalar inputs before the op's gradient

/// Always inlined, so that each instruction set compiles its own copy.
[[gnu::always_inline]] inline float square_root(float x) { return __builtin_sqrtf(x); }
[[gnu::always_inline]] inline double square_root(double x) { return __builtin_sqrt(x); }

/// variable += value; integers wrap  (tf.raw_ops.AssignAdd, tf.raw_ops.ScatterAdd)
template <class T>
struct AddRule {
  static constexpr std::size_t kSlots = 0;
  static constexpr std::size_t kScalars = 0;
  static constexpr std::size_t kScalarsBeforeGradient = 0;
  explicit AddRule(const T*) {}
  [[gnu::always_inline]] void operator()(T& variable, T value) const {
    if constexpr (std::is_integral_v<T>) {
      static_cast<void>(__builtin_add_overflow(variable, value, &variable));
    } else {
      variable += value;
    }
  }
};

/// variable -= value; integers wrap  (tf.raw_ops.AssignSub, tf.raw_ops.ScatterSub)
template <class T>
struct SubtractRule {
  static constexpr std::size_t kSlots = 0;
  static constexpr std::size_t kScalars = 0;
  static constexpr std::size_t kScalarsBeforeGradient = 0;
  explicit SubtractRule(const T*) {}
  [[gnu::always_inline]] void operator()(T& variable, T value) const {
    if constexpr (std::is_integral_v<T>) {
      static_cast<void>(__builtin_sub_overflow(variable, value, &variable));
    } else {
      variable -= value;
    }
  }
};

/// variable -= rest * (variable - value), rest = 1 - decay: an exponential moving average
/// (moving_averages.assign_moving_average)
template <class T>
struct MovingAverageRule {
  static constexpr std::size_t kSlots = 0;
  static constexpr std::size_t kScalars = 1;
  static constexpr std::size_t kScalarsBeforeGradient = 1;
  explicit MovingAverageRule(const T* s) : rest(s[0]) {}
  [[gnu::always_inline]] void operator()(T& variable, T value) const {
    variable -= (variable - value) * rest;
  }
  T rest;
};

/// variable -= rate * gradient  (tf.raw_ops.ApplyGradientDescent)
template <class T>
struct GradientDescentRule {
  static constexpr std::size_t kSlots = 0;
  static constexpr std::size_t kScalars = 1;
  static constexpr std::size_t kScalarsBeforeGradient = 1;
  explicit GradientDescentRule(const T* s) : rate(s[0]) {}
  [[gnu::always_inline]] void operator()(T& variable, T gradient) const {
    variable -= rate * gradient;
  }
  T rate;
};

/// slot = momentum * slot + gradient; variable -= rate * slot  (tf.raw_ops.ApplyMomentum)
template <class T>
struct MomentumRule {
  static constexpr std::size_t kSlots = 1;
  static constexpr std::size_t kScalars = 2;  // rate, momentum
  static constexpr std::size_t kScalarsBeforeGradient = 1;
  explicit MomentumRule(const T* s) : rate(s[0]), momentum(s[1]) {}
  [[gnu::always_inline]] void operator()(T& variable, T& slot, T gradient) const {
    slot = slot * momentum + gradient;
    variable -= slot * rate;
  }
  T rate, momentum;
};

/// As Momentum, with Nesterov's look-ahead: variable -= rate * gradient + rate * momentum * slot
template <class T>
struct NesterovRule {
  static constexpr std::size_t kSlots = 1;
  static constexpr std::size_t kScalars = 2;  // rate, momentum
  static constexpr std::size_t kScalarsBeforeGradient = 1;
  explicit NesterovRule(const T* s) : rate(s[0]), momentum(s[1]) {}
  [[gnu::always_inline]] void operator()(T& variable, T& slot, T gradient) const {
    slot = slot * momentum + gradient;
    variable -= gradient * rate + slot * momentum * rate;
  }
  T rate, momentum;
};

/// m += (g - m)(1 - beta1); v += (g^2 - v)(1 - beta2);
/// variable -= rate * sqrt(1 - beta2^t) / (1 - beta1^t) * m / (sqrt(v) + epsilon)
/// (Kingma and Ba 2015, end of section 2; tf.raw_ops.ApplyAdam)
template <class T>
struct AdamRule {
  static constexpr std::size_t kSlots = 2;
  static constexpr std::size_t kScalars = 6;  // beta1^t, beta2^t, rate, beta1, beta2, epsilon
  static constexpr std::size_t kScalarsBeforeGradient = kScalars;
  explicit AdamRule(const T* s)
      : alpha(s[2] * std::sqrt(T(1) - s[1]) / (T(1) - s[0])),
        rest1(T(1) - s[3]),
        rest2(T(1) - s[4]),
        epsilon(s[5]) {}
  [[gnu::always_inline]] void operator()(T& variable, T& m, T& v, T gradient) const {
    m += (gradient - m) * rest1;
    v += (gradient * gradient - v) * rest2;
    variable -= (m * alpha) / (square_root(v) + epsilon);
  }
  T alpha, rest1, rest2, epsilon;
};

/// accumulator += g^2; variable -= rate * g / sqrt(accumulator)
/// (Duchi, Hazan and Singer 2011; tf.raw_ops.ApplyAdagrad)
template <class T>
struct AdagradRule {
  static constexpr std::size_t kSlots = 1;
  static constexpr std::size_t kScalars = 1;  // rate
  static constexpr std::size_t kScalarsBeforeGradient = kScalars;
  explicit AdagradRule(const T* s) : rate(s[0]) {}
  [[gnu::always_inline]] void operator()(T& variable, T& accumulator, T gradient) const {
    accumulator += gradient * gradient;
    variable -= (gradient * rate) / square_root(accumulator);
  }
  T rate;
};

/// ms += (g^2 - ms)(1 - decay); momentum = momentum * factor + rate * g / sqrt(ms + epsilon);
/// variable -= momentum  (Hinton 2012, lecture 6; tf.raw_ops.ApplyRMSProp)
template <class T>
struct RmsPropRule {
  static constexpr std::size_t kSlots = 2;
  static constexpr std::size_t kScalars = 4;  // rate, decay, factor, epsilon
  static constexpr std::size_t kScalarsBeforeGradient = kScalars;
  explicit RmsPropRule(const T* s) : rate(s[0]), rest(T(1) - s[1]), factor(s[2]), epsilon(s[3]) {}
  [[gnu::always_inline]] void operator()(T& variable, T& ms, T& momentum, T gradient) const {
    ms += (gradient * gradient - ms) * rest;
    momentum = momentum * factor + (gradient * rate) / square_root(ms + epsilon);
    variable -= momentum;
  }
  T rate, rest, factor, epsilon;
};

/// As RMSProp, with the variance of the gradient, ms - mg^2, instead of ms.
/// (Graves 2013, equations 38 to 45; tf.raw_ops.ApplyCenteredRMSProp)
template <class T>
struct CenteredRmsPropRule {
  static constexpr std::size_t kSlots = 3;
  static constexpr std::size_t kScalars = 4;  // rate, decay, factor, epsilon
  static constexpr std::size_t kScalarsBeforeGradient = kScalars;
  explicit CenteredRmsPropRule(const T* s)
      : rate(s[0]), rest(T(1) - s[1]), factor(s[2]), epsilon(s[3]) {}
  [[gnu::always_inline]] void operator()(T& variable, T& mg, T& ms, T& momentum, T gradient) const {
    ms += (gradient * gradient - ms) * rest;
    mg += (gradient - mg) * rest;
    momentum = momentum * factor + (gradient * rate) / square_root((ms - mg * mg) + epsilon);
    variable -= momentum;
  }
  T rate, rest, factor, epsilon;
};

}  // namespace towerflow
