#pragma once

#include <cuda_runtime_api.h>

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "cuda/host/clock.h"
#include "cuda/host/work.h"

namespace towerflow::cuda::host {

/// How a piece of work ended.
struct Outcome {
  cudaError_t status = cudaSuccess;
  std::string text{};               ///< what went wrong, if more is known than the status
  std::vector<Operand> accessed{};  ///< besides the operands known before, such as a kernel's
};

/// One thing that a stream does.
struct Task {
  std::string what{};
  std::vector<Operand> operands{};
  std::function<Outcome()> run{};  ///< none for a mark, such as a recorded event
};

/// A place in the order of a stream: the end of a task.
struct Point {
  bool reached = false;
  bool awaited = false;  ///< whether a thread waits for it and has to be woken
  Clock clock{};         ///< all work that comes before it
  std::chrono::steady_clock::time_point time{};
};
using PointPtr = std::shared_ptr<Point>;

}  // namespace towerflow::cuda::host
