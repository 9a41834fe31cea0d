#pragma once

#include <cstdint>

#include "ops/update_rules.h"

namespace towerflow::simd {

/// How the gradients of towers are combined, element by element:
/// (((start + w0 g0) + w1 g1) + ...) / divisor, bitwise as in that many passes.
template <class T>
struct GradientSumOf {
  const T* const* gradients;
  const T* weights;  ///< one weight per tower, or null for none
  int towers;
  T start;    ///< 0, or -0 which leaves the first gradient unchanged
  T divisor;  ///< 1 for none
};
using GradientSum = GradientSumOf<float>;

/// Applies a rule to n elements of the variable and its slots, `written` in the rule's order. None
/// of them may overlap another operand unless it is exactly the same memory.
template <class Rule>
using UpdateLoop = void (*)(const Rule& rule, float* const* written, const GradientSum& gradient,
                            std::int64_t n);

template <class Rule>
struct UpdateLoopOf {
  UpdateLoop<Rule> loop;
};
template <class... Rules>
struct UpdateLoopsOf : UpdateLoopOf<Rules>... {
  template <class Rule>
  UpdateLoop<Rule> of() const {
    return static_cast<const UpdateLoopOf<Rule>*>(this)->loop;
  }
};

/// One loop for each rule of ops/update_rules.h.
using UpdateLoops =
    UpdateLoopsOf<AddRule<float>, SubtractRule<float>, MovingAverageRule<float>,
                  GradientDescentRule<float>, MomentumRule<float>, NesterovRule<float>,
                  AdamRule<float>, AdagradRule<float>, RmsPropRule<float>,
                  CenteredRmsPropRule<float>, AdadeltaRule<float>, AdagradDualAveragingRule<float>,
                  FtrlRule<float>, FtrlShrinkageRule<float>, ProximalGradientDescentRule<float>,
                  ProximalAdagradRule<float>>;

/// Computes only the sum of the gradients, as an update would see it. `out` may be one of them.
using GradientSumLoop = void (*)(const GradientSum& gradient, float* out, std::int64_t n);

}  // namespace towerflow::simd
