#pragma once

#include <cstddef>
#include <cstdint>

#include "core/graph/attr_fields.h"

namespace towerflow {

/// How an op combines the gradients of several towers into one. Its inputs are the gradients, then
/// the weights of a weighted sum (scalars), then the divisor if that is an input.
struct GradientForm {
  int towers = 1;
  bool from_zero = false;     ///< the sum starts from zero, as in a reduction but not in AddN
  bool weighted = false;      ///< each gradient is multiplied by its weight first
  bool divided = false;       ///< the divisor is an input
  std::int64_t divisor = 1;   ///< used unless the divisor is an input
  bool use_nesterov = false;  ///< of the fused Apply op
  static constexpr auto fields =
      std::tuple{attr::field("towers", &GradientForm::towers),
                 attr::field("from_zero", &GradientForm::from_zero),
                 attr::field("weighted", &GradientForm::weighted),
                 attr::field("divided", &GradientForm::divided),
                 attr::field("divisor", &GradientForm::divisor),
                 attr::field("use_nesterov", &GradientForm::use_nesterov)};

  std::size_t inputs() const {
    const auto count = static_cast<std::size_t>(towers);
    return count + (weighted ? count : 0) + (divided ? 1 : 0);
  }
};

}  // namespace towerflow
