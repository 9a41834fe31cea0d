#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "ops/math/reduction_loops.h"
#include "ops/simd/update_loops.h"
#include "ops/variables/gradient_form_attrs.h"

namespace towerflow {

/// Largest number of towers whose gradients one op can take; sums over more are not fused.
inline constexpr std::size_t kMaxTowers = 128;

/// The scalars among the inputs of a form: weights and divisor.
template <class T>
struct FormScalars {
  FormScalars(const GradientForm& form, const void* const* inputs) {
    const auto towers = static_cast<std::size_t>(form.towers);
    const auto number = [&](std::size_t i) { return *static_cast<const T*>(inputs[i]); };
    if (form.weighted) {
      for (std::size_t i = 0; i < towers; ++i) weights[i] = number(towers + i);
    }
    divisor = form.divided ? number(form.inputs() - 1) : static_cast<T>(form.divisor);
  }
  std::array<T, kMaxTowers> weights;
  T divisor;
};

/// The sum that `form` describes, from element `begin` of `count` on.
template <class T>
class TowerInputs {
 public:
  TowerInputs(const GradientForm& form, const void* const* inputs, std::int64_t begin,
              std::int64_t count)
      : numbers_(form, inputs) {
    const auto towers = static_cast<std::size_t>(form.towers);
    for (std::size_t i = 0; i < towers; ++i) {
      gradients_[i] = static_cast<const T*>(inputs[i]) + begin;
    }
    const T* weights = form.weighted ? numbers_.weights.data() : nullptr;
    sum_ = {gradients_.data(), weights, form.towers, form.from_zero ? T(0) : -T(0),
            numbers_.divisor};
    if (form.from_zero && count == 1) sum_one_element();
  }
  TowerInputs(const TowerInputs&) = delete;
  TowerInputs& operator=(const TowerInputs&) = delete;

  const simd::GradientSumOf<T>& sum() const { return sum_; }

 private:
  /// Sums to one element in lanes, as a reduction along a row does: the order affects rounding.
  void sum_one_element() {
    std::array<T, kMaxTowers> row;
    const auto towers = static_cast<std::size_t>(sum_.towers);
    for (std::size_t i = 0; i < towers; ++i) {
      row[i] = sum_.weights != nullptr ? *gradients_[i] * sum_.weights[i] : *gradients_[i];
    }
    one_ = reductions::reduce_row<T, reductions::Sum<T>>(row.data(), sum_.towers);
    gradients_[0] = &one_;
    sum_ = {gradients_.data(), nullptr, 1, -T(0), sum_.divisor};
  }

  FormScalars<T> numbers_;
  std::array<const T*, kMaxTowers> gradients_;
  T one_ = T(0);
  simd::GradientSumOf<T> sum_;
};

/// Returns element i of a sum.
template <class T>
T sum_at(const simd::GradientSumOf<T>& sum, std::int64_t i) {
  T total = sum.start;
  for (int tower = 0; tower < sum.towers; ++tower) {
    const T gradient = sum.gradients[tower][i];
    total += sum.weights != nullptr ? gradient * sum.weights[tower] : gradient;
  }
  return total / sum.divisor;
}

}  // namespace towerflow
