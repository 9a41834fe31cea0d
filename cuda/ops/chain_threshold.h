#pragma once

#include <atomic>
#include <cstdint>

namespace towerflow::cuda {

/// The fewest elements of a result for which a chain of elementwise ops is compiled. Tests set it
/// to 1, or so high that none is.
std::atomic<std::int64_t>& least_compiled_elements();

}  // namespace towerflow::cuda
