#pragma once

#include <mutex>

namespace towerflow {

/// The mutex of a Graph, which graph.h only forward-declares.
struct GraphMutex : std::mutex {};

}  // namespace towerflow
