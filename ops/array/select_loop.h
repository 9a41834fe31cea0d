#pragma once

#include <cstdint>
#include <type_traits>

#include "ops/math/broadcast_loop.h"
#include "ops/simd/loops.h"

namespace towerflow {

/// Distances between consecutive elements of the condition and of the two values.
struct SelectStrides {
  std::int64_t condition = 1, x = 1, y = 1;
};

/// out[i] = condition[i] ? x[i] : y[i].
template <class T>
void select_elements(const bool* condition, const T* x, const T* y, T* out, std::int64_t n,
                     SelectStrides step = {}) {
  if constexpr (std::is_trivially_copyable_v<T> && sizeof(T) == 4) {
    const auto& loops = simd::loops();
    const auto loop = step.x == 1 ? (step.y == 1 ? loops.select : loops.select_one_right)
                                  : (step.y == 1 ? loops.select_one_left : nullptr);
    const bool in_steps = step.condition == 1 && step.x <= 1 && step.y <= 1;
    if (in_steps && loop != nullptr) return loop(condition, x, y, out, n);
  }
  TOWERFLOW_INDEPENDENT
  for (std::int64_t i = 0; i < n; ++i) {
    out[i] = condition[i * step.condition] ? x[i * step.x] : y[i * step.y];
  }
}

}  // namespace towerflow
