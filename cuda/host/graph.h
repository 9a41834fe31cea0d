#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <memory>
#include <vector>

#include "cuda/host/step.h"
#include "cuda/host/stream.h"

namespace towerflow::cuda::host {

struct Node {
  Step step;
  std::vector<std::size_t> needs;  ///< nodes before it, in ascending order
  std::size_t branch = 0;          ///< the captured stream that it came from; branch 0 began
  cudaGraphNode_t handle = nullptr;
};

/// What was captured: nodes, each after those that it needs.
struct Graph {
  std::vector<Node> nodes{};
  std::vector<int> devices{};  ///< by branch
};

/// A graph that can be launched, with steps of its own.
struct Executable {
  std::vector<Node> nodes{};
  std::vector<std::shared_ptr<Stream>> branches{};  ///< for all branches but the first
  PointPtr end{};  ///< of the last launch: launches come one after the other
};

cudaGraphNodeType type_of(const Step& step);

}  // namespace towerflow::cuda::host
