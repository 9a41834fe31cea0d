#pragma once

#include <cmath>
#include <cstddef>
#include <type_traits>

#include "core/device/host_device.h"

/// Always inlined, so that each instruction set compiles its own copy.
#define TOWERFLOW_RULE [[gnu::always_inline]] TOWERFLOW_HOST_DEVICE

namespace towerflow {

/// How an optimizer updates one element of a variable and its slots, given its gradient. The same
/// rule serves the dense update, the fused average-and-update of towers, and sparse rows, in scalar
/// code and in the loops of each instruction set; square roots and quotients are correctly rounded,
/// so that all give the same bits. A rule is constructed from the op's scalar inputs, in order.
///
/// kSlots           number of slots besides the variable
/// kScalars         number of scalar inputs of the op
/// kScalarsBeforeGradient  number of scalar inputs before the op's gradient
/// kStepScalar      index of the scalar that is an int64, the step count, if there is one

TOWERFLOW_RULE inline float square_root(float x) { return __builtin_sqrtf(x); }
TOWERFLOW_RULE inline double square_root(double x) { return __builtin_sqrt(x); }
TOWERFLOW_RULE inline float power_of(float x, float y) { return __builtin_powf(x, y); }
TOWERFLOW_RULE inline double power_of(double x, double y) { return __builtin_pow(x, y); }
TOWERFLOW_RULE inline float magnitude_of(float x) { return __builtin_fabsf(x); }
TOWERFLOW_RULE inline double magnitude_of(double x) { return __builtin_fabs(x); }

/// Returns x moved towards zero by `threshold`, or 0 if that would change its sign; NaN for NaN.
template <class T>
TOWERFLOW_RULE inline T shrink(T x, T threshold) {
  const T left = magnitude_of(x) - threshold;
  const T kept = left > T(0) ? left : T(0);
  return x > T(0) ? kept : x < T(0) ? -kept : x;
}

/// variable += value; integers wrap  (tf.raw_ops.AssignAdd, tf.raw_ops.ScatterAdd)
template <class T>
struct AddRule {
  static constexpr std::size_t kSlots = 0;
  static constexpr std::size_t kScalars = 0;
  static constexpr std::size_t kScalarsBeforeGradient = 0;
  TOWERFLOW_RULE explicit AddRule(const T*) {}
  TOWERFLOW_RULE void operator()(T& variable, T value) const {
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
  TOWERFLOW_RULE explicit SubtractRule(const T*) {}
  TOWERFLOW_RULE void operator()(T& variable, T value) const {
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
  TOWERFLOW_RULE explicit MovingAverageRule(const T* s) : rest(s[0]) {}
  TOWERFLOW_RULE void operator()(T& variable, T value) const {
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
  TOWERFLOW_RULE explicit GradientDescentRule(const T* s) : rate(s[0]) {}
  TOWERFLOW_RULE void operator()(T& variable, T gradient) const { variable -= rate * gradient; }
  T rate;
};

/// slot = momentum * slot + gradient; variable -= rate * slot  (tf.raw_ops.ApplyMomentum)
template <class T>
struct MomentumRule {
  static constexpr std::size_t kSlots = 1;
  static constexpr std::size_t kScalars = 2;  // rate, momentum
  static constexpr std::size_t kScalarsBeforeGradient = 1;
  TOWERFLOW_RULE explicit MomentumRule(const T* s) : rate(s[0]), momentum(s[1]) {}
  TOWERFLOW_RULE void operator()(T& variable, T& slot, T gradient) const {
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
  TOWERFLOW_RULE explicit NesterovRule(const T* s) : rate(s[0]), momentum(s[1]) {}
  TOWERFLOW_RULE void operator()(T& variable, T& slot, T gradient) const {
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
  TOWERFLOW_RULE explicit AdamRule(const T* s)
      : alpha(s[2] * std::sqrt(T(1) - s[1]) / (T(1) - s[0])),
        rest1(T(1) - s[3]),
        rest2(T(1) - s[4]),
        epsilon(s[5]) {}
  TOWERFLOW_RULE void operator()(T& variable, T& m, T& v, T gradient) const {
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
  TOWERFLOW_RULE explicit AdagradRule(const T* s) : rate(s[0]) {}
  TOWERFLOW_RULE void operator()(T& variable, T& accumulator, T gradient) const {
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
  TOWERFLOW_RULE explicit RmsPropRule(const T* s)
      : rate(s[0]), rest(T(1) - s[1]), factor(s[2]), epsilon(s[3]) {}
  TOWERFLOW_RULE void operator()(T& variable, T& ms, T& momentum, T gradient) const {
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
  TOWERFLOW_RULE explicit CenteredRmsPropRule(const T* s)
      : rate(s[0]), rest(T(1) - s[1]), factor(s[2]), epsilon(s[3]) {}
  TOWERFLOW_RULE void operator()(T& variable, T& mg, T& ms, T& momentum, T gradient) const {
    ms += (gradient * gradient - ms) * rest;
    mg += (gradient - mg) * rest;
    momentum = momentum * factor + (gradient * rate) / square_root((ms - mg * mg) + epsilon);
    variable -= momentum;
  }
  T rate, rest, factor, epsilon;
};

/// accumulator += (g^2 - accumulator)(1 - decay); step = g * sqrt(sum of steps + epsilon) /
/// sqrt(accumulator + epsilon); variable -= rate * step; the sum of steps decays like the
/// accumulator  (Zeiler 2012; tf.raw_ops.ApplyAdadelta)
template <class T>
struct AdadeltaRule {
  static constexpr std::size_t kSlots = 2;
  static constexpr std::size_t kScalars = 3;  // rate, decay, epsilon
  static constexpr std::size_t kScalarsBeforeGradient = kScalars;
  TOWERFLOW_RULE explicit AdadeltaRule(const T* s)
      : rate(s[0]), decay(s[1]), rest(T(1) - s[1]), epsilon(s[2]) {}
  TOWERFLOW_RULE void operator()(T& variable, T& accumulator, T& steps, T gradient) const {
    accumulator = accumulator * decay + gradient * gradient * rest;
    const T step = square_root(steps + epsilon) / square_root(accumulator + epsilon) * gradient;
    variable -= step * rate;
    steps = steps * decay + step * step * rest;
  }
  T rate, decay, rest, epsilon;
};

/// sum += g; squares += g^2;
/// variable = -rate * shrink(sum, l1 * step) / (l2 * step * rate + sqrt(squares))
/// (Duchi, Hazan and Singer 2011, dual averaging; tf.raw_ops.ApplyAdagradDA)
template <class T>
struct AdagradDualAveragingRule {
  static constexpr std::size_t kSlots = 2;
  static constexpr std::size_t kScalars = 4;  // rate, l1, l2, step
  static constexpr std::size_t kScalarsBeforeGradient = 0;
  static constexpr std::size_t kStepScalar = 3;
  TOWERFLOW_RULE explicit AdagradDualAveragingRule(const T* s)
      : rate(s[0]), threshold(s[1] > T(0) ? s[1] * s[3] : T(0)), shift(s[2] * s[3] * s[0]) {}
  TOWERFLOW_RULE void operator()(T& variable, T& sum, T& squares, T gradient) const {
    sum += gradient;
    squares += gradient * gradient;
    variable = -rate * shrink(sum, threshold) / (shift + square_root(squares));
  }
  T rate, threshold, shift;
};

/// The update of Ftrl with any power, or only with -1/2, whose loops use vector instructions.
template <class T, bool kRoot>
struct FtrlFormula {
  static constexpr std::size_t kSlots = 2;
  TOWERFLOW_RULE void operator()(T& variable, T& squares, T& linear, T gradient) const {
    update(variable, squares, linear, gradient, gradient);
  }
  /// Uses `shrunk`, which may contain a penalty of the variable, in the linear term only.
  TOWERFLOW_RULE void update(T& variable, T& squares, T& linear, T gradient, T shrunk) const {
    const T sum = squares + gradient * gradient;
    const T now = raised(sum), before = raised(squares);
    linear += shrunk - (now - before) / rate * variable;
    // Also zero where the linear term is not a number, as with a rate of zero.
    const T moved = (T(0) - shrink(linear, l1)) / (now / rate + twice_l2);
    variable = magnitude_of(linear) > l1 ? moved : T(0);
    squares = sum;
  }
  TOWERFLOW_RULE T raised(T x) const {
    if constexpr (kRoot) return square_root(x);
    return exponent == T(0.5) ? square_root(x) : power_of(x, exponent);
  }
  FtrlFormula<T, true> of_root() const { return {rate, l1, twice_l2, exponent}; }
  T rate, l1, twice_l2, exponent;
};

/// squares' = squares + g^2; linear += g - (squares'^-power - squares^-power) / rate * variable;
/// variable = -shrink(linear, l1) / (squares'^-power / rate + 2 l2)
/// (McMahan et al. 2013, algorithm 1; tf.raw_ops.ApplyFtrl)
template <class T>
struct FtrlRule : FtrlFormula<T, false> {
  static constexpr std::size_t kScalars = 4;  // rate, l1, l2, power
  static constexpr std::size_t kScalarsBeforeGradient = 0;
  TOWERFLOW_RULE explicit FtrlRule(const T* s)
      : FtrlFormula<T, false>{s[0], s[1], T(2) * s[2], -s[3]} {}
  /// Returns whether `faster` computes the same.
  bool has_faster() const { return this->exponent == T(0.5); }
  FtrlFormula<T, true> faster() const { return this->of_root(); }
};

/// The update of Ftrl with shrinkage.
template <class T, bool kRoot>
struct FtrlShrinkageFormula {
  static constexpr std::size_t kSlots = 2;
  TOWERFLOW_RULE void operator()(T& variable, T& squares, T& linear, T gradient) const {
    ftrl.update(variable, squares, linear, gradient, gradient + twice_shrinkage * variable);
  }
  FtrlFormula<T, kRoot> ftrl;
  T twice_shrinkage;
};

/// As Ftrl, with g + 2 * shrinkage * variable in the linear term.  (tf.raw_ops.ApplyFtrlV2)
template <class T>
struct FtrlShrinkageRule : FtrlShrinkageFormula<T, false> {
  static constexpr std::size_t kScalars = 5;  // rate, l1, l2, shrinkage, power
  static constexpr std::size_t kScalarsBeforeGradient = 0;
  TOWERFLOW_RULE explicit FtrlShrinkageRule(const T* s)
      : FtrlShrinkageFormula<T, false>{{s[0], s[1], T(2) * s[2], -s[4]}, T(2) * s[3]} {}
  bool has_faster() const { return this->ftrl.exponent == T(0.5); }
  FtrlShrinkageFormula<T, true> faster() const {
    return {this->ftrl.of_root(), this->twice_shrinkage};
  }
};

/// variable = shrink(variable - rate * g, rate * l1) / (1 + rate * l2)
/// (Duchi and Singer 2009; tf.raw_ops.ApplyProximalGradientDescent)
template <class T>
struct ProximalGradientDescentRule {
  static constexpr std::size_t kSlots = 0;
  static constexpr std::size_t kScalars = 3;  // rate, l1, l2
  static constexpr std::size_t kScalarsBeforeGradient = kScalars;
  TOWERFLOW_RULE explicit ProximalGradientDescentRule(const T* s)
      : rate(s[0]), threshold(s[1] > T(0) ? s[0] * s[1] : T(0)), divisor(T(1) + s[2] * s[0]) {}
  TOWERFLOW_RULE void operator()(T& variable, T gradient) const {
    variable = shrink(variable - gradient * rate, threshold) / divisor;
  }
  T rate, threshold, divisor;
};

/// The same with the rate of Adagrad: accumulator += g^2; rate' = rate / sqrt(accumulator)
/// (tf.raw_ops.ApplyProximalAdagrad)
template <class T>
struct ProximalAdagradRule {
  static constexpr std::size_t kSlots = 1;
  static constexpr std::size_t kScalars = 3;  // rate, l1, l2
  static constexpr std::size_t kScalarsBeforeGradient = kScalars;
  TOWERFLOW_RULE explicit ProximalAdagradRule(const T* s)
      : rate(s[0]), l1(s[1] > T(0) ? s[1] : T(0)), l2(s[2]) {}
  TOWERFLOW_RULE void operator()(T& variable, T& accumulator, T gradient) const {
    accumulator += gradient * gradient;
    const T now = rate / square_root(accumulator);
    variable = shrink(variable - gradient * now, now * l1) / (T(1) + l2 * now);
  }
  T rate, l1, l2;
};

}  // namespace towerflow

#undef TOWERFLOW_RULE
