#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <type_traits>
#include <utility>

#include "core/device/cpu/launch.h"
#include "ops/simd/loops.h"
#include "ops/variables/gradient_form.h"
#include "ops/variables/update_op.h"

/// The kernel of a rule of ops/update_rules.h, for its Apply op and for the op that averages
/// towers' gradients in the same pass over memory.
namespace towerflow {

/// The layout of an op's inputs. All begin with the variable and its slots. An Apply op has its
/// gradient among the scalars, followed by the indices if it is for rows; a fused op has the
/// gradients after all scalars.
enum class UpdateInputs { apply, apply_rows, fused };

/// Returns the index of the first gradient among the inputs.
template <class Rule>
constexpr std::size_t first_gradient(UpdateInputs layout) {
  return 1 + Rule::kSlots +
         (layout == UpdateInputs::fused ? Rule::kScalars : Rule::kScalarsBeforeGradient);
}

/// Returns the rule made from the scalars among the inputs.
template <class T, class Rule>
Rule rule_of(UpdateInputs layout, const void* const* inputs) {
  const std::size_t skip = layout == UpdateInputs::fused   ? 0
                           : layout == UpdateInputs::apply ? 1
                                                           : 2;
  std::array<T, Rule::kScalars> scalars;
  for (std::size_t i = 0; i < Rule::kScalars; ++i) {
    const std::size_t at = 1 + Rule::kSlots + i + (i < Rule::kScalarsBeforeGradient ? 0 : skip);
    if constexpr (requires { Rule::kStepScalar; }) {
      if (i == Rule::kStepScalar) {
        scalars[i] = static_cast<T>(*static_cast<const std::int64_t*>(inputs[at]));
        continue;
      }
    }
    scalars[i] = *static_cast<const T*>(inputs[at]);
  }
  return Rule(scalars.data());
}

/// Returns pointers to element `begin` of the variable and its slots, the first inputs.
template <class T, class Rule>
std::array<T*, 1 + Rule::kSlots> written_pointers(const void* const* inputs, std::int64_t begin) {
  std::array<T*, 1 + Rule::kSlots> written;
  for (std::size_t i = 0; i <= Rule::kSlots; ++i) {
    written[i] = static_cast<T*>(const_cast<void*>(inputs[i])) + begin;
  }
  return written;
}

/// Applies `rule` to n elements, where `gradient(i)` is the gradient of element i.
template <class T, class Rule, class GradientAt>
void update_each(const Rule& rule, const std::array<T*, 1 + Rule::kSlots>& written,
                 GradientAt gradient, std::int64_t n) {
  const auto run = [&]<std::size_t... kSlot>(std::index_sequence<kSlot...>) {
    for (std::int64_t i = 0; i < n; ++i) {
      rule(written[0][i], written[1 + kSlot][i]..., gradient(i));
    }
  };
  run(std::make_index_sequence<Rule::kSlots>());
}

/// Applies `rule` to elements begin .. begin + n - 1 of the variable and its slots. The gradients
/// must already point to element `begin`.
template <class T, class Rule>
void update_elements(const Rule& rule, const void* const* inputs, std::int64_t begin,
                     const simd::GradientSumOf<T>& gradient, std::int64_t n) {
  const auto written = written_pointers<T, Rule>(inputs, begin);
  if constexpr (std::is_same_v<T, float>) {
    simd::loops().update.of<Rule>()(rule, written.data(), gradient, n);
  } else {
    update_each<T>(
        rule, written, [&](std::int64_t i) { return sum_at(gradient, i); }, n);
  }
}

/// The same for a single gradient, of any type.
template <class T, class Rule>
void update_elements(const Rule& rule, const void* const* inputs, std::int64_t begin,
                     const T* gradient, std::int64_t n) {
  if constexpr (std::is_same_v<T, float>) {
    update_elements<T>(rule, inputs, begin,
                       simd::GradientSumOf<T>{&gradient, nullptr, 1, -T(0), T(1)}, n);
  } else {
    update_each<T>(
        rule, written_pointers<T, Rule>(inputs, begin), [&](std::int64_t i) { return gradient[i]; },
        n);
  }
}

template <class T, class Rule>
class UpdateKernel final : public CpuKernel {
 public:
  UpdateKernel(std::int64_t count, UpdateInputs layout, GradientForm form)
      : count_(count), layout_(layout), form_(form) {}
  int slices(int) const override { return loop_slices(count_); }

  bool may_fail() const override { return false; }
  void run(int, int slice, const void* const* inputs, void* const*, std::byte*) const override {
    const SliceRange part = slice_range(count_, loop_slices(count_), slice, 16);
    const TowerInputs<T> towers(form_, inputs + first_gradient<Rule>(layout_), part.begin, count_);
    update_elements(rule_of<T, Rule>(layout_, inputs), inputs, part.begin, towers.sum(),
                    part.size());
  }

 private:
  std::int64_t count_;
  UpdateInputs layout_;
  GradientForm form_;
};

template <template <class> class Rule>
std::unique_ptr<PreparedKernel> update_kernel(const KernelRequest& request, UpdateInputs layout,
                                              const GradientForm& form) {
  const std::int64_t count = request.inputs[0].shape.elements();
  if (request.inputs[0].dtype == DType::float32) {
    return sliced_kernel(std::make_unique<UpdateKernel<float, Rule<float>>>(count, layout, form));
  }
  return sliced_kernel(std::make_unique<UpdateKernel<double, Rule<double>>>(count, layout, form));
}

}  // namespace towerflow
