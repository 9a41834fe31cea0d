#pragma once

#include <algorithm>
#include <chrono>

namespace towerflow::train {

/// Converts `seconds` to a duration that can be waited for: at least zero, and at most about 30
/// years, since longer ones overflow the clock.
inline std::chrono::duration<double> wait_duration(double seconds) {
  return std::chrono::duration<double>(std::min(std::max(0.0, seconds), 1e9));
}

}  // namespace towerflow::train
