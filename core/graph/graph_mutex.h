#pragma once

#include <mutex>

namespace towerflow {

/// The mutex of a Graph: <mutex> costs every program that includes graph.h time to compile.
struct GraphMutex : std::mutex {};

}  // namespace towerflow
