#pragma once

#include <chrono>

namespace towerflow {

/// Seconds of the steady clock.
inline double wall_now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace towerflow
