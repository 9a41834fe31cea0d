#pragma once

#include <chrono>

namespace towerflow {

/// Returns the time of the steady clock in seconds.
inline double wall_clock_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace towerflow
