#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>

namespace towerflow::cuda {

/// Work with fewer launches and copies takes less time without a graph. Tests set it to 1, so that
/// each kernel is captured.
std::atomic<std::size_t>& least_graph_nodes();

/// How long a queue that holds work back waits for the record of an event, before it puts the work
/// into the stream: another run may wait for that. Tests set it higher, so that work is divided in
/// the same way however busy the machine is.
std::atomic<std::chrono::microseconds>& longest_hold();

}  // namespace towerflow::cuda
