#pragma once

#include <cstddef>
#include <string>

#include "cuda/backend/driver.h"

namespace towerflow::cuda {

/// What copies from one card to another showed.
struct LinkResult {
  double bytes_per_second = 0;  ///< 0 if something is wrong
  std::string wrong{};          ///< what is wrong; empty: all bytes arrived in time
  bool ended = true;            ///< whether the copies ended in time
};

/// Copies `bytes` bytes from card to card five times, the last four of them timed, and compares
/// them. Gives up after `seconds`; memory that a copy may still use is kept then, and the receiving
/// card should no longer be used. Throws the typed error of a call that fails.
LinkResult test_link(const Driver& driver, int from, int to, std::size_t bytes, double seconds);

}  // namespace towerflow::cuda
