#pragma once

#include <mutex>

namespace towerflow {

/// The mutex of a Graph, apart: its standard header costs every program that includes graph.h time.
struct GraphMutex : std::mutex {};

}  // namespace towerflow
