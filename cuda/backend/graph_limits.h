#pragma once

#include <atomic>
#include <cstddef>

namespace towerflow::cuda {

/// Work with fewer launches and copies takes less time without a graph. Tests set it to 1, so that
/// each kernel is captured.
std::atomic<std::size_t>& least_graph_nodes();

}  // namespace towerflow::cuda
