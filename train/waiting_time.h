#pragma once

#include <algorithm>
#include <chrono>

namespace towerflow::train {

/// `seconds` as something that can be waited for: at most 30 years, since a clock cannot count to
/// infinity, and nothing for less than none.
inline std::chrono::duration<double> waiting_time(double seconds) {
  return std::chrono::duration<double>(std::min(std::max(0.0, seconds), 1e9));
}

}  // namespace towerflow::train
